"""Speech synthesis behind one small interface: an engine says a text in a voice.

Engines: `espeak` (espeak-ng, the default), `clone` (Pocket TTS, which speaks as a reference recording does), `command`
(any program). `Choice` is what is known of an engine before it is loaded, and goes to worker processes as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.registry import UnknownNameError
from lmms_audio_tasks.synthesize import ENGINES
from lmms_audio_tasks.synthesize.voices import Voice

Samples = npt.NDArray[np.float32]


class SpeechError(AudioTasksError):
    """One text could not be said in one voice; the others may still be."""


class Engine(Protocol):
    """A loaded synthesizer.

    Attributes:
        draws: whether its speech depends on the seed.
    """

    draws: bool

    def identity(self) -> dict[str, Any]:
        """All that its speech depends on besides text, voice and seed, as plain JSON types: name, version, options."""

    def voice_fault(self, voice: Voice, reference: Path) -> tuple[str, str] | None:
        """What was expected of the voice and what was found; None where it can be used."""

    def speak(self, text: str, voice: Voice, reference: Path, seed: int) -> tuple[Samples, int]:
        """The text in the voice: mono float32 of shape (n,), in about [-1, 1], and the sampling rate in Hz.

        Args:
            text: as `normalise` leaves it: words and pauses on one line. Nothing in it is ever markup.
            reference: the voice's recording to clone; not there for voices without one.
            seed: what an engine that draws has to draw from.

        Raises:
            SpeechError: it cannot be said.
        """


@dataclass(frozen=True, slots=True)
class Choice:
    """Which engine, and how.

    Attributes:
        name: one of `ENGINES`.
        language: as espeak-ng or the engine calls it, e.g. `en`.
        timeout: seconds for one recording.
        command: the template of `command`.
        model: what `clone` loads: a language of Pocket TTS or a YAML file; "" for the language's own.
        device: of `clone`, as torch names it.
    """

    name: str
    language: str
    timeout: float
    command: str = ""
    model: str = ""
    device: str = "cpu"

    def load(self) -> Engine:
        """The engine, loaded.

        Raises:
            AudioTasksError: it is not known, not installed or cannot be loaded.
        """
        if self.name == "espeak":
            from lmms_audio_tasks.synthesize.tts.espeak import Espeak

            return Espeak(self.timeout)
        if self.name == "clone":
            from lmms_audio_tasks.synthesize.tts.pocket import PocketTTS

            return PocketTTS(self.model or self.language, self.device, self.timeout)
        if self.name == "command":
            from lmms_audio_tasks.synthesize.tts.command import Command

            return Command(self.command, self.language, self.timeout)
        raise UnknownNameError("engine", self.name, ENGINES)
