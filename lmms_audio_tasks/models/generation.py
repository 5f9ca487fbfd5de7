"""A task's generation arguments -> what `generate` of transformers takes."""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.answers import is_sampled
from lmms_audio_tasks.models.arguments import whole_number

DEFAULT_MAX_NEW_TOKENS = 256
_SAMPLING = ("temperature", "top_p", "top_k", "min_p", "typical_p")


@dataclass(frozen=True, slots=True)
class Generation:
    """How to generate.

    Attributes:
        arguments: the keyword arguments of `generate`, as JSON so that requests can be grouped by it.
        until: strings at the first of which an answer is cut.
        sampled: whether two calls with the same prompt may differ.
    """

    arguments: str
    until: tuple[str, ...]
    sampled: bool

    @property
    def keywords(self) -> dict[str, Any]:
        """A fresh dict of the keyword arguments of `generate`."""
        return json.loads(self.arguments)

    @classmethod
    def of(cls, given: Mapping[str, Any], max_new_tokens: int | None = None) -> Generation:
        """Read a task's `generation_kwargs`, which are left as they are.

        Greedy unless they ask for sampling: by `do_sample: true`, or by a temperature above 0 without `do_sample`. A
        temperature of 0 always means greedy.

        Args:
            given: the generation arguments.
            max_new_tokens: overrides the task's; where neither says, 256.

        Raises:
            ModelError: an argument that `generate` does not have, or no number of tokens.
        """
        rest = dict(given)
        until = rest.pop("until", None) or ()
        sampled = rest["do_sample"] = is_sampled(rest)
        if not sampled:
            # None, not left out: a model's own generation_config may hold values that only sampling may have.
            rest.update(dict.fromkeys(_SAMPLING))
        rest["max_new_tokens"] = most_tokens(rest, max_new_tokens)
        for name in rest:
            if name not in _known():
                near = difflib.get_close_matches(name, _known(), n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise ModelError(f"generation argument {name!r} is not one that transformers knows{hint}")
        strings = (until,) if isinstance(until, str) else tuple(until)
        return cls(json.dumps(rest, sort_keys=True), tuple(filter(None, strings)), sampled)

    def cut(self, answer: str) -> str:
        """`answer` up to the first of the `until` strings, without blanks around it."""
        ends = [place for stop in self.until if (place := answer.find(stop)) >= 0]
        return answer[: min(ends, default=len(answer))].strip()


def most_tokens(given: Mapping[str, Any], override: int | None) -> int:
    """How many tokens an answer may have: `override`, else the task's `max_new_tokens`, else 256.

    Raises:
        ModelError: the task's is no whole number of at least 1.
    """
    found = override or given.get("max_new_tokens")
    return DEFAULT_MAX_NEW_TOKENS if found is None else whole_number("max_new_tokens", found)


@functools.cache
def _known() -> frozenset[str]:
    from transformers import GenerationConfig

    return frozenset(name for name in vars(GenerationConfig()) if not name.startswith("_"))
