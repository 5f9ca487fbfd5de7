"""Reading and checking SAKURA's layout: what is sound becomes documents, what is not is told by file and row."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from conftest import COLUMNS, track_rows, write_table

from lmms_audio_tasks import sources
from lmms_audio_tasks.cli import main
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.sakura import SPECS, check, data

MULTI = SPECS["sakura_multi_animal"]


def faults(folder: Path) -> list[str]:
    return [str(fault) for fault in data.read_track(folder).faults]


@pytest.fixture
def animal(make_sakura: Callable[..., Path]) -> Path:
    return make_sakura(4) / "sakura" / "Animal"


def change(folder: Path, row: int, **fields: str) -> None:
    """Rewrite one field of one row (1-based)."""
    rows = track_rows("Animal", 4)
    rows[row - 1].update(fields)
    write_table(folder / "metadata.csv", rows)


def test_sound_data_have_no_faults(animal: Path) -> None:
    track = data.read_track(animal)
    assert not track.faults
    assert [item.row for item in track.items] == [1, 2, 3, 4]
    assert [item.seconds for item in track.items] == [0.5] * 4


@pytest.mark.parametrize(
    ("fields", "row", "expected"),
    [
        ({"single_instruction": "What animal is it?"}, 2, "single_instruction with options"),
        ({"multi_instruction": ""}, 1, "multi_instruction with options"),
        ({"multi_answer": "(e) wolf"}, 3, "multi_answer that is one of the options"),
        ({"multi_answer": "wolf"}, 3, "multi_answer that is one of the options"),
        ({"single_answer": "(a) cow"}, 1, "single_answer that is one of the options"),
        ({"attribute_label": "  "}, 4, "an attribute_label"),
        ({"file": ""}, 2, "the name of a file"),
        ({"file": "../clip_0.wav"}, 2, "the name of a file"),
        ({"file": "clip_9.wav"}, 2, "audio that can be decoded"),
        ({"file": "clip_0.wav"}, 2, "each file once"),
    ],
)
def test_a_fault_names_file_and_row(animal: Path, fields: dict[str, str], row: int, expected: str) -> None:
    change(animal, row, **fields)
    found = faults(animal)
    assert any(f"metadata.csv, row {row}: expected " in fault and expected in fault for fault in found), found


def test_bad_audio_is_told(animal: Path) -> None:
    audio = animal / "audio"
    (audio / "clip_0.wav").write_bytes(b"")
    (audio / "clip_1.wav").write_bytes(b"not audio at all")
    soundfile.write(audio / "clip_2.wav", np.zeros(0), 16_000)
    found = faults(animal)
    assert [fault.split("expected")[0].rsplit(", ", 1)[1] for fault in found] == ["row 1: ", "row 2: ", "row 3: "]
    assert len(data.read_track(animal).items) == 1


def test_a_leading_blank_in_an_answer_is_no_fault(animal: Path) -> None:
    answer = track_rows("Animal", 4)[0]["single_answer"]
    change(animal, 1, single_answer=f" {answer}")
    assert not faults(animal)


def test_loading_stops_at_the_first_fault_and_counts_the_others(animal: Path) -> None:
    change(animal, 2, multi_answer="(e) wolf", attribute_label="")
    source = sources.parse(str(animal.parents[1]))
    with pytest.raises(DataError, match=r"row 2: .*and 1 more: `lmms-audio-tasks check sakura --data "):
        data.load_track(source, MULTI)


def test_a_change_on_disk_is_seen_within_one_process(animal: Path) -> None:
    source = sources.parse(str(animal.parents[1]))
    assert len(data.load_track(source, MULTI).items) == 4
    (animal / "audio" / "clip_3.wav").unlink()
    with pytest.raises(DataError, match=r"row 4: expected audio"):
        data.load_track(source, MULTI)


def test_a_missing_track_is_told(animal: Path, use_data) -> None:
    animal.rename(animal.parent / "animal_old")
    use_data(animal.parents[1])
    with pytest.raises(DataError, match=r"Animal: expected the animal track's folder; found only Emotion, Gender, "):
        data.validate("sakura_multi_animal")
    data.validate("sakura_multi_gender")


def test_documents(animal: Path) -> None:
    dataset = data.local_dataset(sources.parse(str(animal.parents[1])), MULTI)
    row = track_rows("Animal", 4)[0]
    assert dataset[0] == {
        "item_id": "animal/clip_0.wav",
        "task": "sakura_multi_animal",
        "track": "animal",
        "hop": "multi",
        "modality": "audio",
        "attribute": "dog",
        "prompt": row["multi_instruction"],
        "answer": row["multi_answer"],
        "source": str(animal.parents[1]),
        "demo": False,
        "audio": {"bytes": None, "path": str(animal / "audio" / "clip_0.wav")},
    }


def test_text_documents_have_a_caption_and_no_audio(animal: Path) -> None:
    spec = SPECS["sakura_multi_animal_text"]
    document = data.local_dataset(sources.parse(str(animal.parents[1])), spec)[1]
    assert "audio" not in document
    caption, instruction = document["prompt"].split("\n")
    assert caption == "The animal making the sound is cat."
    assert instruction == track_rows("Animal", 4)[1]["multi_instruction"]


def hub_like(folder: Path):
    """A data set as the hub has it: the same columns and an audio column that holds bytes."""
    from datasets import Audio, Dataset

    rows = track_rows("Animal", 4)
    audio = [{"bytes": (folder / "audio" / row["file"]).read_bytes(), "path": row["file"]} for row in rows]
    dataset = Dataset.from_list([{**row, "audio": clip} for row, clip in zip(rows, audio, strict=True)])
    return dataset.cast_column("audio", Audio(decode=False))


def test_hub_documents_equal_local_ones(animal: Path, use_data) -> None:
    use_data("hub")
    local = data.local_dataset(sources.parse(str(animal.parents[1])), MULTI)
    hub = data.hub_dataset(hub_like(animal), MULTI)
    assert hub[2]["audio"]["bytes"] == (animal / "audio" / "clip_2.wav").read_bytes()
    skip = {"audio", "source"}
    assert [{k: v for k, v in doc.items() if k not in skip} for doc in hub] == [
        {k: v for k, v in doc.items() if k not in skip} for doc in local
    ]
    assert hub[0]["source"] == "hub:SLLM-multi-hop/AnimalQA@main"


def test_the_commit_the_hub_served_stands_in_the_record(animal: Path, use_data) -> None:
    use_data("hub")
    dataset = hub_like(animal)
    commit = "0123456789abcdef0123456789abcdef01234567"
    dataset.info.download_checksums = {f"hf://datasets/x/AnimalQA@{commit}/data/test.parquet": {}}
    assert data.hub_dataset(dataset, MULTI)[0]["source"] == f"hub:SLLM-multi-hop/AnimalQA@{commit}"


def test_hub_data_are_checked(animal: Path, use_data) -> None:
    use_data("hub")
    with pytest.raises(DataError, match="expected column multi_answer"):
        data.hub_dataset(hub_like(animal).remove_columns("multi_answer"), MULTI)
    broken = hub_like(animal).map(lambda row: {"multi_answer": "(e) wolf"})
    with pytest.raises(DataError, match="AnimalQA@main, row 1: expected a multi_answer"):
        data.hub_dataset(broken, MULTI)


# --- check ---


def test_check_figures_are_right(make_sakura: Callable[..., Path]) -> None:
    root = make_sakura(4)
    report = check.check(sources.parse(str(root)))
    assert not report.faults
    assert report.audio_duration_s is not None
    assert (report.audio_duration_s.mean, report.audio_duration_s.std) == (0.5, 0)
    # "What do you hear in clip 0?" has 7 words, "What goes with what you hear in clip 0?" 9; every option adds 2.
    # Three tracks with 4 options, one with 2: (15 + 17) * 3 + (11 + 13) over 8.
    assert report.instruction_length_words is not None
    assert report.instruction_length_words.mean == pytest.approx((32 * 3 + 24) / 8)
    assert (report.instruction_length_words.min, report.instruction_length_words.max) == (11, 17)
    animal = next(track for track in report.tracks if track.track == "animal")
    assert animal.labels == {"dog": 1, "cat": 1, "frog": 1, "cow": 1}
    # Rows 0 and 3 keep the order (the right option first), rows 1 and 2 turn it (the right option last).
    assert animal.single_positions == {"a": 2, "d": 2}


def test_check_lists_every_fault_and_exits_1(animal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(animal, 2, multi_answer="(e) wolf", attribute_label="")
    (animal / "audio" / "clip_3.wav").write_bytes(b"")
    root = str(animal.parents[1])
    assert main(["check", "sakura", "--data", root]) == 1
    out = capsys.readouterr().out
    assert out.count("fault: ") == 3
    assert out.rstrip().endswith("3 faults")
    assert main(["check", "sakura", "--data", root, "--format", "json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [fault["row"] for fault in told["faults"]] == [2, 2, 4]
    assert {"file", "row", "expected", "found", "message"} == set(told["faults"][0])


def test_check_goes_on_past_a_missing_track(animal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    animal.rename(animal.parent / "other")
    assert main(["check", "sakura", "--data", str(animal.parents[1])]) == 1
    out = capsys.readouterr().out
    assert "Animal: expected a track's folder" in out
    assert "gender: 4 items" in out


@pytest.mark.parametrize("arguments", [["--data", "hub"], ["--data", "/nowhere/at/all"]])
def test_check_without_a_folder_is_a_usage_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "sakura", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ") and captured.err.count("\n") == 1
    assert not captured.out


def test_the_real_slice(real_data: Path) -> None:
    report = check.check(sources.parse(str(real_data)))
    assert not report.faults
    assert [track.items for track in report.tracks] == [24] * 4
    assert {len(track.labels) for track in report.tracks} == {2, 8, 5, 9}


def test_columns_are_those_of_the_official_table() -> None:
    assert data.COLUMNS == COLUMNS
