"""The host's chat messages -> the audio sources and the text of one prompt."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_audio_tasks.errors import ModelError


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt.

    Attributes:
        text: its text parts, in order, one a line.
        audios: its audio sources in order, as `audio.load` takes them (a path, bytes, `{"array", "sampling_rate"}`);
            empty for a question about text alone.
    """

    text: str
    audios: tuple[Any, ...] = ()


def read_messages(messages: Sequence[Mapping[str, Any]]) -> Prompt:
    """The prompt that `messages` (`[{"role": "user", "content": ...}]`) holds.

    Raises:
        ModelError: a turn of another role, or a part that is neither text nor audio. Dropping one silently would make
            the model answer another question.
    """
    texts: list[str] = []
    audios: list[Any] = []
    for message in messages:
        if message["role"] != "user":
            raise ModelError(f"only user turns are supported, not one of role {message['role']!r}")
        content = message["content"]
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "text":
                texts.append(part["text"])
            elif part["type"] == "audio":
                audios.append(_source(part["url"]))
            else:
                raise ModelError(f"only text and audio parts are supported, not {part['type']!r}")
    return Prompt("\n".join(texts), tuple(audios))


def _source(url: Any) -> Any:
    """What `audio.load` takes for `url`, which may be a data URI."""
    if not isinstance(url, str) or not url.startswith("data:"):
        return url
    head, _, body = url.partition(",")
    if not head.endswith(";base64"):
        raise ModelError(f"a data URI must be in base64, not {head[:40]!r}")
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error as error:
        raise ModelError(f"a data URI that is not base64: {error}") from error
