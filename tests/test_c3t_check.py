"""`check c3t`: what a folder holds, which voices are absent, and every fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from c3t_data import default_snapshot, make, rows, snapshot, write_jsonl, write_parquet

from lmms_audio_tasks import sources
from lmms_audio_tasks.c3t import TASK_NAMES, check
from lmms_audio_tasks.cli import main


def check_json(capsys: pytest.CaptureFixture[str], root: Path, code: int) -> dict[str, Any]:
    assert main(["check", "c3t", "--data", str(root), "--format", "json"]) == code
    return json.loads(capsys.readouterr().out)


def messages(told: dict[str, Any]) -> list[str]:
    """The faults, without the tasks that small sets do not have."""
    return [fault["message"] for fault in told["faults"] if "or parquet files of that split" not in fault["message"]]


def test_all_tasks_sound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = check_json(capsys, make(tmp_path / "data", TASK_NAMES), 0)
    assert told["prompts"] == 22 and told["faults"] == [] and told["absent"] == []
    assert len(told["splits"]) == 22
    assert told["splits"][0] == {
        "task": "causal_judgement",
        "split": "accent",
        "rows": 6,
        "prompts": 2,
        "voices": {"accent": 3},
        "recordings": 6,
        "seconds": pytest.approx(0.6),
        "formats": {"FLAC 16000 Hz 1 ch": 6},
    }
    assert told["splits"][1]["voices"] == {"age": 2, "gender": 2}


@pytest.mark.parametrize("build", [make, snapshot, default_snapshot])
def test_every_layout_is_checked_whole(build: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = check_json(capsys, build(tmp_path / "data"), 1)
    assert messages(told) == []
    assert len(told["faults"]) == 18  # nine tasks that are not there, in two splits
    assert [(split["task"], split["split"], split["rows"], split["recordings"]) for split in told["splits"]] == [
        ("navigate", "accent", 6, 6),
        ("navigate", "age_gender", 8, 8),
        ("snarks", "accent", 6, 6),
        ("snarks", "age_gender", 8, 8),
    ]


def test_absent_voices_are_listed_and_no_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make(tmp_path / "data", TASK_NAMES)
    content = rows("navigate", "age_gender")
    write_jsonl(root, "navigate", "age_gender", content[:-1])
    told = check_json(capsys, root, 0)
    assert told["absent"] == [{"task": "navigate", "split": "age_gender", "instance_id": "2", "voice": "teens, male"}]
    assert main(["check", "c3t", "--data", str(root)]) == 0
    out = capsys.readouterr().out
    assert "1 voice absent\n  navigate age_gender: instance 2, teens, male" in out
    assert "navigate age_gender: 7 rows, 2 prompts, 2 ages, 2 genders, 7 recordings that decode" in out
    assert out.rstrip().endswith("no faults")


def test_a_prompt_that_a_split_lacks_is_absent_in_each_voice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make(tmp_path / "data", ["navigate"])
    write_jsonl(root, "navigate", "accent", rows("navigate", "accent")[:3])
    told = check_json(capsys, root, 1)
    assert [absent["voice"] for absent in told["absent"]] == ["Ayr", "Bath", "Cork"]
    assert {absent["instance_id"] for absent in told["absent"]} == {"2"}


def test_every_fault_by_file_and_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make(tmp_path / "data", ["navigate"])
    content = rows("navigate", "accent")
    content[0]["answers"] = ["Maybe"]
    content[1]["answers"] = ["Maybe"]
    content[2]["answers"] = ["Maybe"]
    content[3]["sample_id"] = ""
    del content[4]["audio_prompt"]
    content[5]["mood"] = "calm"
    path = write_jsonl(root, "navigate", "accent", content)
    audio = root / "c3t" / "navigate" / "audio"
    (audio / "accent-1-0.flac").write_bytes(b"")
    (audio / "accent-1-1.flac").write_bytes(b"not audio")
    (audio / "accent-1-2.flac").write_bytes((audio / "accent-2-2.flac").read_bytes()[:200])
    found = messages(check_json(capsys, root, 1))
    expected = [
        f"{path}, row 5: expected a column audio_prompt; found no such column",
        f"{path}, row 6: expected only the columns task_name, ",
        f"{path}, row 1: expected audio to be the path of a recording; found 'navigate/audio/accent-1-0.flac', a",
        f"{path}, row 4: expected sample_id to be a text",
        f"{path}, row 2: expected audio that can be decoded; found {audio}/accent-1-1.flac: expected WAV",
        f"{path}, row 3: expected audio that can be decoded; found {audio}/accent-1-2.flac: ",
        f"{root / 'c3t' / 'navigate' / 'age_gender.jsonl'}, row 1: expected the answers of instance 1 in {path}, row 1",
        f"{path}, row 1: expected an answer that is one of the options; found ['Maybe'] among ['Yes', 'No']",
    ]
    for start in expected:
        assert any(message.startswith(start) for message in found), (start, found)
    others = [message for message in found if not message.startswith(tuple(expected))]
    assert all(
        "age_gender.jsonl, row" in message and "expected the answers of instance 1" in message for message in others
    )


def test_wrong_answers_are_told_in_the_order_of_the_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make(tmp_path / "data", ["navigate"])
    for split in ("accent", "age_gender"):
        content = [{**row, "answers": ["Maybe"]} for row in rows("navigate", split)]
        path = write_jsonl(root, "navigate", split, content)
    path = root / "c3t" / "navigate" / "accent.jsonl"
    told = [message.partition(": ")[0] for message in messages(check_json(capsys, root, 1)) if "an answer" in message]
    assert told == [f"{path}, row 1", f"{path}, row 4"]


def test_faults_in_parquet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    root = snapshot(tmp_path / "data", ["navigate"])
    path = root / "c3t" / "navigate" / "accent-00000-of-00002.parquet"
    table = parquet.read_table(path)
    kind = table.schema.field("audio").type
    sound = pa.array([{"bytes": b"not audio", "path": "x"}, None], kind)
    at = table.column_names.index("audio")
    parquet.write_table(table.set_column(at, "audio", sound).drop_columns(["audio_prompt"]), path)
    found = messages(check_json(capsys, root, 1))
    assert [message.split("; found")[0] for message in found] == [
        f"{path}: expected column audio_prompt",
        f"{path}, row 1: expected audio that can be decoded",
        f"{path}, row 2: expected audio that can be decoded",
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "a parquet file; found Parquet file size is 0 bytes"),
        (b"version https://git-lfs.github.com/spec/v1", "a parquet file; found Parquet magic bytes not found"),
        (None, "a parquet file; found [Errno 2]"),  # a link to nothing
    ],
)
def test_a_parquet_file_that_cannot_be_read_is_one_fault(
    content: bytes | None, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = snapshot(tmp_path / "data", ["navigate"])
    path = root / "c3t" / "navigate" / "accent-00001-of-00002.parquet"
    path.unlink()
    path.write_bytes(content) if content is not None else path.symlink_to(tmp_path / "nowhere")
    told = check_json(capsys, root, 1)
    (found,) = messages(told)
    assert found.startswith(f"{path}: expected {expected}")
    assert [(split["rows"], split["recordings"]) for split in told["splits"]] == [(2, 2), (8, 8)]


@pytest.mark.parametrize("column", ["audio", "task_name", "answers"])
def test_a_parquet_file_without_a_column_is_one_fault(
    column: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from pyarrow import parquet

    root = snapshot(tmp_path / "data", ["navigate"])
    path = root / "c3t" / "navigate" / "accent-00001-of-00002.parquet"
    parquet.write_table(parquet.read_table(path).drop_columns([column]), path)
    (found,) = messages(check_json(capsys, root, 1))
    assert found.startswith(f"{path}: expected column {column}; found columns ")


def test_damage_within_a_parquet_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The recordings' pages cannot be read; the rows' texts can."""
    from pyarrow import parquet

    root = snapshot(tmp_path / "data", ["navigate"])
    path = root / "c3t" / "navigate" / "accent-00001-of-00002.parquet"
    columns = parquet.ParquetFile(path).metadata.row_group(0)
    at = next(n for n in range(columns.num_columns) if columns.column(n).path_in_schema == "audio.bytes")
    content = bytearray(path.read_bytes())
    start = columns.column(at).dictionary_page_offset or columns.column(at).data_page_offset
    content[start : start + 40] = b"\xff" * 40
    path.write_bytes(content)
    told = check_json(capsys, root, 1)
    (found,) = messages(told)
    assert found.startswith(f"{path}: expected a parquet file; found ")
    assert (told["splits"][0]["rows"], told["splits"][0]["recordings"]) == (6, 2)


