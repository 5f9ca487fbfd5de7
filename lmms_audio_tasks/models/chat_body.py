"""Generation arguments as a server takes them, and its completions as answers."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.answers import is_sampled
from lmms_audio_tasks.models.generation import Generation, most_tokens
from lmms_audio_tasks.records import REFUSED
from lmms_audio_tasks.servers.completion import Completion

_SENT_WHEN_SAMPLED = ("temperature", "top_p", "top_k", "min_p", "seed")
_SENT_ALWAYS = ("repetition_penalty", "presence_penalty", "frequency_penalty")
_KNOWN = ("max_new_tokens", "do_sample", "until", "num_beams", *_SENT_WHEN_SAMPLED, *_SENT_ALWAYS)
_MOST_STOPS = 4  # OpenAI takes no more; answers are cut at all of them here


@dataclass(slots=True)
class Usage:
    """What was asked and used so far.

    Attributes:
        answers: replies that came, without retries.
        refusals: how many of them the server calls refused.
        nothing_said: how many are empty, and `at_the_limit` how many of those had used up their tokens.
        models: the names under which the answers came.
    """

    answers: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    refusals: int = 0
    nothing_said: int = 0
    at_the_limit: int = 0
    models: Counter[str] = field(default_factory=Counter)

    def add(self, reply: Completion) -> None:
        """Count one reply."""
        self.answers += 1
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens
        self.refusals += reply.refused
        empty = not answer_text(reply).strip()
        self.nothing_said += empty
        self.at_the_limit += empty and reply.cut
        if reply.model:
            self.models[reply.model] += 1

    def __str__(self) -> str:
        """One line for people."""
        return f"{self.answers} answers, {self.prompt_tokens} + {self.completion_tokens} tokens"


def body_fields(given: Mapping[str, Any], max_new_tokens: int | None = None) -> Generation:
    """A task's `generation_kwargs`, which are left as they are, as fields of a request.

    Greedy is sent as `temperature: 0`, and then nothing else of sampling. `until` is sent as `stop`, the first four at
    most; `Generation.cut` cuts at all of them. `top_k`, `min_p` and `repetition_penalty` go out by these names, which
    vLLM and SGLang know and OpenAI refuses.

    Args:
        given: the generation arguments; None stands for "not given".
        max_new_tokens: overrides the task's; where neither says, 256.

    Raises:
        ModelError: an argument that chat completions have no field for, or no number of tokens.
    """
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if name not in _KNOWN:
            near = difflib.get_close_matches(name, _KNOWN, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(_KNOWN)}"
            raise ModelError(f"generation argument {name!r} has no counterpart in chat completions; {hint}")
    if given.get("num_beams", 1) != 1:
        raise ModelError(f"num_beams={given['num_beams']!r}: chat completions know no beam search; leave it out")
    fields: dict[str, Any] = {"max_tokens": most_tokens(given, max_new_tokens)}
    sampled = is_sampled(given)
    fields |= {name: given[name] for name in _SENT_WHEN_SAMPLED if name in given} if sampled else {"temperature": 0}
    fields |= {name: given[name] for name in _SENT_ALWAYS if name in given}
    until = given.get("until", ())
    until = tuple(filter(None, (until,) if isinstance(until, str) else until))
    if until:
        fields["stop"] = list(until[:_MOST_STOPS])
    return Generation(json.dumps(fields, sort_keys=True), until, sampled)


def answer_text(reply: Completion) -> str:
    """The answer; where it was refused, `REFUSED` and the server's words."""
    # What a filter left of an answer is no answer, and may name an option half-way.
    return f"{REFUSED} {reply.refusal or 'content filter'}" if reply.refused else reply.text
