"""Files of answers to HAVE-Bench's items, scored offline and judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_judge_server import FakeJudge, right_when_it_says_so
from have_data import make

from lmms_audio_tasks import cli, sources
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.have_bench.judging import judge_file
from lmms_audio_tasks.have_bench.predictions import score_file
from lmms_audio_tasks.judge.agreement import compare_files
from lmms_audio_tasks.judge.settings import JudgeSettings
from lmms_audio_tasks.judge.verdict_file import read_verdicts
from lmms_audio_tasks.records import error_response

RIGHT = {"p1": "b", "p2": "a red kite", "p3": "(b) a dog", "p4": "Red kite.", "r1": "a dog", "r2": "1000", "r3": "b"}
Write = Callable[[Any], Path]


@pytest.fixture
def source(tmp_path: Path) -> sources.Source:
    return sources.parse(str(make(tmp_path / "set")))


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: dict[str, str] | str) -> Path:
        path = tmp_path / "answers.jsonl"
        if isinstance(content, dict):
            lines = (json.dumps({"id": name, "response": response}) for name, response in content.items())
            content = "".join(f"{line}\n" for line in lines)
        path.write_text(content, "utf-8")
        return path

    return write


def test_all_right(write: Write, source: sources.Source) -> None:
    told = score_file(write(RIGHT), source).to_dict()
    assert (told["n"], told["correct"], told["unknown_ids"]) == (7, 7, 0)
    assert [(level["level"], level["score"], level["missing"]) for level in told["levels"]] == [
        ("perception", 1.0, 0),
        ("reasoning", 1.0, 0),
    ]


def test_scores_by_hand(write: Write, source: sources.Source) -> None:
    answers = {**RIGHT, "p1": "a", "p2": error_response("x"), "p4": "a dragon", "r1": "c"}
    scored = score_file(write({key: answers[key] for key in answers if key != "r3"}), source)
    perception, reasoning = scored.to_dict()["levels"]
    # looking: 0 of 1; matching: 1 of 2, of which one is unjudged.
    assert (perception["score"], perception["least"], perception["greatest"]) == (None, 0.25, 0.5)
    rows = {row["subtask"]: row for row in perception["subtasks"]}
    assert rows["looking"] == {"subtask": "looking", "n": 2, "correct": 0, "unjudged": 0, "error": 1, "score": 0.0}
    assert rows["matching"] == {"subtask": "matching", "n": 2, "correct": 1, "unjudged": 1, "error": 0, "score": None}
    assert (reasoning["score"], reasoning["missing"]) == (0.5, 1)
    assert scored.unjudged == 1
    text = scored.to_text()
    assert "perception                      0.2500 to 0.5000, not all judged" in text
    assert "reasoning                       0.5000  (items without an answer, left out: 1)" in text
    assert "--judge hybrid or --judge llm" in text


def test_a_level_without_an_answer_is_left_out(write: Write, source: sources.Source) -> None:
    told = score_file(write({"r1": "b"}), source).to_dict()
    assert [(level["level"], level["missing"]) for level in told["levels"]] == [("reasoning", 2)]


def test_unknown_ids_are_counted_and_left_out(
    write: Write, source: sources.Source, caplog: pytest.LogCaptureFixture
) -> None:
    scored = score_file(write({**RIGHT, "zz": "b"}), source)
    assert (len(scored.items), scored.unknown) == (7, 1)
    assert "1 of 8 ids are not in the data" in caplog.text
    assert "answers with ids that the data do not have, left out: 1" in scored.to_text()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "expected at least one line; found an empty file"),
        ('{"id": "p1"}\n', "line 1: expected the keys id and response, and no others; found id"),
        (
            '{"id": "p1", "response": "b", "x": 1}\n',
            "line 1: expected the keys id and response, and no others; found id,",
        ),
        ('{"id": "p1", "response": null}\n', "line 1: expected response to be a text; found None"),
        ('{"id": 1, "response": "b"}\n', "line 1: expected id to be a text; found 1"),
        ('{"id": "p1", "response": "a"}\n' * 2, "line 2: expected each id once; found 'p1' again, first in line 1"),
        ('{"id": "p1", "response": "a"}\n{', "line 2: expected a JSON object in UTF-8; found Expecting property name"),
        ('{"id": "no", "response": "a"}\n', "found none of its 1 ids, e.g. 'no'"),
    ],
)
def test_files_at_fault(content: str, told: str, write: Write, source: sources.Source) -> None:
    with pytest.raises(DataError) as error:
        score_file(write(content), source)
    assert told in str(error.value)


# --- judged ---


@pytest.fixture
def server() -> Iterator[FakeJudge]:
    with FakeJudge(right_when_it_says_so) as server:
        yield server


@pytest.mark.parametrize(
    ("mode", "correct", "unjudged", "calls"),
    # In llm mode the judge, who goes by one word, sees the right answers too and calls all but one wrong.
    [("rule", 5, 2, 0), ("hybrid", 6, 0, 2), ("llm", 1, 0, 7)],
)
def test_judged(
    mode: str,
    correct: int,
    unjudged: int,
    calls: int,
    write: Write,
    source: sources.Source,
    server: FakeJudge,
    tmp_path: Path,
) -> None:
    settings = JudgeSettings(mode=mode, base_url=server.url, api_key="k", cache=tmp_path / "cache")  # type: ignore[arg-type]
    path = write({**RIGHT, "p2": "right, a dragon", "p4": "a balloon"})
    scored = judge_file(path, settings, progress=False, source=source)
    told = scored.to_dict()
    assert (told["correct"], scored.unjudged, len(server.calls)) == (correct, unjudged, calls)
    assert scored.outcome.calls == calls
    assert told["judge"]["mode"] == mode
    assert (f"judge: {calls} calls" in scored.to_text()) == (mode != "rule")
    scored.write_judgements(tmp_path / "verdicts.jsonl")
    verdicts = read_verdicts(tmp_path / "verdicts.jsonl")
    assert [one["item_id"] for one in verdicts] == list(RIGHT)
    assert verdicts[0]["judge"] == told["judge"]
    compared = compare_files(tmp_path / "verdicts.jsonl", tmp_path / "verdicts.jsonl")
    assert compared.sums.n == 7 - unjudged and compared.sums.rate == 1


def test_the_command(write: Write, source: sources.Source, capsys: pytest.CaptureFixture[str], use_data) -> None:
    use_data(source.root)
    path = str(write(RIGHT))
    assert cli.main(["score", "have_bench", path, "--data", str(source.root), "--judge", "rule"]) == 0
    assert "HAVE-Bench, 7 answers" in capsys.readouterr().out
    path = str(write({**RIGHT, "p2": "a dragon"}))
    assert cli.main(["score", "have_bench", path, "--judge", "rule", "--format", "json"]) == 1, "one is unjudged"
    assert json.loads(capsys.readouterr().out)["unjudged"] == 1
    assert cli.main(["score", "have_bench", path, "--data", "hub", "--judge", "rule"]) == 2
