"""Recordings and images told apart by content."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from lmms_audio_tasks import audio
from lmms_audio_tasks.models.messages import Part


class Hashes:
    """The hashes of one run: each file is read once, whoever asks, so a file must not change while the run goes on."""

    def __init__(self) -> None:
        self._files: dict[str, str] = {}

    def of(self, part: Part) -> str:
        """SHA-256, in hex, of a recording (see `audio.content_hash`) or an image (see `image_hash`).

        Raises:
            AudioError: a recording is missing or no audio.
            OSError: an image cannot be read.
        """
        content = audio.content_hash if part.kind == "audio" else image_hash
        if not isinstance(part.value, str):
            return content(part.value)
        if part.value not in self._files:
            self._files[part.value] = content(part.value)
        return self._files[part.value]


def image_hash(source: Any) -> str:
    """SHA-256, in hex, of an image's file (a path or its bytes), or of the pixels of a `PIL.Image.Image`."""
    if isinstance(source, (str, Path)):
        source = Path(source).read_bytes()
    if isinstance(source, bytes):
        return hashlib.sha256(source).hexdigest()
    return hashlib.sha256(f"{source.mode} {source.size}\n".encode() + source.tobytes()).hexdigest()
