"""Everyday sounds by synthesis in numpy alone, for the ART demo set: simple, short, and easy to tell apart.

Every public function takes a seeded `numpy.random.Generator` and returns mono float64 at `SAMPLE_RATE`, its peak at 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE = 16_000

Signal = NDArray[np.float64]


def _time(seconds: float) -> Signal:
    return np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE


def _unit(signal: Signal) -> Signal:
    return signal / np.abs(signal).max()


def _fade(signal: Signal, seconds: float = 0.01) -> Signal:
    """The signal with its ends faded, so that it does not click."""
    ramp = np.minimum(1.0, np.arange(len(signal)) / (seconds * SAMPLE_RATE))
    return signal * ramp * ramp[::-1]


def bell(rng: np.random.Generator) -> Signal:
    """A struck bell: five partials, not in tune with each other, the higher ones dying first."""
    time = _time(0.6)
    partials = ((1.0, 1.0, 0.22), (2.0, 0.6, 0.18), (2.41, 0.5, 0.14), (3.0, 0.35, 0.11), (4.53, 0.25, 0.07))
    ring = sum(
        level * np.sin(2 * np.pi * 660 * ratio * time) * np.exp(-time / decay) for ratio, level, decay in partials
    )
    return _fade(_unit(np.asarray(ring)), 0.002)


def knock(rng: np.random.Generator) -> Signal:
    """One knock on wood: a low thump and a short burst of noise."""
    time = _time(0.18)
    thump = np.sin(2 * np.pi * 170 * time) * np.exp(-time / 0.03)
    return _fade(_unit(thump + 0.5 * rng.standard_normal(len(time)) * np.exp(-time / 0.006)), 0.001)


def beep(rng: np.random.Generator) -> Signal:
    """A plain tone, as of an alarm clock."""
    return _fade(np.sin(2 * np.pi * 1000 * _time(0.16)))


def horn(rng: np.random.Generator) -> Signal:
    """A car's horn: two reedy tones a third apart."""
    time = _time(0.7)
    tones = [np.sin(2 * np.pi * pitch * k * time) / k for pitch in (400.0, 500.0) for k in range(1, 8)]
    return _fade(_unit(np.sum(tones, axis=0)), 0.03)


def rain(rng: np.random.Generator, seconds: float = 1.2) -> Signal:
    """Rain: hiss above 1 kHz, and drops, each a short tick of its own pitch."""
    time = _time(seconds)
    spectrum = np.fft.rfft(rng.standard_normal(len(time)))
    spectrum[np.fft.rfftfreq(len(time), 1 / SAMPLE_RATE) < 1000.0] = 0.0
    out = 0.12 * np.fft.irfft(spectrum, len(time))
    for start in rng.integers(0, len(time) - 200, round(60 * seconds)):
        tick = _time(200 / SAMPLE_RATE)
        out[start : start + 200] += (
            rng.uniform(0.2, 0.7) * np.sin(2 * np.pi * rng.uniform(2000, 6000) * tick) * np.exp(-tick / 0.002)
        )
    return _fade(_unit(out), 0.05)


def tune(rng: np.random.Generator) -> Signal:
    """Four plucked notes going up, so that it sounds otherwise backwards."""
    time = _time(0.22)
    notes = [np.sin(2 * np.pi * pitch * time) * np.exp(-time / 0.08) for pitch in (392.0, 494.0, 587.0, 784.0)]
    return _unit(np.concatenate([_fade(note, 0.003) for note in notes]))


SOUNDS: dict[str, Callable[..., Signal]] = {
    "bell": bell,
    "knock": knock,
    "beep": beep,
    "horn": horn,
    "rain": rain,
    "tune": tune,
}
