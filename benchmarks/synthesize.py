"""How many recordings a second `lmms-audio-tasks synthesize` makes with espeak-ng, with one process and with more.

    python benchmarks/synthesize.py [--prompts 10] [--runs 3] [--processes 1 2]

Says the first prompts of the shipped example in the 43 shipped voices into a fresh folder: speech, loudness, FLAC and
files, without the parquet files and without recognition. The numbers of processes take turns, each run in a new folder;
printed are the medians, their ratio to one process, and the hours that the paper's set (2,470 prompts, 43 voices) would
take at that pace.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

from lmms_audio_tasks.synthesize import make, pipeline, settings, voices
from lmms_audio_tasks.synthesize.tts import Choice
from lmms_audio_tasks.synthesize.workfiles import WorkFiles

EXAMPLE = Path(pipeline.__file__).parent / "example" / "tasks.jsonl"
PAPER = 2470 * 43


def jobs(prompts: int, choice: Choice, known: settings.Settings) -> list[make.Job]:
    """One job for each prompt and voice of both splits."""
    table = voices.read(voices.ESPEAK_TABLE)
    plan = voices.Plan.of(table, 0)
    kept = pipeline.filtered([EXAMPLE], choice.language, known, None).kept[:prompts]
    identity = choice.load().identity()
    return [
        make.Job(
            make.key_of(spoken, voice, "", identity, known.speech, None),
            spoken,
            len(spoken.split()),
            voice,
            table.reference(voice),
        )
        for prompt, spoken in kept
        for split in plan.pools
        for _, voice in plan.draw(split, *prompt.key)
    ]


def seconds(todo: list[make.Job], choice: Choice, known: settings.Settings, processes: int) -> tuple[float, float]:
    """Wall time of making them all, and the CPU time of all processes."""
    with tempfile.TemporaryDirectory() as folder:
        engine, files = choice.load(), WorkFiles(Path(folder))
        start, used = time.perf_counter(), sum(os.times()[:4])
        made = make.make(todo, files, choice, engine, known, processes, lambda count: None)
        taken, used = time.perf_counter() - start, sum(os.times()[:4]) - used
    assert len(made) == len(todo) and all(outcome.made for outcome in made.values())
    return taken, used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=10)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    known = settings.load()
    choice = Choice("espeak", "en", 120)
    todo = jobs(options.prompts, choice, known)
    times: dict[int, list[tuple[float, float]]] = {processes: [] for processes in options.processes}
    for _ in range(options.runs):
        for processes, found in times.items():
            found.append(seconds(todo, choice, known, processes))
    print(f"{len(todo)} recordings ({options.prompts} prompts x {len(todo) // options.prompts} voices), "
          f"median of {options.runs} runs")  # fmt: skip
    first = statistics.median(wall for wall, _ in next(iter(times.values())))
    for processes, found in times.items():
        taken, used = (statistics.median(column) for column in zip(*found, strict=True))
        pace = len(todo) / taken
        print(f"{processes} process(es): {taken:6.1f} s  {pace:6.1f} a second  {first / taken:5.2f} times  "
              f"{1000 * used / len(todo):5.1f} ms of CPU each  "
              f"{PAPER / pace / 3600:5.2f} h for the paper's {PAPER:,}")  # fmt: skip


if __name__ == "__main__":
    main()
