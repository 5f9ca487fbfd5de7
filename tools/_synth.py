"""What the demo sets are made of: speech by espeak-ng, tones, FLAC files. Shared by the `make_demo_*.py` tools."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from lmms_audio_tasks.errors import AudioTasksError

ESPEAK_VERSION = "1.51"  # of the committed audio
SPEED, PITCH, RANGE = 155, 50, "medium"  # of speech that does not say otherwise
QUIET = 1e-3  # of full scale; what is below at either end of espeak-ng's output is cut
MARGIN_S = 0.1  # and so much is left there
FADE_S = 0.01  # at either end of a tone

Signal = NDArray[np.float64]


def run(make: Callable[[], Iterable[str]]) -> int:
    """Make a demo set and print what `make` yields; 0 when it is written, 1 with one line on stderr if it cannot be."""
    try:
        require_espeak()  # before anything is written
        for line in make():
            print(line)
    except (AudioTasksError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def require_espeak() -> str:
    """Path of the espeak-ng program.

    Raises:
        AudioTasksError: it is not installed.
    """
    program = shutil.which("espeak-ng")
    if program is None:
        raise AudioTasksError("espeak-ng is not installed: the demo speech needs it (apt install espeak-ng)")
    return program


def espeak_version() -> str | None:
    """Version of the installed espeak-ng, such as "1.51"; None where there is none."""
    if shutil.which("espeak-ng") is None:
        return None
    said = subprocess.run(["espeak-ng", "--version"], capture_output=True, text=True, check=True).stdout
    return said.partition(":")[2].split()[0]


def speak(speech: dict[str, Any]) -> tuple[Signal, int]:
    """The spoken text, mono, silence at the ends cut, and its sampling rate.

    Args:
        speech: `text` and `voice`; if wanted `speed` (words a minute), `pitch` (0 to 99) and `range`, as espeak-ng has
            them.

    Raises:
        AudioTasksError: espeak-ng is missing, or refuses the voice.
    """
    text = f'<speak><prosody range="{speech.get("range", RANGE)}">{escape(speech["text"])}</prosody></speak>'
    signal, rate = espeak(text, speech["voice"], speech.get("speed", SPEED), speech.get("pitch", PITCH), "-m")
    return trim(signal, rate), rate


def espeak(text: str, voice: str, speed: int, pitch: int, *options: str) -> tuple[Signal, int]:
    """What espeak-ng makes of `text`, and its sampling rate; `options` are further ones of its command line."""
    with tempfile.TemporaryDirectory() as folder:
        wav = Path(folder) / "speech.wav"
        command = [
            require_espeak(),
            *options,
            "--stdin",
            "-w",
            str(wav),
            "-v",
            voice,
            "-s",
            str(speed),
            "-p",
            str(pitch),
        ]
        done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
        if done.returncode != 0 or not wav.exists():
            raise AudioTasksError(f"espeak-ng cannot say {text!r} as {voice}: {done.stderr!r}")
        return soundfile.read(wav)


def trim(signal: Signal, rate: int, margin_s: float = MARGIN_S) -> Signal:
    """The signal without the silence before and after it, but for a short margin."""
    loud = np.flatnonzero(np.abs(signal) > QUIET)
    margin = np.zeros(round(margin_s * rate))
    return np.concatenate([margin, signal[loud[0] : loud[-1] + 1], margin])


def tones(hertz: Sequence[float], seconds: float, rate: int, gap: float = 0.0) -> Signal:
    """Tones of equal length one after the other, with `gap` seconds of silence between them."""
    time = np.arange(round(seconds * rate)) / rate
    fade = np.minimum(1.0, np.minimum(time, time[::-1]) / FADE_S)
    silence = np.zeros(round(gap * rate))
    parts = [part for pitch in hertz for part in (fade * np.sin(2 * np.pi * pitch * time), silence)]
    return np.concatenate(parts[:-1])


def at_level(signal: Signal, rate: int, wanted: int, decibels: float) -> Signal:
    """The signal at another sampling rate, its peak at `decibels` below full scale."""
    signal = soxr.resample(signal, rate, wanted) if rate != wanted else signal
    return signal * 10 ** (decibels / 20) / np.abs(signal).max()


def write_flac(path: Path, signal: Signal, rate: int, steps: int = 2**15) -> None:
    """Write a mono FLAC file of 16 bits.

    Args:
        steps: a side; fewer than 2**15 make a smaller file, as FLAC leaves the unused bits out.
    """
    soundfile.write(path, np.round(signal * steps) / steps, rate, subtype="PCM_16", format="FLAC")
