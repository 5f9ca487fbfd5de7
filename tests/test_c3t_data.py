"""Reading C3T: three layouts give the same documents, and what is at fault is told by file and row."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from c3t_data import clip, default_snapshot, make, rows, snapshot, write_jsonl, write_parquet

from lmms_audio_tasks import sources
from lmms_audio_tasks.c3t import SPECS, TASK_NAMES, config, data, layout, task_named
from lmms_audio_tasks.c3t.rows import COLUMNS
from lmms_audio_tasks.errors import AudioTasksError, DataError

ACCENT, VOICES, TEXT = (SPECS[f"c3t_navigate_{kind}"] for kind in ("accent", "age_gender", "text"))


def source_of(root: Path) -> sources.Source:
    return sources.parse(str(root))


def documents(root: Path, name: str, use_data: Callable[[Any], None], tmp_path: Path) -> Any:
    """The documents of a task as the host gets them."""
    from datasets import load_dataset

    use_data(root)
    path, kwargs = (getattr(config, f"{key}__{name}") for key in ("dataset_path", "dataset_kwargs"))
    loaded = load_dataset(path, cache_dir=str(tmp_path / "cache"), **kwargs)
    return config.build(loaded[SPECS[name].kind], name)


# --- names and places ---


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("navigate", "navigate"),
        ("causal-judgement", "causal_judgement"),
        ("Web of Lies", "web_of_lies"),
        ("leaderboard_bbh_disambiguation_qa", "disambiguation_qa"),
        ("navigation", None),
        ("", None),
    ],
)
def test_task_names(name: str, expected: str | None) -> None:
    assert task_named(name) == expected


def test_the_hubs_configurations() -> None:
    assert [SPECS[f"c3t_{task}_accent"].hub_config for task in TASK_NAMES[:3]] == [
        "causal-judgement",
        "disambiguation-qa",
        "formal-fallacies",
    ]


def test_files_are_found_in_each_layout(tmp_path: Path) -> None:
    own = snapshot(tmp_path / "a") / "c3t"
    found = layout.find(own, "navigate", "age_gender")
    assert [path.name for path in found.paths] == [f"age_gender-0000{number}-of-00002.parquet" for number in (0, 1)]
    assert {path.parent.name for path in found.paths} == {"navigate"} and found.parquet
    assert len(layout.tables(own)) == 4
    shared = default_snapshot(tmp_path / "b") / "c3t"
    assert [path.parent.name for path in layout.find(shared, "snarks", "accent").paths] == ["data", "data"]
    with pytest.raises(DataError, match=r"expected hyperbaton/accent\.jsonl, or parquet files of that split; "):
        layout.find(shared, "hyperbaton", "accent")
    jsonl = make(tmp_path / "c") / "c3t"
    assert layout.find(jsonl, "navigate", "accent").paths == (jsonl / "navigate" / "accent.jsonl",)


def test_folders_may_name_the_split(tmp_path: Path) -> None:
    """As the hub's own conversion to parquet lays files out."""
    path = write_parquet(tmp_path / "c3t" / "navigate" / "accent" / "0000.parquet", rows("navigate", "accent"))
    assert layout.find(tmp_path / "c3t", "navigate", "accent").paths == (path,)


def test_linked_files_and_folders_are_found(tmp_path: Path) -> None:
    """As a hub cache has its files, and as one keeps a large set on another disk; a link may lead back up."""
    away = write_parquet(tmp_path / "away" / "accent-0.parquet", rows("navigate", "accent"))
    blob = write_parquet(tmp_path / "blobs" / "0a1b", rows("navigate", "age_gender"))
    folder = tmp_path / "data" / "c3t"
    (folder / "snarks").mkdir(parents=True)
    (folder / "navigate").symlink_to(away.parent)
    (folder / "snarks" / "up").symlink_to(folder)
    (folder / "age_gender-0.parquet").symlink_to(blob)
    assert layout.find(folder, "navigate", "accent").paths == (folder / "navigate" / away.name,)
    assert layout.find(folder, "navigate", "age_gender").paths == (folder / "age_gender-0.parquet",)


