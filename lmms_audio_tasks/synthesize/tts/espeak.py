"""espeak-ng: a formant synthesizer with many languages and a few accents of English. No person's voice, no network.

Written against espeak-ng 1.51 (Debian). Its voices are understood, but less well than recorded or cloned ones; they
serve to test a pipeline, not to rank models.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.synthesize.tts import Samples, SpeechError, programs
from lmms_audio_tasks.synthesize.voices import Voice

INSTALL_HINT = "install it (apt install espeak-ng), or choose another --engine"


class Espeak:
    """The program `espeak-ng`; `timeout` is in seconds for one text."""

    draws = False

    def __init__(self, timeout: float) -> None:
        program = shutil.which("espeak-ng")
        if program is None:
            raise AudioTasksError(f"espeak-ng is not installed: {INSTALL_HINT}")
        self._program = program
        self._timeout = timeout
        told = programs.run([program, "--version"], timeout)
        # The folder of its data differs between machines, its speech does not.
        self._version = told.partition("Data at:")[0].strip()
        self._variants: frozenset[str] | None = None

    def identity(self) -> dict[str, Any]:
        """Name and version."""
        return {"engine": "espeak", "version": self._version}

    def voice_fault(self, voice: Voice, reference: Path) -> tuple[str, str] | None:
        """A voice that espeak-ng does not have; of a variant it does not have it would say nothing."""
        name, _, variant = voice.engine_voice.partition("+")
        expected = "a voice of espeak-ng (espeak-ng --voices lists them)"
        if not name:
            return expected, "an empty engine_voice"
        if variant and variant not in self._known_variants():
            return "a variant of espeak-ng (espeak-ng --voices=variant lists them)", repr(variant)
        try:
            programs.run([self._program, "-q", "-v", voice.engine_voice, "a"], self._timeout)
        except SpeechError as error:
            return expected, f"{voice.engine_voice!r} ({error})"
        return None

    def speak(self, text: str, voice: Voice, reference: Path, seed: int) -> tuple[Samples, int]:
        """See `Engine.speak`; the seed is without effect."""
        # espeak-ng takes [[...]] for phonemes, whatever its options.
        text = text.replace("[", " ").replace("]", " ")
        with tempfile.TemporaryDirectory() as folder:
            written, wav = Path(folder) / "text.txt", Path(folder) / "speech.wav"
            written.write_text(text, "utf-8")
            words = [self._program, "-b", "1", "-f", str(written), "-w", str(wav), "-v", voice.engine_voice]
            words += ["-p", voice.pitch] if voice.pitch else []
            words += ["-s", voice.pace] if voice.pace else []
            programs.run(words, self._timeout)
            return programs.decoded(wav, "espeak-ng")

    def _known_variants(self) -> frozenset[str]:
        if self._variants is None:
            try:
                printed = subprocess.run(
                    [self._program, "--voices=variant"], capture_output=True, text=True, timeout=60, check=False
                ).stdout
            except (OSError, subprocess.TimeoutExpired) as error:
                raise AudioTasksError(f"espeak-ng does not list its variants: {error}") from error
            self._variants = frozenset(re.findall(r"!v/(.+?)\s*$", printed, re.MULTILINE))
        return self._variants
