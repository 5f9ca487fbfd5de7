"""What all model classes of this plugin share: argument checks, device and ranks, requests -> items, errors told apart.

Written against the model contract of lmms-eval 0.7.3 (`lmms_eval.api.model.lmms`, chat kind).
"""

from __future__ import annotations

import inspect
import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from lmms_eval.api.model import lmms
from lmms_eval.utils import simple_parse_args_string

from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.arguments import refuse_unknown
from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.models.messages import Prompt, read_messages
from lmms_audio_tasks.models.ranks import together
from lmms_audio_tasks.records import error_response

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Item:
    """One request of the host.

    Attributes:
        task: the task's name.
        doc_id: the document's number within the task's split.
        context: the task's `doc_to_text`.
        generation: the task's generation arguments, copied: the host's response cache keys on the original.
        read: makes the prompt; may raise what the task's hooks raise, and `ModelError`. The prompt is not kept, as it
            may hold decoded audio.
        doc: reads the document, without its recording where that lies in a column of a table.
    """

    task: str
    doc_id: int
    context: str
    generation: Mapping[str, Any]
    read: Callable[[], Prompt]
    doc: Callable[[], Mapping[str, Any]] = dict

    def prompt(self) -> Prompt | Failure:
        """The prompt, or why it cannot be made (its recording is missing, say): a fault of this item alone."""
        try:
            return self.read()
        except Exception as error:
            return Failure.of(error)


class AudioTasksModel(lmms):
    """Base of our model classes.

    A subclass takes its arguments by name, gathers all others in `**unknown`, hands those over to this class, loads
    inside `together("load", everyone=True)` and defines `answer`.
    """

    is_simple = False

    def __init__(self, device: Any, unknown: Mapping[str, Any]) -> None:
        """Check the arguments' names and take this rank's device.

        Args:
            device: as for `torch.device`; None for what accelerate picks.
            unknown: the arguments that the subclass did not name.

        Raises:
            ModelError: an unknown argument, or a device that cannot be had.
        """
        super().__init__()
        known = [name for name in inspect.signature(type(self).__init__).parameters if name not in ("self", "unknown")]
        refuse_unknown(type(self).__name__.lower(), unknown, known)
        from accelerate import Accelerator

        self.accelerator = Accelerator()
        self._rank = self.accelerator.process_index
        self._world_size = self.accelerator.num_processes
        self._device = _device(device, self.accelerator)

    @classmethod
    def create_from_arg_string(cls, arg_string: str, additional_config: Mapping[str, Any] | None = None) -> Any:
        """As the host's, but an argument in `--model_args` wins over the host's own option of the same name.

        The host always passes its `--batch_size` (1 by default), so that `batch_size=8` there would be a `TypeError`.
        """
        outer = {name: value for name, value in (additional_config or {}).items() if value is not None}
        return cls(**{**outer, **simple_parse_args_string(arg_string)})

    @property
    def device(self) -> torch.device:
        """This rank's device; the host gathers its counts there."""
        return self._device

    @abstractmethod
    def answer(self, items: Sequence[Item]) -> list[str | Failure]:
        """One answer or failure for each item, in order. What it raises ends the run on every rank."""

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        """Answer all requests, in order; an item that failed answers with `records.error_response`.

        Raises:
            ModelError: all of several items failed, or another rank failed as a whole.
        """
        with together("generate", everyone=False):
            columns: dict[tuple[str, str], Any] = {}
            answers = self.answer([self._item(request, columns) for request in requests])
            return self._responses(requests, answers)

    def _item(self, request: Any, columns: dict[tuple[str, str], Any]) -> Item:
        context, doc_to_messages, generation, doc_id, task, split = request.args
        docs = self.task_dict[task][split]
        if (task, split) not in columns:
            columns[task, split] = _without_recordings(docs)
        plain = columns[task, split]
        return Item(
            task=task,
            doc_id=doc_id,
            context=context if isinstance(context, str) else "",
            generation=dict(generation or {}),
            read=lambda: read_messages(doc_to_messages(docs[doc_id])),
            doc=lambda: plain[doc_id],
        )

    def _responses(self, requests: Sequence[Any], answers: Sequence[str | Failure]) -> list[str]:
        failures = [answer for answer in answers if isinstance(answer, Failure)]
        if len(failures) == len(answers) > 1:
            raise ModelError(f"all {len(answers)} items failed; the first: {failures[0].message}")
        for request, answer in zip(requests, answers, strict=True):
            if isinstance(answer, Failure):
                _, _, _, doc_id, task, _ = request.args
                logger.error("%s, document %s has no answer: %s", task, doc_id, " ".join(answer.message.split()))
        return [error_response(answer.message) if isinstance(answer, Failure) else answer for answer in answers]

    def loglikelihood(self, requests: Sequence[Any]) -> NoReturn:
        """Not offered: raises `NotImplementedError`."""
        raise NotImplementedError(f"{type(self).__name__} generates text only; it has no log-likelihoods for tasks")

    def generate_until_multi_round(self, requests: Sequence[Any]) -> NoReturn:
        """Not offered: raises `NotImplementedError`."""
        raise NotImplementedError(f"{type(self).__name__} does not support tasks of several rounds")


def _without_recordings(docs: Any) -> Any:
    return docs.remove_columns("audio") if "audio" in getattr(docs, "column_names", ()) else docs


def _device(wanted: Any, accelerator: Any) -> torch.device:
    import torch

    if wanted is None:
        return accelerator.device
    try:
        # `device=0` arrives as an int; torch would take it for the default accelerator, whichever that is.
        device = torch.device(f"cuda:{wanted}" if isinstance(wanted, int) else wanted)
    except RuntimeError as error:
        raise ModelError(f"device={wanted!r} is no device: {error}") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ModelError(f"device={wanted!r} was asked for, but torch sees no CUDA device")
    if accelerator.num_processes == 1:
        return device
    if device.type != accelerator.device.type:
        raise ModelError(
            f"device={wanted!r} was asked for, but the ranks were launched on {accelerator.device.type}; "
            "for CPU ranks set ACCELERATE_USE_CPU=true"
        )
    return accelerator.device
