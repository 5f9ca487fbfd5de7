"""Recordings longer than a model can hear: told, split or cut, as asked; never dropped silently."""

from __future__ import annotations

import inspect
import logging
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.families import Family
from lmms_audio_tasks.models.loading import extractor

logger = logging.getLogger(__name__)
Samples = npt.NDArray[np.float32]
CHOICES = ("error", "chunk", "truncate")
DEFAULT_RATE = 16_000
SHORTEST_SECONDS = 0.1
"""Anything shorter is followed by silence up to there: many models fail on less than a feature or two, alone or beside
others."""


def rate_of(processor: Any) -> int:
    """The sampling rate, in Hz, of the audio that a processor takes."""
    return int(getattr(extractor(processor), "sampling_rate", None) or DEFAULT_RATE)


def limit_of(processor: Any, family: Family) -> int | None:
    """How many samples of a recording the model hears; the rest would be dropped silently. None: all."""
    features = extractor(processor)
    if seconds := getattr(processor, "max_audio_len", None):
        # The cap of models that read window by window counts whole windows.
        return int(seconds // features.chunk_length * features.chunk_length * rate_of(processor))
    if family.chunks:
        return None
    if samples := getattr(features, "n_samples", None):
        return int(samples)
    parameters = inspect.signature(features.__call__).parameters
    if "truncation" in parameters and parameters["truncation"].default is True:
        return parameters["max_length"].default
    return None


class Windows:
    """One model's limit, what to do beyond it, and how often that was done. Safe for threads."""

    def __init__(self, limit: int | None, rate: int, choice: str) -> None:
        """Take over what the model hears.

        Args:
            limit: samples of a recording that the model hears; None for all.
            rate: its sampling rate in Hz.
            choice: one of `CHOICES`, for recordings beyond the limit.
        """
        self.limit = limit
        self.rate = rate
        self.choice = choice
        self._lock = threading.Lock()
        self._beyond: set[str] = set()

    def describe(self) -> str:
        """The rule, for the log."""
        if self.limit is None:
            return "recordings of any length are heard whole"
        what = {"error": "are an error", "chunk": "are given in pieces of that length", "truncate": "are cut there"}
        return f"recordings beyond {self.limit / self.rate:g} s {what[self.choice]} (long_audio={self.choice})"

    def apply(self, key: str, clip: Samples) -> list[Samples]:
        """What to give the model for a recording: itself, its pieces in order, or its beginning.

        None is shorter than `SHORTEST_SECONDS`.

        Args:
            key: tells it from others, for the count.
            clip: its samples, at the model's rate.

        Raises:
            ModelError: it is longer than the model hears, and `choice` is `error`.
        """
        if self.limit is None or len(clip) <= self.limit:
            return [self._audible(clip)]
        if self.choice == "error":
            raise ModelError(
                f"a recording of {len(clip) / self.rate:.1f} s, of which the model hears {self.limit / self.rate:g} s; "
                "long_audio=chunk gives it in pieces, long_audio=truncate cuts it"
            )
        with self._lock:
            self._beyond.add(key)
        if self.choice == "truncate":
            return [clip[: self.limit]]
        pieces = (clip[start : start + self.limit] for start in range(0, len(clip), self.limit))
        return list(map(self._audible, pieces))

    def _audible(self, clip: Samples) -> Samples:
        lacking = round(SHORTEST_SECONDS * self.rate) - len(clip)
        return np.pad(clip, (0, lacking)) if lacking > 0 else clip

    def report(self) -> None:
        """Log how many recordings were split or cut since the last report, if any."""
        with self._lock:
            beyond, self._beyond = len(self._beyond), set()
        if beyond:
            done = "split" if self.choice == "chunk" else "cut"
            logger.warning(
                "%d recordings were %s at %g s, beyond which the model hears nothing (long_audio=%s)",
                beyond, done, (self.limit or 0) / self.rate, self.choice,
            )  # fmt: skip