# --- documents ---


@pytest.mark.parametrize("build", [make, snapshot, default_snapshot])
@pytest.mark.parametrize("spec", [ACCENT, VOICES, TEXT], ids=lambda spec: spec.kind)
def test_every_layout_gives_the_same_documents(build: Any, spec: Any, tmp_path: Path, use_data: Any) -> None:
    root = build(tmp_path / "data")
    found = list(documents(root, spec.name, use_data, tmp_path))
    expected = rows("navigate", "accent" if spec.text else spec.kind)
    if spec.text:
        expected = expected[:: len(expected) // 2]
    assert [doc["text_prompt"] for doc in found] == [row["text_prompt"] for row in expected]
    assert [doc["sample_id"] for doc in found] == [("" if spec.text else row["sample_id"]) for row in expected]
    for doc, row in zip(found, expected, strict=True):
        assert (doc["instance_id"], doc["answers"], doc["options"]) == (
            row["instance_id"],
            row["answers"],
            row["options"],
        )
        assert doc["choices"] == ["Yes", "No"] and doc["answer"] == row["answers"][0]
        assert doc["variants"] == {"accent": 3, "age_gender": 4, "text": 1}[spec.kind]
        assert doc["prompt"] == (row["text_prompt"] if spec.text else "")
        assert (doc["task"], doc["task_name"], doc["source"], doc["demo"]) == (spec.name, "navigate", str(root), False)
    assert len({doc["item_id"] for doc in found}) == len(found)


def test_recordings_are_those_of_the_row(tmp_path: Path, use_data: Any) -> None:
    jsonl, parquet = make(tmp_path / "jsonl"), snapshot(tmp_path / "parquet")
    paths = [doc["audio"]["path"] for doc in documents(jsonl, ACCENT.name, use_data, tmp_path)]
    assert paths == [str(jsonl / "c3t" / row["audio"]) for row in rows("navigate", "accent")]
    # The second file of the split begins with row 2, whose tone is the first again.
    tones = [doc["audio"]["bytes"] for doc in documents(parquet, ACCENT.name, use_data, tmp_path)]
    assert tones == [clip(0), clip(1), clip(0), clip(1), clip(2), clip(3)]


def test_voices_of_a_prompt_stand_together(tmp_path: Path, use_data: Any) -> None:
    """Whatever the order of the files, instances come in natural order, each with all its voices."""
    root = make(tmp_path / "data", ["navigate"], prompts=11)
    path = root / "c3t" / "navigate" / "accent.jsonl"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(sorted(lines, key=lambda line: json.loads(line)["accent"], reverse=True)), "utf-8")
    found = documents(root, ACCENT.name, use_data, tmp_path)
    assert found["instance_id"][:] == [str(number) for number in range(1, 12) for _ in range(3)]
    assert found["accent"][:] == ["Ayr", "Bath", "Cork"] * 11


def test_natural_order() -> None:
    """Also of numbers of more digits than Python converts."""
    small, large = "9" * 5000, "1" + "0" * 5000
    assert sorted(["x10", large, small, "10", "x9", "2"], key=data.natural) == ["2", "10", small, large, "x9", "x10"]


