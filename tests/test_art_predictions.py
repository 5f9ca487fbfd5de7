"""Official prediction files: scored on metadata alone, refused with one line where they are not what they should be."""

from __future__ import annotations

import json
import os
import random
import string
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from art_data import all_records, art_record, make_art, read_answers, write_predictions, write_records
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lmms_audio_tasks import sources
from lmms_audio_tasks.art import FOLDERS
from lmms_audio_tasks.art.predictions import score_file
from lmms_audio_tasks.cli import main
from lmms_audio_tasks.records import error_response

SIZES = {"audio_arithmetics": 2, "sound_reasoning": 6}
ALL_SIZES = dict.fromkeys(FOLDERS, 2) | {"sound_reasoning": 6}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """All nine tasks, without any audio."""
    return make_art(tmp_path / "data", ALL_SIZES, audio=False)


def score(path: Path, root: Path, *more: str) -> int:
    return main(["score", "art", str(path), "--data", str(root), *more])


def ids(task: str, count: int) -> list[str]:
    return [art_record(task, number)["instance_id"] for number in range(count)]


def by_hand(root: Path) -> dict[str, str]:
    """Golden answers go yes, no, yes, ...; 22 items in all."""
    one, two, three, four, five, six = ids("sound_reasoning", 6)
    first, second = ids("audio_arithmetics", 2)
    return {
        **{one: "Yes.", two: "yes", three: "Yes, it is", four: "no"},
        **{five: "I cannot tell", six: "yes and no", first: "YES", second: "No"},
    }


