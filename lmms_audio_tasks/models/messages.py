"""The host's chat messages -> the turns of one conversation, with the texts, recordings and images in them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from lmms_audio_tasks.errors import ModelError

Role = Literal["system", "user", "assistant"]
Kind = Literal["text", "audio", "image"]
ROLES: tuple[Role, ...] = get_args(Role)
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a turn.

    Attributes:
        kind: what it is.
        value: the text; or the source of a recording as `audio.load` takes it (a path, bytes, `{"array",
            "sampling_rate"}`); or an image as a path, its encoded bytes or a `PIL.Image.Image`.
    """

    kind: Kind
    value: Any


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side says at a time."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """Its text parts, in order, one a line."""
        return "\n".join(part.value for part in self.parts if part.kind == "text")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One conversation; the model is to give the next turn.

    Attributes:
        turns: in order; at least one, for a single question exactly one, of the user.
    """

    turns: tuple[Turn, ...]

    @property
    def text(self) -> str:
        """What the user says in text, one part a line."""
        return "\n".join(turn.text for turn in self.turns if turn.role == "user")

    @property
    def audios(self) -> tuple[Any, ...]:
        """The sources of all recordings, in order; empty for a question about text alone."""
        return self._values("audio")

    @property
    def images(self) -> tuple[Any, ...]:
        """All images, in order."""
        return self._values("image")

    def _values(self, kind: Kind) -> tuple[Any, ...]:
        return tuple(part.value for turn in self.turns for part in turn.parts if part.kind == kind)


def read_messages(messages: Sequence[Mapping[str, Any]]) -> Prompt:
    """The conversation that `messages` (`[{"role": "user", "content": ...}, ...]`) holds.

    Raises:
        ModelError: an unknown role, a part that is neither text nor audio nor image, or nothing at all. Dropping a part
            silently would make the model answer another question.
    """
    if not messages:
        raise ModelError("a conversation needs a turn at least")
    return Prompt(tuple(_turn(message) for message in messages))


def _turn(message: Mapping[str, Any]) -> Turn:
    role, content = message["role"], message["content"]
    if role not in ROLES:
        raise ModelError(f"turns of {', '.join(ROLES)} are supported, not one of role {role!r}")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return Turn(cast(Role, role), tuple(map(_part, parts)))


def _part(part: Mapping[str, Any]) -> Part:
    kind = part["type"]
    if kind not in KINDS:
        raise ModelError(f"text, audio and image parts are supported, not {kind!r}")
    return Part(cast(Kind, kind), part["text"] if kind == "text" else _source(part["url"]))


def _source(url: Any) -> Any:
    """The path, object or bytes that `url`, which may be a data URI, stands for."""
    if not isinstance(url, str) or not url.startswith("data:"):
        return url
    head, _, body = url.partition(",")
    if not head.endswith(";base64"):
        raise ModelError(f"a data URI must be in base64, not {head[:40]!r}")
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error as error:
        raise ModelError(f"a data URI that is not base64: {error}") from error
