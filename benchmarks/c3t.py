"""C3T at full scale: is it counted right, how long does it take, how much memory does it need.

    python benchmarks/c3t.py score [--prompts 233 698 2470 6977] [--layout parquet jsonl]
    python benchmarks/c3t.py report [--prompts 233 698 2470 6977]
    python benchmarks/c3t.py memory

`score` draws a system whose fairness is known by construction, writes its prediction file and the data without audio,
runs `lmms-audio-tasks score c3t` on them in a process of its own, and compares every metric with a plain count in
nested loops and with the shares that were drawn. 2,470 prompts in 29 accents and 7 ages x 2 genders, one recording
absent, are the size of the official data: 106,209 spoken answers.

`report` writes the same system's log folder and runs `lmms-audio-tasks report` on it: samples are read, checked, scored
and reported as Markdown and JSON. Before that it tells how long reading the lines as JSON takes alone.

`memory` writes one task's accent split with recordings of a given size, builds and scores its requests through the host
in a process of its own, with a model that takes no audio, and prints the peak. The recordings are noise: nothing
compresses them, and nothing should read them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

TASKS = (
    ("causal_judgement", ("Yes", "No")),
    ("disambiguation_qa", ("(A)", "(B)", "(C)")),
    ("formal_fallacies", ("valid", "invalid")),
    ("hyperbaton", ("(A)", "(B)")),
    ("movie_recommendation", ("(A)", "(B)", "(C)", "(D)")),
    ("navigate", ("Yes", "No")),
    ("object_counting", ()),
    ("reasoning_about_colored_objects", ("(A)", "(B)", "(C)", "(D)", "(E)", "(F)")),
    ("snarks", ("(A)", "(B)")),
    ("sports_understanding", ("yes", "no")),
    ("web_of_lies", ("Yes", "No")),
)
ACCENTS = tuple(f"accent {number:02}" for number in range(29))
AGES = ("teens", "twenties", "thirties", "forties", "fifties", "sixties", "seventies")
GENDERS = ("female", "male")
KINDS = {"fair right": 0.2, "fair wrong": 0.35, "dialect": 0.15, "age": 0.1, "gender": 0.1, "all": 0.1}
"""What is drawn for a prompt, and how often: which characteristic turns its outcome."""
METRICS = ("fairness_overall", "fairness_age", "fairness_gender", "fairness_dialect") + (
    "robustness",
    "em_textual",
    "em_spoken",
)

TEXT_COLUMNS = (
    "task_name",
    "task_id",
    "instance_id",
    "sample_id",
    "text_prompt",
    "audio_prompt",
    "accent",
    "age",
    "gender",
)
PARQUET_SCHEMA = pa.schema(
    [(name, pa.string()) for name in TEXT_COLUMNS]
    + [(name, pa.list_(pa.string())) for name in ("answers", "options")]
    + [("audio", pa.struct([("bytes", pa.binary()), ("path", pa.string())]))]
)

Voice = tuple[str, ...]


@dataclass(frozen=True)
class Prompt:
    """A simulated prompt: outcomes by voice (`(accent,)` or `(age, gender)`), and in writing."""

    task: str
    instance_id: str
    options: tuple[str, ...]
    answer: str
    kind: str
    accents: dict[Voice, bool]
    voices: dict[Voice, bool]
    text: bool | None


def simulate(count: int, seed: int = 0, absent: int = 1) -> list[Prompt]:
    """Draw `count` prompts, spread evenly over the tasks; `absent` recordings of the age and gender split are not."""
    rng = random.Random(seed)
    prompts = [_draw(rng, number) for number in range(count)]
    for prompt in rng.sample(prompts, min(absent, count)):
        del prompt.voices[rng.choice(list(prompt.voices))]
    return prompts


def _draw(rng: random.Random, number: int) -> Prompt:
    task, options = TASKS[number % len(TASKS)]
    answer = rng.choice(options) if options else str(rng.randint(1, 19))
    kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
    base = kind == "fair right" or (kind != "fair wrong" and rng.random() < 0.3)
    accents: dict[Voice, bool] = {(accent,): base for accent in ACCENTS}
    voices: dict[Voice, bool] = {(age, gender): base for age in AGES for gender in GENDERS}
    if kind in ("dialect", "all"):
        for accent in rng.sample(ACCENTS, rng.randint(1, 28)):
            accents[accent,] = not base
    if kind == "age":
        age = rng.choice(AGES)
        voices.update({(age, gender): not base for gender in GENDERS})
    if kind == "gender":
        voices.update({(age, "male"): not base for age in AGES})
    if kind == "all":
        voices[rng.choice(AGES), rng.choice(GENDERS)] = not base
    text = base if rng.random() < 0.8 else not base
    return Prompt(task, str(number // len(TASKS)), options, answer, kind, accents, voices, text)


def drawn_shares(prompts: list[Prompt]) -> dict[str, float]:
    """The metrics that follow from what was drawn; sound as long as the absent recordings are few."""
    kinds = [prompt.kind for prompt in prompts]
    fair = [prompt for prompt in prompts if prompt.kind.startswith("fair")]
    spoken = [outcome for prompt in prompts for outcome in (*prompt.accents.values(), *prompt.voices.values())]
    return {
        "fairness_overall": len(fair) / len(prompts),
        "fairness_age": 1 - (kinds.count("age") + kinds.count("all")) / len(prompts),
        "fairness_gender": 1 - (kinds.count("gender") + kinds.count("all")) / len(prompts),
        "fairness_dialect": 1 - (kinds.count("dialect") + kinds.count("all")) / len(prompts),
        "robustness": sum(prompt.text == (prompt.kind == "fair right") for prompt in fair) / len(prompts),
        "em_textual": sum(bool(prompt.text) for prompt in prompts) / len(prompts),
        "em_spoken": sum(spoken) / len(spoken),
    }


# --- the plain count ---


def brute_force(prompts: Iterable[Prompt], constraint: str, task: str = "all") -> dict[str, float | None]:
    """Every metric counted prompt by prompt and pair by pair of voices, as section 5 of the paper says it in words."""
    seen: dict[str, list[bool]] = {name: [] for name in METRICS}
    for prompt in prompts:
        spoken = [*prompt.accents.values(), *prompt.voices.values()]
        if task not in ("all", prompt.task):
            continue
        if constraint != "none" and not any(spoken):
            continue
        if constraint == "ca" and prompt.text is not True:
            continue
        seen["em_spoken"] += spoken
        if prompt.text is not None:
            seen["em_textual"].append(prompt.text)
        if prompt.accents:
            seen["fairness_dialect"].append(_never_changes(prompt.accents, at=0))
        if prompt.voices:
            seen["fairness_age"].append(_never_changes(prompt.voices, at=0))
            seen["fairness_gender"].append(_never_changes(prompt.voices, at=1))
        if prompt.accents and prompt.voices:
            fair = all(outcome == spoken[0] for outcome in spoken)
            seen["fairness_overall"].append(fair)
            if prompt.text is not None:
                seen["robustness"].append(fair and spoken[0] == prompt.text)
    return {name: sum(values) / len(values) if values else None for name, values in seen.items()}


def _never_changes(outcomes: dict[Voice, bool], at: int) -> bool:
    """Whether no two voices that differ in label `at` alone have different outcomes."""
    for one, first in outcomes.items():
        for other, second in outcomes.items():
            alone = all(one[place] == other[place] for place in range(len(one)) if place != at)
            if alone and first != second:
                return False
    return True


# --- files ---


def data_rows(prompts: Iterable[Prompt], split: str) -> Iterator[dict[str, Any]]:
    """The rows of a split with the columns of the official data, save `audio`."""
    for prompt in prompts:
        for voice in prompt.accents if split == "accent" else prompt.voices:
            yield {
                "task_name": prompt.task,
                "task_id": prompt.instance_id,
                "instance_id": prompt.instance_id,
                "sample_id": sample_id(prompt, split, voice),
                "text_prompt": f"Prompt {prompt.instance_id} of {prompt.task}. " + "It goes on for a while. " * 12,
                "answers": [prompt.answer],
                "options": list(prompt.options),
                "audio_prompt": "none",
                "accent": voice[0] if split == "accent" else "England",
                "age": None if split == "accent" else voice[0],
                "gender": None if split == "accent" else voice[1],
            }


def sample_id(prompt: Prompt, split: str, voice: Voice) -> str:
    return "-".join((prompt.task, prompt.instance_id, split, *voice)).replace(" ", "-")


def write_jsonl(folder: Path, prompts: list[Prompt]) -> None:
    """`<task>/{accent,age_gender}.jsonl`; the recordings they name do not exist, as scoring needs none."""
    for task in {prompt.task for prompt in prompts}:
        (folder / task).mkdir(parents=True)
        for split in ("accent", "age_gender"):
            with (folder / task / f"{split}.jsonl").open("w") as lines:
                for row in data_rows([prompt for prompt in prompts if prompt.task == task], split):
                    lines.write(json.dumps({**row, "audio": f"{task}/{row['sample_id']}.flac"}) + "\n")


def write_parquet(folder: Path, prompts: list[Prompt], audio: Any = None, shard: int = 400) -> None:
    """`<task-with-hyphens>/<split>-00000-of-00007.parquet`, as the hub has it.

    `audio(row)` gives a recording's bytes. Files hold `shard` rows in row groups of 100.
    """
    for task in {prompt.task for prompt in prompts}:
        (folder / task.replace("_", "-")).mkdir(parents=True)
        for split in ("accent", "age_gender"):
            rows = list(data_rows([prompt for prompt in prompts if prompt.task == task], split))
            starts = range(0, len(rows), shard)
            for number, start in enumerate(starts):
                name = f"{split}-{number:05}-of-{len(starts):05}.parquet"
                _write_shard(folder / task.replace("_", "-") / name, rows[start : start + shard], audio)


def _write_shard(path: Path, rows: list[dict[str, Any]], audio: Any) -> None:
    with parquet.ParquetWriter(path, PARQUET_SCHEMA) as writer:
        for start in range(0, len(rows), 100):
            told = []
            for row in rows[start : start + 100]:
                clip = {"bytes": audio(row) if audio else b"", "path": f"{row['sample_id']}.flac"}
                told.append({**row, "audio": clip})
            writer.write_table(pa.Table.from_pylist(told, PARQUET_SCHEMA))


def predictions(prompts: Iterable[Prompt]) -> Iterator[dict[str, str]]:
    """The lines of the system's prediction file."""
    for prompt in prompts:
        wrong = next((option for option in prompt.options if option != prompt.answer), "0")
        for split, outcomes in (("accent", prompt.accents), ("age_gender", prompt.voices)):
            for voice, right in outcomes.items():
                said = f"I think the answer is {prompt.answer if right else wrong}."
                yield {"sample_id": sample_id(prompt, split, voice), "response": said}
        if prompt.text is not None:
            said = f"The answer: {prompt.answer if prompt.text else wrong}"
            yield {"task_name": prompt.task, "instance_id": prompt.instance_id, "response": said}


