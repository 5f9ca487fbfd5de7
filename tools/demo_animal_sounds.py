"""Caricatures of nine animal calls, by additive synthesis in numpy alone.

A call is made the way a throat makes it: a source (a stack of harmonics on a gliding pitch, noise, or single pulses)
under an envelope of resonances that glides too. Nothing is sampled from a recording, so nothing but this file decides
what a call sounds like. The figures were set by trial, by spectrogram; they follow no published model.

Every public function takes a seeded `numpy.random.Generator` and returns mono float64 at `SAMPLE_RATE`, in arbitrary
units: the caller sets the level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE = 44_100
_HIGHEST = 11_000.0  # Hz; no partial above it, so that nothing folds back and the files stay small

Signal = NDArray[np.float64]
Curve = Sequence[tuple[float, float]]  # (share of the duration, value) points, joined by straight lines
Formant = tuple[Curve, float, float]  # centre in Hz over time, bandwidth in Hz, gain


def _samples(seconds: float) -> int:
    return round(seconds * SAMPLE_RATE)


def _curve(points: Curve, seconds: float) -> Signal:
    """The points as one value a sample."""
    at, values = zip(*points, strict=True)
    return np.interp(np.linspace(0.0, 1.0, _samples(seconds)), at, values)


def _wander(seconds: float, rate: float, rng: np.random.Generator) -> Signal:
    """A slow random curve in -1..1 with `rate` turning points a second: what keeps a pitch from sounding electric."""
    knots = rng.uniform(-1.0, 1.0, max(2, round(seconds * rate) + 1))
    return np.interp(np.linspace(0.0, len(knots) - 1.0, _samples(seconds)), np.arange(len(knots)), knots)


def _resonance(frequency: Signal, formants: Sequence[Formant], seconds: float) -> Signal:
    """Gain at `frequency` (one value a sample) under the gliding formants."""
    gain = np.full(len(frequency), 0.01)
    for centre, width, height in formants:
        gain += height / (1.0 + ((frequency - _curve(centre, seconds)) / (width / 2.0)) ** 2)
    return gain


def _voiced(pitch: Signal, formants: Sequence[Formant], tilt: float = 0.5) -> Signal:
    """Harmonics of `pitch` (Hz, one value a sample), weakened as 1 / k**tilt and shaped by the formants."""
    seconds = len(pitch) / SAMPLE_RATE
    phase = 2.0 * np.pi * np.cumsum(pitch) / SAMPLE_RATE
    out = np.zeros(len(pitch))
    for k in range(1, int(_HIGHEST / pitch.min()) + 1):
        audible = np.clip((_HIGHEST - k * pitch) / 500.0, 0.0, 1.0)
        out += audible * _resonance(k * pitch, formants, seconds) * np.sin(k * phase) / k**tilt
    return out


def _noise(seconds: float, low: float, high: float, rng: np.random.Generator) -> Signal:
    """White noise kept to low..high Hz, at unit RMS."""
    spectrum = np.fft.rfft(rng.standard_normal(_samples(seconds)))
    frequency = np.fft.rfftfreq(_samples(seconds), 1.0 / SAMPLE_RATE)
    spectrum[(frequency < low) | (frequency > high)] = 0.0
    band = np.fft.irfft(spectrum, _samples(seconds))
    return band / np.sqrt(np.mean(band**2))


def _unit(signal: Signal) -> Signal:
    return signal / np.abs(signal).max()


def _sequence(calls: Sequence[tuple[float, Signal]], tail: float = 0.1) -> Signal:
    """The calls one after the other, each after its pause in seconds, with `tail` seconds of silence at the end."""
    parts = [part for pause, call in calls for part in (np.zeros(_samples(pause)), call)]
    return np.concatenate([*parts, np.zeros(_samples(tail))])


def _bark(size: float, rng: np.random.Generator) -> Signal:
    seconds = 0.14 * size
    pitch = _curve([(0, 420), (0.2, 640), (1, 330)], seconds) / size * (1 + 0.08 * _wander(seconds, 180, rng))
    throat: list[Formant] = [
        ([(0, 840), (0.3, 1400), (1, 770)], 320, 1.0),
        ([(0, 1750), (0.3, 2500), (1, 1650)], 500, 0.5),
    ]
    body = _unit(_voiced(pitch, throat)) + 0.08 * _noise(seconds, 500, 4500, rng)
    return body * _curve([(0, 0), (0.06, 1), (0.4, 0.75), (1, 0)], seconds)


def dog(rng: np.random.Generator, size: float = 1.0) -> Signal:
    """Four barks, the formants rising and falling as the jaw opens and shuts; `size` 1 is a small dog, 2 a big one."""
    pauses = (0.1, 0.24, 0.42, 0.22)
    return _sequence([(pause, _bark(size * rng.uniform(0.94, 1.06), rng)) for pause in pauses])


def _meow(seconds: float, pitch: float, rng: np.random.Generator) -> Signal:
    glide = pitch * _curve([(0, 0.8), (0.25, 1.12), (0.6, 1.08), (1, 0.74)], seconds)
    mouth: list[Formant] = [
        ([(0, 720), (0.35, 1500), (0.7, 1350), (1, 720)], 500, 1.0),
        ([(0, 2700), (0.35, 2400), (1, 1300)], 500, 0.7),
        ([(0, 4200), (1, 3800)], 700, 0.35),
    ]
    call = _unit(_voiced(glide * (1 + 0.012 * _wander(seconds, 30, rng)), mouth))
    return call * _curve([(0, 0), (0.12, 0.6), (0.4, 1), (0.75, 0.6), (1, 0)], seconds)


def cat(rng: np.random.Generator, pitch: float = 700.0) -> Signal:
    """Two meows: from a closed to an open and back to a rounded mouth, the pitch rising and then falling."""
    return _sequence([(0.1, _meow(0.75, pitch, rng)), (0.35, _meow(0.95, pitch * 0.94, rng))])


def cow(rng: np.random.Generator, pitch: float = 128.0) -> Signal:
    """One long moo: a low pitch, a hum that opens and closes again."""
    seconds = 1.9
    glide = pitch * _curve([(0, 0.8), (0.25, 1.12), (0.75, 1.2), (1, 0.85)], seconds)
    mouth: list[Formant] = [
        ([(0, 230), (0.3, 480), (0.8, 520), (1, 300)], 160, 1.0),
        ([(0, 700), (0.35, 1000), (0.8, 980), (1, 700)], 240, 0.5),
        ([(0, 2200), (1, 2200)], 500, 0.08),
    ]
    call = _unit(_voiced(glide * (1 + 0.015 * _wander(seconds, 40, rng)), mouth, tilt=0.3))
    return _sequence([(0.1, call * _curve([(0, 0), (0.15, 0.55), (0.4, 1), (0.8, 0.9), (1, 0)], seconds))])


def _bleat(seconds: float, pitch: float, rng: np.random.Generator) -> Signal:
    time = np.arange(_samples(seconds)) / SAMPLE_RATE
    # The shake is the whole sheep: some 9 beats a second in loudness, fewer parts of a tone in pitch.
    shake = np.sin(2 * np.pi * np.cumsum(8.5 + 1.5 * _wander(seconds, 6, rng)) / SAMPLE_RATE)
    glide = pitch * _curve([(0, 0.95), (0.2, 1.05), (1, 0.85)], seconds) * (1 + 0.035 * shake)
    mouth: list[Formant] = [
        ([(0, 350), (0.12, 850), (1, 750)], 260, 1.0),
        ([(0, 1200), (0.12, 1750), (1, 1650)], 350, 0.7),
        ([(0, 2700), (1, 2800)], 500, 0.4),
    ]
    call = _unit(_voiced(glide, mouth, tilt=0.3)) * (0.62 + 0.38 * shake) + 0.02 * _noise(seconds, 1000, 5000, rng)
    return call[: len(time)] * _curve([(0, 0), (0.08, 0.9), (0.3, 1), (0.8, 0.7), (1, 0)], seconds)


def sheep(rng: np.random.Generator, pitch: float = 235.0) -> Signal:
    """Two bleats, shaking in loudness and pitch."""
    return _sequence([(0.1, _bleat(1.0, pitch, rng)), (0.3, _bleat(0.8, pitch * 1.05, rng))])


def _pulses(times: Signal, ring: float, decay: float, seconds: float) -> Signal:
    """A damped sine of `ring` Hz and `decay` seconds at each of the `times`."""
    grain_time = np.arange(_samples(6 * decay)) / SAMPLE_RATE
    grain = np.sin(2 * np.pi * ring * grain_time) * np.exp(-grain_time / decay)
    out = np.zeros(_samples(seconds) + len(grain))
    for start in (times * SAMPLE_RATE).astype(int):
        out[start : start + len(grain)] += grain
    return out[: _samples(seconds)]


def _croak(ring: float, rate: float, seconds: float, rng: np.random.Generator) -> Signal:
    """`rate` unevenly spaced pulses a second, each ringing at `ring` Hz and, more weakly, well above it."""
    times = np.arange(0.0, seconds, 1 / rate)
    times += 0.3 / rate * rng.uniform(size=len(times))
    pulses = _pulses(times, ring, 0.004, seconds) + 0.5 * _pulses(times, 2.6 * ring, 0.003, seconds)
    return pulses * _curve([(0, 0.4), (0.65, 1), (1, 0)], seconds)


def _ribbit(ring: float, rng: np.random.Generator) -> Signal:
    return np.concatenate([_croak(ring, 62, 0.16, rng), np.zeros(_samples(0.03)), _croak(1.45 * ring, 60, 0.2, rng)])


def frog(rng: np.random.Generator, ring: float = 820.0) -> Signal:
    """Four two-part croaks: trains of damped pulses, the second part higher than the first."""
    return _sequence([(0.12, _ribbit(ring * rng.uniform(0.97, 1.03), rng)) for _ in range(4)])


def _breath(seconds: float, formants: Sequence[Formant], rng: np.random.Generator) -> Signal:
    """Breath through a snout: a crowd of unsteady partials at random phases under the gliding formants."""
    time = np.arange(_samples(seconds)) / SAMPLE_RATE
    out = np.zeros(len(time))
    for frequency in np.arange(120.0, 6000.0, 37.0):
        gain = _resonance(np.full(len(time), frequency), formants, seconds) * (1 + 0.8 * _wander(seconds, 60, rng))
        out += gain * np.sin(2 * np.pi * (frequency * time + rng.uniform()))
    return _unit(out)


def _grunt(seconds: float, rng: np.random.Generator) -> Signal:
    pitch = _curve([(0, 60), (0.4, 84), (1, 49)], seconds) * (1 + 0.3 * _wander(seconds, 120, rng))
    snout: list[Formant] = [
        ([(0, 350), (0.4, 600), (1, 300)], 260, 1.0),
        ([(0, 1100), (0.4, 1600), (1, 1000)], 450, 0.6),
        ([(0, 2600), (1, 2600)], 900, 0.25),
    ]
    beats = 0.55 + 0.45 * np.sin(2 * np.pi * np.cumsum(pitch) / SAMPLE_RATE)
    snort = 0.3 * _unit(_voiced(pitch, snout, tilt=0.1)) + 0.8 * beats * _breath(seconds, snout, rng)
    return snort * _curve([(0, 0), (0.15, 1), (0.6, 0.8), (1, 0)], seconds)


def pig(rng: np.random.Generator) -> Signal:
    """Grunts of uneven length: breath that pulses along with a very low and very unsteady pitch."""
    return _sequence([(rng.uniform(0.16, 0.28), _grunt(length, rng)) for length in (0.3, 0.26, 0.58, 0.4)])


def _beak(pitch: Signal, rng: np.random.Generator, breath: float) -> Signal:
    """A bird's voice: two fixed resonances and some breath."""
    beak: list[Formant] = [([(0, 1100), (1, 1100)], 600, 1.0), ([(0, 2700), (1, 2700)], 900, 0.6)]
    seconds = len(pitch) / SAMPLE_RATE
    return _unit(_voiced(pitch, beak, tilt=0.3)) + breath * _noise(seconds, 800, 5000, rng)


