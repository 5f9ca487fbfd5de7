"""`lmms-audio-tasks check c3t`: every fault of a folder, what each split holds, and which voices are absent."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from lmms_audio_tasks import audio, sources
from lmms_audio_tasks.c3t import SPLITS, layout, table_of
from lmms_audio_tasks.c3t.data import natural, row_set_faults
from lmms_audio_tasks.c3t.rows import COLUMNS, USED, Row, json_lines, open_parquet
from lmms_audio_tasks.errors import DataError

OFFICIAL = "the official data: 2470 prompts, 29 accents, 7 ages x 2 genders, 1 recording absent"
_BESIDE = tuple(name for name in COLUMNS if name not in (*USED, "audio"))
"""Official columns that a run does not need."""
_BATCH = 32
"""Recordings taken out of a parquet file at a time."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class SplitFigures:
    """What one task's split holds.

    Attributes:
        voices: labels by characteristic, e.g. `{"accent": 29}`.
        recordings: those that decode.
        seconds: their duration.
        formats: how often each audio format occurs among them, as `FLAC 16000 Hz 1 ch`.
    """

    task: str
    split: str
    rows: int
    prompts: int
    voices: dict[str, int]
    recordings: int
    seconds: float
    formats: dict[str, int]


@dataclass(frozen=True, slots=True)
class Absent:
    """A voice that one prompt lacks, where others of the folder have it. Not a fault: the official data lack one."""

    task: str
    split: str
    instance_id: str
    voice: str


