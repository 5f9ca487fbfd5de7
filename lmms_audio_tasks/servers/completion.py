"""What a server sends back, as plain JSON: a chat completion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_BROKEN_OFF = ("abort", "error")
"""What vLLM, SGLang and gateways put where OpenAI has `stop` or `length`, if the server itself failed half-way."""
_FILTERED = ("content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii")
"""What such a reason begins with if a filter ended the text; all but the first are Gemini's own, in capitals."""


class MalformedReply(Exception):
    """A reply with status 200 that is no chat completion."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One chat completion.

    Attributes:
        text: the message's text, "" where there is none.
        refusal: the server's words where it says that there is no answer, "" otherwise. A model that declines in its
            answer's own words is not seen here.
        finish_reason: why the text ends; "" where the server does not tell.
        model: the name of the model that answered, "" where the server does not tell.
    """

    text: str
    refusal: str = ""
    finish_reason: str = ""
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def cut(self) -> bool:
        """Whether the text ends at the token limit."""
        return self.finish_reason == "length"

    @property
    def filtered(self) -> bool:
        """Whether a content filter ended the text."""
        return self.finish_reason.lower().startswith(_FILTERED)

    @property
    def refused(self) -> bool:
        """Whether the server says that there is no answer."""
        return bool(self.refusal) or self.filtered


def read_completion(completion: object) -> Completion:
    """Read a chat completion; servers leave out fields, so nothing is taken for granted.

    Raises:
        MalformedReply: there is no message in it, or its content is no text, or the server broke it off.
    """
    choices = _field(completion, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = _field(choice, "message")
    finish_reason = str(_field(choice, "finish_reason") or "")
    if message is None and finish_reason.lower().startswith(_FILTERED):
        message = {}
    if not isinstance(message, dict):
        # Gateways report an upstream failure with status 200 and an `error` where the choices should be.
        raise MalformedReply(_field(completion, "error") or completion)
    if finish_reason in _BROKEN_OFF:
        raise MalformedReply(_field(choice, "error") or f"the server broke it off (finish_reason {finish_reason})")
    usage = _field(completion, "usage")
    return Completion(
        _text(message.get("content")),
        str(message.get("refusal") or ""),
        finish_reason,
        str(_field(completion, "model") or ""),
        _count(usage, "prompt_tokens"),
        _count(usage, "completion_tokens"),
    )


def _text(content: object) -> str:
    """The text of a message's content: a string, nothing, or a list of parts in some servers' replies."""
    if isinstance(content, list):
        return "".join(_text(_field(part, "text")) for part in content)
    if content is not None and not isinstance(content, str):
        # Taken for an empty answer it would be scored.
        raise MalformedReply(f"the content is neither text nor a list of parts: {content!r}")
    return content or ""


def _field(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _count(usage: object, name: str) -> int:
    value = _field(usage, name)
    return value if isinstance(value, int) and value >= 0 else 0
