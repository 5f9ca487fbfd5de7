"""Small ART folders in the official layout, made on the spot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conftest import tone

from lmms_audio_tasks.art import FOLDERS


def art_record(task: str, number: int, **changes: Any) -> dict[str, Any]:
    """A sound record; even numbers have the answer yes."""
    record = {
        "instance_id": f"{task[:3]}{FOLDERS.index(task)}_{number}",
        "template_id": f"t{number % 2}",
        "question_id": f"q{number}",
        "question": f"Is tone {number} of {task} even?",
        "slots": {"number": number},
        "answer": "no" if number % 2 else "yes",
    }
    return {**record, **changes}


def write_records(folder: Path, records: Any) -> Path:
    """`metadata.json` as the official data have it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "metadata.json"
    path.write_text(json.dumps(records, indent=4), encoding="utf-8")
    return path


def make_art(root: Path, sizes: Mapping[str, int] | int = 4, audio: bool = True) -> Path:
    """Make `root/art` with all nine tasks of 4 items, or with those of `sizes`; gives `root`."""
    if isinstance(sizes, int):
        sizes = dict.fromkeys(FOLDERS, sizes)
    for task, count in sizes.items():
        records = [art_record(task, number) for number in range(count)]
        write_records(root / "art" / task, records)
        for record in records if audio else ():
            tone(root / "art" / task / f"{record['instance_id']}.flac", seconds=0.2)
    return root


def write_predictions(path: Path, predictions: Any) -> Path:
    """An official prediction file."""
    path.write_text(json.dumps(predictions, indent=4), encoding="utf-8")
    return path


def all_records(sizes: Mapping[str, int]) -> list[tuple[str, dict[str, Any]]]:
    """What `make_art` writes: the task and the record, item by item."""
    return [(task, art_record(task, number)) for task, count in sizes.items() for number in range(count)]


def read_answers(root: Path, tasks: Sequence[str] = FOLDERS) -> dict[str, str]:
    """The golden answers of a folder by id."""
    found = {}
    for task in tasks:
        for record in json.loads((root / "art" / task / "metadata.json").read_text("utf-8")):
            found[record["instance_id"]] = record["answer"]
    return found