def test_the_sums_are_right(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_predictions(tmp_path / "outputs.json", by_hand(root))
    assert score(path, root, "--format", "json") == 0
    told = json.loads(capsys.readouterr().out)
    # Right by the official rule: 2 of 6 in one task, 2 of 2 in the other; nothing for 14 items of the seven others.
    assert told["overall_accuracy"] == told["overall"]["accuracy"] == 4 / 22
    assert told["overall"]["n"] == 22 and told["overall"]["predicted"] == 8
    assert told["overall"]["coverage"] == 8 / 22
    # "Yes, it is" is right leniently; yes is asserted by 4 of 8 responses, neither answer (or both) by 2.
    assert told["overall"]["lenient"] == 5 / 22
    assert (told["overall"]["yes_rate"], told["overall"]["neither"]) == (4 / 8, 2 / 8)
    assert told["overall"]["golden_yes_rate"] == 11 / 22
    tasks = {task["task"]: task for task in told["tasks"]}
    assert list(tasks) == list(FOLDERS)
    sound = tasks["sound_reasoning"]
    assert (sound["n"], sound["predicted"], sound["correct"], sound["accuracy"]) == (6, 6, 2, 2 / 6)
    # Wilson's interval for 2 of 6 at z = 1.959964: centre (1/3 + z^2/12) / (1 + z^2/6), worked by hand.
    assert sound["ci95_low"] == pytest.approx(0.0968, abs=5e-5)
    assert sound["ci95_high"] == pytest.approx(0.7000, abs=5e-5)
    empty = tasks["selective_text_inference"]
    assert (empty["n"], empty["predicted"], empty["accuracy"]) == (2, 0, 0.0)
    assert (empty["yes_rate"], empty["neither"]) == (None, None)


def test_overall_is_pooled_and_not_the_mean_of_tasks(tmp_path: Path) -> None:
    root = make_art(tmp_path / "data", SIZES, audio=False)
    predictions = {**dict.fromkeys(ids("sound_reasoning", 6), "wrong"), **read_answers(root, ["audio_arithmetics"])}
    scored = score_file(write_predictions(tmp_path / "p.json", predictions), sources.parse(str(root)))
    # 2 of 2 and 0 of 6: 2 / 8 over all items, where the mean of the tasks would be 1 / 2.
    assert scored.overall.accuracy == 0.25
    assert scored.missing == tuple(name for name in FOLDERS if name not in SIZES)


def test_text_output_ends_as_the_official_script_does(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    answers = read_answers(root)
    wrong = set(list(answers)[::4])
    path = write_predictions(tmp_path / "p.json", {k: "x" if k in wrong else a.upper() for k, a in answers.items()})
    assert score(path, root) == 0
    lines = capsys.readouterr().out.splitlines()
    # 22 items, 6 of them (0, 4, 8, ...) wrong.
    assert lines[-1] == "overall_accuracy=0.7273"
    assert [line.split()[0] for line in lines if line.startswith(FOLDERS)] == list(FOLDERS)
    assert [line.split()[1:5] for line in lines if line.startswith("all ")] == [["22", "22", "1.0000", "0.7273"]]
    assert not caplog.records


def test_unknown_ids_are_ignored_with_a_warning_that_counts_them(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    known = read_answers(root)
    path = write_predictions(tmp_path / "p.json", {**known, "x_1": "yes", "x_2": "no", "x_3": "yes"})
    assert score(path, root, "--format", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["unknown_ids"], told["overall"]["predicted"], told["overall_accuracy"]) == (3, 22, 1.0)
    assert "3 of 25 ids are not in the data and are ignored" in caplog.text


def test_missing_tasks_are_warned_about(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root = make_art(tmp_path / "data", SIZES, audio=False)
    score_file(write_predictions(tmp_path / "p.json", read_answers(root, list(SIZES))), sources.parse(str(root)))
    assert "lacks 7 of 9 tasks: audio_transformation_detection, " in caplog.text


def test_a_failure_counts_as_missing(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    predictions = read_answers(root)
    predictions[ids("sound_reasoning", 1)[0]] = error_response("out of memory")
    assert score(write_predictions(tmp_path / "p.json", predictions), root) == 0
    out = capsys.readouterr().out
    assert "responses that say the model failed, counted as missing: 1" in out
    assert out.splitlines()[-1] == "overall_accuracy=0.9545"  # 21 of 22


def test_scoring_needs_no_audio_and_no_decoder(root: Path, tmp_path: Path) -> None:
    assert not list(root.rglob("*.flac"))
    path = write_predictions(tmp_path / "p.json", read_answers(root))
    code = (
        "import sys\n"
        "for name in ('soundfile', 'soxr', 'librosa', 'torch', 'torchcodec', 'datasets', 'lmms_eval'):\n"
        "    sys.modules[name] = None\n"
        "from lmms_audio_tasks.cli import main\n"
        f"sys.exit(main(['score', 'art', {str(path)!r}, '--data', {str(root)!r}]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "overall_accuracy=1.0000"


def test_metadata_with_nothing_but_ids_and_answers_can_be_scored(tmp_path: Path) -> None:
    records = [{"instance_id": str(number), "answer": "yes"} for number in range(4)]
    write_records(tmp_path / "art" / "sound_reasoning", records)
    path = write_predictions(tmp_path / "p.json", {"0": "yes", "1": "no"})
    assert score_file(path, sources.parse(str(tmp_path))).overall.accuracy == 0.25


# --- against a count written out ---


def brute_force(records: list[tuple[str, dict[str, Any]]], predictions: dict[str, str]) -> dict[str, Any]:
    """The official figures, one item after the other."""
    tasks: dict[str, list[int]] = {}
    for task, record in records:
        counts = tasks.setdefault(task, [0, 0, 0])
        counts[0] += 1
        if record["instance_id"] in predictions:
            counts[1] += 1
            text = "".join(c for c in predictions[record["instance_id"]] if c not in string.punctuation)
            counts[2] += text.lower().strip() == record["answer"]
    right, n = sum(c[2] for c in tasks.values()), sum(c[0] for c in tasks.values())
    return {"tasks": {task: tuple(counts) for task, counts in tasks.items()}, "overall": right / n}


WORDS = [
    "yes",
    "no",
    "Yes.",
    "NO",
    " yes\n",
    "*no*",
    "Yes, it is",
    "maybe",
    "",
    "yes no",
    "ja",
    "n.o",
    "yes。",
    "\u2009No",
]


@pytest.fixture(scope="module")
def big_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_art(tmp_path_factory.mktemp("big"), {task: 5 + i for i, task in enumerate(FOLDERS)}, audio=False)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_generated_predictions_are_scored_as_by_brute_force(data: st.DataObject, big_root: Path) -> None:
    records = all_records({task: 5 + i for i, task in enumerate(FOLDERS)})
    names = [record["instance_id"] for _, record in records] + ["unknown_1", "unknown_2"]
    predictions = data.draw(
        st.dictionaries(st.sampled_from(names), st.sampled_from(WORDS) | st.text(max_size=6), min_size=1)
    )
    if not predictions.keys() & {record["instance_id"] for _, record in records}:
        predictions[names[0]] = "yes"
    path = write_predictions(big_root / "p.json", predictions)
    scored = score_file(path, sources.parse(str(big_root)))
    expected = brute_force(records, predictions)
    assert {name: (tally.items, tally.predicted, tally.exact) for name, tally in scored.tasks.items()} == expected[
        "tasks"
    ]
    assert scored.to_dict()["overall_accuracy"] == expected["overall"]
    assert scored.to_text().splitlines()[-1] == f"overall_accuracy={expected['overall']:.4f}"
    assert scored.unknown == sum(name.startswith("unknown") for name in predictions)


def test_the_full_size(tmp_path: Path) -> None:
    sizes = dict.fromkeys(FOLDERS, 1000)
    root = make_art(tmp_path / "data", sizes, audio=False)
    rng = random.Random(4)
    records = all_records(sizes)
    predictions = {record["instance_id"]: rng.choice(WORDS) for _, record in records if rng.random() < 0.9}
    scored = score_file(write_predictions(tmp_path / "p.json", predictions), sources.parse(str(root)))
    expected = brute_force(records, predictions)
    assert scored.overall.items == 9000 and scored.overall.golden_yes == 4500
    assert scored.overall.predicted == len(predictions)
    assert scored.overall.accuracy == expected["overall"]


# --- rejections ---


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "expected a prediction file; found an empty file"),
        ("{}", "expected at least one prediction; found none"),
        ("[]", "expected a JSON object of instance_id and response; found []"),
        ('"yes"', "expected a JSON object of instance_id and response; found 'yes'"),
        ("null", "expected a JSON object"),
        ('{"a": "yes"', ", line 1, column 12: expected JSON; found Expecting ',' delimiter"),
        ('{"a": "yes",\n "b": no}', ", line 2, column 7: expected JSON"),
        ('{"a": 1}', ", 'a': expected the response to be a text; found 1"),
        ('{"a": null}', ", 'a': expected the response to be a text; found None"),
        ('{"a": true}', ", 'a': expected the response to be a text; found True"),
        ('{"a": ["yes"]}', ", 'a': expected the response to be a text; found ['yes']"),
        ('{"a": NaN}', "expected JSON; found NaN"),
        ('{"a": "yes", "a": "no"}', "expected each key once; found 'a' twice or more"),
        ('\ufeff{"a": "yes"}', "line 1: expected UTF-8 without a byte order mark"),
        ('{"a": "yes", "b": "no"}', "found none of its 2 ids, e.g. 'a'"),
        ("[" * 100_000, "expected JSON"),
    ],
)
def test_a_bad_prediction_file_is_one_line_and_exit_code_2(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, expected: str
) -> None:
    path = tmp_path / "p.json"
    path.write_text(content, "utf-8")
    assert score(path, root) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"error: {path}") and captured.err.count("\n") == 1
    assert expected in captured.err and not captured.out


def test_a_file_that_cannot_be_read(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert score(tmp_path / "no.json", root) == 2
    assert "expected a prediction file; found no such file" in capsys.readouterr().err
    assert score(tmp_path, root) == 2
    assert "expected a file that can be read; found Is a directory" in capsys.readouterr().err
    (tmp_path / "latin.json").write_bytes(b'{\n"a": "\xe9"}')
    assert score(tmp_path / "latin.json", root) == 2
    assert "line 2: expected UTF-8; found byte 0xe9" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"answer": "maybe"}, "record 2: expected answer to be yes or no; found 'maybe'"),
        ({"answer": None}, "record 2: expected answer to be a text; found None"),
        ({"instance_id": art_record("audio_arithmetics", 0)["instance_id"]}, "each instance_id once over all tasks"),
        ({"instance_id": art_record("sound_reasoning", 0)["instance_id"]}, "each instance_id once over all tasks"),
        ({"instance_id": 5}, "record 2: expected instance_id to be a text; found 5"),
    ],
)
def test_bad_data_are_one_line_and_exit_code_2(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], expected: str
) -> None:
    path = write_predictions(tmp_path / "p.json", read_answers(root))
    records = [art_record("sound_reasoning", number) for number in range(6)]
    records[1].update(changes)
    write_records(root / "art" / "sound_reasoning", records)
    assert score(path, root) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ") and captured.err.count("\n") == 1
    assert "sound_reasoning/metadata.json" in captured.err and expected in captured.err


