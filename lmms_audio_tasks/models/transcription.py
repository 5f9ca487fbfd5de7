"""Recordings -> transcripts: each recording once, whatever number of questions asks about it, and never again later."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.asr import Recogniser, Samples, Transcriber
from lmms_audio_tasks.models.batches import in_batches
from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.models.prefetch import Decoder, Fetch
from lmms_audio_tasks.models.seat import Seat
from lmms_audio_tasks.models.store import TextStore

logger = logging.getLogger(__name__)
Progress = Callable[[int], Any]
_WINDOW_BATCHES = 16
"""Recordings are decoded so many batches ahead: enough to batch like lengths, little enough to hold in memory."""


class Transcription:
    """A recogniser, loaded only when there is something new to transcribe, and its transcripts on disk."""

    def __init__(self, recogniser: Recogniser, root: Path, batch_size: int, seat: Seat | None = None) -> None:
        """Load nothing yet, save a hub model that is not on this machine: which commit it is shows once it is here.

        Args:
            recogniser: which one.
            root: the folder of all transcripts.
            batch_size: recordings transcribed at a time by transformers' Whisper.
            seat: taken before the recogniser is loaded; None where nothing else is in memory.

        Raises:
            ModelError: the model or its package is not there.
        """
        self._recogniser = recogniser
        self._root = root
        self._batch_size = 1 if recogniser.faster else batch_size
        self._seat = seat or Seat(single=False)
        self._transcriber: Transcriber | None = None
        self.identity = recogniser.identity() or self._identity_once_loaded()

    def unload(self) -> None:
        """Free the recogniser's memory; it is loaded again when needed."""
        self._transcriber = None

    def transcribe(self, recordings: Mapping[str, Fetch], progress: Progress) -> dict[str, str | Failure]:
        """The transcript of each recording, or why there is none.

        What is new is on disk after each batch, so that a run that is killed keeps it.

        Args:
            recordings: by content hash, how to get the recording's source as `audio.load` takes it.
            progress: called with the number of recordings done.

        Raises:
            ModelError: the recogniser cannot be loaded.
        """
        store = TextStore(self._root, self.identity, "audio")
        found: dict[str, str | Failure] = {key: text for key in recordings if (text := store.get(key)) is not None}
        progress(len(found))
        missing = [key for key in recordings if key not in found]
        if missing:
            logger.info("transcribing %d of %d recordings into %s", len(missing), len(recordings), store.folder)
        window = self._batch_size * _WINDOW_BATCHES
        for start in range(0, len(missing), window):
            keys = missing[start : start + window]
            for done in self._window({key: recordings[key] for key in keys}):
                store.add({key: text for key, text in done.items() if isinstance(text, str)})
                found.update(done)
                progress(len(done))
        return found

    def _window(self, recordings: Mapping[str, Fetch]) -> Iterator[dict[str, str | Failure]]:
        transcriber = self._load()
        clips: dict[str, Samples] = {}
        with Decoder(transcriber.rate) as decoder:
            pending = {key: decoder.clip(key, fetch) for key, fetch in recordings.items()}
            for key, clip in pending.items():
                try:
                    clips[key] = clip.result()
                except Exception as error:
                    yield {key: Failure.of(error)}
        order = sorted(clips, key=lambda key: -len(clips[key]))

        def work(keys: Sequence[str]) -> list[str]:
            return transcriber.transcribe([clips[key] for key in keys])

        for keys, texts in in_batches(order, self._batch_size, work):
            yield dict(zip(keys, texts, strict=True))

    def _identity_once_loaded(self) -> dict[str, str | None]:
        self._load()
        identity = self._recogniser.identity()
        if identity is None:
            raise ModelError(f"asr={self._recogniser.name}: loaded, but it is not in the hub's cache; give a folder")
        return identity

    def _load(self) -> Transcriber:
        if self._transcriber is None:
            self._seat.take(self.unload)
            self._transcriber = self._recogniser.load()
        return self._transcriber