def test_texts_in_parquet_that_are_not_utf8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    root = snapshot(tmp_path / "data", ["navigate"])
    path = root / "c3t" / "navigate" / "accent-00000-of-00002.parquet"
    table = parquet.read_table(path)
    accents = pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff", b"Bath"]).buffers())
    parquet.write_table(table.set_column(table.column_names.index("accent"), "accent", accents), path)
    (found,) = messages(check_json(capsys, root, 1))
    assert found == f"{path}: expected a parquet file with texts in UTF-8; found byte 0xff that is not"


def test_parquet_of_a_task_without_its_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_parquet(tmp_path / "c3t" / "navigate" / "accent-0.parquet", rows("snarks", "accent"))
    assert messages(check_json(capsys, tmp_path, 1)) == [f"{path}: expected rows of navigate; found none"]


def test_a_fault_of_a_file_of_several_tasks_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from pyarrow import parquet

    root = default_snapshot(tmp_path / "data")
    path = root / "c3t" / "data" / "accent-00000-of-00002.parquet"
    parquet.write_table(parquet.read_table(path).drop_columns(["audio_prompt"]), path)
    assert len(messages(check_json(capsys, root, 1))) == 1
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    assert main(["check", "c3t", "--data", str(root)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {path}: expected a parquet file; found No such file")


def test_a_task_in_whole_numbers(tmp_path: Path) -> None:
    """The configuration `default` has whole numbers for instance ids."""
    write_parquet(tmp_path / "c3t" / "data" / "accent-0.parquet", rows("snarks", "accent"), integers=True)
    report = check.check(sources.parse(str(tmp_path)))
    assert [(split.task, split.prompts) for split in report.splits] == [("snarks", 2)]


@pytest.mark.parametrize(("folder", "expected"), [("no", "no such folder"), ("empty", "an empty folder")])
def test_no_data_is_a_usage_error(
    folder: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty" / "c3t").mkdir(parents=True)
    assert main(["check", "c3t", "--data", str(tmp_path / folder)]) == 2
    captured = capsys.readouterr()
    assert expected in captured.err and captured.err.count("\n") == 1 and not captured.out


def test_the_demo_set(capsys: pytest.CaptureFixture[str]) -> None:
    report = check.check(sources.parse("demo"))
    assert not report.faults and report.prompts == 22
    assert [(a.task, a.instance_id, a.voice) for a in report.absent] == [("web_of_lies", "2", "seventies, male")]
    assert "(demo data: these figures are not the benchmark's)" in report.to_text()