def _cluck(seconds: float, pitch: Curve, rng: np.random.Generator) -> Signal:
    glide = _curve(pitch, seconds) * (1 + 0.03 * _wander(seconds, 120, rng))
    return _beak(glide, rng, 0.08) * _curve([(0, 0), (0.15, 1), (0.5, 0.6), (1, 0)], seconds)


def hen(rng: np.random.Generator) -> Signal:
    """Short falling clucks, closer and closer, and then the long rising cackle: bok bok bok bok bok-gawk."""
    short: Curve = [(0, 520), (0.3, 640), (1, 380)]
    calls = [(pause, _cluck(0.075, short, rng)) for pause in (0.1, 0.26, 0.2, 0.24, 0.16, 0.12)]
    cackle = _cluck(0.42, [(0, 520), (0.3, 900), (0.6, 1020), (1, 640)], rng)
    return _sequence([*calls, (0.05, cackle), (0.3, _cluck(0.08, short, rng)), (0.2, _cluck(0.08, short, rng))])


def rooster(rng: np.random.Generator) -> Signal:
    """Cock-a-doodle-doo: three short notes going up and one long note that falls away."""
    notes: Sequence[tuple[float, float, Curve]] = (
        (0.1, 0.2, [(0, 480), (0.5, 640), (1, 600)]),
        (0.04, 0.13, [(0, 700), (1, 740)]),
        (0.03, 0.28, [(0, 720), (0.5, 900), (1, 860)]),
        (0.02, 1.15, [(0, 860), (0.15, 1000), (0.55, 930), (1, 560)]),
    )
    calls = []
    for pause, seconds, points in notes:
        pitch = _curve(points, seconds) * (1 + 0.04 * _wander(seconds, 60, rng))
        shape = _curve([(0, 0), (0.1, 1), (0.7, 0.85), (1, 0)], seconds)
        calls.append((pause, _beak(pitch, rng, 0.05) * shape))
    return _sequence(calls)


