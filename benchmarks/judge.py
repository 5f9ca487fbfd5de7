"""How fast the judge stage is: concurrent against one call after another, and re-scoring from the cache.

`python benchmarks/judge.py` starts a server on 127.0.0.1 (a process of its own) that answers every request after
200 ms, and measures in one run, on the same 500 requests:

- one call after another, by the openai library's plain client in a loop, with the same prompts;
- this plugin's judge at concurrency 16 and 64, each with an empty cache; both must be at least 0.8 x concurrency times
  faster;
- 4,000 saved samples judged by `judge LOGDIR` with nothing and then with everything in the cache; the second must take
  under 2 s of this program's own time, from reading the samples to writing the verdicts.

Exit code 1 where a bound is missed. `--items` makes the first part shorter.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lmms_audio_tasks.judge.logdir import judge_logdir
from lmms_audio_tasks.judge.prompt import JudgeRequest, load_prompt
from lmms_audio_tasks.judge.run import judge
from lmms_audio_tasks.judge.settings import JudgeSettings
from lmms_audio_tasks.records import Record
from lmms_audio_tasks.scoring import metric_values, option_labels

SERVER = Path(__file__).parents[1] / "tests" / "fake_judge_server.py"
SHARE = 0.8
SAVED = 4_000
CACHED_SECONDS = 2.0


@contextmanager
def fake_server(latency: float) -> Iterator[str]:
    command = [sys.executable, str(SERVER), "--latency", str(latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def make_requests(count: int) -> list[JudgeRequest]:
    prompt = "Which animal do you hear in recording {}? (a) seal (b) parrot (c) donkey (d) goose"
    said = ("(b) parrot", "I hear a parrot, right at the start.", "It sounds like a donkey.", "A seal or a goose.")
    return [JudgeRequest(prompt.format(i), "(b) parrot", f"{said[i % 4]} [{i}]") for i in range(count)]


def write_samples(folder: Path, requests: list[JudgeRequest]) -> None:
    """Samples files as the host writes them, 500 items each."""
    for start in range(0, len(requests), 500):
        task = f"sakura_multi_{start // 500}"
        lines = []
        for number, request in enumerate(requests[start : start + 500]):
            record = Record(
                item_id=f"item {number}",
                benchmark="sakura",
                task=task,
                source="demo",
                demo=True,
                response=request.response,
                verdict="undecided",
                reason="",
                golden=request.golden,
                chosen="",
                groups={},
                options=option_labels(request.instruction),
            )
            lines.append(json.dumps({"input": request.instruction, **metric_values(record)}))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"20250101_samples_{task}.jsonl").write_text("\n".join(lines) + "\n")


def one_after_another(requests: list[JudgeRequest], settings: JudgeSettings) -> None:
    import openai

    prompt = load_prompt()
    with openai.OpenAI(api_key="none", base_url=settings.base_url) as client:
        for request in requests:
            client.chat.completions.create(
                model=settings.model,
                messages=prompt.messages(request),  # type: ignore[arg-type]
                temperature=settings.temperature,
                top_p=settings.top_p,
                max_tokens=settings.max_tokens,
            )


def memory() -> float:
    """Resident memory in MiB, NaN where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return float("nan")
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall-clock and processor seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=500, help="requests in the first part; default: 500")
    parser.add_argument("--latency", type=float, default=0.2, help="seconds a request takes; default: 0.2")
    arguments = parser.parse_args()
    import openai  # noqa: F401  # so that no measurement holds its import

    requests = make_requests(arguments.items)
    kept_bounds = True
    with tempfile.TemporaryDirectory() as folder, fake_server(arguments.latency) as url:
        settings = JudgeSettings(mode="llm", base_url=url, api_key="none", cache=Path(folder) / "sequential")
        print(f"{arguments.items} requests of {arguments.latency * 1000:.0f} ms")
        print(f"{'':<24}{'seconds':>9}{'CPU s':>8}{'faster':>9}{'bound':>8}{'MiB':>8}")
        slow, processor = timed(lambda: one_after_another(requests, settings))
        print(f"{'one after another':<24}{slow:>9.2f}{processor:>8.2f}{1:>8.1f}x{'':>8}{memory():>8.0f}", flush=True)
        for concurrency in (16, 64):
            settings = JudgeSettings(
                mode="llm", base_url=url, api_key="none", cache=Path(folder) / f"{concurrency}", concurrency=concurrency
            )
            wall, processor = timed(lambda settings=settings: judge(requests, settings, progress=False))  # type: ignore[misc]
            bound = SHARE * concurrency
            kept_bounds &= slow / wall >= bound
            name = f"judge, concurrency {concurrency}"
            print(
                f"{name:<24}{wall:>9.2f}{processor:>8.2f}{slow / wall:>8.1f}x{bound:>8.1f}{memory():>8.0f}", flush=True
            )

        logs = Path(folder) / "logs"
        write_samples(logs, make_requests(SAVED))
        settings = JudgeSettings(
            mode="llm", base_url=url, api_key="none", cache=Path(folder) / "logs.sqlite3", concurrency=64
        )
        print(f"\n{SAVED} saved samples, judge LOGDIR")
        for name, limit in (("nothing in the cache", None), ("all in the cache", CACHED_SECONDS)):
            wall, processor = timed(lambda: judge_logdir(logs, settings, progress=False))
            kept_bounds &= limit is None or wall < limit
            shown = "" if limit is None else f"{limit:.1f}"
            print(f"{name:<24}{wall:>9.2f}{processor:>8.2f}{'':>9}{shown:>8}{memory():>8.0f}", flush=True)
    print("all bounds kept" if kept_bounds else "A BOUND WAS MISSED")
    return 0 if kept_bounds else 1


if __name__ == "__main__":
    sys.exit(main())
