"""Reading and checking ART's layout: what is sound becomes documents, what is not is told by file and record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from art_data import art_record, make_art, write_records

from lmms_audio_tasks import sources
from lmms_audio_tasks.art import BENCHMARK, FOLDERS, SPECS, check, data, metadata
from lmms_audio_tasks.cli import main
from lmms_audio_tasks.errors import DataError

TASK = "sound_reasoning"
SPEC = SPECS[f"art_{TASK}"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_art(tmp_path / "data", 4)


def faults(root: Path) -> list[str]:
    return [str(fault) for fault in check.check(sources.parse(str(root))).faults]


def change(root: Path, record: int, remove: str = "", **fields: Any) -> None:
    """Rewrite one record (1-based) of the task."""
    records = [art_record(TASK, number) for number in range(4)]
    records[record - 1].update(fields)
    records[record - 1].pop(remove, None)
    write_records(root / "art" / TASK, records)


def test_eighteen_tasks_of_nine_folders() -> None:
    assert len(FOLDERS) == 9 and len(BENCHMARK.tasks) == 18
    assert sum(task.items for task in BENCHMARK.tasks if not task.name.endswith("_text")) == 9000
    assert [len(members) for members in BENCHMARK.groups.values()] == [9, 9]


def test_sound_data_have_no_faults(root: Path) -> None:
    read = data.load_task(sources.parse(str(root)), SPEC)
    assert not read.faults
    assert [item.entry.record for item in read.items] == [1, 2, 3, 4]
    assert [item.probe.duration for item in read.items] == [0.2] * 4
    assert not faults(root)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"answer": "maybe"}, "answer to be yes or no; found 'maybe'"),
        ({"answer": "Yes"}, "answer to be yes or no; found 'Yes'"),
        ({"answer": True}, "answer to be a text; found True"),
        ({"question": " "}, "a question; found a blank text"),
        ({"question": None}, "question to be a text; found None"),
        ({"template_id": 3}, "template_id to be a text; found 3"),
        ({"question_id": ["q"]}, "question_id to be a text; found ['q']"),
        ({"slots": []}, "slots to be an object; found []"),
        ({"slots": "none"}, "slots to be an object; found 'none'"),
        ({"instance_id": 7}, "instance_id to be a text; found 7"),
        ({"instance_id": ""}, "an instance_id that can name a file; found ''"),
        ({"instance_id": "../x"}, "an instance_id that can name a file; found '../x'"),
        ({"instance_id": "a\\b"}, "an instance_id that can name a file"),
        ({"instance_id": "a\0b"}, "an instance_id that can name a file"),
        ({"instance_id": "elsewhere"}, "audio that can be decoded; found"),
        ({"instance_id": "x" * 300}, "audio that can be decoded; found"),
        ({"instance_id": "\ud800"}, r"instance_id to be whole characters; found half a one: '\ud800'"),
        ({"question": "What\ud800?"}, "question to be whole characters; found half a one"),
        ({"template_id": "\udfff"}, "template_id to be whole characters; found half a one"),
    ],
)
def test_a_fault_names_file_and_record(root: Path, fields: dict[str, Any], expected: str) -> None:
    change(root, 3, **fields)
    found = faults(root)
    where = f"{root}/art/{TASK}/metadata.json, record 3: expected {expected}"
    assert any(fault.startswith(where) for fault in found), found


@pytest.mark.parametrize("name", metadata.FIELDS)
def test_a_missing_field_is_told(root: Path, name: str) -> None:
    change(root, 2, remove=name)
    assert [fault for fault in faults(root) if f"record 2: expected a field {name}; found fields " in fault]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "expected a metadata file; found an empty file"),
        (b" \n", "expected a metadata file; found an empty file"),
        (b"[]", "expected a JSON array of records; found an empty one"),
        (b"{}", "expected a JSON array of records; found {}"),
        (b'[\n  {"instance_id": "a",}\n]', "line 2, column "),
        (b'[{"instance_id": "a"', "expected JSON; found Expecting ',' delimiter"),
        (b"\xef\xbb\xbf[]", "line 1: expected UTF-8 without a byte order mark"),
        (b'[\n"\xe9"]', "line 2: expected UTF-8; found byte 0xe9"),
        (b'[{"slots": {"a": 1, "a": 2}}]', "expected each key once; found 'a' twice or more"),
        (b'[{"slots": NaN}]', "expected JSON; found NaN"),
        (b"[" + b"1" * 5000 + b"]", "numbers of a usual size"),
        (b"[" * 100_000, "found deep nesting"),
        (b'["x"]', "record 1: expected an object; found 'x'"),
    ],
)
def test_a_file_at_fault_is_one_fault(root: Path, content: bytes, expected: str) -> None:
    (root / "art" / TASK / "metadata.json").write_bytes(content)
    found = faults(root)
    assert len(found) == 1 and expected in found[0]
    assert f"art/{TASK}/metadata.json" in found[0]


def test_missing_metadata_and_missing_folders(root: Path) -> None:
    (root / "art" / TASK / "metadata.json").unlink()
    (root / "art" / FOLDERS[0]).rename(root / "art" / "old")
    found = faults(root)
    assert len(found) == 3
    assert f"art/old: expected only the task folders {FOLDERS[0]}, " in found[0]
    assert f"art/{FOLDERS[0]}: expected a task's folder with metadata.json" in found[1]
    assert f"art/{TASK}/metadata.json: expected a metadata file; found no such file" in found[2]


def test_bad_audio_is_told(root: Path) -> None:
    folder = root / "art" / TASK
    names = [art_record(TASK, number)["instance_id"] for number in range(4)]
    (folder / f"{names[0]}.flac").unlink()
    (folder / f"{names[1]}.flac").write_bytes(b"")
    (folder / f"{names[2]}.flac").write_bytes(b"fLaC, so it says")
    found = faults(root)
    assert [fault.split(": ")[0].rsplit(", ", 1)[1] for fault in found] == ["record 1", "record 2", "record 3"]
    assert f"{names[0]}.flac: expected an audio file; found no such file" in found[0]


def test_a_cut_recording_is_told(root: Path) -> None:
    path = root / "art" / TASK / f"{art_record(TASK, 0)['instance_id']}.flac"
    path.write_bytes(path.read_bytes()[:-400])
    assert len(faults(root)) == 1


@pytest.mark.parametrize(
    ("rate", "channels", "form", "found"),
    [(44_100, 1, "FLAC", "FLAC 44100 Hz 1 ch"), (16_000, 2, "FLAC", "FLAC 16000 Hz 2 ch"), (16_000, 1, "WAV", "WAV ")],
)
def test_another_audio_format_is_a_fault_of_the_data_but_no_hindrance(
    root: Path, rate: int, channels: int, form: str, found: str
) -> None:
    path = root / "art" / TASK / f"{art_record(TASK, 1)['instance_id']}.flac"
    soundfile.write(path, np.full((rate, channels), 0.1), rate, format=form)
    (fault,) = faults(root)
    assert f"record 2: expected {path.name} to be FLAC 16000 Hz 1 ch; found {found}" in fault
    assert len(data.load_task(sources.parse(str(root)), SPEC).items) == 4


def test_an_id_is_unique_over_all_tasks(root: Path) -> None:
    first = art_record(FOLDERS[0], 0)["instance_id"]
    change(root, 2, instance_id=first)
    (root / "art" / TASK / f"{first}.flac").write_bytes((root / "art" / FOLDERS[0] / f"{first}.flac").read_bytes())
    (fault,) = faults(root)
    assert f"record 2: expected each instance_id once over all tasks; found {first!r} again" in fault
    assert f"first in {FOLDERS[0]}, record 1" in fault
    with pytest.raises(DataError, match="record 2: expected each instance_id once"):
        data.load_task(sources.parse(str(root)), SPEC)


def test_an_id_is_unique_within_a_task(root: Path) -> None:
    change(root, 4, instance_id=art_record(TASK, 0)["instance_id"])
    assert [fault for fault in faults(root) if f"again, first in {TASK}, record 1" in fault]


def test_loading_stops_at_the_first_fault_and_counts_the_others(root: Path) -> None:
    change(root, 2, answer="maybe", question="")
    with pytest.raises(DataError, match=r"record 2: .*and 1 more: `lmms-audio-tasks check art --data "):
        data.load_task(sources.parse(str(root)), SPEC)


def test_one_task_does_not_need_the_others(tmp_path: Path, use_data) -> None:
    use_data(make_art(tmp_path, {TASK: 2}))
    data.validate(f"art_{TASK}")
    data.validate(f"art_{TASK}_text")
    with pytest.raises(DataError, match=rf"expected a folder `{FOLDERS[0]}` in it; found only {TASK}"):
        data.validate(f"art_{FOLDERS[0]}")


def test_a_change_on_disk_is_seen_within_one_process(root: Path) -> None:
    source = sources.parse(str(root))
    assert len(data.load_task(source, SPEC).items) == 4
    (root / "art" / TASK / f"{art_record(TASK, 3)['instance_id']}.flac").unlink()
    with pytest.raises(DataError, match=r"record 4: expected audio"):
        data.load_task(source, SPEC)


def test_the_hub_has_no_art_data(use_data) -> None:
    use_data("hub")
    with pytest.raises(DataError, match=r"--audio_data DIR\|demo.*found the hub, which has no ART data"):
        data.validate("art_sound_reasoning")


def test_documents(root: Path) -> None:
    source = sources.parse(str(root))
    path = root / "art" / TASK / f"{art_record(TASK, 1)['instance_id']}.flac"
    spoken = {
        "item_id": art_record(TASK, 1)["instance_id"],
        "task": f"art_{TASK}",
        "folder": TASK,
        "modality": "audio",
        "template_id": "t1",
        "question_id": "q1",
        "prompt": "You will hear a question, and often what it is about. Answer the question with one word: yes or no.",
        "answer": "no",
        "source": str(root),
        "demo": False,
        "audio": {"bytes": None, "path": str(path)},
    }
    assert data.local_dataset(source, SPEC)[1] == spoken
    written = data.local_dataset(source, SPECS[f"art_{TASK}_text"])[1]
    question, instruction = written["prompt"].split("\n")
    assert question == f"Is tone 1 of {TASK} even?" and instruction.endswith("with one word: yes or no.")
    same = {**spoken, "task": f"art_{TASK}_text", "modality": "text", "prompt": written["prompt"]}
    assert written == same


# --- check ---


def test_check_figures_are_right(tmp_path: Path) -> None:
    root = make_art(tmp_path, dict.fromkeys(FOLDERS, 2) | {TASK: 5})
    extra = root / "art" / TASK / "extra.flac"
    soundfile.write(extra, np.zeros(16), 16_000)
    report = check.check(sources.parse(str(root)))
    assert not report.faults
    figures = next(task for task in report.tasks if task.task == TASK)
    # Numbers 0 to 4: three even ones with yes, templates by parity, a question each.
    assert (figures.items, figures.yes, figures.no) == (5, 3, 2)
    assert (figures.templates, figures.questions) == (2, 5)
    assert figures.seconds == pytest.approx((0.2, 0.2, 0.2))
    assert figures.formats == {"FLAC 16000 Hz 1 ch": 5}
    assert figures.unlisted == 1
    assert "sound_reasoning: 1 FLAC files without a record" in report.to_text()
    assert "audio: FLAC 16000 Hz 1 ch 21" in report.to_text()


def test_check_lists_every_fault_and_exits_1(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(root, 2, answer="maybe", question="")
    (root / "art" / TASK / f"{art_record(TASK, 3)['instance_id']}.flac").write_bytes(b"")
    assert main(["check", "art", "--data", str(root)]) == 1
    out = capsys.readouterr().out
    assert out.count("fault: ") == 3 and out.rstrip().endswith("3 faults")
    assert main(["check", "art", "--data", str(root), "--format", "json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [fault["row"] for fault in told["faults"]] == ["record 2", "record 2", "record 4"]
    figures = next(task for task in told["tasks"] if task["task"] == TASK)
    assert (figures["items"], figures["yes"], figures["no"]) == (4, 2, 1)


def test_check_of_sound_data_exits_0(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "art", "--data", str(root)]) == 0
    assert capsys.readouterr().out.rstrip().endswith("no faults")


@pytest.mark.parametrize("arguments", [["--data", "hub"], ["--data", "/nowhere/at/all"]])
def test_check_without_a_folder_is_a_usage_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "art", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ") and captured.err.count("\n") == 1
    assert not captured.out
