"""The shipped HAVE-Bench demo items: what the bank says they are, made by the script, not to be guessed by letter."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import PIL
import pytest
import soundfile
from PIL import Image

from lmms_audio_tasks import sources

TOOLS = Path(__file__).resolve().parents[1] / "tools"
SHIPPED = sources.DEMO_ROOT / "have_bench"
PILLOW = "13."
"""The Pillow whose font is in the shipped pictures."""


@pytest.fixture(scope="module")
def tool() -> Iterator[ModuleType]:
    sys.path.insert(0, str(TOOLS))
    import make_demo_have_bench

    yield make_demo_have_bench
    sys.path.remove(str(TOOLS))


def bank() -> list[dict[str, Any]]:
    return json.loads((TOOLS / "demo_have_items.json").read_text("utf-8"))


def shipped() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SHIPPED / "items.jsonl").read_text("utf-8").splitlines()]


def test_the_shipped_items_are_those_of_the_bank(tool: ModuleType) -> None:
    assert [tool.line(item) for item in bank()] == shipped()


def test_no_letter_is_right_more_often_than_a_third() -> None:
    right = Counter(item["choices"].index(item["answer"]) for item in shipped() if item["kind"] == "mcq")
    assert len(right) == 4 and max(right.values()) <= right.total() / 3


def test_spoken_questions_have_a_transcript_and_a_recognisers_which_errs_somewhere() -> None:
    spoken = [item for item in shipped() if item["role"] == "AaI"]
    assert all(item["transcript"] == item["question"] and item["asr"] for item in spoken)
    words = [(item["asr"].lower().strip(".?"), item["question"].lower().strip(".?")) for item in spoken]
    assert any(heard == said for heard, said in words) and any(heard != said for heard, said in words)


def test_recordings_are_16_khz_mono_flac_with_something_to_hear() -> None:
    for item in shipped():
        for name in item["audios"]:
            samples, rate = soundfile.read(SHIPPED / name)
            assert rate == 16_000 and samples.ndim == 1 and 0.4 < np.abs(samples).max() < 0.6, name
            assert soundfile.info(SHIPPED / name).format == "FLAC"


def test_made_anew_the_recordings_are_the_same(tool: ModuleType) -> None:
    """With the espeak-ng they were made with, save for the last bit, which is left to the resampler."""
    from _synth import ESPEAK_VERSION, espeak_version

    if espeak_version() != ESPEAK_VERSION:
        pytest.skip(f"espeak-ng {ESPEAK_VERSION} is not installed")
    for item in bank():
        made = np.round(tool.render(item) * tool.STEPS) / tool.STEPS
        there, _ = soundfile.read(SHIPPED / "audio" / f"{item['id']}.flac")
        assert made.shape == there.shape and np.abs(made - there).max() <= 2 / tool.STEPS, item["id"]


def test_made_anew_the_pictures_are_the_same(tool: ModuleType) -> None:
    if not PIL.__version__.startswith(PILLOW):
        pytest.skip(f"the pictures were drawn with Pillow {PILLOW}x")
    for name, draw in tool.PICTURES.items():
        with Image.open(SHIPPED / "images" / f"{name}.png") as there:
            difference = np.asarray(there.convert("RGB"), int) - np.asarray(draw(), int)
        # 64 colours hold edges that were smoothed nearly as they were.
        assert np.abs(difference).max() <= 40 and np.abs(difference).mean() < 1, name


def test_the_script_says_why_it_cannot_speak(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import shutil

    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert tool.main(["--out", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err.startswith("error: espeak-ng is not installed")
    assert not (tmp_path / "out").exists()
