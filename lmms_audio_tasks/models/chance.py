"""`--model chance`: picks one of the listed options, or yes or no, at random. Its score is the chance level."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from lmms_audio_tasks.models.arguments import whole_number
from lmms_audio_tasks.models.base import AudioTasksModel, Item
from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.options import OptionError, parse_options
from lmms_audio_tasks.prompts import last_turn

# Checked only where a prompt lists no options.
_YES_NO = re.compile(r"\b(?:yes\s+or\s+no|yes\s*/\s*no)\b", re.IGNORECASE)


class Chance(AudioTasksModel):
    """Answers `(b) text` with an option drawn uniformly from those in the prompt; reads no audio.

    A prompt without options that asks for `yes or no` is answered with one of the two words. Where the prompt is
    spoken, its document lists what to choose from as `choices`, and the answer is one of these as it stands.

    The draw depends on the seed, the task, the document and the turn alone, so any number of ranks gives the same
    answers.

    Args:
        seed: a whole number; another seed draws anew.
        batch_size, max_batch_size: taken because the host passes them; without effect.
        device: as for the other models; nothing is computed there.
    """

    def __init__(
        self, seed: Any = 0, batch_size: Any = 1, max_batch_size: Any = None, device: Any = None, **unknown: Any
    ) -> None:
        super().__init__(device, unknown)
        self.seed = whole_number("seed", seed, minimum=0)

    def answer(self, items: Sequence[Item]) -> Iterator[tuple[int, str | Failure]]:
        """A random option for each item; a failure for a prompt that offers nothing to choose from."""
        return enumerate(map(self._draw, items))

    def _draw(self, item: Item) -> str | Failure:
        choices = _choices(item)
        if isinstance(choices, Failure):
            return choices
        # The host tells an agentic task's turn by nothing but what is told of those before.
        turn = f"\n{item.round}" if item.round else last_turn(item.context)[0]
        return choices[draw(f"{self.seed}\n{item.task}\n{item.doc_id}{turn}", len(choices))]


def _choices(item: Item) -> list[str] | Failure:
    """The answers the document lists, else those the prompt offers."""
    if listed := item.doc().get("choices"):
        return list(listed)
    try:
        if not item.round:  # the context is what is asked first
            return _offered(item.context)
    except OptionError:
        pass
    # The messages are the prompt proper, but making them may encode audio.
    prompt = item.prompt()
    if isinstance(prompt, Failure):
        return prompt
    try:
        return _offered(prompt.turns[-1].text)
    except OptionError as error:
        return Failure(f"no options in the prompt: {error}")


def _offered(prompt: str) -> list[str]:
    asked = last_turn(prompt)[1]
    try:
        return [f"({option.letter}) {option.text}" for option in parse_options(asked)]
    except OptionError:
        if _YES_NO.search(asked):
            return ["yes", "no"]
        raise


def draw(key: str, count: int) -> int:
    """A number in 0 .. `count` - 1 that is uniform over keys and the same for the same key on every machine.

    `count` must be at least 1. SHA-256 of the key, modulo `count`: the bias is below 2**-240 for any real count.
    """
    return int.from_bytes(hashlib.sha256(key.encode()).digest(), "big") % count