@pytest.mark.parametrize("build", [make, snapshot])
def test_first_instances_whole(build: Any, tmp_path: Path, use_data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(data.INSTANCES_VARIABLE, "1")
    root = build(tmp_path / "data")
    for spec, count in ((ACCENT, 3), (VOICES, 4), (TEXT, 1)):
        found = documents(root, spec.name, use_data, tmp_path)
        assert found["instance_id"][:] == ["1"] * count
    assert getattr(config, f"metadata__{ACCENT.name}")["instances"] == 1


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "two"])
def test_a_bad_number_of_instances(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(data.INSTANCES_VARIABLE, value)
    with pytest.raises(AudioTasksError, match=f"must be a whole number of at least 1, not '{value}'"):
        data.validate(ACCENT.name)


def test_open_questions_offer_the_tasks_answers_to_a_guesser(tmp_path: Path, use_data: Any) -> None:
    root = make(tmp_path / "data", ["navigate"])
    for split in ("accent", "age_gender"):
        content = [{**row, "options": [], "answers": [str(9 + row["task_id"])]} for row in rows("navigate", split)]
        write_jsonl(root, "navigate", split, content)
    found = documents(root, ACCENT.name, use_data, tmp_path)
    assert found[0]["options"] == [] and found[0]["choices"] == ["10", "11"]


def test_a_text_task_makes_do_with_one_split_and_no_recordings(tmp_path: Path, use_data: Any) -> None:
    root = tmp_path / "data"
    write_jsonl(root, "navigate", "age_gender", rows("navigate", "age_gender"))
    assert documents(root, TEXT.name, use_data, tmp_path)["instance_id"][:] == ["1", "2"]
    data.validate(TEXT.name)
    with pytest.raises(DataError, match=r"age_gender-1-0\.flac', but there is no such file"):
        data.validate(VOICES.name)


def test_a_text_task_of_the_hub_streams_text_columns_alone(tmp_path: Path) -> None:
    """The calls that the hub gets, on a folder with the hub's layout and front matter."""
    from datasets import load_dataset

    root = snapshot(tmp_path) / "c3t"
    config_text = "".join(
        f"- config_name: {task}\n  data_files:\n"
        + "".join(f"  - split: {split}\n    path: {task}/{split}-*\n" for split in ("accent", "age_gender"))
        for task in ("navigate", "snarks")
    )
    (root / "README.md").write_text(f"---\nconfigs:\n{config_text}---\n", "utf-8")
    columns = list(data.TASK_COLUMNS)
    splits = {
        split: load_dataset(str(root), TEXT.hub_config, split=split, streaming=True, columns=columns)
        for split in ("accent", "age_gender")
    }
    assert set(next(iter(splits["accent"]))) == set(columns)
    found = data.text_dataset(splits, TEXT, "hub:x")
    assert found["text_prompt"][:] == ["Is this navigate number 1? Yes or no?", "Is this navigate number 2? Yes or no?"]
    assert found[0]["source"] == "hub:x"


def test_hub_settings(use_data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    use_data("hub")
    monkeypatch.setenv(sources.REVISION_VARIABLE, "abc")
    assert getattr(config, f"dataset_path__{ACCENT.name}") == "amu-cai/C3T"
    assert getattr(config, f"dataset_name__{ACCENT.name}") == "navigate"
    assert getattr(config, f"dataset_kwargs__{ACCENT.name}") == {"revision": "abc"}
    # No recording is downloaded to ask in writing.
    assert getattr(config, f"dataset_path__{TEXT.name}") == "text"
    assert getattr(config, f"dataset_name__{TEXT.name}") is None
    data.validate(ACCENT.name)


def test_the_commit_the_hub_served_stands_in_the_record(tmp_path: Path, use_data: Any) -> None:
    from datasets import load_dataset

    use_data("hub")
    files = [str(path) for path in layout.find(snapshot(tmp_path) / "c3t", "navigate", "accent").paths]
    loaded = load_dataset("parquet", data_files={"accent": files}, cache_dir=str(tmp_path / "cache"))["accent"]
    commit = "0123456789abcdef0123456789abcdef01234567"
    loaded.info.download_checksums = {f"hf://datasets/amu-cai/C3T@{commit}/navigate/accent.parquet": {}}
    found = config.build(loaded, ACCENT.name)
    assert found[0]["source"] == f"hub:amu-cai/C3T@{commit}"
    assert config.build(loaded, ACCENT.name)["sample_id"][:] == [row["sample_id"] for row in rows("navigate", "accent")]


def test_audio_columns_as_the_hub_types_them(tmp_path: Path, use_data: Any) -> None:
    """The hub's files say that the column is audio to be decoded, which would need FFmpeg."""
    from datasets import Audio, Dataset

    content = rows("navigate", "accent")[::-1]
    clips = [{"bytes": clip(number), "path": "x.flac"} for number in range(len(content))]
    typed = Dataset.from_list([{**row, "audio": sound} for row, sound in zip(content, clips, strict=True)])
    path = tmp_path / "data" / "c3t" / "navigate" / "accent-00000-of-00001.parquet"
    path.parent.mkdir(parents=True)
    typed.cast_column("audio", Audio()).to_parquet(path)
    found = documents(tmp_path / "data", ACCENT.name, use_data, tmp_path)
    assert found.features["audio"] == Audio(decode=False)
    # Read in the order of the ids, the recording still that of its row.
    assert found["sample_id"][:] == [row["sample_id"] for row in content[::-1]]
    assert [doc["audio"]["bytes"] for doc in found] == [sound["bytes"] for sound in clips[::-1]]


# --- faults ---


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"task_name": "navigation"}, "expected task_name to be one of causal_judgement, "),
        ({"task_name": "snarks"}, "expected rows of navigate only; found one of snarks"),
        ({"instance_id": ""}, "expected instance_id to be a text or a whole number; found ''"),
        ({"instance_id": 1.5}, "expected instance_id to be a text or a whole number; found 1.5"),
        ({"sample_id": None}, "expected sample_id to be a text or a whole number; found None"),
        ({"sample_id": "navigate-accent-1-Ayr"}, "expected each sample_id once; found 'navigate-accent-1-Ayr' again"),
        ({"text_prompt": " "}, "expected a text_prompt; found ' '"),
        ({"text_prompt": "Another?"}, "expected the text_prompt of instance 1 in row 1; found another"),
        ({"answers": []}, "expected answers to be a list of at least one text; found []"),
        ({"answers": "No"}, "expected answers to be a list of at least one text; found 'No'"),
        ({"answers": ["No"]}, "expected the answers of instance 1 in row 1; found another"),
        ({"options": ["Yes", 3]}, "expected options to be a list of texts; found ['Yes', 3]"),
        ({"options": ["Yes"]}, "expected the options of instance 1 in row 1; found another"),
        ({"accent": None}, "expected accent to say whose voice it is; found None"),
        ({"accent": "Ayr"}, "expected each voice of a prompt once; found instance 1, Ayr again, first in row 1"),
        ({"audio": "navigate/audio/no.flac"}, "expected audio to be the path of a recording; found 'navigate/audio/no"),
        (
            {"audio": "../secret.flac"},
            "expected audio to be the path of a recording; found '../secret.flac', which",
        ),
        ({"audio": "a\0b"}, "expected audio to be the path of a recording; found 'a\\x00b', but there is no such file"),
        ({"audio": ["x"]}, "expected audio to be a path; found ['x']"),
    ],
)
def test_a_fault_names_file_and_row(changes: dict[str, Any], expected: str, tmp_path: Path, use_data: Any) -> None:
    root = make(tmp_path / "data", ["navigate"])
    content = rows("navigate", "accent")
    content[1].update(changes)
    path = write_jsonl(root, "navigate", "accent", content)
    use_data(root)
    with pytest.raises(DataError) as caught:
        data.validate(ACCENT.name)
    assert str(caught.value).startswith(f"{path}, row 2: {expected}"), str(caught.value)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"{", "expected a JSON object in UTF-8; found Expecting property name enclosed in double quotes in column 2"),
        (b"[1]", "expected a JSON object in UTF-8; found [1]"),
        (b'"x"', "expected a JSON object in UTF-8; found 'x'"),
        (b'{"task_name": "\xff"}', "expected a JSON object in UTF-8; found byte 0xff in column 16"),
        (b"[" * 100_000, "expected a JSON object in UTF-8; found deep nesting"),
        (
            b'{"task_name": "navigate"}',
            "expected a column instance_id, sample_id, text_prompt, answers, options;",
        ),
    ],
)
def test_a_bad_line_is_named(line: bytes, expected: str, tmp_path: Path, use_data: Any) -> None:
    root = make(tmp_path / "data", ["navigate"])
    path = root / "c3t" / "navigate" / "accent.jsonl"
    path.write_bytes(path.read_bytes() + b"\n" + line + b"\n")
    use_data(root)
    with pytest.raises(DataError) as caught:
        data.validate(ACCENT.name)
    told = str(caught.value)
    assert told.startswith(f"{path}, ") and "8: " in told and expected in told and "\n" not in told


