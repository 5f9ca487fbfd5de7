"""Official prediction files: scored offline, refused with one line where they are not what they should be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lmms_audio_tasks.cli import main
from lmms_audio_tasks.records import error_response

INSTRUCTION = "Which part of the body suits this animal? (a) fins (b) horns (c) claws (d) shell"


def entry(response: Any, label: str = "(c) claws", instruction: str = INSTRUCTION) -> dict[str, Any]:
    return {"instruction": instruction, "response": response, "label": label}


def write(path: Path, results: Any, **changes: Any) -> Path:
    content = {"attribute": "animal", "type": "multi", "results": results, **changes}
    path.write_text(json.dumps({k: v for k, v in content.items() if v is not None}, ensure_ascii=False), "utf-8")
    return path


RESULTS = {
    "audio/1.wav": entry("(c) claws"),
    "audio/2.wav": entry("The answer is C."),
    "audio/3.wav": entry("(a) fins"),
    "audio/4.wav": entry(""),
    "audio/5.wav": entry("(a) or (c)"),
    "audio/6.wav": entry("I cannot tell.", label=" (d) shell"),
}


def test_the_sums_are_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "sakura", str(write(tmp_path / "p.json", RESULTS)), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["accuracy"] == pytest.approx(2 / 6)
    counts = ("n", "correct", "wrong", "none", "several", "undecided", "unjudged", "error")
    assert [told[name] for name in counts] == [6, 2, 1, 2, 1, 0, 0, 0]
    # Wilson's interval for 2 of 6 at z = 1.959964: centre (1/3 + z^2/12) / (1 + z^2/6), worked by hand.
    assert told["ci95_low"] == pytest.approx(0.0968, abs=5e-5)
    assert told["ci95_high"] == pytest.approx(0.7000, abs=5e-5)
    assert (told["attribute"], told["type"], told["judge"]) == ("animal", "multi", "rule")


def test_text_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "sakura", str(write(tmp_path / "p.json", RESULTS))]) == 0
    out = capsys.readouterr().out
    assert "accuracy  0.3333" in out
    assert "several   1" in out


def test_an_error_is_not_a_wrong_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = {"1": entry("c"), "2": entry(error_response("out of memory"))}
    assert main(["score", "sakura", str(write(tmp_path / "p.json", results)), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["n"], told["error"], told["accuracy"]) == (2, 1, 1.0)


def test_only_errors_give_no_accuracy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "p.json", {"1": entry(error_response("x"))})
    assert main(["score", "sakura", str(path), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] is None
    assert main(["score", "sakura", str(path)]) == 0
    assert "no item could be scored" in capsys.readouterr().out


def test_judgements_in_the_official_form(tmp_path: Path) -> None:
    out = tmp_path / "j.json"
    assert main(["score", "sakura", str(write(tmp_path / "p.json", RESULTS)), "--judgements", str(out)]) == 0
    told = json.loads(out.read_text("utf-8"))
    assert set(told) == {"judge_model", "temperature", "top_p", "max_tokens", "results"}
    assert list(told["results"]) == list(RESULTS)
    one = told["results"]["audio/1.wav"]
    assert set(one) == {"Explanation", "Judgement", "instruction", "model_response", "label"}
    verdicts = [value["Judgement"] for value in told["results"].values()]
    assert verdicts == ["correct", "correct", "incorrect", "incorrect", "incorrect", "incorrect"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_response_with_half_a_character_is_scored_and_written(tmp_path: Path) -> None:
    path, out = tmp_path / "p.json", tmp_path / "j.json"
    path.write_text(json.dumps({"attribute": "a", "type": "multi", "results": {"1": entry("(c) claws \ud83d")}}))
    assert main(["score", "sakura", str(path), "--judgements", str(out)]) == 0
    assert json.loads(out.read_text("utf-8"))["results"]["1"]["Judgement"] == "correct"


def test_judgements_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "p.json", RESULTS)
    assert main(["score", "sakura", str(path), "--judgements", str(tmp_path / "no" / "j.json")]) == 2
    assert "expected a file that can be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "expected a prediction file; found an empty file"),
        ("{", "line 1, column 2: expected JSON"),
        ("[]", "expected a JSON object"),
        ('{"attribute": "animal", "type": "multi"}', "expected a key 'results'"),
        ('{"type": "multi", "results": {"1": {}}}', "expected a key 'attribute'"),
        ('{"attribute": "", "type": "multi", "results": {"1": {}}}', "expected attribute to be a text"),
        ('{"attribute": "animal", "type": "both", "results": {"1": {}}}', "expected type to be 'single' or 'multi'"),
        ('{"attribute": "animal", "type": "multi", "results": {}}', "at least one entry"),
        ('{"attribute": "animal", "type": "multi", "results": []}', "at least one entry"),
        ('{"attribute": "animal", "type": "multi", "results": {"1": "c"}}', "results['1']: expected an object"),
        ('{"attribute": "animal", "type": "multi", "results": {"1": {}, "1": {}}}', "found '1' twice or more"),
        ("[" * 100_000, "expected"),
    ],
)
def test_a_bad_file_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, expected: str
) -> None:
    path = tmp_path / "p.json"
    path.write_text(content, "utf-8")
    assert main(["score", "sakura", str(path)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {path}") and err.count("\n") == 1
    assert expected in err


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        (entry(None), "expected response to be a text; found None"),
        (entry(3), "expected response to be a text; found 3"),
        ({"instruction": INSTRUCTION, "response": "c"}, "expected label to be a text; found no such key"),
        (entry("c", instruction="What is it?"), "an instruction with options"),
        (entry("c", label="(c) horns"), "a label that is one of them"),
        (entry("c", label="claws, perhaps"), "a label that is one of them"),
    ],
)
def test_a_bad_entry_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], bad: dict[str, Any], expected: str
) -> None:
    assert main(["score", "sakura", str(write(tmp_path / "p.json", {"a.wav": entry("c"), "b.wav": bad}))]) == 2
    err = capsys.readouterr().err
    assert "results['b.wav']" in err and expected in err and err.count("\n") == 1


def test_a_missing_file_and_an_unknown_benchmark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "sakura", str(tmp_path / "no.json")]) == 2
    assert "no such file" in capsys.readouterr().err
    assert main(["score", "sakkura", str(tmp_path / "no.json")]) == 2
    assert "unknown benchmark 'sakkura'; did you mean sakura?" in capsys.readouterr().err
    (tmp_path / "latin.json").write_bytes(b'{"attribute": "\xe9"}')
    assert main(["score", "sakura", str(tmp_path / "latin.json")]) == 2
    assert "expected UTF-8" in capsys.readouterr().err
