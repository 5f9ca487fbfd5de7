from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from lmms_audio_tasks.errors import AudioTasksError, DataError
from lmms_audio_tasks.judge import commands
from lmms_audio_tasks.judge.agreement import compare, compare_files
from lmms_audio_tasks.judge.labels import Label, match_labels, read_labels
from lmms_audio_tasks.judge.verdict_file import write_verdicts


def write_lines(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def labels(verdicts: str, **fields: Any) -> list[Label]:
    """`c`, `i` or `-` (no verdict) for each item."""
    words = {"c": "correct", "i": "incorrect", "-": None}
    return [Label(words[letter], key=str(number), **fields) for number, letter in enumerate(verdicts)]


def test_sums_by_hand() -> None:
    # 10 pairs with two verdicts: 5 both correct, 3 both incorrect, 1 + 1 apart.
    result = compare(labels("cccccciiii-c"), labels("ccccciiiicc-"))
    values = result.to_dict()
    assert values["table"] == {
        "correct": {"correct": 5, "incorrect": 1},
        "incorrect": {"correct": 1, "incorrect": 3},
    }
    assert (values["n"], values["agree"], values["without_verdict"]) == (10, 8, 2)
    assert values["agreement"] == pytest.approx(0.8)
    # Expected by chance: 0.6 * 0.6 + 0.4 * 0.4 = 0.52; kappa = (0.8 - 0.52) / (1 - 0.52).
    assert values["kappa"] == pytest.approx(0.28 / 0.48)
    # Wilson at 8 of 10 with z = 1.96: (0.8 + 0.19207) / 1.38415 -+ 0.22655.
    assert values["ci95_low"] == pytest.approx(0.4902, abs=1e-4)
    assert values["ci95_high"] == pytest.approx(0.9433, abs=1e-4)
    assert [(d["item"], d["label"], d["judgement"]) for d in values["disagreements"]] == [
        ("5", "correct", "incorrect"),
        ("9", "incorrect", "correct"),
    ]
    text = result.to_text()
    assert "agreement   0.8000  (95 % Wilson interval 0.4902 to 0.9433)" in text
    assert "kappa       0.5833" in text
    assert "left out    2 without a verdict in one of the two" in text
    assert "- 9: labels incorrect, judgements correct" in text


def test_nothing_to_compare_and_kappa_undefined() -> None:
    nothing = compare(labels("--"), labels("cc"))
    assert nothing.to_dict()["agreement"] is None
    assert "agreement" not in nothing.to_text()
    same = compare(labels("cc"), labels("cc"))
    assert same.to_dict()["kappa"] is None
    assert "kappa       undefined" in same.to_text()


def test_the_three_forms_match_each_other(tmp_path: Path) -> None:
    asked = ["Q1 (a) x (b) y", "Q2 (a) x (b) y"]
    official = tmp_path / "official.json"
    entries = {
        f"{i}.wav": {"Explanation": "", "Judgement": word, "instruction": asked[i], "model_response": "(a)"}
        for i, word in enumerate(("correct", "No extracted judgement"))
    }
    official.write_text(json.dumps({"judge_model": "m", "results": entries}))
    ours = tmp_path / "ours.jsonl"
    lines = [
        {"item_id": str(i), "task": "t", "verdict": verdict, "reason": "", "instruction": asked[i], "response": "(a)"}
        for i, verdict in enumerate(("several", "undecided"))
    ]
    write_verdicts(ours, lines, {})
    people = write_lines(
        tmp_path / "people.jsonl",
        [{"instruction": text, "response": "(a)", "answer": "(a) x", "verdict": "Correct "} for text in asked],
    )
    both = compare_files(people, official)
    assert (both.matched.by, both.sums.n, both.sums.agree) == ("instruction and response", 1, 1)
    assert compare_files(people, ours).table["correct"] == {"correct": 0, "incorrect": 1}
    assert compare_files(official, ours).matched.by == "instruction and response"
    assert compare_files(ours, ours).matched.by == "task and item_id"
    assert compare_files(official, official).matched.by == "key"


def test_items_in_one_file_only_are_counted() -> None:
    matched = match_labels(labels("ccc"), labels("ccccc")[1:])
    assert (len(matched.pairs), matched.only_first, matched.only_second) == (2, 1, 2)


def test_a_field_that_repeats_is_passed_over_for_the_next() -> None:
    one = [Label("correct", key="k", instruction="q", response=r) for r in ("x", "y")]
    assert match_labels(one, list(reversed(one))).by == "instruction and response"


def test_an_empty_response_still_matches() -> None:
    one = [Label("correct", instruction="q", response=r) for r in ("", "y")]
    assert len(match_labels(one, one).pairs) == 2


def test_verdicts_on_different_responses_do_not_compare() -> None:
    first = [Label("correct", item_id="1", response="cat")]
    second = [Label("correct", item_id="1", response="dog")]
    with pytest.raises(AudioTasksError, match="different responses to '1'"):
        compare(first, second)


def test_nothing_in_common() -> None:
    with pytest.raises(AudioTasksError, match="no items in common"):
        compare([Label("correct", key="1")], [Label("correct", item_id="1")])


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("correct", "correct"),
        ("Right", "correct"),
        (True, "correct"),
        (1, "correct"),
        ("0", "incorrect"),
        (False, "incorrect"),
        ("wrong", "incorrect"),
        ("several", "incorrect"),
        ("none", "incorrect"),
        ("unjudged", None),
        ("error", None),
        ("", None),
    ],
)
def test_words_for_verdicts(tmp_path: Path, word: object, expected: str | None) -> None:
    (label,) = read_labels(write_lines(tmp_path / "l.jsonl", [{"key": "k", "verdict": word}]))
    assert label.verdict == expected


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"key": "k", "verdict": "partly"}, "line 1: expected a verdict"),
        ({"key": "k", "verdict": 2}, "line 1: expected a verdict"),
        ({"key": "k"}, "line 1: expected a verdict"),
        ({"verdict": "correct"}, "line 1: expected one of key, item_id, instruction, response"),
        (None, "at least one verdict"),
    ],
)
def test_label_files_at_fault(tmp_path: Path, line: dict[str, Any] | None, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_labels(write_lines(tmp_path / "l.jsonl", [line] if line else []))


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_labels(tmp_path / "none.jsonl")


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_lines(tmp_path / "l.jsonl", [{"key": "k", "verdict": "correct"}, {"key": "l", "verdict": "wrong"}])
    parser = argparse.ArgumentParser()
    commands.add_parser(parser.add_subparsers(dest="command"))
    for form in ("json", "text"):
        arguments = parser.parse_args(["agreement", str(file), str(file), "--format", form])
        assert arguments.run(arguments) == 0
        out = capsys.readouterr().out
        assert json.loads(out)["kappa"] == 1 if form == "json" else "kappa       1.0000" in out


def test_the_option_matcher_against_people_on_real_questions(real_data: Path, tmp_path: Path) -> None:
    people = real_data / "responses_dev.jsonl"
    if not people.is_file():
        pytest.skip("no labelled responses beside the real data")
    from lmms_audio_tasks.scoring import judge_options

    lines = [json.loads(line) for line in people.read_text(encoding="utf-8").splitlines()]
    verdicts = [
        {
            "item_id": str(number),
            "task": "t",
            "verdict": judge_options(line["response"], line["instruction"], line["answer"])[0],
            "reason": "",
            "instruction": line["instruction"],
            "response": line["response"],
        }
        for number, line in enumerate(lines)
    ]
    write_verdicts(tmp_path / "v.jsonl", verdicts, {"mode": "rule"})
    result = compare_files(people, tmp_path / "v.jsonl")
    assert len(result.matched.pairs) == len(lines)
    assert result.sums.n + result.to_dict()["without_verdict"] == len(lines)
    assert result.sums.rate is not None
    assert result.sums.rate > 0.9
