"""`synthesize`: recordings trimmed, of equal loudness, measured and judged; what is finished on disk; word errors."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyloudnorm
import pytest
import soundfile

from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.synthesize import quality, settings
from lmms_audio_tasks.synthesize.intelligibility import heard, overall, plain_words, table
from lmms_audio_tasks.synthesize.normalise import Normaliser
from lmms_audio_tasks.synthesize.tts import SpeechError
from lmms_audio_tasks.synthesize.workfiles import WorkFiles

DEFAULT = settings.load()
RATE = 16000


def tone(seconds: float, level: float = 0.1, rate: int = RATE) -> np.ndarray:
    return (level * np.sin(2 * np.pi * 440 * np.arange(round(seconds * rate)) / rate)).astype(np.float32)


def quiet(seconds: float, rate: int = RATE) -> np.ndarray:
    return np.zeros(round(seconds * rate), dtype=np.float32)


def decoded(content: bytes) -> np.ndarray:
    samples, rate = soundfile.read(io.BytesIO(content), dtype="float32")
    assert rate == RATE and samples.ndim == 1
    return samples


# --- recordings ---


def test_silence_at_the_ends_is_cut_to_the_margin() -> None:
    content, measures = quality.finish(np.concatenate([quiet(2), tone(1), quiet(3)]), RATE, DEFAULT.speech)
    samples = decoded(content)
    assert measures.seconds == len(samples) / RATE == pytest.approx(1.2, abs=0.001)
    assert not samples[: RATE // 10].any() and not samples[-RATE // 10 :].any() and samples[RATE // 2 :].any()
    assert measures.silence == 0 and measures.pause == 0 and measures.clipped == 0


def test_pauses_are_measured_between_the_ends_only() -> None:
    samples = np.concatenate([quiet(2), tone(1), quiet(0.5), tone(1), quiet(1), tone(0.5)])
    measures = quality.finish(samples, RATE, DEFAULT.speech)[1]
    assert measures.pause == pytest.approx(1.0) and measures.silence == pytest.approx(1.5 / 4, abs=0.001)


@pytest.mark.parametrize("level", [0.01, 0.1, 0.9])
def test_every_recording_has_the_same_loudness(level: float) -> None:
    content, measures = quality.finish(tone(2, level, 22050), 22050, DEFAULT.speech)
    samples = decoded(content)
    assert pyloudnorm.Meter(RATE).integrated_loudness(samples[1600:-1600]) == pytest.approx(-23, abs=0.2)
    assert measures.loudness == pytest.approx(-23, abs=0.1)
    assert measures.peak == pytest.approx(20 * np.log10(np.abs(samples).max()), abs=0.01)


def test_the_peak_is_kept_below_the_ceiling() -> None:
    """A click ten times as loud as the speech allows less gain than the loudness asks for."""
    samples = np.concatenate([tone(1, 0.01), np.float32([0.9]), tone(1, 0.01)])
    content, measures = quality.finish(samples, RATE, {**DEFAULT.speech, "loudness_lufs": -10})
    assert np.abs(decoded(content)).max() == pytest.approx(10 ** (-1 / 20), abs=0.001)
    assert measures.peak == -1 and measures.loudness is not None and measures.loudness < -20


def test_too_short_for_a_loudness() -> None:
    measures = quality.finish(tone(0.1), RATE, {**DEFAULT.speech, "margin_seconds": 0})[1]
    assert measures.loudness is None and measures.peak == -1


def test_clipping_is_measured_before_the_loudness_is_set() -> None:
    samples = np.clip(tone(1, 2.0), -1, 1)
    measures = quality.finish(samples, RATE, DEFAULT.speech)[1]
    # A sine of amplitude 2 is above 1 for two thirds of the time.
    assert measures.clipped == pytest.approx(2 / 3, abs=0.01)


@pytest.mark.parametrize(
    ("samples", "told"),
    [
        (quiet(1), "the recording is silent"),
        (tone(1, 0.001), "the recording is silent"),
        (quiet(0), "the recording has no samples"),
        (np.float32([0.1, np.nan]), "the recording has samples like NaN"),
    ],
)
def test_nothing_to_hear(samples: np.ndarray, told: str) -> None:
    with pytest.raises(SpeechError, match=told):
        quality.finish(samples, RATE, DEFAULT.speech)


def test_the_same_samples_give_the_same_bytes() -> None:
    assert quality.finish(tone(1), RATE, DEFAULT.speech) == quality.finish(tone(1), RATE, DEFAULT.speech)


SOUND = {"seconds": 3.0, "silence": 0.1, "pause": 0.3, "clipped": 0.0, "loudness": -23.0, "peak": -3.0}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, ""),
        ({"seconds": 0.49}, "0.49 s, shorter than 0.5; 0.05 s a word, less than 0.12: words are missing"),
        ({"seconds": 181}, "181.0 s, longer than 180; 18.10 s a word, more than 1.5"),
        ({"seconds": 1.1}, "0.11 s a word, less than 0.12: words are missing"),
        ({"seconds": 16}, "1.60 s a word, more than 1.5"),
        ({"silence": 0.6}, "60% silence, more than 50%"),
        ({"pause": 3.2}, "a pause of 3.2 s, longer than 3"),
        ({"clipped": 0.01}, "1.00% of samples clipped, more than 0.10%"),
        ({"silence": 0.5, "pause": 3, "clipped": 0.001, "seconds": 1.2}, ""),
    ],
)
def test_verdicts(changes: dict[str, Any], told: str) -> None:
    assert quality.verdict({**SOUND, **changes}, 10, DEFAULT.quality) == told


# --- what is finished ---


def test_finished_recordings_are_those_that_are_whole(tmp_path: Path) -> None:
    files = WorkFiles(tmp_path / "work")
    made = {key: files.add(key, key.encode() * 9, SOUND, 0) for key in ("aa1", "bb2", "cc3", "dd4")}
    files.path("bb2").write_bytes(b"bb2" * 8 + b"bbX")  # the same size
    files.path("cc3").unlink()
    files.path("ee5").parent.mkdir(parents=True)
    files.path("ee5").write_bytes(b"without a line")
    again = WorkFiles(tmp_path / "work")
    found = again.finished(["aa1", "bb2", "cc3", "ee5"])
    assert found == {"aa1": made["aa1"]}
    again.add("bb2", b"new", {**SOUND, "seconds": 2.0}, 1)
    assert again.finished(["bb2"])["bb2"].measures == {**SOUND, "seconds": 2.0}


@pytest.mark.parametrize("kept", range(1, 40, 3))
def test_a_line_that_a_kill_cut_loses_one_recording(kept: int, tmp_path: Path) -> None:
    files = WorkFiles(tmp_path / "work")
    for key in ("aa1", "bb2"):
        files.add(key, key.encode(), SOUND, 0)
    journal = tmp_path / "work" / "clips.jsonl"
    first, second = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(first + second[:kept])
    again = WorkFiles(tmp_path / "work")
    assert set(again.finished(["aa1", "bb2"])) == {"aa1"}
    again.add("bb2", b"bb2", SOUND, 0)
    assert set(again.finished(["aa1", "bb2"])) == {"aa1", "bb2"}


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="expected a file that can be written; found Not a directory"):
        WorkFiles(tmp_path / "file" / "work")


# --- word errors ---

ENGLISH = Normaliser("en", DEFAULT.normalise)


def test_words_without_case_punctuation_and_apostrophes() -> None:
    assert plain_words("It's the cook's, Well-kept Café!") == ["its", "the", "cooks", "well", "kept", "café"]


@pytest.mark.parametrize(
    ("said", "transcript", "errors"),
    [
        ("I have three pears.", "I have 3 pears", 0),
        ("It costs twenty dollars.", "It costs $20.", 0),
        ("one two three", "one three", 1),
        ("one two three", "one too three four", 2),
        ("one two three", "", 3),
        ("one two three", "⊕", 3),
        ("one two", "a b c d", 4),
    ],
)
def test_errors_by_hand(said: str, transcript: str, errors: int) -> None:
    found = heard("x", {"voice": "v"}, said, transcript, ENGLISH)
    assert (found.errors, found.words) == (errors, len(plain_words(said))) and found.wer == errors / found.words


def test_groups_count_all_words_together() -> None:
    """Accent Ayr: 1 of 3 and 0 of 1 words wrong are 1 of 4, not the mean of 1/3 and 0."""
    all_heard = [
        heard("1", {"voice": "a", "accent": "Ayr"}, "one two three", "one two", ENGLISH),
        heard("2", {"voice": "b", "accent": "Ayr"}, "one", "one", ENGLISH),
        heard("3", {"voice": "c", "age": "teens", "gender": "male"}, "one two", "no no", ENGLISH),
    ]
    rows = {(row["characteristic"], row["group"]): row for row in table(all_heard, 0.3)}
    assert rows["accent", "Ayr"] == {
        "characteristic": "accent",
        "group": "Ayr",
        "recordings": 2,
        "words": 4,
        "errors": 1,
        "wer": 0.25,
        "wer_capped": 0.25,
        "flagged": False,
    }
    assert (rows["voice", "a"]["wer"], rows["voice", "a"]["flagged"]) == (0.3333, True)
    assert rows["age", "teens"]["wer"] == rows["gender", "male"]["wer"] == 1.0
    assert [row["group"] for row in table(all_heard, 0.3)][:3] == ["c", "a", "b"]
    assert (
        overall(all_heard) == (pytest.approx(3 / 6), pytest.approx(3 / 6))
        and overall([]) is None
        and table([], 0.3) == []
    )


def test_a_recogniser_that_goes_round_in_circles_does_not_flag_a_voice() -> None:
    """One of ten recordings has eight errors on two words: 8 of 20 words, 2 of 20 when capped."""
    loop = heard("0", {"voice": "v"}, "one two", "no no no no no no no no", ENGLISH)
    fine = [heard(str(number), {"voice": "v"}, "one two", "one two", ENGLISH) for number in range(9)]
    (row,) = table([loop, *fine], 0.3)
    assert (loop.errors, row["wer"], row["wer_capped"], row["flagged"]) == (8, 0.4, 0.1, False)
    assert overall([loop, *fine]) == (0.4, 0.1)
