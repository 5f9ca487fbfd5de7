"""Decoding and resampling to 16 kHz: `audio.load` against `librosa.load(path, sr=16000)`, and peak memory.

Run `python benchmarks/audio.py`. Clips (pulses in noise, 44.1 kHz) are made on the spot. Both sides read the same files
in turn, both resample with soxr's HQ, and the largest difference between their samples is printed. The column "decode"
is `soundfile.read` alone: both sides decode with libsndfile, so FLAC and MP3 cannot be had for less.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import soundfile as sf

from lmms_audio_tasks import audio

RATE = 44100
KINDS = ("wav", "flac", "mp3")


def make_clip(rng: np.random.Generator, seconds: float, channels: int) -> np.ndarray:
    """Pulses of a gliding pitch, on for some 60 % of the time, over a little noise; float32 (n, channels)."""
    time_s = np.arange(int(RATE * seconds)) / RATE
    pitch = rng.uniform(90, 240) * (1 + 0.2 * np.sin(2 * np.pi * 0.7 * time_s))
    voice = np.tanh(4 * np.sin(2 * np.pi * np.cumsum(pitch) / RATE)) * (np.sin(2 * np.pi * 2.3 * time_s) > -0.3)
    noise = 0.01 * rng.standard_normal((len(time_s), channels))
    return (0.3 * voice[:, None] * rng.uniform(0.5, 1, channels) + noise).astype(np.float32)


def make_files(folder: Path, clips: int, seconds: float, channels: int) -> dict[str, list[Path]]:
    rng = np.random.default_rng(0)
    files: dict[str, list[Path]] = {kind: [folder / f"{channels}_{i}.{kind}" for i in range(clips)] for kind in KINDS}
    for i in range(clips):
        clip = make_clip(rng, seconds, channels)
        for kind in KINDS:
            sf.write(files[kind][i], clip, RATE)
    return files


def seconds_for(function: Callable[[Path], object], path: Path) -> float:
    start = time.perf_counter()
    function(path)
    return time.perf_counter() - start


def compare(paths: list[Path], rounds: int) -> tuple[float, float, float, float]:
    """Mean ms a clip of decode, load and librosa (each clip's best round), and the largest difference of samples."""
    import librosa

    sides: list[Callable[[Path], object]] = [
        lambda path: sf.read(path, dtype="float32"),
        lambda path: audio.load(path, 16000),
        lambda path: librosa.load(path, sr=16000),
    ]
    best = np.full((3, len(paths)), np.inf)
    worst = 0.0
    for at, path in enumerate(paths):
        worst = max(worst, float(np.abs(audio.load(path, 16000)[0] - librosa.load(path, sr=16000)[0]).max()))
        for _ in range(rounds):
            for row, side in enumerate(sides):  # in turn, so that a busy moment of the machine hits all of them
                best[row, at] = min(best[row, at], seconds_for(side, path))
    decode, ours, theirs = best.mean(axis=1) * 1e3
    return decode, ours, theirs, worst


def peak_mib(paths: list[Path]) -> tuple[float, float]:
    """Peak memory of this (fresh) process before and after loading every path, in MiB; Linux only."""

    def peak() -> float:
        # Not getrusage: its peak is inherited from the parent.
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 2**10

    before = peak()
    for path in paths:
        audio.load(path, 16000)
    return before, peak()


def in_fresh_process(paths: list[Path]) -> tuple[float, float]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(peak_mib, paths).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clips", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = {channels: make_files(Path(folder), args.clips, args.seconds, channels) for channels in (1, 2)}
        print(f"{args.clips} clips of {args.seconds:g} s at 44.1 kHz to 16 kHz mono, best of {args.rounds}, ms a clip")
        print(f"{'input':<12}{'decode':>8}{'load':>8}{'librosa':>9}{'ratio':>7}{'largest difference':>21}")
        for channels, name in ((2, "stereo"), (1, "mono")):
            for kind in KINDS:
                decode, ours, theirs, worst = compare(files[channels][kind], args.rounds)
                label = f"{kind} {name}"
                print(f"{label:<12}{decode:8.2f}{ours:8.2f}{theirs:9.2f}{theirs / ours:7.2f}{worst:21.1e}")
        if sys.platform != "linux":
            return
        print("\npeak memory of a fresh process, MiB")
        for count in (1, max(1, args.clips // 6), args.clips):
            before, after = in_fresh_process(files[2]["wav"][:count])
            print(f"{count:4d} clips: {before:6.1f} after imports, {after:6.1f} after loading (+{after - before:.1f})")


if __name__ == "__main__":
    main()
