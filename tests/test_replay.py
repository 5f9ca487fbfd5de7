"""`--model replay`: the file of answers, read strictly, and which answer goes to which request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lmms_audio_tasks.errors import DataError, ModelError
from lmms_audio_tasks.models.base import Item
from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.models.replay import Replay, read_answers


def write(path: Path, *lines: Any) -> Path:
    file = path / "answers.jsonl"
    file.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), "utf-8")
    return file


def item(name: str, task: str = "t", turn: int = 0) -> Item:
    return Item(task, 0, "", {}, lambda: pytest.fail("replay reads no prompt"), lambda: {"item_id": name}, turn)


def answers(model: Replay, *items: Item) -> list[str | Failure]:
    found = dict(model.answer(items))
    return [found[index] for index in range(len(items))]


def test_answers_by_id_and_by_task(tmp_path: Path) -> None:
    model = Replay(
        write(tmp_path, {"id": "a", "response": "yes"}, {"task": "u", "id": "a", "response": "no"}), device="cpu"
    )
    assert answers(model, item("a"), item("a", "u")) == ["yes", "no"]
    (failure,) = answers(model, item("b"))
    assert isinstance(failure, Failure)
    assert "no answer for b of t" in failure.message


def test_one_answer_a_round(tmp_path: Path) -> None:
    model = Replay(write(tmp_path, {"id": "a", "responses": ["x", "y"]}, {"id": "b", "response": "z"}), device="cpu")
    assert answers(model, item("a"), item("b")) == ["x", "z"]
    assert answers(model, item("a", turn=1), item("b", turn=1)) == ["y", "z"]
    failure, last = answers(model, item("a", turn=2), item("b", turn=2))
    assert last == "z"
    assert isinstance(failure, Failure)
    assert "2 answers for a of t, and none for round 3" in failure.message


def test_steps_without_a_round_are_counted(tmp_path: Path) -> None:
    model = Replay(write(tmp_path, {"id": "a", "responses": ["x", "y"]}), device="cpu")
    assert [answers(model, item("a")) for _ in range(2)] == [["x"], ["y"]]
    assert isinstance(answers(model, item("a"))[0], Failure)
    assert answers(model, item("a", "other task")) == ["x"]


def test_a_repetition_in_one_call_is_no_step(tmp_path: Path) -> None:
    model = Replay(write(tmp_path, {"id": "a", "responses": ["x", "y"]}), device="cpu")
    assert answers(model, item("a"), item("a")) == ["x", "x"]
    assert answers(model, item("a", turn=1), item("a", turn=1)) == ["y", "y"]


def test_a_document_without_an_id_fails_alone(tmp_path: Path) -> None:
    model = Replay(write(tmp_path, {"id": "a", "response": "x"}), device="cpu")
    nameless = Item("t", 0, "", {}, lambda: pytest.fail(""), dict)
    failure, answer = answers(model, nameless, item("a"))
    assert isinstance(failure, Failure)
    assert answer == "x"


@pytest.mark.parametrize(
    ("line", "expected", "found"),
    [
        ({"response": "x"}, "id to be a text", "None"),
        ({"id": 3, "response": "x"}, "id to be a text", "3"),
        ({"id": "b", "task": "", "response": "x"}, "task to be a text", "''"),
        ({"id": "b"}, "either response or responses", "neither"),
        ({"id": "b", "response": "x", "responses": ["x"]}, "either response or responses", "both"),
        ({"id": "b", "response": None}, "response to be a text", "None"),
        ({"id": "b", "responses": []}, "responses to be a list of texts", "[]"),
        ({"id": "b", "responses": "x"}, "responses to be a list of texts", "'x'"),
        ({"id": "b", "answer": "x"}, "only task, id, response, responses", "'answer'"),
        ({"id": "a", "response": "x"}, "each id once a task", "'a' again"),
        ("[]", "a JSON object", "list"),
        ("{", "JSON", ""),
    ],
)
def test_faults_are_told_with_their_line(tmp_path: Path, line: Any, expected: str, found: str) -> None:
    with pytest.raises(DataError) as told:
        read_answers(write(tmp_path, {"id": "a", "response": "x"}, line))
    assert told.value.row == "line 2"
    assert expected in told.value.expected
    assert found in told.value.found


def test_a_file_must_be_named_be_there_and_hold_something(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="responses=FILE"):
        Replay(device="cpu")
    with pytest.raises(ModelError, match="did you mean responses"):
        Replay(response="x", device="cpu")
    with pytest.raises(DataError, match="no such file"):
        Replay(tmp_path / "no.jsonl", device="cpu")
    with pytest.raises(DataError, match="at least one answer"):
        Replay(write(tmp_path), device="cpu")
