"""C3T prediction files: the tables equal a plain count, and bad files are refused with file and line."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from c3t_data import make, rows, simulator, snapshot, write_jsonl

from lmms_audio_tasks.cli import main
from lmms_audio_tasks.records import error_response

made = simulator()
PUBLISHED = Path(__file__).parents[1].parent / "shared" / "published" / "c3t_table1.csv"
TABLE_1 = (
    ["system", "constraint", "fairness_overall", "fairness_age", "fairness_gender", "fairness_dialect", "robustness"]
    + ["em_textual", "em_spoken"]
)  # fmt: skip


def write(path: Path, lines: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def answers(task: str, say: Callable[[dict[str, Any]], str]) -> list[dict[str, Any]]:
    """A line for every spoken prompt of a task."""
    content = [*rows(task, "accent"), *rows(task, "age_gender")]
    return [{"sample_id": row["sample_id"], "response": say(row)} for row in content]


def written(task: str, *responses: str) -> list[dict[str, Any]]:
    numbered = enumerate(responses, start=1)
    return [{"task_name": task, "instance_id": str(number), "response": said} for number, said in numbered]


def right(row: dict[str, Any]) -> str:
    return f"I say {row['answers'][0]}."


def score(capsys: pytest.CaptureFixture[str], path: Path, root: Path) -> dict[str, Any]:
    assert main(["score", "c3t", str(path), "--data", str(root), "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def row_of(told: dict[str, Any], task: str, constraint: str = "none") -> dict[str, Any]:
    (row,) = (row for row in told["rows"] if (row["task"], row["constraint"]) == (task, constraint))
    return row


@pytest.mark.parametrize("write_data", [made.write_jsonl, made.write_parquet], ids=["jsonl", "parquet"])
def test_a_simulated_system_gets_what_a_plain_count_gives(
    write_data: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = made.simulate(60, seed=7)
    write_data(tmp_path / "data" / "c3t", prompts)
    made.write_predictions(tmp_path / "my system.jsonl", prompts)
    told = score(capsys, tmp_path / "my system.jsonl", tmp_path / "data")
    assert len(told["rows"]) == 12 * 3 and told["unknown"] == 0
    for row in told["rows"]:
        expected = made.brute_force(prompts, row["constraint"], row["task"])
        assert {name: row[name] for name in made.METRICS} == expected
        assert row["system"] == "my system"
    assert sum(entry["items"] for entry in told["coverage"]) == 60 * 44 - 1
    assert all(entry["missing"] == entry["errors"] == 0 for entry in told["coverage"])


def test_rows_have_the_published_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make(tmp_path / "data")
    path = write(tmp_path / "p.jsonl", answers("navigate", right))
    told = score(capsys, path, root)
    assert [column for column in told["rows"][0] if column in TABLE_1] == TABLE_1
    assert {(row["task"], row["constraint"]) for row in told["rows"]} == {
        (task, constraint) for task in ("navigate", "all") for constraint in ("none", "ca", "ca_speech")
    }


def test_columns_are_those_of_the_published_table() -> None:
    if not PUBLISHED.is_file():
        pytest.skip("the published tables are not beside this checkout")
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        assert next(csv.reader(file)) == TABLE_1


def test_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of two prompts the second is answered wrongly by Cork and by sixties males, and in writing."""
    root = make(tmp_path / "data", ["navigate"])

    def say(row: dict[str, Any]) -> str:
        wrong = row["accent"] == "Cork" or (row["age"], row["gender"]) == ("sixties", "male")
        return "Yes" if row["instance_id"] == "1" or wrong else "No"

    path = write(tmp_path / "p.jsonl", [*answers("navigate", say), *written("navigate", "Yes", "Yes, no?")])
    told = score(capsys, path, root)
    values = {name: row_of(told, "all")[name] for name in TABLE_1[2:]}
    assert values == {
        "fairness_overall": 0.5,
        "fairness_age": 0.5,
        "fairness_gender": 0.5,
        "fairness_dialect": 0.5,
        "robustness": 0.5,
        "em_textual": 0.5,
        "em_spoken": pytest.approx(12 / 14),
    }
    assert (row_of(told, "all")["prompts"], row_of(told, "all")["incomplete"]) == (2, 0)
    assert row_of(told, "all", "ca")["prompts"] == 1 and row_of(told, "all", "ca_speech")["prompts"] == 2
    assert told["flips"] == [
        {
            "task": "navigate",
            "system": "p",
            "instance_id": "2",
            "majority": "right",
            "right": 2,
            "wrong": 1,
            "accents": ["Cork"],
        }
    ]
    (gap,) = (row for row in told["gaps"] if row["task"] == "all" and row["characteristic"] == "age_gender")
    assert (gap["best"], gap["worst"], gap["gap"]) == ("sixties female", "sixties male", 0.5)
    assert (gap["prompts_better"], gap["prompts_worse"], gap["p_holm"], gap["pairs"]) == (1, 0, 1.0, 6)