def write_predictions(path: Path, prompts: Iterable[Prompt]) -> int:
    """Write the prediction file; returns the number of spoken answers."""
    lines = [json.dumps(line) + "\n" for line in predictions(prompts)]
    path.write_text("".join(lines))
    return sum('"sample_id"' in line for line in lines)


# --- logs ---


def documents(prompts: Iterable[Prompt], kind: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The documents that the tasks of one kind ask, and what the system answers to each."""
    for prompt in prompts:
        voices: dict[Voice, bool | None] = {
            **(prompt.accents if kind == "accent" else prompt.voices if kind == "age_gender" else {(): prompt.text})
        }
        wrong = next((option for option in prompt.options if option != prompt.answer), "0")
        for voice, right in voices.items():
            if right is None:
                continue
            name = prompt.instance_id if kind == "text" else sample_id(prompt, kind, voice)
            text = f"Prompt {prompt.instance_id} of {prompt.task}. " + "It goes on for a while. " * 12
            doc = {
                "item_id": f"{prompt.task}/{kind}/{name}",
                "task": f"c3t_{prompt.task}_{kind}",
                "task_name": prompt.task,
                "split": kind,
                "modality": "text" if kind == "text" else "audio",
                "instance_id": prompt.instance_id,
                "sample_id": "" if kind == "text" else name,
                "accent": voice[0] if kind == "accent" else "",
                "age": voice[0] if kind == "age_gender" else "",
                "gender": voice[1] if kind == "age_gender" else "",
                "variants": len(voices),
                "text_prompt": text,
                "prompt": text if kind == "text" else "",
                "answers": [prompt.answer],
                "options": list(prompt.options),
                "source": "/data",
                "demo": False,
            }
            yield doc, f"I think the answer is {prompt.answer if right else wrong}."


def write_logs(folder: Path, prompts: list[Prompt], date: str = "20260101_120000") -> int:
    """What `lmms_eval --output_path FOLDER --log_samples` leaves of the system; returns the spoken samples."""
    from lmms_audio_tasks.c3t.utils import process_results

    folder.mkdir(parents=True, exist_ok=True)
    spoken, tasks = 0, []
    for kind in ("accent", "age_gender", "text"):
        for task in dict.fromkeys(prompt.task for prompt in prompts):
            tasks.append(f"c3t_{task}_{kind}")
            own = [prompt for prompt in prompts if prompt.task == task]
            with (folder / f"{date}_samples_{tasks[-1]}.jsonl").open("w", encoding="utf-8") as lines:
                for number, (doc, response) in enumerate(documents(own, kind)):
                    head = {"doc_id": number, "target": doc["answers"][0], "filtered_resps": response}
                    told = {
                        **head,
                        "token_counts": [None],
                        "doc_hash": "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8",
                    }
                    sample = {**told, **process_results(doc, [response]), "input": doc["prompt"]}
                    lines.write(json.dumps(sample, ensure_ascii=False) + "\n")
                    spoken += kind != "text"
    metadata = {"version": 1, "plugin_version": "0.1.0", "host_version": "0.7.3"}
    settings = {"generation_kwargs": {"max_new_tokens": 512, "do_sample": False}, "metadata": metadata}
    results = {
        "results": {},
        "configs": {task: {"task": task, **settings} for task in tasks},
        "versions": dict.fromkeys(tasks, 1),
        "config": {"model": "simulated", "model_args": "", "limit": None, "random_seed": 0},
        "date": date,
    }
    (folder / f"{date}_results.json").write_text(json.dumps(results), encoding="utf-8")
    return spoken


# --- measuring ---


@dataclass(frozen=True, order=True)
class Cost:
    """What a command took: wall time and time of the processor in seconds, peak resident memory in MB."""

    wall: float
    cpu: float
    peak: float


_WATCHER = """
import json, os, subprocess, sys, time
start = time.perf_counter()
child = subprocess.Popen(sys.argv[2:], stdout=open(sys.argv[1], "w"), stderr=subprocess.STDOUT)
_, status, usage = os.wait4(child.pid, 0)
told = [time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]
print(json.dumps([status, *told]))
"""
"""Starts a command from a small process: the system counts the starter's memory as the command's own."""


def measured(command: list[str], out: Path, **environment: str) -> Cost:
    """Run a command whose output goes to `out`; it has to succeed."""
    watcher = [sys.executable, "-S", "-c", _WATCHER, str(out), *command]
    done = subprocess.run(watcher, capture_output=True, text=True, check=True, env={**os.environ, **environment})
    status, *cost = json.loads(done.stdout)
    if status:
        sys.exit(f"{' '.join(command)} failed:\n{out.read_text()[-3000:]}")
    return Cost(*cost)


def check_rows(rows: list[dict[str, Any]], prompts: list[Prompt]) -> None:
    """Compare every row of the tables with the plain count, and the whole with what was drawn."""
    for row in rows:
        expected = brute_force(prompts, row["constraint"], row["task"])
        for name in METRICS:
            if row[name] != expected[name]:
                sys.exit(f"{row['task']}, {row['constraint']}, {name}: {row[name]}, counted {expected[name]}")
    whole = next(row for row in rows if row["task"] == "all" and row["constraint"] == "none")
    for name, share in drawn_shares(prompts).items():
        if abs(whole[name] - share) > 1e-9:
            sys.exit(f"{name}: {whole[name]}, drawn {share}")


def score(sizes: list[int], layouts: list[str]) -> None:
    program = str(Path(sys.executable).parent / "lmms-audio-tasks")
    print("layout   prompts   spoken  wall s   CPU s  peak MB  metrics equal the plain count")
    for layout in layouts:
        for size in sizes:
            with tempfile.TemporaryDirectory() as folder:
                root, pred, out = Path(folder) / "data", Path(folder) / "system.jsonl", Path(folder) / "out.json"
                prompts = simulate(size)
                (write_parquet if layout == "parquet" else write_jsonl)(root / "c3t", prompts)
                spoken = write_predictions(pred, prompts)
                command = [program, "score", "c3t", str(pred), "--data", str(root), "--format", "json"]
                cost = sorted(measured(command, out) for _ in range(3))[1]
                check_rows(json.loads(out.read_text())["rows"], prompts)
                numbers = f"{cost.wall:7.2f} {cost.cpu:7.2f} {cost.peak:8.0f}"
                print(f"{layout:8} {size:7} {spoken:8} {numbers}  yes", flush=True)


def report(sizes: list[int]) -> None:
    program = str(Path(sys.executable).parent / "lmms-audio-tasks")
    print("prompts   spoken  log MB  JSON alone s  wall s   CPU s  peak MB  metrics equal the plain count")
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            log, files = Path(folder) / "log", [Path(folder) / f"report.{form}" for form in ("md", "json")]
            prompts = simulate(size)
            spoken = write_logs(log, prompts)
            weight = sum(path.stat().st_size for path in log.iterdir()) / 1e6
            outputs = [word for path in files for word in ("-o", str(path))]
            command = [program, "report", str(log), "--benchmark", "c3t", "--published", *outputs]
            cost = sorted(measured(command, Path(folder) / "out.txt") for _ in range(5))[2]
            floor = sorted(_json_alone(log) for _ in range(5))[2]
            tables = {table["name"]: table["rows"] for table in json.loads(files[1].read_text())["tables"]}
            own = [row for name in ("table1", "table1_by_task") for row in tables[name] if row["origin"] == "run"]
            check_rows(own, prompts)
            numbers = f"{floor:13.2f} {cost.wall:7.2f} {cost.cpu:7.2f} {cost.peak:8.0f}"
            print(f"{size:7} {spoken:8} {weight:7.0f} {numbers}  yes", flush=True)


def _json_alone(log: Path) -> float:
    start = time.perf_counter()
    for path in log.glob("*.jsonl"):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                json.loads(line)
    return time.perf_counter() - start


MEMORY_CASES = ((25, 0.05), (250, 0.05), (25, 0.5), (25, 1.2), (75, 1.2))
"""Prompts and MiB a recording; 1.2 MiB is the mean of the official data, 126 GB over 106,209 recordings."""


def memory() -> None:
    print("layout   rows  MiB each  audio MB  run    peak MB  of it private MB")
    for layout in ("jsonl", "parquet"):
        for size, each in MEMORY_CASES:
            with tempfile.TemporaryDirectory() as folder:
                rows = write_audio_data(Path(folder) / "data", layout, size, round(each * 2**20))
                places = {"LMMS_AUDIO_TASKS_DATA": "data", "LMMS_EVAL_DATASETS_CACHE": "cache"}
                environment = {name: str(Path(folder) / place) for name, place in places.items()}
                # The first run makes the Arrow files that the second maps, as a user's first run does.
                for run in ("first", "later"):
                    out = Path(folder) / "out.txt"
                    cost = measured([sys.executable, __file__, "host"], out, **environment)
                    private = float(out.read_text().rpartition("private ")[2].split()[0])
                    total = rows * each * 2**20 / 1e6
                    print(
                        f"{layout:8} {rows:5} {each:8.2f} {total:9.0f}  {run} {cost.peak:8.0f} {private:8.0f}",
                        flush=True,
                    )


def write_audio_data(root: Path, layout: str, size: int, length: int) -> int:
    """One task's accent split of `size` prompts with recordings of `length` random bytes; returns its rows."""
    prompts = [prompt for prompt in simulate(size * len(TASKS), absent=0) if prompt.task == "navigate"]
    if layout == "parquet":
        write_parquet(root / "c3t", prompts, audio=lambda _: os.urandom(length))
    else:
        write_jsonl(root / "c3t", prompts)
        for row in data_rows(prompts, "accent"):
            (root / "c3t" / "navigate" / f"{row['sample_id']}.flac").write_bytes(os.urandom(length))
    return size * len(ACCENTS)


def host() -> None:
    """Evaluate one task through the host; the model is `chance`, which takes no audio.

    Mapped files count in a process's resident memory although the system takes their pages back at need, so what is its
    own alone is told too, as Linux has it.
    """
    peak = [0]
    threading.Thread(target=_watch, args=(peak,), daemon=True).start()
    from lmms_eval.evaluator import simple_evaluate

    as_the_command_line = argparse.Namespace(process_with_media=False)
    told = simple_evaluate(model="chance", tasks=["c3t_navigate_accent"], cli_args=as_the_command_line)
    print(told["results"]["c3t_navigate_accent"]["accuracy,none"], "private", peak[0] / 1024)


def _watch(peak: list[int]) -> None:
    while True:
        lines = Path("/proc/self/status").read_text().splitlines()
        peak[0] = max(peak[0], *(int(line.split()[1]) for line in lines if line.startswith("RssAnon")))
        time.sleep(0.02)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("score", "report", "memory", "host"))
    parser.add_argument("--prompts", type=int, nargs="+")
    parser.add_argument("--layout", nargs="+", choices=("parquet", "jsonl"), default=["parquet", "jsonl"])
    options = parser.parse_args()
    sizes = options.prompts or [233, 698, 2470, 6977]
    if options.what == "score":
        score(sizes, options.layout)
    elif options.what == "report":
        report(sizes)
    elif options.what == "memory":
        memory()
    else:
        host()


if __name__ == "__main__":
    main()
