"""What an OpenAI-compatible server is sent and sends back, as plain JSON: generation arguments and chat completions."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.answers import is_sampled
from lmms_audio_tasks.models.generation import DEFAULT_MAX_NEW_TOKENS, Generation

REFUSED = "[refused]"
"""What the answer begins with where the server, not the model's own text, says that there is none."""

_SENT_WHEN_SAMPLED = ("temperature", "top_p", "top_k", "min_p", "seed")
_SENT_ALWAYS = ("repetition_penalty", "presence_penalty", "frequency_penalty")
_KNOWN = ("max_new_tokens", "do_sample", "until", "num_beams", *_SENT_WHEN_SAMPLED, *_SENT_ALWAYS)
_MOST_STOPS = 4  # OpenAI takes no more; answers are cut at all of them here


class MalformedReply(Exception):
    """A reply with status 200 that is no chat completion."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One chat completion.

    Attributes:
        text: the answer; where it was refused, `REFUSED` and the server's words.
        refused: whether the server says so (`refusal`, or a content filter). A model that declines in its answer's own
            words is not seen here.
        cut: whether the answer ends at the token limit.
        model: the name of the model that answered, "" where the server does not tell.
    """

    text: str
    refused: bool = False
    cut: bool = False
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0


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

    def add(self, reply: Reply) -> None:
        """Count one reply."""
        self.answers += 1
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens
        self.refusals += reply.refused
        empty = not reply.text.strip()
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
        ModelError: an argument that chat completions have no field for.
    """
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if name not in _KNOWN:
            near = difflib.get_close_matches(name, _KNOWN, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(_KNOWN)}"
            raise ModelError(f"generation argument {name!r} has no counterpart in chat completions; {hint}")
    if given.get("num_beams", 1) != 1:
        raise ModelError(f"num_beams={given['num_beams']!r}: chat completions know no beam search; leave it out")
    fields: dict[str, Any] = {"max_tokens": max_new_tokens or given.get("max_new_tokens") or DEFAULT_MAX_NEW_TOKENS}
    sampled = is_sampled(given)
    fields |= {name: given[name] for name in _SENT_WHEN_SAMPLED if name in given} if sampled else {"temperature": 0}
    fields |= {name: given[name] for name in _SENT_ALWAYS if name in given}
    until = given.get("until", ())
    until = tuple(filter(None, (until,) if isinstance(until, str) else until))
    if until:
        fields["stop"] = list(until[:_MOST_STOPS])
    return Generation(json.dumps(fields, sort_keys=True), until, sampled)


def read_completion(completion: object) -> Reply:
    """A chat completion as a `Reply`; servers leave out fields, so nothing is taken for granted.

    Raises:
        MalformedReply: there is no message in it.
    """
    choices = _field(completion, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = _field(choice, "message")
    if not isinstance(message, dict):
        # Gateways report an upstream failure with status 200 and an `error` where the choices should be.
        raise MalformedReply(_field(completion, "error") or completion)
    text, refusal, why = _text(message.get("content")), message.get("refusal"), _field(choice, "finish_reason")
    filtered = why == "content_filter"
    if refusal or filtered:
        # What a filter left of an answer is no answer, and may name an option half-way.
        text = f"{REFUSED} {refusal or 'content filter'}"
    usage = _field(completion, "usage")
    return Reply(
        text,
        bool(refusal or filtered),
        why == "length",
        str(_field(completion, "model") or ""),
        _count(usage, "prompt_tokens"),
        _count(usage, "completion_tokens"),
    )


def _text(content: object) -> str:
    """The text of a message's content: a string, or a list of parts in some servers' replies."""
    if isinstance(content, list):
        return "".join(_text(_field(part, "text")) for part in content)
    return content if isinstance(content, str) else ""


def _field(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _count(usage: object, name: str) -> int:
    value = _field(usage, name)
    return value if isinstance(value, int) and value >= 0 else 0
