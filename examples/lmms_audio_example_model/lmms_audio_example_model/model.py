"""`--model pitch`: tells low voices from high ones and knows nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lmms_audio_tasks import audio
from lmms_audio_tasks.models.base import AudioTasksModel, Item
from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.models.messages import Prompt


class Pitch(AudioTasksModel):
    """Answers `low` or `high`, by whether a recording's pitch is below `threshold` Hz."""

    def __init__(self, threshold: Any = 165, resume: Any = True, cache_dir: Any = None, batch_size: Any = 1,
                 max_batch_size: Any = None, device: Any = None, **unknown: Any) -> None:  # fmt: skip
        super().__init__(device, unknown, resume, cache_dir)
        self.threshold = float(threshold)

    def identity(self) -> Mapping[str, Any]:
        """What its answers depend on: with it, answers are kept, and a killed run goes on where it stood."""
        return {"model": "pitch", "threshold": self.threshold}

    def answer(self, items: Sequence[Item]) -> Iterator[tuple[int, str | Failure]]:
        """One answer for each item, as soon as it is there; a bad recording is a failure of its item alone."""
        for index, item in enumerate(items):
            found: str | Failure
            try:
                found = self._hear(item.read())
            except Exception as error:
                found = Failure.of(error)
            yield index, found

    def _hear(self, prompt: Prompt) -> str:
        samples, rate = audio.load(prompt.audios[0], 8000)
        spectrum = np.abs(np.fft.rfft(samples, 2 * len(samples))) ** 2
        echoes = np.fft.irfft(spectrum)[rate // 400 : rate // 60]  # autocorrelation at the lags of 400 to 60 Hz
        pitch = rate / (rate // 400 + int(np.argmax(echoes)))
        return f"The voice is {'low, so male' if pitch < self.threshold else 'high, so female'}."