def test_the_number_of_further_faults_is_told(tmp_path: Path, use_data: Any) -> None:
    root = make(tmp_path / "data", ["navigate"])
    content = [{**row, "answers": None} for row in rows("navigate", "accent")]
    write_jsonl(root, "navigate", "accent", content)
    use_data(root)
    with pytest.raises(DataError, match=r"found None \(and 5 more: `lmms-audio-tasks check c3t --data .*` lists all\)"):
        data.validate(ACCENT.name)


def test_files_at_fault(tmp_path: Path, use_data: Any) -> None:
    root = make(tmp_path / "data", ["navigate"])
    path = root / "c3t" / "navigate" / "accent.jsonl"
    path.write_text("\n", "utf-8")
    use_data(root)
    with pytest.raises(DataError, match=r"accent.jsonl: expected at least one row; found an empty file"):
        data.validate(ACCENT.name)
    path.unlink()
    with pytest.raises(DataError, match=r"expected navigate/accent.jsonl, or parquet files of that split; found only"):
        data.validate(ACCENT.name)


def test_parquet_at_fault(tmp_path: Path, use_data: Any) -> None:
    root = snapshot(tmp_path / "data", ["navigate"])
    use_data(root)
    first, second = layout.find(root / "c3t", "navigate", "accent").paths
    content = rows("navigate", "accent")
    write_parquet(second, [{**content[2], "answers": []}, *content[3:]])
    with pytest.raises(DataError, match=rf"{second.name}, row 1: expected answers to be a list of at least one text"):
        data.validate(ACCENT.name)
    write_parquet(second, content[1:])
    with pytest.raises(DataError, match=rf"row 1: expected each sample_id once; .* first in .*{first.name}, row 2"):
        data.validate(ACCENT.name)
    second.write_bytes(b"PAR1 is not enough")
    with pytest.raises(DataError, match=rf"{second.name}: expected a parquet file; found "):
        data.validate(ACCENT.name)
    write_parquet(first, rows("snarks", "accent"))
    second.unlink()
    with pytest.raises(DataError, match="expected rows of navigate; found none"):
        data.validate(ACCENT.name)


