"""Judging within a run: when the sums are made, once for all of a task, into the samples and a file beside them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_judge_server import VERDICT, Call, FakeJudge, Reply

from lmms_audio_tasks import scoring
from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.judge import live
from lmms_audio_tasks.judge.verdict_file import read_verdicts
from lmms_audio_tasks.sakura import utils

PROMPT = "Which part suits this animal? (a) fins (b) horns (c) claws (d) shell"


def generous(call: Call) -> Reply:
    """A judge for whom whatever says `sharp` is right."""
    return Reply(VERDICT.format("correct" if "sharp" in call.response else "incorrect"))


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeJudge]:
    with FakeJudge(generous) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("LMMS_AUDIO_JUDGE_CACHE", str(tmp_path / "judge.sqlite3"))
        monkeypatch.setenv("LMMS_AUDIO_JUDGE_MAX_RETRIES", "1")
        yield server
    # The verdicts of a run live as long as its process; here the next test is another run.
    live._settled.clear()


def values(*responses: str) -> list[dict[str, Any]]:
    """What `process_results` gives for a response each."""
    doc = {
        "task": "sakura_multi_animal",
        "track": "animal",
        "hop": "multi",
        "modality": "audio",
        "attribute": "cat",
        "prompt": PROMPT,
        "answer": "(c) claws",
        "source": "hub",
        "demo": False,
    }
    return [
        utils.process_results({**doc, "item_id": f"animal/{number}.wav"}, [response])
        for number, response in enumerate(responses)
    ]


RESPONSES = ("(c) claws", "something sharp", "(a) fins", "")


@pytest.mark.parametrize(
    ("mode", "accuracy", "verdicts", "calls"),
    [
        ("rule", 1 / 4, ["correct", "none", "wrong", "none"], 0),
        # The empty response costs no call; "(c) claws" is not sharp, so this judge calls it incorrect.
        ("llm", 1 / 4, ["wrong", "correct", "wrong", "none"], 3),
        # The matcher is sure of all four.
        ("hybrid", 1 / 4, ["correct", "none", "wrong", "none"], 0),
    ],
)
def test_modes(
    server: FakeJudge, monkeypatch: pytest.MonkeyPatch, mode: str, accuracy: float, verdicts: list[str], calls: int
) -> None:
    monkeypatch.setenv("LMMS_AUDIO_JUDGE", mode)
    told = values(*RESPONSES)
    records = [value["accuracy"] for value in told]
    assert scoring.judged_accuracy(records) == accuracy
    assert [record["verdict"] for record in records] == verdicts
    assert [record["score"] for record in records] == [int(verdict == "correct") for verdict in verdicts]
    assert len(server.calls) == calls
    for name in scoring.COUNTED:
        assert scoring.count([value[name] for value in told]) == verdicts.count(name)
    assert scoring.judged_accuracy(records) == accuracy
    assert len(server.calls) == calls, "a second time everything is known"


def test_samples_that_are_copies_get_the_verdicts_too(server: FakeJudge, monkeypatch: pytest.MonkeyPatch) -> None:
    """With several ranks the host saves other objects than the ones that were judged."""
    monkeypatch.setenv("LMMS_AUDIO_JUDGE", "llm")
    told = values(*RESPONSES)
    copies = json.loads(json.dumps(told))
    scoring.judged_accuracy([value["accuracy"] for value in told])
    verdicts = live.apply(copies)
    assert [copy["accuracy"]["verdict"] for copy in copies] == ["wrong", "correct", "wrong", "none"]
    assert [copy["accuracy"]["score"] for copy in copies] == [0, 1, 0, 0]
    assert [copy["none"]["counted"] for copy in copies] == [False, False, False, True]
    assert [verdict["verdict"] for verdict in verdicts] == ["wrong", "correct", "wrong", "none"]


def test_a_later_run_by_rule_is_not_touched_by_an_earlier_judge(
    server: FakeJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_AUDIO_JUDGE", "llm")
    scoring.judged_accuracy([value["accuracy"] for value in values(*RESPONSES)])
    monkeypatch.setenv("LMMS_AUDIO_JUDGE", "rule")
    told = values(*RESPONSES)
    assert scoring.judged_accuracy([value["accuracy"] for value in told]) == 1 / 4
    assert scoring.count([value["none"] for value in told]) == 2
    assert live.apply(told) == []


def test_a_judge_that_fails_costs_no_response(
    server: FakeJudge, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("LMMS_AUDIO_JUDGE", "llm")
    told = values(*RESPONSES)
    records = [value["accuracy"] for value in told]
    server.answer = lambda call: Reply("no such key", status=401)
    assert scoring.judged_accuracy(records) == 0
    assert [record["verdict"] for record in records] == ["unjudged"] * 3 + ["none"]
    assert scoring.count([value["unjudged"] for value in told]) == 3
    assert "401" in caplog.text and "sk-test" not in caplog.text


def test_the_judge_is_checked_before_a_model_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    live.check()
    monkeypatch.setenv("LMMS_AUDIO_JUDGE", "lmm")
    with pytest.raises(AudioTasksError, match="unknown judge 'lmm'; did you mean llm"):
        live.check()
    monkeypatch.setenv("LMMS_AUDIO_JUDGE", "llm")
    with pytest.raises(AudioTasksError, match="OPENAI_API_KEY"):
        live.check()
    monkeypatch.setenv("LMMS_AUDIO_JUDGE", "rule")
    live.check()


@pytest.mark.e2e
def test_two_ranks_judge_once_and_the_file_beside_the_samples_says_so(server: FakeJudge, tmp_path: Path) -> None:
    """Chance answers with one option each time, so the whole run's verdicts can be told from its responses."""
    server.answer = lambda call: Reply(VERDICT.format("correct" if "(a)" in call.response else "incorrect"))
    out = tmp_path / "out"
    command = [
        Path(sys.executable).parent / "torchrun",
        "--nproc_per_node",
        "2",
        "--standalone",
        "--local_addr",
        "127.0.0.1",
    ]
    command += ["-m", "lmms_audio_tasks", "--audio_data", "demo", "--audio_judge", "llm", "--model", "chance"]
    command += ["--tasks", "sakura_multi_animal", "--output_path", out, "--log_samples"]
    environment = {**os.environ, "ACCELERATE_USE_CPU": "true"}
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, env=environment, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (results,) = out.rglob("*_results.json")
    (samples,) = out.rglob("*_samples_*.jsonl")
    (beside,) = out.rglob("*_verdicts_*.jsonl")
    records = [json.loads(line)["accuracy"] for line in samples.read_text("utf-8").splitlines()]
    told = json.loads(results.read_text("utf-8"))
    right = sum("(a)" in record["response"] for record in records)
    assert told["results"]["sakura_multi_animal"]["accuracy,none"] == pytest.approx(right / len(records))
    assert told["configs"]["sakura_multi_animal"]["metadata"]["judge"]["mode"] == "llm"
    assert {record["verdict"] for record in records if "(a)" in record["response"]} == {"correct"}
    assert {record["reason"] for record in records} == {"judge:gpt-4o-2024-11-20"}
    verdicts = {verdict["item_id"]: verdict["verdict"] for verdict in read_verdicts(beside)}
    assert verdicts == {record["item_id"]: record["verdict"] for record in records}
    asked = [(call.prompt) for call in server.calls]
    assert len(asked) == len(set(asked)) == len({(record["response"], record["item_id"]) for record in records})
    assert "sk-test" not in done.stdout + done.stderr + results.read_text("utf-8") + beside.read_text("utf-8")
