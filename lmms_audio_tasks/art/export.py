"""A run's saved samples -> the official prediction file `outputs.json`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.files import read_lines
from lmms_audio_tasks.records import VERDICTS

Modality = Literal["audio", "text"]
_Located = tuple[Path, int, dict[str, Any]]
"""A record with its file and line."""
_FIELDS = {"demo": bool, "groups": dict, **dict.fromkeys(("item_id", "task", "source", "response", "verdict"), str)}
"""What is needed of a record, and its types."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written.

    Attributes:
        responses: how many by task; a task on all of whose items the model failed has 0.
        errors: on how many items the model failed; they are not in the file, and so count as wrong where it is scored.
        files: the samples files that were read.
    """

    path: Path
    responses: dict[str, int]
    errors: int
    demo: bool
    files: tuple[Path, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "benchmark": "art",
            "path": str(self.path),
            "n": sum(self.responses.values()),
            "errors": self.errors,
            "demo": self.demo,
            "tasks": self.responses,
            "files": [str(file) for file in self.files],
        }

    def to_text(self) -> str:
        """The same for people."""
        note = " (demo data)" if self.demo else ""
        lines = [f"{name}: {count}" for name, count in self.responses.items()]
        failed = f", without {self.errors} items on which the model failed" if self.errors else ""
        return "\n".join([*lines, f"wrote {sum(self.responses.values())} responses to {self.path}{note}{failed}"])


def export_run(logdir: Path | Sequence[Path], out: Path, modality: Modality = "audio") -> Exported:
    """Write the responses of one run, as `lmms_eval --log_samples` saved them, to an official prediction file.

    Args:
        logdir: what `--output_path` was given, or samples files of one model.
        modality: `audio` takes the tasks whose question is spoken only, the paper's protocol; `text` the `_text` tasks,
            whose items have the same ids.

    Raises:
        DataError: there are no such samples, they are of several models, of several runs of one task or of several
            data sources, a line is not a record of this plugin's, or the file cannot be written.
    """
    files = _files([logdir] if isinstance(logdir, Path) else logdir, modality)
    records = [(file, number, record) for file in files for number, record in _records(file, modality)]
    _check_one_run(records)
    answered = [record for _, _, record in records if record["verdict"] != "error"]
    if not answered:
        raise DataError(files[0].parent, "at least one response", f"none in {len(files)} samples files")
    _write(out, {record["item_id"]: record["response"] for record in answered})
    responses = dict.fromkeys(sorted({record["task"] for _, _, record in records}), 0)
    for record in answered:
        responses[record["task"]] += 1
    return Exported(out, responses, len(records) - len(answered), answered[0]["demo"], tuple(files))


def _check_one_run(records: Sequence[_Located]) -> None:
    """Two runs, or a run on demo data and one on real data, would make a file of no model on no data."""
    seen: dict[str, Path] = {}
    for file, number, record in records:
        if record["item_id"] in seen:
            found = f"{record['item_id']!r} again, first in {seen[record['item_id']].name}"
            raise DataError(file, "each item once (name the samples files of one run)", found, f"line {number}")
        seen[record["item_id"]] = file
        if record["source"] != records[0][2]["source"]:
            expected = f"data from {records[0][2]['source']}, as in {records[0][0].name}"
            raise DataError(file, expected, str(record["source"]), f"line {number}")


def _files(places: Sequence[Path], modality: Modality) -> list[Path]:
    """The samples files of the wanted tasks at `places`; all in one folder, which the host makes one a model."""
    found = sorted({file for place in places for file in _samples(place)})
    ending = "_text.jsonl"
    wanted = [file for file in found if file.name.endswith(ending) == (modality == "text")]
    if not wanted:
        other = "only those of the tasks with the other modality" if found else "none"
        tasks = "art_*_text" if modality == "text" else "art_*"
        expected = f"samples of {tasks} tasks (lmms_eval --log_samples --output_path makes them)"
        raise DataError(", ".join(map(str, places)), expected, other)
    folders = sorted({file.parent for file in wanted})
    if len(folders) > 1:
        raise DataError(folders[1], "one model's folder", f"a second one beside {folders[0]}")
    return wanted


def _samples(place: Path) -> list[Path]:
    if place.is_dir():
        return list(place.rglob("*_samples_art_*.jsonl"))
    if not place.exists():
        raise DataError(place, "a folder or a samples file", "no such file or folder")
    return [place]


def _records(file: Path, modality: Modality) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, sample in read_lines(file):
        record = sample.get("exact_match")
        if not isinstance(record, dict) or record.get("benchmark") != "art" or not _is_sound(record):
            found = "none, or one without a field, or with a value of another type"
            raise DataError(file, "a record of an ART task under 'exact_match'", found, f"line {number}")
        if record["groups"].get("modality") != modality:
            raise DataError(file, f"modality {modality}", str(record["groups"].get("modality")), f"line {number}")
        yield number, record


def _is_sound(record: Mapping[str, Any]) -> bool:
    return all(isinstance(record.get(name), kind) for name, kind in _FIELDS.items()) and record["verdict"] in VERDICTS


def _write(path: Path, predictions: dict[str, str]) -> None:
    if not path.name:
        raise DataError(path, "a file that can be written", "a folder")
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    text = json.dumps(predictions, indent=4, ensure_ascii=False) + "\n"
    try:
        # Half of a surrogate pair, which no encoding has, is written as the escape that JSON has for it.
        partial.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise DataError(path, "a file that can be written", error.strerror or str(error)) from error
