"""SAKURA's data: the official folder layout, its validation, and the data set each task is asked on.

Layout: `DIR/sakura/{Animal,Emotion,Gender,Language}/{metadata.csv,audio/}`, as in the authors' repository.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_audio_tasks import audio, sources
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.options import OptionError, parse_answer, parse_options
from lmms_audio_tasks.sakura import HOPS, TaskSpec

if TYPE_CHECKING:
    from datasets import Dataset

COLUMNS = ("file", "attribute_label", "single_instruction", "single_answer", "multi_instruction", "multi_answer")
CAPTIONS = {
    "gender": "The gender of the speaker is {}.",
    "language": "The language spoken in the speech is {}.",
    "emotion": "The emotion of the speaker is {}.",
    "animal": "The animal making the sound is {}.",
}
"""What stands for the recording in the `_text` tasks (the paper's "Text" setting, section 4.2)."""


@dataclass(frozen=True, slots=True)
class Item:
    """One recording with its two questions.

    Attributes:
        row: 1-based data row in `metadata.csv`.
        fields: the columns of that row, as they stand.
        audio: the recording's path.
        seconds: its duration.
    """

    row: int
    fields: Mapping[str, str]
    audio: Path
    seconds: float


@dataclass(frozen=True, slots=True)
class Track:
    """A track as read: the items that are sound, and every fault."""

    folder: Path
    items: tuple[Item, ...]
    faults: tuple[DataError, ...]


def read_track(folder: Path) -> Track:
    """Read one track's folder and check everything: table, questions, answers, and that every recording decodes.

    Raises:
        DataError: where the folder itself is missing. Everything else is a fault in the result.
    """
    if not folder.is_dir():
        raise DataError(folder, "a track's folder with metadata.csv and audio/", "no such folder")
    table = folder / "metadata.csv"
    rows, faults = sources.read_table(table, COLUMNS)
    faults += [fault for number, fields in rows for fault in _text_faults(table, number, fields)]
    faults += _duplicates(table, rows)
    items = []
    for (number, fields), found in zip(rows, _probe_all(folder / "audio", [f["file"] for _, f in rows]), strict=True):
        if isinstance(found, str):
            faults.append(DataError(table, "audio that can be decoded", found, number))
        else:
            items.append(Item(number, fields, folder / "audio" / fields["file"], found.duration))
    return Track(folder, tuple(items), tuple(sorted(faults, key=_fault_order)))


def _fault_order(fault: DataError) -> int:
    return fault.row if isinstance(fault.row, int) else 0


def _text_faults(table: Path, number: int, fields: Mapping[str, str]) -> Iterator[DataError]:
    name = fields["file"]
    if not name or name != Path(name).name or "\\" in name:
        yield DataError(table, "the name of a file in audio/", repr(name), number)
    if not fields["attribute_label"].strip():
        yield DataError(table, "an attribute_label", "an empty field", number)
    for hop in HOPS:
        yield from _question_faults(table, number, fields, hop)


def _question_faults(table: Path, number: int, fields: Mapping[str, str], hop: str) -> Iterator[DataError]:
    instruction, answer = fields[f"{hop}_instruction"], fields[f"{hop}_answer"]
    try:
        options = parse_options(instruction)
    except OptionError as error:
        yield DataError(table, f"a {hop}_instruction with options like `(a) x (b) y`", f"{error}", number)
        return
    try:
        parse_answer(answer, options)
    except OptionError as error:
        yield DataError(table, f"a {hop}_answer that is one of the options", f"{error}", number)


def _duplicates(table: Path, rows: Iterable[sources.Row]) -> list[DataError]:
    first: dict[str, int] = {}
    faults = []
    for number, fields in rows:
        before = first.setdefault(fields["file"], number)
        if before != number:
            faults.append(
                DataError(table, "each file once", f"{fields['file']!r} again, first in row {before}", number)
            )
    return faults


def _probe_all(folder: Path, names: list[str]) -> list[audio.Probe | str]:
    """Decode every recording whole; a string tells what is wrong. Libsndfile releases the interpreter's lock."""

    def one(name: str) -> audio.Probe | str:
        if not name or name != Path(name).name:
            return f"no usable file name: {name!r}"
        try:
            return audio.verify(folder / name)
        except audio.AudioError as error:
            return str(error)

    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        return list(pool.map(one, names))


@lru_cache(maxsize=16)
def _read_once(folder: Path, _stamp: tuple[tuple[str, int, int], ...]) -> Track:
    return read_track(folder)


def _stamp(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Changes whenever a file of the track does, so that several tasks of a run share one reading of it."""
    paths = [folder / "metadata.csv", *sorted((folder / "audio").glob("*"))]
    return tuple(
        (path.name, stat.st_size, stat.st_mtime_ns) for path in paths if path.exists() for stat in [path.stat()]
    )


def load_track(source: sources.Source, spec: TaskSpec) -> Track:
    """A track of a local source that is free of faults.

    Raises:
        DataError: the first fault, with the number of further ones.
    """
    folder = source.folder("sakura") / spec.folder
    if not folder.is_dir():
        there = sorted(entry.name for entry in folder.parent.iterdir() if entry.is_dir())
        raise DataError(
            folder, f"the {spec.track} track's folder", f"only {', '.join(there) or 'no folders'} beside it"
        )
    track = _read_once(folder, _stamp(folder))
    if track.faults:
        first, more = track.faults[0], len(track.faults) - 1
        listing = f" (and {more} more: `lmms-audio-tasks check sakura --data {source.label}` lists all)" if more else ""
        raise DataError(first.file, first.expected, first.found + listing, first.row)
    return track


def validate(task: str) -> None:
    """Raise `DataError` where the source in force cannot serve `task`; the hub is left to the host."""
    from lmms_audio_tasks.sakura import SPECS

    source = sources.current()
    if source.kind != "hub":
        load_track(source, SPECS[task])


def local_dataset(source: sources.Source, spec: TaskSpec) -> Dataset:
    """The documents of `spec` from a local source; audio stays on disk, one path an item."""
    from datasets import Audio, Dataset

    items = load_track(source, spec).items
    docs = [_document(item.fields, spec, source.label, source.demo) for item in items]
    if spec.text:
        return Dataset.from_list(docs)
    dataset = Dataset.from_list([{**doc, "audio": str(item.audio)} for doc, item in zip(docs, items, strict=True)])
    # Undecoded: the host's `datasets` decodes through torchcodec, which needs FFmpeg's libraries.
    return dataset.cast_column("audio", Audio(decode=False))


def hub_dataset(dataset: Dataset, spec: TaskSpec) -> Dataset:
    """The documents of `spec` from the hub's data set; its audio column is kept as it is, undecoded.

    Raises:
        DataError: a column is missing, or a question or answer is at fault.
    """
    from datasets import Audio, Dataset, concatenate_datasets

    label = f"hub:{spec.hub_id}@{_commit(dataset)}"
    missing = [name for name in COLUMNS if name not in dataset.column_names]
    if missing:
        raise DataError(label, f"column {', '.join(missing)}", f"columns {', '.join(dataset.column_names)}")
    rows = list(enumerate(dataset.select_columns(list(COLUMNS)), start=1))
    for number, fields in rows:
        for fault in _text_faults(Path(label), number, fields):
            raise DataError(label, fault.expected, fault.found, fault.row)
    documents = Dataset.from_list([_document(fields, spec, label, demo=False) for _, fields in rows])
    if spec.text:
        return documents
    recordings = dataset.select_columns(["audio"]).cast_column("audio", Audio(decode=False))
    return concatenate_datasets([documents, recordings], axis=1)


def _commit(dataset: Dataset) -> str:
    """The commit the hub served, read from the download addresses; the asked revision where they do not tell it."""
    for address in dataset.info.download_checksums or {}:
        found = re.search(r"@([0-9a-f]{40})/", address)
        if found:
            return found[1]
    return sources.current().revision or "unknown"


def _document(fields: Mapping[str, str], spec: TaskSpec, source: str, demo: bool) -> dict[str, Any]:
    instruction = fields[f"{spec.hop}_instruction"]
    label = fields["attribute_label"].strip()
    caption = f"{CAPTIONS[spec.track].format(label)}\n" if spec.text else ""
    return {
        "item_id": f"{spec.track}/{fields['file']}",
        "task": spec.name,
        "track": spec.track,
        "hop": spec.hop,
        "modality": "text" if spec.text else "audio",
        "attribute": label,
        "prompt": caption + instruction,
        "answer": fields[f"{spec.hop}_answer"].strip(),
        "source": source,
        "demo": demo,
    }
