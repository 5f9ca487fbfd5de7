"""Runs that are killed, and runs side by side: nothing that was judged is lost or asked twice."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_judge_server import FakeJudge, right_when_it_says_so

ITEMS = 300
WORKERS = 8
RUN = f"""
import sys
from pathlib import Path
from lmms_audio_tasks.judge.prompt import JudgeRequest
from lmms_audio_tasks.judge.run import judge
from lmms_audio_tasks.judge.settings import JudgeSettings
url, cache = sys.argv[1:]
settings = JudgeSettings(
    mode="llm", base_url=url, api_key="k", cache=Path(cache), concurrency={WORKERS}, max_retries=0
)
requests = [JudgeRequest("Q (a) x (b) y", "(a) x", ("right " if i % 3 else "no ") + str(i)) for i in range({ITEMS})]
outcome = judge(requests, settings, progress=False)
print(outcome.calls, outcome.cached, outcome.unjudged, "".join(j.verdict[0] for j in outcome.judgements))
"""
RIGHT = "".join("c" if number % 3 else "i" for number in range(ITEMS))


@pytest.fixture
def server() -> Iterator[FakeJudge]:
    with FakeJudge(right_when_it_says_so, latency=0.01) as server:
        yield server


def start(server: FakeJudge, cache: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RUN, server.url, str(cache)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> list[str]:
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return out.split()


def stored(cache: Path) -> list[str]:
    if not cache.exists():
        return []
    with sqlite3.connect(cache, timeout=10) as database:
        try:
            return [row[0] for row in database.execute("SELECT key FROM verdicts")]
        except sqlite3.OperationalError:
            return []


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
@pytest.mark.parametrize("seed", range(3))
def test_kill_at_a_random_point_and_run_again(server: FakeJudge, tmp_path: Path, seed: int) -> None:
    cache = tmp_path / "judge.sqlite3"
    until = random.Random(seed).randrange(1, ITEMS)
    process = start(server, cache)
    while len(server.answered) < until and process.poll() is None:
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    process.communicate()
    time.sleep(0.05)
    kept, asked, answered = stored(cache), server.asked(), len(server.answered)
    assert len(set(kept)) == len(kept)
    assert set(asked.values()) == {1}
    # Lost is at most what was on its way when the process died: one request of each worker.
    assert answered - WORKERS <= len(kept) <= answered

    calls, cached, unjudged, verdicts = finish(start(server, cache))
    assert (int(calls), int(cached), int(unjudged)) == (ITEMS - len(kept), len(kept), 0)
    assert verdicts == RIGHT
    assert len(stored(cache)) == ITEMS
    total = server.asked()
    assert len(total) == ITEMS
    # Nothing that was kept is asked again; what was asked twice was under way at the kill.
    assert sum(total.values()) == sum(asked.values()) + ITEMS - len(kept)
    assert sum(count == 2 for count in total.values()) == sum(asked.values()) - len(kept) <= WORKERS
    assert max(total.values()) <= 2

    assert finish(start(server, cache))[:3] == ["0", str(ITEMS), "0"]


def test_two_runs_side_by_side_share_one_cache(server: FakeJudge, tmp_path: Path) -> None:
    cache = tmp_path / "new" / "judge.sqlite3"
    both = [start(server, cache) for _ in range(2)]
    for process in both:
        calls, cached, unjudged, verdicts = finish(process)
        assert (int(calls) + int(cached), int(unjudged), verdicts) == (ITEMS, 0, RIGHT)
    with sqlite3.connect(cache) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert len(set(stored(cache))) == ITEMS
    assert finish(start(server, cache))[:3] == ["0", str(ITEMS), "0"]