def test_data_that_are_not_there(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_predictions(tmp_path / "p.json", {"a": "yes"})
    assert score(path, tmp_path / "nowhere") == 2
    assert "nowhere: expected a folder of benchmark data; found no such folder" in capsys.readouterr().err
    assert main(["score", "art", str(path), "--data", "hub"]) == 2
    assert "found the hub, which has no ART data" in capsys.readouterr().err
    (tmp_path / "empty" / "art").mkdir(parents=True)
    assert score(path, tmp_path / "empty") == 2
    assert "expected task folders with metadata.json, e.g. audio_arithmetics; found none" in capsys.readouterr().err
    (root / "art" / "sound_reasoning" / "metadata.json").unlink()
    assert score(path, root) == 2
    assert "expected a metadata file; found no such file" in capsys.readouterr().err


def test_there_is_no_judgement_file(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_predictions(tmp_path / "p.json", read_answers(root))
    assert score(path, root, "--judgements", str(tmp_path / "j.json")) == 2
    assert "art has no judgement file" in capsys.readouterr().err


def test_the_shipped_demo_set_can_be_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = read_answers(sources.DEMO_ROOT)
    path = write_predictions(tmp_path / "p.json", dict.fromkeys(answers, "yes"))
    assert main(["score", "art", str(path), "--data", "demo"]) == 0
    out = capsys.readouterr().out
    assert "(demo data)" in out and out.splitlines()[-1] == "overall_accuracy=0.5000"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_predictions(tmp_path / "p.json", {"a": "yes"})
    path.chmod(0)
    assert score(path, root) == 2
    assert "Permission denied" in capsys.readouterr().err
