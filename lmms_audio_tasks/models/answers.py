"""The key of an answer: all that the answer depends on besides the model and its settings.

The host's own response cache keys on the document's number and text alone, so that other audio behind the same row gets
the old answer; here the recordings' and images' content is in the key.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lmms_audio_tasks.models.hashes import Hashes
from lmms_audio_tasks.models.messages import Part, Prompt

if TYPE_CHECKING:
    from lmms_audio_tasks.models.base import Item


class Keys:
    """Makes the keys of one run's requests.

    The same document asked again in the same run (the host's `--repeats`) has another key each time. The seed is in the
    key where the answer is sampled, so that a run with another seed draws anew.

    Attributes:
        hashes: of the recordings and images.
    """

    def __init__(self) -> None:
        self.hashes = Hashes()
        self._asked: Counter[tuple[Any, ...]] = Counter()

    def repeat(self, *place: Any) -> int:
        """How often the document at `place` (task, document, round) was asked for before in this run."""
        self._asked[place] += 1
        return self._asked[place] - 1

    def of(self, item: Item, prompt: Prompt) -> str:
        """SHA-256, in hex.

        Raises:
            AudioError: a recording is missing or no audio.
            OSError: an image cannot be read.
        """
        turns = [[turn.role, *([part.kind, self._content(part)] for part in turn.parts)] for turn in prompt.turns]
        draw = [item.task, item.doc_id, item.round, _seed()] if is_sampled(item.generation) else []
        parts = [turns, dict(item.generation), item.repeat, draw]
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()

    def _content(self, part: Part) -> str:
        return part.value if part.kind == "text" else self.hashes.of(part)


def is_sampled(generation: Mapping[str, Any]) -> bool:
    """Whether generation arguments ask for sampling; see `generation.Generation.of`, which reads them so."""
    temperature = generation.get("temperature")
    return bool(generation.get("do_sample", bool(temperature))) and temperature != 0


def contradiction(generation: Mapping[str, Any]) -> str | None:
    """Why generation arguments that ask for sampling are yet greedy; None where they do not, or are not."""
    temperature = generation.get("temperature")
    if is_sampled(generation):
        return None
    if generation.get("do_sample"):
        return "do_sample=true beside temperature=0 is greedy; for sampling, --gen_kwargs do_sample=true,temperature=1"
    if temperature:
        return (
            f"temperature={temperature} beside do_sample=false, which tasks set, is greedy; for sampling, --gen_kwargs "
            f"do_sample=true,temperature={temperature}"
        )
    return None


def _seed() -> int:
    import torch

    return torch.initial_seed()