def test_text_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make(tmp_path / "data", ["navigate"])
    path = write(tmp_path / "p.jsonl", [*answers("navigate", right), *written("navigate", "Yes")])
    assert main(["score", "c3t", str(path), "--data", str(root)]) == 0
    out = capsys.readouterr().out
    assert "accent      6 of 6 answered, 0 errors" in out and "text        1 of 2 answered, 0 errors" in out
    lines = [line.split() for line in out.splitlines()]
    whole = ["all", "none", "1.0000", "1.0000", "1.0000", "1.0000", "1.0000", "1.0000", "1.0000", "2", "1"]
    assert whole in lines
    assert ["accent", "Cork", "1.0000", "0.3424", "1.0000", "2"] in lines  # Wilson: 2 / (2 + 1.96^2)


def test_missing_answers_and_errors_are_left_out_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make(tmp_path / "data", ["navigate"])
    lines = answers("navigate", right)
    lines[0]["response"] = error_response("out of memory")
    path = write(tmp_path / "p.jsonl", lines[:-1])
    told = score(capsys, path, root)
    whole = row_of(told, "all")
    assert (whole["em_spoken"], whole["fairness_overall"], whole["incomplete"]) == (1.0, 1.0, 2)
    assert whole["em_textual"] is None and whole["robustness"] is None
    assert [(entry["split"], entry["items"], entry["missing"], entry["errors"]) for entry in told["coverage"]] == [
        ("accent", 6, 0, 1),
        ("age_gender", 8, 1, 0),
        ("text", 2, 2, 0),
    ]


def test_neither_recordings_nor_all_tasks_are_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "data"
    write_jsonl(root, "navigate", "accent", rows("navigate", "accent"))
    path = write(tmp_path / "p.jsonl", [line for line in answers("navigate", right) if "-accent-" in line["sample_id"]])
    told = score(capsys, path, root)
    assert row_of(told, "all")["fairness_dialect"] == 1.0 and row_of(told, "all")["fairness_overall"] is None


