"""From a synthesizer's samples to the recording that is written: trimmed, of equal loudness, measured and judged."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import soundfile

from lmms_audio_tasks import audio
from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.synthesize.tts import SpeechError

Samples = npt.NDArray[np.float32]
INSTALL_HINT = 'pip install "lmms-audio-tasks[synthesize]"'
FRAME_SECONDS = 0.02
_FULL_SCALE = 0.999
_LOUDNESS_BLOCK = 0.4
"""Seconds of BS.1770's gating block, below which loudness is not defined."""


@dataclass(frozen=True, slots=True)
class Measures:
    """What was measured of one recording.

    Attributes:
        seconds: duration as written.
        silence: share of 20 ms frames that are silent, in [0, 1].
        pause: the longest silence within the speech, in seconds.
        clipped: share of the synthesizer's samples at full scale.
        loudness: LUFS as written; None where it is too short to have one.
        peak: dBFS as written.
    """

    seconds: float
    silence: float
    pause: float
    clipped: float
    loudness: float | None
    peak: float

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return asdict(self)


def finish(samples: Samples, rate: int, speech: Mapping[str, Any]) -> tuple[bytes, Measures]:
    """A FLAC file (mono, 16 bits) and its measures.

    Args:
        samples: mono float32 of shape (n,), as an engine gives them.
        rate: of the samples, in Hz.
        speech: the section `speech` of the settings.

    Raises:
        SpeechError: no samples, samples that are no numbers, or nothing but silence.
    """
    if not samples.size or not np.isfinite(samples).all():
        raise SpeechError("the recording has no samples" if not samples.size else "the recording has samples like NaN")
    clipped = float(np.mean(np.abs(samples) >= _FULL_SCALE))
    floor = 10 ** (speech["silence_dbfs"] / 20)
    wanted = int(speech["rate"])
    samples, _ = audio.load({"array": samples, "sampling_rate": rate}, wanted)
    loud = _loud_frames(samples, wanted, floor)
    if not loud.any():
        raise SpeechError(f"the recording is silent: nothing in it is above {speech['silence_dbfs']} dBFS")
    samples = _trimmed(samples, wanted, loud, speech["margin_seconds"])
    samples, loudness = _level(samples, wanted, speech)
    inner = loud[np.flatnonzero(loud)[0] : np.flatnonzero(loud)[-1] + 1]
    measures = Measures(
        seconds=round(len(samples) / wanted, 4),
        silence=round(float(np.mean(~inner)), 4),
        pause=round(_longest_run(~inner) * FRAME_SECONDS, 4),
        clipped=round(clipped, 6),
        loudness=None if loudness is None else round(loudness, 2),
        peak=round(20 * float(np.log10(np.abs(samples).max())), 2),
    )
    file = io.BytesIO()
    soundfile.write(file, samples, wanted, format="FLAC", subtype="PCM_16")
    return file.getvalue(), measures


def _loud_frames(samples: Samples, rate: int, floor: float) -> npt.NDArray[np.bool_]:
    """Whether the level (root mean square) of each 20 ms frame is above `floor`."""
    size = max(1, round(FRAME_SECONDS * rate))
    padded = np.pad(samples, (0, -len(samples) % size)).reshape(-1, size)
    return np.sqrt(np.mean(padded.astype(np.float64) ** 2, axis=1)) > floor


def _trimmed(samples: Samples, rate: int, loud: npt.NDArray[np.bool_], margin: float) -> Samples:
    """The speech with `margin` seconds of silence at either end, made where the recording has less."""
    size, places = round(FRAME_SECONDS * rate), np.flatnonzero(loud)
    speech = samples[places[0] * size : (places[-1] + 1) * size]
    return np.pad(speech, round(margin * rate))


def _level(samples: Samples, rate: int, speech: Mapping[str, Any]) -> tuple[Samples, float | None]:
    """The samples at the wanted loudness, or as near as the peak allows, and their loudness in LUFS then."""
    ceiling = 10 ** (speech["peak_dbfs"] / 20)
    highest = float(np.abs(samples).max())
    loudness = _loudness(samples, rate)
    gain = ceiling / highest
    if loudness is not None:
        gain = min(gain, 10 ** ((speech["loudness_lufs"] - loudness) / 20))
        loudness += 20 * float(np.log10(gain))
    return samples * np.float32(gain), loudness


def require() -> None:
    """Raise `AudioTasksError` where the package that measures loudness is not installed."""
    if importlib.util.find_spec("pyloudnorm") is None:
        raise AudioTasksError(f"pyloudnorm is not installed, which measures loudness: {INSTALL_HINT}")


def _loudness(samples: Samples, rate: int) -> float | None:
    """Integrated loudness by ITU-R BS.1770-4 in LUFS; None where all of it is gated out or too short."""
    import pyloudnorm

    if len(samples) < _LOUDNESS_BLOCK * rate + 1:
        return None
    found = float(pyloudnorm.Meter(rate).integrated_loudness(samples.astype(np.float64)))
    return found if np.isfinite(found) else None


def _longest_run(flags: npt.NDArray[np.bool_]) -> int:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return int((edges[1::2] - edges[::2]).max()) if edges.size else 0


def verdict(measures: Mapping[str, Any], words: int, limits: Mapping[str, Any]) -> str:
    """Why a recording is not good enough, "" where it is.

    Args:
        measures: as `Measures.to_dict` gives them.
        words: how many are said in it, at least one.
        limits: the section `quality` of the settings.
    """
    seconds, per_word = measures["seconds"], measures["seconds"] / words
    checks = (
        (seconds < limits["min_seconds"], f"{seconds:.2f} s, shorter than {limits['min_seconds']}"),
        (seconds > limits["max_seconds"], f"{seconds:.1f} s, longer than {limits['max_seconds']}"),
        (
            per_word < limits["min_seconds_per_word"],
            f"{per_word:.2f} s a word, less than {limits['min_seconds_per_word']}: words are missing",
        ),
        (
            per_word > limits["max_seconds_per_word"],
            f"{per_word:.2f} s a word, more than {limits['max_seconds_per_word']}",
        ),
        (
            measures["silence"] > limits["max_silence_share"],
            f"{measures['silence']:.0%} silence, more than {limits['max_silence_share']:.0%}",
        ),
        (
            measures["pause"] > limits["max_pause_seconds"],
            f"a pause of {measures['pause']:.1f} s, longer than {limits['max_pause_seconds']}",
        ),
        (
            measures["clipped"] > limits["max_clipped_share"],
            f"{measures['clipped']:.2%} of samples clipped, more than {limits['max_clipped_share']:.2%}",
        ),
    )
    return "; ".join(told for fails, told in checks if fails)
