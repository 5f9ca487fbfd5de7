"""Transcripts of recordings by the recognisers that `--model cascade` uses, kept where it keeps them.

So a recording that was transcribed for the intelligibility check is not transcribed again when `cascade` is evaluated
on it with the same recogniser.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from lmms_audio_tasks.cache import cache_root
from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models import demo
from lmms_audio_tasks.models.asr import Recogniser
from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.models.transcription import Transcription

DEMO = "demo"


def prepare(name: str, language: str, device: str, batch_size: int = 8) -> Transcription:
    """The recogniser `name`: as `cascade` takes `asr`, or `demo` for that of its `preset=demo` (English only).

    Raises:
        ModelError: it is not installed or not there, or the device cannot be used.
    """
    _require(device)
    plain: str | None = language.partition("-")[0].lower()
    if name == DEMO:
        name, plain = f"faster-whisper:{demo.whisper_folder()}", None
    dtype = "float32" if device.startswith("cpu") else "float16"
    return Transcription(Recogniser(name, plain, dtype, device), cache_root() / "transcripts", batch_size)


def _require(device: str) -> None:
    """Raise `ModelError` where torch cannot use the device: else it would be noticed once all is spoken."""
    import torch

    try:
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ModelError(f"--device {device!r} cannot be used here: {str(error).partition('. ')[0]}") from error


def transcripts(
    transcription: Transcription, recordings: Mapping[str, Path], progress: Callable[[int], Any]
) -> dict[str, str | Failure]:
    """The transcript of each recording by content hash, or why there is none.

    Args:
        recordings: by SHA-256 of the file's bytes, where the file is.
    """
    return transcription.transcribe({key: partial(str, path) for key, path in recordings.items()}, progress)