def test_a_folder_that_cannot_be_looked_into(tmp_path: Path, use_data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    use_data(make(tmp_path / "data", ["navigate"]))

    def is_file(path: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", is_file)
    with pytest.raises(DataError, match=r"accent.jsonl: expected a file that can be read; found Permission denied"):
        data.validate(ACCENT.name)


@pytest.mark.parametrize("column", ["answers", "audio"])
def test_a_parquet_file_without_a_column(column: str, tmp_path: Path, use_data: Any) -> None:
    from pyarrow import parquet

    root = snapshot(tmp_path / "data", ["navigate"])
    use_data(root)
    path = layout.find(root / "c3t", "navigate", "accent").paths[0]
    parquet.write_table(parquet.read_table(path).drop_columns([column]), path)
    with pytest.raises(DataError, match=f"expected column {column}; found columns "):
        data.validate(ACCENT.name)
    if column == "audio":
        data.validate("c3t_navigate_text")  # needs none


def test_a_table_of_the_host_without_a_column_is_told(tmp_path: Path) -> None:
    from datasets import Dataset

    table = Dataset.from_dict({"task_name": ["navigate"]})
    with pytest.raises(DataError, match=r"hub:x: expected column instance_id, .*audio; found columns task_name"):
        data.table_dataset(table, ACCENT, "hub:x")


def test_columns_are_those_of_the_hub() -> None:
    assert set(COLUMNS) == set(rows("navigate", "accent")[0])