@dataclass(frozen=True, slots=True)
class Report:
    """What `check` found.

    Attributes:
        prompts: different prompts, in either split.
        absent: voices that prompts lack with respect to all labels in the folder; a prompt that a split lacks whole is
            absent in each of its voices.
    """

    source: str
    demo: bool
    splits: tuple[SplitFigures, ...]
    prompts: int
    absent: tuple[Absent, ...]
    faults: tuple[DataError, ...]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON types; each fault has file, row, expected, found and its one-line message."""
        return {
            "benchmark": "c3t",
            "source": self.source,
            "demo": self.demo,
            "prompts": self.prompts,
            "splits": [asdict(split) for split in self.splits],
            "absent": [asdict(voice) for voice in self.absent],
            "faults": [fault.to_dict() for fault in self.faults],
        }

    def to_text(self) -> str:
        """The report for people: a line a split, absent voices, then a line a fault."""
        demo = " (demo data: these figures are not the benchmark's)" if self.demo else ""
        lines = [f"C3T in {self.source}{demo}", f"{self.prompts} prompts ({OFFICIAL})", ""]
        for split in self.splits:
            voices = ", ".join(f"{count} {name}s" for name, count in split.voices.items())
            hours = f"{split.recordings} recordings that decode, {split.seconds / 3600:.2f} h"
            lines.append(f"{split.task} {split.split}: {split.rows} rows, {split.prompts} prompts, {voices}, {hours}")
        formats: Counter[str] = Counter()
        for split in self.splits:
            formats.update(split.formats)
        lines.append(f"audio: {', '.join(f'{name} {count}' for name, count in formats.most_common()) or 'none'}")
        lines += ["", "1 voice absent" if len(self.absent) == 1 else f"{len(self.absent)} voices absent"]
        lines += [f"  {a.task} {a.split}: instance {a.instance_id}, {a.voice}" for a in self.absent]
        lines += ["", *(f"fault: {fault}" for fault in self.faults)]
        count = len(self.faults)
        return "\n".join([*lines, "no faults" if count == 0 else "1 fault" if count == 1 else f"{count} faults"])


def check(source: sources.Source) -> Report:
    """Check the C3T folder of a local source whole, every recording decoded; one split in memory at a time, no audio.

    Raises:
        DataError: the folder is missing, or has no file of C3T. A split that is missing is a fault in the report.
    """
    folder = source.folder("c3t")
    expected, tables = layout.present(folder)
    figures: list[SplitFigures] = []
    rows: list[Row] = []
    faults = list(_missing_splits(folder, expected, tables))
    for table in tables:
        read = table.read(recordings=True)
        decoded = list(_decoded(table, read.rows))
        bad = [fault for fault in decoded if isinstance(fault, DataError)]
        known = {(fault.file, fault.row) for fault in read.faults}
        faults += [*_column_faults(table), *read.faults, *(f for f in bad if (f.file, f.row) not in known)]
        figures.append(_figures(table, read.rows, [probe for probe in decoded if isinstance(probe, audio.Probe)]))
        rows += read.rows
    faults += [*row_set_faults(rows), *_answer_faults(rows)]
    prompts = len({row.instance for row in rows})
    once = {str(fault): fault for fault in faults}  # a file of several tasks is read for each
    return Report(source.label, source.demo, tuple(figures), prompts, tuple(_absent(rows)), tuple(once.values()))


def _missing_splits(
    folder: Path, expected: Iterable[tuple[str, str]], tables: Iterable[layout.Table]
) -> Iterator[DataError]:
    there = {(table.task, table.split) for table in tables}
    for task, split in expected:
        if (task, split) not in there:
            yield DataError(folder, f"{task}/{split}.jsonl, or parquet files of that split", "no such file")


def _figures(table: layout.Table, rows: Sequence[Row], probes: Sequence[audio.Probe]) -> SplitFigures:
    names = ("accent",) if table.split == "accent" else ("age", "gender")
    voices = {name: len({getattr(row, name) for row in rows}) for name in names}
    prompts = len({row.instance for row in rows})
    seconds = sum(probe.duration for probe in probes)
    formats = Counter(f"{probe.format} {probe.rate} Hz {probe.channels} ch" for probe in probes)
    counts = dict(formats.most_common())
    return SplitFigures(table.task, table.split, len(rows), prompts, voices, len(probes), seconds, counts)


def _column_faults(table: layout.Table) -> Iterator[DataError]:
    """Official columns that are missing; those that a run needs are faults of the rows already."""
    if table.parquet:
        for path in table.paths:
            try:
                with open_parquet(path, _BESIDE):
                    pass
            except DataError as fault:
                yield fault
        return
    for number, fields in json_lines(table.paths[0]):
        if isinstance(fields, DataError):
            continue  # a fault of the reading already
        missing = [name for name in _BESIDE if name not in fields]
        extra = sorted(set(fields) - {*COLUMNS, "path"})
        if missing:
            yield DataError(table.paths[0], f"a column {', '.join(missing)}", "no such column", number)
        if extra:
            yield DataError(
                table.paths[0], f"only the columns {', '.join(COLUMNS)}", f"also {', '.join(extra)}", number
            )


def _answer_faults(rows: Iterable[Row]) -> Iterator[DataError]:
    """Prompts with options of which none is an answer, the first row of each."""
    first: dict[tuple[str, str], Row] = {}
    for row in rows:
        first.setdefault(row.instance, row)
    for row in first.values():
        if row.options and not set(row.answers) & set(row.options):
            yield row.fault("an answer that is one of the options", f"{list(row.answers)} among {list(row.options)}")


def _absent(rows: Sequence[Row]) -> Iterator[Absent]:
    """The cells that are missing from the full grid of prompts and of all voices that the rows have."""
    instances = sorted({row.instance for row in rows}, key=lambda key: (key[0], natural(key[1])))
    for split in SPLITS:
        there = {(row.instance, row.voice) for row in rows if row.split == split}
        voices = sorted({voice for _, voice in there})
        if split == "age_gender":
            labels = [sorted({voice[at] for voice in voices}) for at in (0, 1)]
            voices = [(age, gender) for age in labels[0] for gender in labels[1]]
        for task, instance in instances:
            for voice in voices:
                if ((task, instance), voice) not in there:
                    yield Absent(task, split, instance, ", ".join(voice))


# --- recordings ---


def _decoded(table: layout.Table, rows: Sequence[Row]) -> Iterator[audio.Probe | DataError]:
    """What each recording holds, or the fault of its row or file, a few recordings at a time."""
    if table.parquet:
        for path in table.paths:
            try:
                yield from _in_threads(lambda place: _probe(*place), _in_parquet(path, table.task))
            except DataError as fault:
                yield fault
    else:
        files = ((Path(row.file), row.number, table.folder / row.audio) for row in rows)
        yield from _in_threads(lambda place: _probe(*place), files)


def _probe(file: Path, number: int, recording: Any) -> audio.Probe | DataError:
    try:
        return audio.verify(recording)
    except audio.AudioError as error:
        return DataError(file, "audio that can be decoded", str(error), number)


def _in_parquet(path: Path, task: str) -> Iterator[tuple[Path, int, Any]]:
    """The recordings of a task in a parquet file, with the file and their 1-based rows, read a batch at a time.

    Raises:
        DataError: the file is damaged.
    """
    columns = ["task_name", "audio"]
    # Streamed: by default pyarrow reads ahead as much as the whole file.
    with open_parquet(path, [], buffer_size=1 << 20, pre_buffer=False) as file:
        if not {*file.schema_arrow.names} >= {*columns}:
            return  # a fault of the columns already
        number = 0
        for batch in file.iter_batches(batch_size=_BATCH, columns=columns):
            for name, recording in zip(*(batch.column(column) for column in columns), strict=True):
                number += 1
                if table_of(str(name)) == task:
                    yield path, number, recording.as_py() or {}


def _in_threads(function: Callable[[Any], _T], items: Iterable[Any]) -> Iterator[_T]:
    """`function` of each item, in order; libsndfile releases the interpreter's lock. Few items are held at a time."""
    iterator = iter(items)
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        while batch := list(islice(iterator, _BATCH)):
            yield from pool.map(function, batch)
