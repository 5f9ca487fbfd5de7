"""Small data sets made on the spot, and the real slice where it lies beside the checkout."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from hypothesis import HealthCheck, settings

# What whoever runs the tests has set for other runs: data, a judge, a key, a proxy that cannot reach our own servers.
for _name in list(os.environ):
    if _name == "LMMS_AUDIO_TASKS_CACHE":
        continue
    if _name.startswith(("LMMS_AUDIO_", "OPENAI_")) or _name.lower() in ("http_proxy", "https_proxy", "all_proxy"):
        del os.environ[_name]
# Where other work shares the cores, torch's waiting threads would otherwise take what its working ones need.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# Tests that need the network would hang until a timeout on a machine without one.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

# A property fails for what it says and not for a busy machine, and everywhere on the same examples;
# `--hypothesis-profile default` draws others each time.
settings.register_profile("steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

REAL_DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"
COLUMNS = ("file", "attribute_label", "single_instruction", "single_answer", "multi_instruction", "multi_answer")
LABELS = {
    "Animal": ("dog", "cat", "frog", "cow"),
    "Emotion": ("angry", "sad", "fear", "happy"),
    "Gender": ("male", "female"),
    "Language": ("German", "English", "Spanish", "French"),
}


@pytest.fixture
def real_data() -> Path:
    """The folder with a slice of the real SAKURA data."""
    if not (REAL_DATA / "sakura").is_dir():
        pytest.skip("the real data slice is not beside this checkout")
    return REAL_DATA


def tone(path: Path, seconds: float = 0.5, rate: int = 16_000) -> Path:
    """A 440 Hz tone."""
    time = np.arange(round(seconds * rate)) / rate
    soundfile.write(path, 0.3 * np.sin(2 * np.pi * 440 * time), rate)
    return path


def track_rows(folder: str, count: int) -> list[dict[str, str]]:
    """Sound rows of one track: labels in turn, the right option going round the letters."""
    labels = LABELS[folder]
    rows = []
    for number in range(count):
        label = labels[number % len(labels)]
        turn = [labels[(number + shift) % len(labels)] for shift in range(len(labels))]
        order = turn[1:] + turn[:1] if number % 3 else turn
        letters = "abcd"
        listing = " ".join(f"({letters[i]}) {option}" for i, option in enumerate(order))
        answer = f"({letters[order.index(label)]}) {label}"
        rows.append(
            {
                "file": f"clip_{number}.wav",
                "attribute_label": label,
                "single_instruction": f"What do you hear in clip {number}? {listing}",
                "single_answer": answer,
                "multi_instruction": f"What goes with what you hear in clip {number}? {listing}",
                "multi_answer": answer,
            }
        )
    return rows


def write_table(path: Path, rows: list[Mapping[str, str]], columns: tuple[str, ...] = COLUMNS) -> Path:
    """`metadata.csv` as the official data have it."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def make_sakura(tmp_path: Path) -> Callable[..., Path]:
    """Make a folder in the official layout: `make_sakura(count=4)` gives the folder that holds `sakura/`."""

    def make(count: int = 4, root: Path | None = None) -> Path:
        root = root or tmp_path / "data"
        for folder in LABELS:
            audio = root / "sakura" / folder / "audio"
            audio.mkdir(parents=True)
            rows = track_rows(folder, count)
            write_table(audio.parent / "metadata.csv", rows)
            for row in rows:
                tone(audio / row["file"])
        return root

    return make


@pytest.fixture
def use_data(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Put a data source in force: `use_data("demo")`, `use_data(folder)`."""

    def use(value: Any) -> None:
        monkeypatch.setenv("LMMS_AUDIO_TASKS_DATA", str(value))

    return use
