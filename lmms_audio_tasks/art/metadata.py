"""ART's `metadata.json` files: reading and checking the records. Audio is not touched; no decoder is imported.

Layout: `DIR/art/<task>/{metadata.json,<instance_id>.flac}`, as in the authors' repository under `dataset/`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lmms_audio_tasks.art import ANSWERS, FOLDERS
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.sources import Source
from lmms_audio_tasks.strict_json import HALF_CHARACTER, read_json, short

FILE = "metadata.json"
FIELDS: dict[str, type] = {
    "instance_id": str,
    "template_id": str,
    "question_id": str,
    "question": str,
    "slots": dict,
    "answer": str,
}
SCORED: dict[str, type] = {name: FIELDS[name] for name in ("instance_id", "answer")}
"""The fields that scoring needs."""
_KINDS: dict[type, str] = {str: "a text", dict: "an object"}


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in one record, or in the file as a whole at record 0."""

    record: int
    error: DataError


@dataclass(frozen=True, slots=True)
class Entry:
    """One record: its 1-based number in the file, its id (not empty), and its fields as they stand."""

    record: int
    instance_id: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Metadata:
    """One task's records.

    Attributes:
        entries: every record that has an id, also where another field is at fault.
        faults: by record; none means that every entry is sound.
    """

    path: Path
    entries: tuple[Entry, ...]
    faults: tuple[Fault, ...]


def art_folder(source: Source) -> Path:
    """The folder `art` of a local source.

    Raises:
        DataError: the source is the hub, which has no ART data, or the folder is missing.
    """
    if source.kind == "hub":
        raise DataError(
            "hub",
            "local data: a folder that holds art/<task>/metadata.json, or demo "
            "(lmms_eval --audio_data DIR|demo, lmms-audio-tasks --data DIR|demo)",
            "the hub, which has no ART data",
        )
    return source.folder("art")


def read_all(folder: Path, fields: Mapping[str, type] = FIELDS) -> dict[str, Metadata]:
    """Read every task folder that is there, by its name; an id that an earlier record has is a fault of the later one.

    Args:
        fields: the fields to check, with their types.
    """
    first: dict[str, str] = {}
    found = {}
    for name in FOLDERS:
        if not (folder / name).is_dir():
            continue
        metadata = read_metadata(folder / name / FILE, fields)
        faults = [*metadata.faults, *_repeated(metadata, name, first)]
        found[name] = replace(metadata, faults=tuple(sorted(faults, key=lambda fault: fault.record)))
    return found


def _repeated(metadata: Metadata, task: str, first: dict[str, str]) -> Iterator[Fault]:
    for entry in metadata.entries:
        here = f"{task}, record {entry.record}"
        before = first.setdefault(entry.instance_id, here)
        if before != here:
            found = f"{entry.instance_id!r} again, first in {before}"
            yield _fault(metadata.path, entry.record, "each instance_id once over all tasks", found)


def read_metadata(path: Path, fields: Mapping[str, type] = FIELDS) -> Metadata:
    """Read one `metadata.json`: an array of at least one record with these fields. Other fields may be there too."""
    try:
        records = read_json(path, "a metadata file")
    except DataError as error:
        return Metadata(path, (), (Fault(0, error),))
    if not isinstance(records, list) or not records:
        found = "an empty one" if records == [] else short(records)
        return Metadata(path, (), (Fault(0, DataError(path, "a JSON array of records", found)),))
    faults = [fault for number, record in enumerate(records, 1) for fault in _faults(path, number, record, fields)]
    entries = [
        Entry(number, record["instance_id"], record)
        for number, record in enumerate(records, 1)
        if isinstance(record, dict) and isinstance(record.get("instance_id"), str) and record["instance_id"]
    ]
    return Metadata(path, tuple(entries), tuple(faults))


def _faults(path: Path, number: int, record: object, fields: Mapping[str, type]) -> Iterator[Fault]:
    if not isinstance(record, dict):
        yield _fault(path, number, "an object", short(record))
        return
    sound: set[str] = set()
    for name, kind in fields.items():
        if name not in record:
            yield _fault(path, number, f"a field {name}", f"fields {', '.join(map(repr, record)) or 'none'}")
        elif not isinstance(record[name], kind):
            yield _fault(path, number, f"{name} to be {_KINDS[kind]}", short(record[name]))
        elif kind is str and HALF_CHARACTER.search(record[name]):
            yield _fault(path, number, f"{name} to be whole characters", f"half a one: {short(record[name])}")
        else:
            sound.add(name)
    if "instance_id" in sound and not can_name_file(record["instance_id"]):
        yield _fault(path, number, "an instance_id that can name a file", short(record["instance_id"]))
    if "question" in sound and not record["question"].strip():
        yield _fault(path, number, "a question", "a blank text")
    if "answer" in sound and record["answer"] not in ANSWERS:
        yield _fault(path, number, "answer to be yes or no", short(record["answer"]))


def can_name_file(name: str) -> bool:
    """Whether `<name>.flac` is a file in the task's folder, whatever the system."""
    return bool(name.strip()) and not any(mark in name for mark in "/\\\0") and not HALF_CHARACTER.search(name)


def _fault(path: Path, number: int, expected: str, found: str) -> Fault:
    return Fault(number, DataError(path, expected, found, f"record {number}"))


def first_fault(faults: Sequence[DataError], source: Source) -> DataError:
    """The first of `faults` (at least one), with the number of the others and where to see them."""
    first, more = faults[0], len(faults) - 1
    listing = f" (and {more} more: `lmms-audio-tasks check art --data {source.label}` lists all)" if more else ""
    return DataError(first.file, first.expected, first.found + listing, first.row)