def _caw(seconds: float, rng: np.random.Generator) -> Signal:
    # The rasp: a pitch that jumps at random some hundreds of times a second.
    pitch = _curve([(0, 430), (0.2, 520), (1, 400)], seconds) * (1 + 0.14 * _wander(seconds, 420, rng))
    beak: list[Formant] = [
        ([(0, 1150), (0.25, 1500), (1, 1250)], 500, 1.0),
        ([(0, 2600), (1, 2400)], 800, 0.5),
    ]
    call = _unit(_voiced(pitch, beak, tilt=0.2)) + 0.15 * _noise(seconds, 900, 5500, rng)
    return call * _curve([(0, 0), (0.1, 1), (0.7, 0.8), (1, 0)], seconds)


def crow(rng: np.random.Generator) -> Signal:
    """Three hoarse caws."""
    return _sequence([(pause, _caw(0.36, rng)) for pause in (0.1, 0.28, 0.28)])


def outdoors(signal: Signal, rng: np.random.Generator) -> Signal:
    """The signal at a peak of 1 over a faint air noise: silence of exact zeros sounds like a broken recording."""
    return _unit(signal) + 0.001 * _noise(len(signal) / SAMPLE_RATE, 50.0, 4500.0, rng)


ANIMALS: dict[str, Callable[..., Signal]] = {
    "dog": dog,
    "cat": cat,
    "frog": frog,
    "cow": cow,
    "sheep": sheep,
    "pig": pig,
    "hen": hen,
    "rooster": rooster,
    "crow": crow,
}
