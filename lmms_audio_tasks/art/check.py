"""`lmms-audio-tasks check art`: every fault of a folder, and figures to compare with the official data's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lmms_audio_tasks import sources
from lmms_audio_tasks.art import ANSWERS, FOLDERS, ITEMS
from lmms_audio_tasks.art.data import Item, TaskData, read_task
from lmms_audio_tasks.art.metadata import FILE, Metadata, art_folder, read_all
from lmms_audio_tasks.errors import DataError

RATE, CHANNELS, FORMAT = 16_000, 1, "FLAC"
"""The official audio: mono, 16 kHz."""


@dataclass(frozen=True, slots=True)
class TaskFigures:
    """Counts of one task's sound records.

    Attributes:
        templates, questions: how many different ones.
        seconds: shortest, mean and longest recording; None where there is none.
        formats: how often each audio format occurs, as `FLAC 16000 Hz 1 ch`.
        unlisted: FLAC files that no record names.
    """

    task: str
    items: int
    yes: int
    no: int
    templates: int
    questions: int
    seconds: tuple[float, float, float] | None
    formats: dict[str, int]
    unlisted: int


@dataclass(frozen=True, slots=True)
class Report:
    """What `check` found."""

    source: str
    demo: bool
    tasks: tuple[TaskFigures, ...]
    faults: tuple[DataError, ...]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON types; each fault has file, row, expected, found and its one-line message."""
        faults = [fault.to_dict() for fault in self.faults]
        figures = [asdict(task) for task in self.tasks]
        return {"benchmark": "art", "source": self.source, "demo": self.demo, "tasks": figures, "faults": faults}

    def to_text(self) -> str:
        """The report for people: a table of counts, then a line a fault."""
        note = " (demo data: these figures are not the benchmark's)" if self.demo else ""
        width = max(map(len, FOLDERS))
        head = f"{'':{width}} {'items':>6} {'yes':>5} {'no':>5} {'templates':>9} {'questions':>9}  seconds min/mean/max"
        lines = [f"ART in {self.source}{note}", "", head]
        lines += [_line(task, width) for task in self.tasks]
        half = ITEMS // len(ANSWERS)
        lines += ["", f"the full data have {ITEMS} items a task, {half} with yes and {half} with no", ""]
        formats: Counter[str] = Counter()
        for task in self.tasks:
            formats.update(task.formats)
        lines.append(f"audio: {', '.join(f'{name} {count}' for name, count in formats.most_common()) or 'none'}")
        lines += [f"{task.task}: {task.unlisted} FLAC files without a record" for task in self.tasks if task.unlisted]
        lines += ["", *(f"fault: {fault}" for fault in self.faults)]
        count = len(self.faults)
        return "\n".join([*lines, "no faults" if count == 0 else "1 fault" if count == 1 else f"{count} faults"])


def _line(task: TaskFigures, width: int) -> str:
    seconds = "no data" if task.seconds is None else " ".join(f"{value:.2f}" for value in task.seconds)
    counts = f"{task.items:6} {task.yes:5} {task.no:5} {task.templates:9} {task.questions:9}"
    return f"{task.task:{width}} {counts}  {seconds}"


def check(source: sources.Source) -> Report:
    """Check the ART folder of a local source whole; a record at fault is left out of the figures it spoils.

    Raises:
        DataError: the folder is missing. A task that is missing is a fault in the report.
    """
    folder = art_folder(source)
    everything = read_all(folder)
    figures: list[TaskFigures] = []
    faults = list(_unknown_folders(folder))
    for name in FOLDERS:
        if name not in everything:
            faults.append(DataError(folder / name, f"a task's folder with {FILE} and its audio", "no such folder"))
            continue
        data = read_task(everything[name])
        figures.append(_figures(name, everything[name], data))
        faults += [*data.faults, *(fault for item in data.items for fault in _format_faults(everything[name], item))]
    return Report(source.label, source.demo, tuple(figures), tuple(faults))


def _unknown_folders(folder: Path) -> Iterator[DataError]:
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and entry.name not in FOLDERS and (entry / FILE).exists():
            yield DataError(entry, f"only the task folders {', '.join(FOLDERS)}", "another one with metadata")


def _format_faults(metadata: Metadata, item: Item) -> Iterator[DataError]:
    """Audio that decodes can be evaluated on, but is not the benchmark's where its format is another."""
    probe = item.probe
    if (probe.format, probe.rate, probe.channels) != (FORMAT, RATE, CHANNELS):
        expected = f"{item.audio.name} to be {_format(FORMAT, RATE, CHANNELS)}"
        found = _format(probe.format, probe.rate, probe.channels)
        yield DataError(metadata.path, expected, found, f"record {item.entry.record}")


def _format(name: str, rate: int, channels: int) -> str:
    return f"{name} {rate} Hz {channels} ch"


def _figures(task: str, metadata: Metadata, data: TaskData) -> TaskFigures:
    fields = [entry.fields for entry in metadata.entries]
    # A field may be of any type here: its fault is told, but it must not stop the count.
    answers = Counter(str(record.get("answer")) for record in fields)
    seconds = [item.probe.duration for item in data.items]
    listed = {f"{entry.instance_id}.flac" for entry in metadata.entries}
    probes = [_format(item.probe.format, item.probe.rate, item.probe.channels) for item in data.items]
    return TaskFigures(
        task=task,
        items=len(fields),
        yes=answers["yes"],
        no=answers["no"],
        templates=len({str(record.get("template_id")) for record in fields}),
        questions=len({str(record.get("question_id")) for record in fields}),
        seconds=(min(seconds), sum(seconds) / len(seconds), max(seconds)) if seconds else None,
        formats=dict(Counter(probes).most_common()),
        unlisted=sum(path.name not in listed for path in data.folder.glob("*.flac")),
    )