def test_names_of_tasks_may_be_spelled_as_on_the_hub(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make(tmp_path / "data", ["web_of_lies"])
    path = write(tmp_path / "p.jsonl", [{"task_name": "web-of-lies", "instance_id": 1, "response": "Yes"}])
    assert row_of(score(capsys, path, root), "web_of_lies")["em_textual"] == 1.0


def test_whole_numbers_are_ids_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "data"
    content = [{**row, "sample_id": number} for number, row in enumerate(rows("navigate", "accent"))]
    write_jsonl(root, "navigate", "accent", content)
    path = write(tmp_path / "p.jsonl", [{"sample_id": 0, "response": "Yes"}, {"sample_id": "1", "response": "No"}])
    assert row_of(score(capsys, path, root), "all")["em_spoken"] == 0.5


def test_unknown_ids_are_counted_and_warned_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    root = make(tmp_path / "data", ["navigate"])
    strangers = [{"sample_id": "x", "response": "Yes"}, *written("navigate", *["Yes"] * 3)[2:]]
    told = score(capsys, write(tmp_path / "p.jsonl", [*answers("navigate", right), *strangers]), root)
    assert told["unknown"] == 2
    assert "p.jsonl: 2 of 16 ids are not in the data; they are left out" in caplog.text
    assert main(["score", "c3t", str(write(tmp_path / "q.jsonl", strangers)), "--data", str(root)]) == 2
    assert "none of its 2 ids is in the data" in capsys.readouterr().err


GOOD = '{"sample_id": "navigate-accent-1-Ayr", "response": "Yes"}'


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{", "line 3: expected a JSON object in UTF-8; found Expecting property name"),
        ("[]", "line 3: expected a JSON object in UTF-8; found []"),
        ("null", "line 3: expected a JSON object in UTF-8; found None"),
        (
            '{"sample_id": "a"}',
            "line 3: expected keys sample_id and response, or task_name, instance_id and response;",
        ),
        ("{}", "response; found none"),
        ('{"instance_id": "1", "response": "Yes"}', "response; found instance_id, response"),
        ('{"sample_id": "a", "response": "Yes", "model": "m"}', "response; found sample_id, response, model"),
        ('{"sample_id": "a", "response": null}', "line 3: expected response to be a text; found None"),
        ('{"sample_id": "a", "response": ["Yes"]}', "line 3: expected response to be a text; found ['Yes']"),
        ('{"sample_id": "", "response": "Yes"}', "line 3: expected sample_id to be a text or a whole number; found ''"),
        ('{"sample_id": true, "response": "Yes"}', "line 3: expected sample_id to be a text or a whole number"),
        ('{"task_name": "navigate", "instance_id": null, "response": ""}', "line 3: expected instance_id to be a text"),
        (
            '{"task_name": "chess", "instance_id": "1", "response": ""}',
            "line 3: expected task_name to be one of causal_",
        ),
        ('{"task_name": 7, "instance_id": "1", "response": ""}', "line 3: expected task_name to be one of caus"),
        (GOOD, "line 3: expected each item once; found 'navigate-accent-1-Ayr' again, first in line 1"),
    ],
)
def test_a_bad_line_is_one_line_and_exit_code_2(
    line: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make(tmp_path / "data", ["navigate"])
    path = tmp_path / "p.jsonl"
    path.write_text(f"{GOOD}\n\n{line}\n", "utf-8")
    assert main(["score", "c3t", str(path), "--data", str(root)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {path}, line 3: ") and err.count("\n") == 1 and expected in err


def test_bad_files_and_sources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make(tmp_path / "data", ["navigate"])
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n\n", "utf-8")
    good = write(tmp_path / "good.jsonl", answers("navigate", right))
    latin = tmp_path / "latin.jsonl"
    latin.write_bytes(b'{"sample_id": "\xe9", "response": ""}\n')
    (tmp_path / "nothing" / "c3t").mkdir(parents=True)
    for path, data, expected in (
        (tmp_path / "no.jsonl", root, "expected a JSONL file; found no such file"),
        (tmp_path, root, "expected a file that can be read; found Is a directory"),
        (empty, root, "expected at least one prediction; found an empty file"),
        (latin, root, "line 1: expected a JSON object in UTF-8; found byte 0xe9 in column 16"),
        (good, "hub", "scoring C3T needs its data: name a folder with --data DIR"),
        (good, tmp_path / "no", "expected a folder of benchmark data; found no such folder"),
        (good, tmp_path / "nothing", "or parquet files of that split; found an empty folder"),
    ):
        assert main(["score", "c3t", str(path), "--data", str(data)]) == 2
        err = capsys.readouterr().err
        assert err.startswith("error: ") and err.count("\n") == 1 and expected in err


def test_data_at_fault_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make(tmp_path / "data", ["navigate"])
    good = write(tmp_path / "good.jsonl", answers("navigate", right))
    content = rows("navigate", "accent")
    path = write_jsonl(root, "navigate", "accent", [*content[:-1], {**content[-1], "answers": []}])
    assert main(["score", "c3t", str(good), "--data", str(root)]) == 2
    assert f"{path}, row 6: expected answers to be a list" in capsys.readouterr().err
    twice = {**content[-1], "sample_id": rows("navigate", "age_gender")[0]["sample_id"]}
    write_jsonl(root, "navigate", "accent", [*content[:-1], twice])
    assert main(["score", "c3t", str(good), "--data", str(root)]) == 2
    assert "age_gender.jsonl, row 1: expected each sample_id once" in capsys.readouterr().err


def test_no_judge_and_no_judgement_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = snapshot(tmp_path / "data", ["navigate"])
    good = write(tmp_path / "good.jsonl", answers("navigate", right))
    assert main(["score", "c3t", str(good), "--data", str(root), "--judgements", str(tmp_path / "j.json")]) == 2
    assert "c3t has no judgement file" in capsys.readouterr().err


def test_demo_scores_are_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "p.jsonl", [{"task_name": "navigate", "instance_id": "1", "response": "Yes"}])
    assert score(capsys, path, Path("demo"))["demo"] is True
    assert main(["score", "c3t", str(path), "--data", "demo"]) == 0
    assert "demo data: these scores say nothing about a model" in capsys.readouterr().out
