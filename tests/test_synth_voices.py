"""`synthesize`: the table of voices, and the paper's sampling plans."""

from __future__ import annotations

import csv
import shutil
from collections import Counter
from pathlib import Path

import pytest
from synth_data import VOICES, write_voices

from lmms_audio_tasks.errors import AudioTasksError, DataError
from lmms_audio_tasks.synthesize import voices
from lmms_audio_tasks.synthesize.tts.espeak import Espeak
from lmms_audio_tasks.synthesize.voices import Plan


def table(path: Path, text: str) -> voices.Table:
    path.write_text(text, "utf-8")
    return voices.read(path)


def test_the_shipped_table_is_the_papers_size() -> None:
    shipped = voices.read(voices.ESPEAK_TABLE)
    assert len(shipped.voices) == 43 and all(voice.licence for voice in shipped.voices)
    plan = Plan.of(shipped, 0)
    assert len(plan.pools["accent"]) == 29 and len(plan.pools["age_gender"]) == 14
    assert len({(v.engine_voice, v.pitch, v.pace) for v in shipped.voices}) == 43
    # What has no accent of its own says so.
    assert sum(voice.accent.startswith("stand-in") for voice in shipped.voices) == 21


@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")
def test_espeak_has_the_voices_of_the_shipped_table() -> None:
    engine, shipped = Espeak(30), voices.read(voices.ESPEAK_TABLE)
    assert [engine.voice_fault(voice, shipped.reference(voice)) for voice in shipped.voices] == [None] * 43


def many(path: Path) -> voices.Table:
    """Two speakers of an accent, with one sample and with two, and three accents of which two have every age."""
    rows = [("a1", "Ayr", "", "", "accent", "anna"), ("b1", "Ayr", "", "", "accent", "bert")]
    rows += [("b2", "Ayr", "", "", "accent", "bert"), ("c1", "Bath", "", "", "accent", "")]
    for accent, ages in (("Ayr", ("teens", "old")), ("Bath", ("teens", "old")), ("Cork", ("teens",))):
        for age in ages:
            rows += [(f"{accent}-{age}-{g}", accent, age, g, "age_gender", "") for g in ("female", "male")]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("voice_id", "accent", "age", "gender", "split", "speaker"))
        writer.writerows(rows)
    return voices.read(path)


def test_one_voice_for_each_label_of_each_prompt(tmp_path: Path) -> None:
    plan = Plan.of(many(tmp_path / "v.csv"), 7)
    drawn = list(plan.draw("accent", "navigate", "1"))
    assert [labels for labels, _ in drawn] == [("Ayr",), ("Bath",)]
    assert [voice.accent for _, voice in drawn] == ["Ayr", "Bath"]
    drawn = list(plan.draw("age_gender", "navigate", "1"))
    assert [labels for labels, _ in drawn] == [(a, g) for a in ("old", "teens") for g in ("female", "male")]
    assert all((voice.age, voice.gender) == labels for labels, voice in drawn)


def test_a_speaker_first_then_one_of_the_samples(tmp_path: Path) -> None:
    """Anna's one sample is drawn as often as Bert's two together."""
    plan = Plan.of(many(tmp_path / "v.csv"), 7)
    counts = Counter(next(plan.draw("accent", "navigate", str(number)))[1].voice_id for number in range(4000))
    assert set(counts) == {"a1", "b1", "b2"}
    # Half and two quarters of 4,000; five standard deviations are 158 and 137.
    assert abs(counts["a1"] - 2000) < 158 and abs(counts["b1"] - 1000) < 137


def test_ages_come_from_accents_that_have_them_all(tmp_path: Path) -> None:
    plan = Plan.of(many(tmp_path / "v.csv"), 7)
    accents = {voice.accent for n in range(200) for _, voice in plan.draw("age_gender", "navigate", str(n))}
    assert accents == {"Ayr", "Bath"}


def test_the_draw_depends_on_seed_and_prompt_only(tmp_path: Path) -> None:
    whole = many(tmp_path / "v.csv")
    one, same, other = Plan.of(whole, 1), Plan.of(voices.Table(whole.path, whole.voices[::-1]), 1), Plan.of(whole, 2)
    drawn = [[next(plan.draw("accent", "snarks", str(n)))[1].speaker for n in range(50)] for plan in (one, same, other)]
    assert drawn[0] == drawn[1] != drawn[2] and len(set(drawn[0])) == 2


def test_no_accent_has_every_age(tmp_path: Path) -> None:
    rows = [("a", "Ayr", "teens", "male", ""), ("b", "Bath", "old", "male", ""), ("c", "Ayr", "teens", "female", "")]
    found = voices.read(write_voices(tmp_path / "v.csv", rows))
    with pytest.raises(AudioTasksError, match="there is none for: old female, old male, teens female, teens male"):
        Plan.of(found, 0)
    with pytest.raises(AudioTasksError, match="no voice serves the split age_gender"):
        Plan.of(voices.read(write_voices(tmp_path / "w.csv", VOICES[:2])), 0)
    assert list(Plan.of(found, 0, ("accent",)).pools) == ["accent"]


HEADER = "voice_id,accent,age,gender,split,pitch,pace,engine_voice\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "header: expected columns voice_id, accent, age, gender, and of split"),
        ("voice_id,accent\n", "found no age, gender"),
        ("voice_id,accent,age,gender,mood\n", "found also 'mood'"),
        ("voice_id,accent,age,gender,accent\n", "found 'accent' twice"),
        (HEADER, "expected at least one voice; found a header only"),
        (HEADER + "a,Ayr,,\n", "row 1: expected as many fields as the header has; found fewer"),
        (HEADER + "a,Ayr,,,,,,,,\n", "row 1: expected as many fields as the header has; found more"),
        (HEADER + ",Ayr,,,,,,\n", "row 1: expected a voice_id; found ''"),
        (HEADER + "a,,,,,,,\n", "row 1: expected an accent, or an age and the gender female or male"),
        (HEADER + "a,,teens,boy,,,,\n", "row 1: expected an accent, or an age and the gender female or male"),
        (HEADER + "a,Ayr,,,both,,,\n", "row 1: expected split to be accent, age_gender or empty; found 'both'"),
        (HEADER + "a,Ayr,,,,high,,\n", "row 1: expected pitch to be a whole number of 0 to 99; found 'high'"),
        (HEADER + "a,Ayr,,,,,10,\n", "row 1: expected pace to be a whole number of 80 to 450 words a minute; "),
        (HEADER + "a,Ayr\a,,,,,,\n", "row 1: expected accent to be a text on one line; found 'Ayr\\x07'"),
        (HEADER + "a,Ayr,,,,,,-w\n", "row 1: expected engine_voice not to start with a dash; found '-w'"),
        (HEADER + "a,Ayr,,,,,,\na,Bath,,,,,,\n", "row 2: expected each voice_id once; found 'a' again, first in row 1"),
    ],
)
def test_tables_at_fault(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        table(tmp_path / "v.csv", text)
    assert told in str(error.value)


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"expected a table of voices \(CSV\); found no such file"):
        voices.read(tmp_path / "v.csv")
