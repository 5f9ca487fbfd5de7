"""How much sooner a run ends when the host's own task files are not read.

    python benchmarks/startup.py [--runs 3]

Runs one and the same evaluation (chance, one demo task) with `lmms_eval` (ours, which reads our task files only) and
with `lmms-eval` (the host's, which reads its own ~1,500 first), in turn, each in a fresh process, and prints both
medians and their ratio.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ARGUMENTS = ["--tasks", "sakura_multi_animal", "--model", "chance"]


def seconds(command: str) -> float:
    """Wall time of one evaluation by the console script `command` of this interpreter's environment."""
    program = Path(sys.executable).parent / command
    start = time.perf_counter()
    done = subprocess.run(
        [program, *ARGUMENTS],
        env={**os.environ, "LMMS_AUDIO_TASKS_DATA": "demo"},
        capture_output=True,
        text=True,
        check=False,
    )
    if "sakura_multi_animal (demo data)" not in done.stdout:
        sys.exit(f"{command} printed no table:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    times: dict[str, list[float]] = {"lmms_eval": [], "lmms-eval": []}
    for _ in range(runs):
        for command, found in times.items():
            found.append(seconds(command))
    ours, host = (statistics.median(found) for found in times.values())
    print(f"lmms_eval (only our task files)  {ours:6.1f} s  (median of {runs})")
    print(f"lmms-eval (all task files)       {host:6.1f} s")
    print(f"saved                            {host - ours:6.1f} s, ratio {ours / host:.2f}")


if __name__ == "__main__":
    main()
