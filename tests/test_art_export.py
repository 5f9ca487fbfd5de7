"""A run's samples as an official prediction file: one run, one model, one kind of task, and nothing lost in silence."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from lmms_audio_tasks import export as commands
from lmms_audio_tasks.art.predictions import export_run, read_predictions
from lmms_audio_tasks.art.utils import process_results
from lmms_audio_tasks.errors import AudioTasksError, DataError
from lmms_audio_tasks.records import error_response


def sample(item_id: str, response: str, **changes: Any) -> dict[str, Any]:
    """A line of the host's samples file."""
    doc = {
        "item_id": item_id,
        "task": "art_sound_reasoning",
        "folder": "sound_reasoning",
        "modality": "audio",
        "template_id": "t",
        "question_id": "q",
        "prompt": "Answer yes or no.",
        "answer": "yes",
        "source": "demo",
        "demo": True,
        **changes,
    }
    return {"doc_id": 0, "target": "yes", **process_results(doc, [response])}


def save(path: Path, *samples: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in samples), "utf-8")
    return path


def name(task: str = "art_sound_reasoning", run: str = "20260101_000000") -> str:
    return f"model/{run}_samples_{task}.jsonl"


def test_responses_are_written_by_id(tmp_path: Path) -> None:
    save(tmp_path / name(), sample("a", "Yes."), sample("b", "Né, \ud800\n"), sample("c", error_response("x")))
    other = "art_audio_arithmetics"
    save(tmp_path / name(other), sample("d", "", task=other, folder="audio_arithmetics"))
    save(tmp_path / name("art_sound_reasoning_text"), sample("a", "no", modality="text"))
    save(tmp_path / name("sakura_multi_animal"), {"accuracy": {}})
    out = tmp_path / "outputs.json"
    exported = export_run(tmp_path, out)
    assert read_predictions(out) == {"d": "", "a": "Yes.", "b": "Né, \ud800\n"}
    assert '"a": "Yes."' in out.read_text("utf-8")
    assert exported.responses == {"art_audio_arithmetics": 1, "art_sound_reasoning": 2}
    assert (exported.errors, exported.demo, len(exported.files)) == (1, True, 2)
    told = exported.to_text()
    assert told.endswith(f"wrote 3 responses to {out} (demo data), without 1 items on which the model failed")
    assert exported.to_dict()["n"] == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "outputs.json"]


def test_text_tasks_are_asked_for(tmp_path: Path) -> None:
    save(tmp_path / name("art_sound_reasoning_text"), sample("a", "no", modality="text"))
    with pytest.raises(DataError, match="found only those of the tasks with the other modality"):
        export_run(tmp_path, tmp_path / "o.json")
    assert export_run(tmp_path, tmp_path / "o.json", "text").errors == 0
    assert read_predictions(tmp_path / "o.json") == {"a": "no"}


def test_two_runs_of_a_task_are_refused_and_can_be_told_apart(tmp_path: Path) -> None:
    first = save(tmp_path / name(), sample("a", "no"))
    second = save(tmp_path / name(run="20260102_000000"), sample("a", "yes"))
    with pytest.raises(DataError, match=r"expected each item once .*'a' again, first in 20260101"):
        export_run(tmp_path, tmp_path / "o.json")
    export_run([second], tmp_path / "o.json")
    assert read_predictions(tmp_path / "o.json") == {"a": "yes"}
    export_run(first, tmp_path / "o.json")
    assert read_predictions(tmp_path / "o.json") == {"a": "no"}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([sample("a", "no"), sample("a", "no")], "line 2: expected each item once"),
        ([sample("a", "no"), sample("a", error_response("x"))], "line 2: expected each item once"),
        ([sample("a", "no"), sample("b", "no", source="/data", demo=False)], "line 2: expected data from demo"),
        ([sample("a", "no", modality="text")], "line 1: expected modality audio; found text"),
        ([sample("a", error_response("x"))], "expected at least one response; found none in 1 samples files"),
        ([{"accuracy": 1}], "line 1: expected a record of an ART task"),
        ([{"exact_match": 1.0}], "line 1: expected a record of an ART task"),
        ([{"exact_match": {"benchmark": "art"}}], "line 1: expected a record of an ART task"),
        *(
            (
                [sample("a", "no"), {"exact_match": {**sample("b", "no")["exact_match"], **fields}}],
                "line 2: expected a re",
            )
            for fields in ({"item_id": 3}, {"response": None}, {"groups": ["audio"]}, {"verdict": "right"})
        ),
    ],
)
def test_samples_at_fault_are_refused(tmp_path: Path, lines: list[dict[str, Any]], expected: str) -> None:
    save(tmp_path / name(), *lines)
    with pytest.raises(DataError, match=expected):
        export_run(tmp_path, tmp_path / "o.json")
    assert not (tmp_path / "o.json").exists()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[" * 100_000, "line 2: expected JSON of a few levels; found deep nesting"),
        ('{"a": ' + "9" * 5000 + "}", "line 2: expected JSON with numbers of a usual size"),
    ],
)
def test_lines_that_python_does_not_read_are_refused(tmp_path: Path, content: str, expected: str) -> None:
    save(tmp_path / name(), sample("a", "no"))
    with (tmp_path / name()).open("a") as file:
        file.write(content)
    with pytest.raises(DataError, match=expected):
        export_run(tmp_path, tmp_path / "o.json")


def test_two_models_are_refused(tmp_path: Path) -> None:
    save(tmp_path / name(), sample("a", "no"))
    save(tmp_path / "other" / "20260101_000000_samples_art_audio_arithmetics.jsonl", sample("b", "no"))
    with pytest.raises(DataError, match="expected one model's folder; found a second one beside"):
        export_run(tmp_path, tmp_path / "o.json")


def test_no_samples(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"expected samples of art_\* tasks \(lmms_eval --log_samples .*; found none"):
        export_run(tmp_path, tmp_path / "o.json")
    with pytest.raises(DataError, match="no such file or folder"):
        export_run(tmp_path / "nowhere", tmp_path / "o.json")


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    save(tmp_path / name(), sample("a", "no"))
    with pytest.raises(DataError, match="expected a file that can be written; found No such file"):
        export_run(tmp_path, tmp_path / "no" / "o.json")
    for folder in (tmp_path, Path()):
        with pytest.raises(DataError, match=r"expected a file that can be written; found (Is a directory|a folder)"):
            export_run(tmp_path, folder)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    commands.add_parser(parser.add_subparsers())
    save(tmp_path / name(), sample("a", "no"))
    words = ["export", "art", str(tmp_path), "-o", str(tmp_path / "o.json"), "--format", "json"]
    arguments = parser.parse_args(words)
    assert arguments.run(arguments) == 0
    assert json.loads(capsys.readouterr().out)["tasks"] == {"art_sound_reasoning": 1}
    arguments = parser.parse_args(["export", "sakura", str(tmp_path), "-o", "x"])
    with pytest.raises(AudioTasksError, match="sakura has no official prediction file"):
        arguments.run(arguments)
