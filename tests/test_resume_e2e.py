"""`lmms_eval` killed in the middle of a run and started again with the same command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_audio_server import FakeAudio, first_option
from fake_judge_server import Call, Reply

pytestmark = pytest.mark.e2e
WORKERS = 4
KILLED_AT = 20
# Audio and text prompts, some of which share recordings.
TASKS = "sakura_single_animal,sakura_multi_animal,sakura_single_language,sakura_multi_animal_text"


def records(out: Path) -> list[dict[str, Any]]:
    paths = sorted(out.rglob("*_samples_*.jsonl"))
    return [json.loads(line)["accuracy"] for path in paths for line in path.read_text("utf-8").splitlines()]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_the_same_command_again_goes_on_where_the_killed_run_stood(tmp_path: Path) -> None:
    victim: subprocess.Popen[str] | None = None

    def answer(call: Call) -> Reply:
        if call.number == KILLED_AT and victim is not None:
            os.kill(victim.pid, signal.SIGKILL)
        return first_option(call)

    with FakeAudio(answer, latency=0.05) as server:
        arguments = f"model=m,base_url={server.url},concurrency={WORKERS},cache_dir={tmp_path / 'cache'}"
        command = [str(Path(sys.executable).parent / "lmms_eval"), "--audio_data", "demo", "--tasks", TASKS]
        command += ["--model", "openai_audio", "--model_args", arguments]
        command += ["--output_path", str(tmp_path / "out"), "--log_samples"]
        victim = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert victim.wait(timeout=600) == -signal.SIGKILL
        server.wait_until_alone()
        before = [json.dumps(call.body["messages"], sort_keys=True) for call in server.calls]
        assert not (tmp_path / "out").exists(), "the host had saved nothing"
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        after = [json.dumps(call.body["messages"], sort_keys=True) for call in server.calls[len(before) :]]
        heard = server.calls
    assert done.returncode == 0, done.stdout + done.stderr

    # Lost is at most what was under way; all that had been answered before is not asked again.
    assert len(set(before)) == len(before) >= KILLED_AT
    assert len(set(before) & set(after)) <= WORKERS
    assert len(set(after)) == len(after)
    found = records(tmp_path / "out")
    assert len(found) == len(set(before) | set(after)) > 2 * WORKERS + KILLED_AT
    assert {record["verdict"] for record in found} <= {"correct", "wrong"}
    # What the server answered to each prompt is what stands in the samples.
    told = {call.prompt: first_option(call).text for call in heard}
    assert all(told[record["prompt"]] == record["response"] for record in found)
    text = {record["prompt"] for record in found if record["task"].endswith("_text")}
    assert {(call.prompt in text, len(call.clips)) for call in heard} == {(True, 0), (False, 1)}
