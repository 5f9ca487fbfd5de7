"""Voice cloning with Pocket TTS (Kyutai; MIT): speaks as a short reference recording does, also without a GPU.

Written against pocket-tts 4.0 from PyPI. Its weights come from the hub at the first use; those that clone ask for
consent there (`hf auth login`). Imported only when asked for.
"""

from __future__ import annotations

import signal
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from lmms_audio_tasks import audio
from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.synthesize.tts import Samples, SpeechError
from lmms_audio_tasks.synthesize.voices import Voice

INSTALL_HINT = 'pip install "lmms-audio-tasks[clone]"'
CONSENT = "accept the terms of kyutai/pocket-tts on the hub, then `hf auth login`"
LANGUAGES = {
    "en": "english",
    "fr": "french",
    "de": "german",
    "it": "italian",
    "pt": "portuguese",
    "es": "spanish",
    "nl": "dutch",
}
MAX_REFERENCE_SECONDS = 30
_KEPT_STATES = 8
"""Voices held ready; each takes some megabytes."""


class PocketTTS:
    """A loaded model.

    Args:
        model: a language (`en`), a model of the package (`french_24l`) or a YAML file of one.
        device: as torch names it.
        timeout: seconds for one text.

    Raises:
        AudioTasksError: the package is not installed, or the model cannot be loaded.
    """

    draws = True

    def __init__(self, model: str, device: str, timeout: float) -> None:
        try:
            import torch
            from pocket_tts import TTSModel
        except ImportError as error:
            raise AudioTasksError(f"--engine clone: pocket-tts cannot be imported ({error}): {INSTALL_HINT}") from error
        self._torch = torch
        self._name = LANGUAGES.get(model.partition("-")[0].lower(), model)
        how = {"config": self._name} if self._name.endswith((".yaml", ".yml")) else {"language": self._name}
        try:
            self._model = TTSModel.load_model(**how).to(device)
        # AssertionError: torch without CUDA, asked for it.
        except (OSError, ValueError, RuntimeError, AssertionError) as error:
            raise AudioTasksError(f"--engine clone: {self._name!r} cannot be loaded: {_line(error)}") from error
        if not getattr(self._model, "has_voice_cloning", True):
            # The package falls back to weights that cannot clone, and would take a recording all the same.
            told = f"only weights of {self._name!r} that cannot clone are here"
            raise AudioTasksError(f"--engine clone: {told}: {CONSENT}")
        # Else frames are decoded in groups that depend on timing, which changes the last bits.
        self._model.max_decoder_frames_per_call = 1
        self._device = device
        self._timeout = timeout
        self._states: OrderedDict[Path, Any] = OrderedDict()

    def identity(self) -> dict[str, Any]:
        """The package's version, which pins the weights of its own models, and the model."""
        try:
            told = version("pocket-tts")
        except PackageNotFoundError:
            told = "unknown"
        kind = self._torch.device(self._device).type
        # Processors differ in the last bits, so their recordings are not the same.
        return {"engine": "clone", "package": f"pocket-tts {told}", "model": self._name, "device": kind}

    def voice_fault(self, voice: Voice, reference: Path) -> tuple[str, str] | None:
        """A reference recording that is not there, cannot be decoded, or is longer than the model takes."""
        if not voice.reference:
            return "a reference recording to clone", "none"
        try:
            found = audio.probe(str(reference))
        except audio.AudioError as error:
            return "a reference recording to clone", str(error)
        if found.duration > MAX_REFERENCE_SECONDS:
            return f"a reference of at most {MAX_REFERENCE_SECONDS} s", f"one of {found.duration:.1f} s"
        return None

    def speak(self, text: str, voice: Voice, reference: Path, seed: int) -> tuple[Samples, int]:
        """See `Engine.speak`."""
        try:
            with _time_limit(self._timeout):
                state = self._state(reference)
                self._torch.manual_seed(seed % 2**63)
                speech = self._model.generate_audio(state, text)
        except (RuntimeError, ValueError, OSError) as error:
            raise SpeechError(f"pocket-tts: {_line(error)}") from error
        samples = np.asarray(speech.detach().cpu().numpy(), dtype=np.float32).reshape(-1)
        if not samples.size:
            raise SpeechError("pocket-tts gave no samples")
        return samples, int(self._model.sample_rate)

    def _state(self, reference: Path) -> Any:
        """What the model needs to speak as the reference does; the last few are kept."""
        if reference not in self._states:
            # Decoded here: the package reads fewer formats, and does not notice a file that is cut.
            samples, _ = audio.load(str(reference), int(self._model.sample_rate))
            self._states[reference] = self._model.get_state_for_audio_prompt(self._torch.from_numpy(samples[None]))
            while len(self._states) > _KEPT_STATES:
                self._states.popitem(last=False)
        self._states.move_to_end(reference)
        return self._states[reference]


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise `SpeechError` after so long, where the system and the thread allow it: in a worker's main thread."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise SpeechError(f"pocket-tts took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
