"""What all model classes of this plugin share: argument checks, device and ranks, requests -> items, errors told apart.

Written against the model contract of lmms-eval 0.7.3 (`lmms_eval.api.model.lmms`, chat kind).
"""

from __future__ import annotations

import inspect
import logging
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from lmms_eval.api.model import lmms
from lmms_eval.utils import simple_parse_args_string

from lmms_audio_tasks.cache import cache_root
from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models import MANIFESTS
from lmms_audio_tasks.models.answers import Keys, contradiction
from lmms_audio_tasks.models.arguments import flag, refuse_unknown, text
from lmms_audio_tasks.models.episodes import Episode, play
from lmms_audio_tasks.models.failures import Failure, whole_characters
from lmms_audio_tasks.models.hashes import Hashes
from lmms_audio_tasks.models.messages import Prompt, read_messages
from lmms_audio_tasks.models.ranks import leave_at_exit, together
from lmms_audio_tasks.models.store import TextStore
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
        round: 0, or which turn of the model's in a task of several rounds.
        repeat: 0, or which time the same document is asked for in this run (the host's `--repeats`).
        hashes: of the run's recordings and images.
    """

    task: str
    doc_id: int
    context: str
    generation: Mapping[str, Any]
    read: Callable[[], Prompt]
    doc: Callable[[], Mapping[str, Any]] = dict
    round: int = 0
    repeat: int = 0
    hashes: Hashes = field(default_factory=Hashes)

    def prompt(self) -> Prompt | Failure:
        """The prompt, or why it cannot be made (its recording is missing, say): a fault of this item alone."""
        try:
            return self.read()
        except Exception as error:
            return Failure.of(error)


class AudioTasksModel(lmms):
    """Base of our model classes.

    A subclass takes its arguments by name, gathers all others in `**unknown`, hands those over to this class, loads
    inside `together("load", everyone=True)` and defines `answer`. Where its answers are worth keeping it also defines
    `identity`; then a run that was killed goes on where it stood.
    """

    is_simple = False

    def __init__(self, device: Any, unknown: Mapping[str, Any], resume: Any = True, cache_dir: Any = None) -> None:
        """Check the arguments' names and take this rank's device.

        Args:
            device: as for `torch.device`; None for what accelerate picks.
            unknown: the arguments that the subclass did not name.
            resume: whether answers are kept on disk, and taken from there.
            cache_dir: the folder for all that is kept; None for `cache.cache_root()`.

        Raises:
            ModelError: an unknown argument, or a device that cannot be had.
        """
        super().__init__()
        known = [name for name in inspect.signature(type(self).__init__).parameters if name not in ("self", "unknown")]
        refuse_unknown(self.called(), unknown, known)
        from accelerate import Accelerator

        self.accelerator = Accelerator()
        self._rank = self.accelerator.process_index
        self._world_size = self.accelerator.num_processes
        self._device = _device(device, self.accelerator)
        if self._world_size > 1:
            leave_at_exit()
        self._resume = flag("resume", resume)
        self._cache = Path(text("cache_dir", cache_dir) or cache_root()).expanduser()
        self._kept: tuple[Mapping[str, Any], TextStore] | None = None
        self._told: set[str] = set()

    @classmethod
    def called(cls) -> str:
        """The name that `--model` takes for this class."""
        own = f"{cls.__module__}.{cls.__qualname__}"
        return next((name for name, path in MANIFESTS if path == own), cls.__name__.lower())

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
    def answer(self, items: Sequence[Item]) -> Iterator[tuple[int, str | Failure]]:
        """Yield each item's position and its answer, in any order, each as soon as it is there.

        What is yielded is on disk before the next is asked for. What this raises ends the run on every rank.
        """

    def identity(self) -> Mapping[str, Any] | None:
        """All that an answer depends on besides the prompt and the task's generation arguments, as plain JSON types.

        It must have a `model`, and must not tell how the work is done (batch size, device) where that changes no
        answer. None, as here: answers are not kept. Called when the model has loaded.
        """
        return None

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        """Answer all requests, in order; an item that failed answers with `records.error_response`.

        Raises:
            ModelError: all of several items failed in a run of one process, or another rank failed as a whole.
        """
        with together("generate", everyone=False):
            columns: dict[tuple[str, str], Any] = {}
            keys = Keys()
            items = [self._item(request, columns, keys) for request in requests]
            answers = self._answers(items, keys, self._store())
            return self._responses(requests, answers)

    def generate_until_multi_round(self, requests: Sequence[Any]) -> list[list[str]]:
        """Play all requests' rounds, those of different documents side by side.

        Round 0 is the task's `doc_to_messages(doc)`; later ones are what it makes of the answers so far. The hooks run
        in threads, as they may wait for a judge.

        Returns:
            for each request, what its task gave back as outputs when it was over. A round that failed answers with
            `records.error_response` and is its document's last.

        Raises:
            ModelError: all of several documents failed in a run of one process, or another rank failed as a whole.
        """
        with together("generate", everyone=False):
            columns: dict[tuple[str, str], Any] = {}
            keys, store = Keys(), self._store()
            episodes = []
            for request in requests:
                _, doc_to_messages, _, doc_id, task, split = request.args
                episodes.append(Episode(doc_to_messages, self.task_dict[task][split][doc_id]))

            def answer(turn: int, active: Sequence[int]) -> list[str | Failure]:
                items = [self._item(requests[index], columns, keys, turn, episodes[index]) for index in active]
                return self._answers(items, keys, store)

            play(episodes, answer)
            self._tell_failures(requests, [episode.failure or "" for episode in episodes])
            return [episode.outputs for episode in episodes]

    def _store(self) -> TextStore | None:
        identity = self.identity() if self._resume else None
        if identity is None:
            return None
        # An agentic task calls for one answer at a time; what is kept need not be read for each.
        if self._kept is None or self._kept[0] != identity:
            self._kept = identity, TextStore(self._cache / "answers", identity, "prompt")
        return self._kept[1]

    def _answers(self, items: Sequence[Item], keys: Keys, store: TextStore | None) -> list[str | Failure]:
        """One answer or failure for each item, in order, from `store` where it has it."""
        self._tell_greedy(items)
        names = [str(index) for index in range(len(items))]
        found: dict[str, str | Failure] = {}
        if store is not None:
            for index, item in enumerate(items):
                names[index], answer = _look_up(item, keys, store, names[index])
                if answer is not None:
                    found[names[index]] = answer
            logger.info("%d of %d answers are there already, in %s", len(found), len(items), store.folder)
        # Equal prompts have one name; each is asked once.
        todo = {name: index for index, name in enumerate(names) if name not in found}
        asked = list(todo)
        for position, given in self.answer([items[index] for index in todo.values()]) if todo else ():
            answer = given if isinstance(given, Failure) else whole_characters(given)
            found[asked[position]] = answer
            if store is not None and isinstance(answer, str):
                store.add({asked[position]: answer})
        return [found.get(name, Failure("the model gave no answer")) for name in names]

    def _item(
        self,
        request: Any,
        columns: dict[tuple[str, str], Any],
        keys: Keys,
        turn: int = 0,
        episode: Episode | None = None,
    ) -> Item:
        context, doc_to_messages, generation, doc_id, task, split = request.args
        docs = self.task_dict[task][split]
        if (task, split) not in columns:
            columns[task, split] = _without_recordings(docs)
        plain = columns[task, split]

        def read() -> Prompt:
            return read_messages(doc_to_messages(docs[doc_id]) if episode is None else episode.messages)

        return Item(
            task=task,
            doc_id=doc_id,
            context=context if isinstance(context, str) else "",
            generation=dict(generation or {}),
            read=read,
            doc=lambda: plain[doc_id],
            round=turn,
            repeat=keys.repeat(task, doc_id, turn),
            hashes=keys.hashes,
        )

    def _tell_greedy(self, items: Sequence[Item]) -> None:
        """Warn, once each, of generation arguments that ask for sampling and do not get it."""
        for message in {found for item in items if (found := contradiction(item.generation))} - self._told:
            logger.warning(message)
            self._told.add(message)

    def _responses(self, requests: Sequence[Any], answers: Sequence[str | Failure]) -> list[str]:
        self._tell_failures(requests, answers)
        return [error_response(answer.message) if isinstance(answer, Failure) else answer for answer in answers]

    def _tell_failures(self, requests: Sequence[Any], answers: Sequence[str | Failure]) -> None:
        failures = [answer for answer in answers if isinstance(answer, Failure)]
        # With several ranks the others may be fine; then every failure stands in the results, as others do.
        if len(failures) == len(answers) > 1 and self._world_size == 1:
            raise ModelError(f"all {len(answers)} items failed; the first: {failures[0].message}")
        for request, answer in zip(requests, answers, strict=True):
            if isinstance(answer, Failure):
                _, _, _, doc_id, task, _ = request.args
                logger.error("%s, document %s has no answer: %s", task, doc_id, " ".join(answer.message.split()))

    def loglikelihood(self, requests: Sequence[Any]) -> NoReturn:
        """Not offered: raises `NotImplementedError`."""
        raise NotImplementedError(f"{type(self).__name__} generates text only; it has no log-likelihoods for tasks")


def _look_up(item: Item, keys: Keys, store: TextStore, number: str) -> tuple[str, str | Failure | None]:
    """The key of an item's answer, and the answer if it is kept; `number` and why if its prompt cannot be made."""
    prompt = item.prompt()
    if isinstance(prompt, Failure):
        return number, prompt
    try:
        key = keys.of(item, prompt)
    except Exception as error:
        return number, Failure.of(error)
    return key, store.get(key)


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
        try:
            torch.zeros(1, device=device).item()
        except (RuntimeError, AssertionError) as error:
            raise ModelError(f"device={wanted!r} cannot be used here: {str(error).partition('. ')[0]}") from error
        return device
    if device.type != accelerator.device.type:
        raise ModelError(
            f"device={wanted!r} was asked for, but the ranks were launched on {accelerator.device.type}; "
            "for CPU ranks set ACCELERATE_USE_CPU=true"
        )
    return accelerator.device
