"""Small C3T sets made on the spot, and the simulator of the benchmark script."""

from __future__ import annotations

import importlib.util
import io
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import soundfile

ACCENTS = ("Ayr", "Bath", "Cork")
AGES = ("sixties", "teens")
GENDERS = ("female", "male")


def simulator() -> ModuleType:
    """The script `benchmarks/c3t.py`, whose simulated systems and plain counts the tests use too."""
    name = "c3t_benchmark_script"
    if name not in sys.modules:
        path = Path(__file__).parents[1] / "benchmarks" / "c3t.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def clip(number: int = 0, seconds: float = 0.1) -> bytes:
    """A short tone as FLAC."""
    time = np.arange(round(seconds * 16_000)) / 16_000
    file = io.BytesIO()
    soundfile.write(file, 0.3 * np.sin(2 * np.pi * (300 + number) * time), 16_000, format="FLAC")
    return file.getvalue()


def rows(task: str, split: str, prompts: int = 2) -> list[dict[str, Any]]:
    """Sound rows of one split with all official columns; the answers are `Yes` and `No` in turn."""
    voices = [(accent, None, None) for accent in ACCENTS]
    if split == "age_gender":
        voices = [("Ayr", age, gender) for age in AGES for gender in GENDERS]
    return [
        {
            "task_name": task,
            "task_id": number,
            "instance_id": str(number),
            "sample_id": "-".join(filter(None, (task, split, str(number), *voice))),
            "audio": f"{task}/audio/{split}-{number}-{place}.flac",
            "text_prompt": f"Is this {task} number {number}? Yes or no?",
            "answers": ["Yes" if number % 2 else "No"],
            "options": ["Yes", "No"],
            "audio_prompt": "a tone",
            "accent": voice[0],
            "age": voice[1],
            "gender": voice[2],
        }
        for number in range(1, prompts + 1)
        for place, voice in enumerate(voices)
    ]


def write_jsonl(root: Path, task: str, split: str, content: Iterable[Mapping[str, Any]]) -> Path:
    """`root/c3t/<task>/<split>.jsonl`."""
    path = root / "c3t" / task / f"{split}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in content), "utf-8")
    return path


def make(root: Path, tasks: Iterable[str] = ("navigate", "snarks"), prompts: int = 2) -> Path:
    """A folder with both splits of `tasks` as JSONL with recordings; returns `root`."""
    for task in tasks:
        for split in ("accent", "age_gender"):
            content = rows(task, split, prompts)
            write_jsonl(root, task, split, content)
            for number, row in enumerate(content):
                path = root / "c3t" / row["audio"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(clip(number))
    return root


def write_parquet(path: Path, content: Iterable[Mapping[str, Any]], integers: bool = False) -> Path:
    """A parquet file with the hub's columns, the recordings in it; `integers` has whole numbers for instance ids."""
    import pyarrow as pa
    from pyarrow import parquet

    texts = ("task_name", "sample_id", "text_prompt", "audio_prompt", "accent", "age", "gender")
    schema = pa.schema(
        [(name, pa.string()) for name in texts]
        + [("task_id", pa.int64()), ("instance_id", pa.int64() if integers else pa.string())]
        + [(name, pa.list_(pa.string())) for name in ("answers", "options")]
        + [("audio", pa.struct([("bytes", pa.binary()), ("path", pa.string())]))]
    )
    table = [
        {
            **row,
            "instance_id": int(row["instance_id"]) if integers else row["instance_id"],
            "audio": {"bytes": clip(number), "path": Path(row["audio"]).name},
        }
        for number, row in enumerate(content)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(table, schema), path)
    return path


def snapshot(root: Path, tasks: Iterable[str] = ("navigate", "snarks")) -> Path:
    """A folder as `hf download` leaves the hub's per-task configurations, in two files a split; returns `root`."""
    for task in tasks:
        folder = root / "c3t" / task.replace("_", "-")
        for split in ("accent", "age_gender"):
            content = rows(task, split)
            write_parquet(folder / f"{split}-00000-of-00002.parquet", content[:2])
            write_parquet(folder / f"{split}-00001-of-00002.parquet", content[2:])
    write_parquet(root / "c3t" / ".cache" / "huggingface" / "accent-00000-of-00001.parquet", rows("navigate", "accent"))
    return root


def default_snapshot(root: Path, tasks: Iterable[str] = ("navigate", "snarks")) -> Path:
    """The same with the configuration `default`: all tasks in the same files, whole numbers as instance ids."""
    for split in ("accent", "age_gender"):
        content = [row for task in tasks for row in rows(task, split)]
        # Alternately, so that no file has one task alone.
        write_parquet(root / "c3t" / "data" / f"{split}-00000-of-00002.parquet", content[::2], integers=True)
        write_parquet(root / "c3t" / "data" / f"{split}-00001-of-00002.parquet", content[1::2], integers=True)
    return root
