"""ART's data: a task's records with their recordings, and the documents each task is asked on. Local sources only."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_audio_tasks import sources
from lmms_audio_tasks.art import SPECS, TaskSpec
from lmms_audio_tasks.art.metadata import Entry, Fault, Metadata, art_folder, can_name_file, first_fault, read_all
from lmms_audio_tasks.audio import AudioError, Probe, verify
from lmms_audio_tasks.errors import DataError

if TYPE_CHECKING:
    from datasets import Dataset

INSTRUCTION = "You will hear a question, and often what it is about. Answer the question with one word: yes or no."
TEXT_INSTRUCTION = (
    "This question is also asked in the recording, which holds what it is about. "
    "Answer the question with one word: yes or no."
)
"""What the `_text` tasks ask, after the question."""


@dataclass(frozen=True, slots=True)
class Item:
    """One record with its recording: the file's path, and what it holds."""

    entry: Entry
    audio: Path
    probe: Probe


@dataclass(frozen=True, slots=True)
class TaskData:
    """A task's folder as read: the items whose recording decodes, and every fault, in the order of the records."""

    folder: Path
    items: tuple[Item, ...]
    faults: tuple[DataError, ...]


def read_task(metadata: Metadata) -> TaskData:
    """Add the recordings to a task's records; each is decoded whole, so that none is found damaged in a run."""
    folder = metadata.path.parent
    items: list[Item] = []
    faults = list(metadata.faults)
    for entry, found in zip(metadata.entries, _verify_all(folder, metadata.entries), strict=True):
        if isinstance(found, Probe):
            items.append(Item(entry, _recording(folder, entry), found))
        else:
            where = f"record {entry.record}"
            faults.append(Fault(entry.record, DataError(metadata.path, "audio that can be decoded", found, where)))
    faults.sort(key=lambda fault: fault.record)
    return TaskData(folder, tuple(items), tuple(fault.error for fault in faults))


def _recording(folder: Path, entry: Entry) -> Path:
    return folder / f"{entry.instance_id}.flac"


def _verify_all(folder: Path, entries: tuple[Entry, ...]) -> list[Probe | str]:
    """Decode every recording; a string tells what is wrong. Libsndfile releases the interpreter's lock."""

    def one(entry: Entry) -> Probe | str:
        if not can_name_file(entry.instance_id):
            return f"no usable file name: {entry.instance_id!r}"
        try:
            return verify(_recording(folder, entry))
        except AudioError as error:
            return str(error)

    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        return list(pool.map(one, entries))


def load_task(source: sources.Source, spec: TaskSpec) -> TaskData:
    """The data of `spec` from a local source, free of faults.

    Raises:
        DataError: the source is the hub, the task's folder is missing, or the first fault, with the number of others.
    """
    folder = art_folder(source)
    if not (folder / spec.folder).is_dir():
        there = ", ".join(sorted(entry.name for entry in folder.iterdir() if entry.is_dir())) or "no folders"
        raise DataError(folder, f"a folder `{spec.folder}` in it", f"only {there}")
    data = _read_once(folder, spec.folder, _stamp(folder, spec.folder))
    if data.faults:
        raise first_fault(data.faults, source)
    return data


@lru_cache(maxsize=2 * len(SPECS))
def _read_once(folder: Path, task: str, _stamp: tuple[tuple[str, int, int], ...]) -> TaskData:
    return read_task(read_all(folder)[task])


def _stamp(folder: Path, task: str) -> tuple[tuple[str, int, int], ...]:
    """Changes whenever a file the task's reading depends on does, so that a run reads each task's audio once."""
    paths = [*sorted(folder.glob("*/metadata.json")), *sorted((folder / task).glob("*"))]
    return tuple((str(path), stat.st_size, stat.st_mtime_ns) for path in paths for stat in [path.stat()])


def validate(task: str) -> None:
    """Raise `DataError` where the source in force cannot serve `task`."""
    load_task(sources.current(), SPECS[task])


def local_dataset(source: sources.Source, spec: TaskSpec) -> Dataset:
    """The documents of `spec`; audio stays on disk, one path an item, in the `_text` tasks too."""
    from datasets import Audio, Dataset

    items = load_task(source, spec).items
    documents = [{**_document(item.entry, spec, source), "audio": str(item.audio)} for item in items]
    # Undecoded: the host's `datasets` decodes through torchcodec, which needs FFmpeg's libraries.
    return Dataset.from_list(documents).cast_column("audio", Audio(decode=False))


def _document(entry: Entry, spec: TaskSpec, source: sources.Source) -> dict[str, Any]:
    question = entry.fields["question"].strip()
    return {
        "item_id": entry.instance_id,
        "task": spec.name,
        "folder": spec.folder,
        "modality": spec.modality,
        "template_id": entry.fields["template_id"],
        "question_id": entry.fields["question_id"],
        "prompt": f"{question}\n{TEXT_INSTRUCTION}" if spec.text else INSTRUCTION,
        "answer": entry.fields["answer"],
        "source": source.label,
        "demo": source.demo,
    }
