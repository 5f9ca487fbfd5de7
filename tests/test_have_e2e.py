"""HAVE-Bench's items through the real host's command line, in processes of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_judge_server import FakeJudge, right_when_it_says_so
from host_runs import BIN, records, results, run

pytestmark = pytest.mark.e2e
TASKS = "have_perception,have_reasoning,have_bench_text,have_bench_asr"
NAMES = [f"have_{level}{mode}" for mode in ("", "_text", "_asr") for level in ("perception", "reasoning")]


def chance(out: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [BIN / "lmms_eval", "--audio_data", "demo", "--tasks", TASKS, "--model", "chance", "--log_samples"]
    return run([*command, "--output_path", out, *words], **environment)


@pytest.fixture(scope="module")
def server() -> Iterator[FakeJudge]:
    with FakeJudge(right_when_it_says_so) as server:
        yield server


def test_by_rule_open_answers_are_told_as_unjudged(tmp_path: Path) -> None:
    done = chance(tmp_path)
    unjudged = {name: sum(record["verdict"] == "unjudged" for record in records(tmp_path, name)) for name in NAMES}
    assert sum(unjudged.values()) > 0, "chance hits every open answer: give it another seed"
    for name, count in unjudged.items():
        row = results(tmp_path)["results"][name]
        assert row["unjudged,none"] == count and f"{name} (demo data)" in done.stdout
        if count:
            assert row["level_score,none"] is None and row["accuracy,none"] is None
            assert f"{name}: {count} responses are unjudged" in done.stderr
        else:
            right = [record["verdict"] == "correct" for record in records(tmp_path, name)]
            assert row["accuracy,none"] == pytest.approx(sum(right) / len(right))
    assert done.returncode == 1


def test_with_a_judge_every_score_is_there(tmp_path: Path, server: FakeJudge) -> None:
    judged = {
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "sk-test",
        "LMMS_AUDIO_JUDGE_CACHE": str(tmp_path / "judge.sqlite3"),
    }
    out = tmp_path / "out"
    done = chance(out, "--audio_judge", "hybrid", **judged)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in NAMES:
        row, found = results(out)["results"][name], records(out, name)
        assert (row["unjudged,none"], row["error,none"]) == (0, 0)
        subtasks: dict[str, list[bool]] = {}
        for record in found:
            subtasks.setdefault(record["groups"]["subtask"], []).append(record["verdict"] == "correct")
        means = [sum(right) / len(right) for right in subtasks.values()]
        assert row["level_score,none"] == pytest.approx(sum(means) / len(means))
    calls = len(server.calls)
    again = run([BIN / "lmms-audio-tasks", "judge", out, "--judge", "hybrid", "--format", "json"], **judged)
    assert again.returncode == 0, again.stderr
    told = json.loads(again.stdout)
    assert len(told["files"]) == 6 and told["calls"] == 0 and len(server.calls) == calls
    assert {file["task"]: file["accuracy"] for file in told["files"]} == {
        name: pytest.approx(results(out)["results"][name]["accuracy,none"]) for name in NAMES
    }
