"""Runs that are killed, and runs side by side: nothing that was judged is lost or asked twice."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_judge_server import Call, FakeJudge, Reply, right_when_it_says_so

from lmms_audio_tasks.judge.cache import VerdictCache

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
    out, _ = process.communicate(timeout=300)
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


class Killer(FakeJudge):
    """A server that kills its client a moment after it has sent so many answers; it sends none after those."""

    victim: subprocess.Popen[str]

    def __init__(self, until: int, pause: float) -> None:
        super().__init__(right_when_it_says_so, latency=0.01)
        self._until = until
        self._pause = pause

    async def _send(self, writer: asyncio.StreamWriter, call: Call, reply: Reply) -> bool:
        sent = await super()._send(writer, call, reply)
        if len(self.answered) == self._until:
            # The loop waits too, so however long this takes, the client does not come to its end.
            time.sleep(self._pause)
            os.kill(self.victim.pid, signal.SIGKILL)
        return sent


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
@pytest.mark.parametrize("seed", range(3))
def test_kill_at_a_random_point_and_run_again(tmp_path: Path, seed: int) -> None:
    point = random.Random(seed)
    with Killer(point.randrange(1, ITEMS), point.uniform(0, 0.005)) as server:
        killed_and_run_again(server, tmp_path / "judge.sqlite3")


def killed_and_run_again(server: Killer, cache: Path) -> None:
    server.victim = start(server, cache)
    assert server.victim.wait(timeout=300) == -signal.SIGKILL
    server.victim.communicate()
    server.wait_until_alone()
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


def test_a_cache_that_another_run_is_still_making_is_waited_for(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "judge.sqlite3", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(2, other.execute, ["COMMIT"])
    release.start()
    with VerdictCache(tmp_path / "judge.sqlite3") as cache:
        assert cache.get("key") is None
    release.join()
    other.close()
