"""ART's leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from lmms_audio_tasks.art import FOLDERS, SPECS
from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.report.art.accuracy import accuracy_values
from lmms_audio_tasks.report.art.counts import ALL, MODALITIES, Counts
from lmms_audio_tasks.report.art.shared import ASKED, task_title
from lmms_audio_tasks.report.definitions import Entrant
from lmms_audio_tasks.report.document import FROM, SYSTEM, Column, Form, Row, Table, decimal, with_interval
from lmms_audio_tasks.report.load import TaskLog


def kept(log: TaskLog) -> dict[str, Any]:
    """The counts of one task."""
    return asdict(Counts.of(log.records))


def table(entrants: Sequence[Entrant]) -> Table:
    """See `lmms_audio_tasks.report.art.leaderboard_table`."""
    ranked = sorted((rows for rows in map(_rows, entrants) if rows), key=_rank)
    spoken, written = ({"task": ALL, "modality": modality} for modality in MODALITIES)
    columns = (
        *(SYSTEM, FROM),
        Column("Exact match", "accuracy", form=_of_all(with_interval("accuracy", "wilson")), group="All", where=spoken),
        Column("Lenient", "lenient", form=decimal("lenient"), group="All", where=spoken),
        Column("Neither", "neither", form=decimal("neither"), group="All", where=spoken),
        Column("Yes", "yes_rate", form=decimal("yes_rate"), group="All", where=spoken),
        Column("And written", "accuracy", form=_of_all(decimal("accuracy")), group="All", where=written),
        *(
            Column(task_title(task), "accuracy", form=decimal("accuracy"), where={"task": task, "modality": "audio"})
            for task in FOLDERS
        ),
    )
    about = (
        "Exact match in % (the official score), over the items of all tasks together with Wilson's 95 % interval, and "
        "by task; the question spoken only, save under And written."
    )
    rows = tuple(row for rows in ranked for row in rows)
    return Table("accuracy", "ART: exact match", about, rows, columns, lines_by=("origin", "system"))


def _rows(entrant: Entrant) -> list[Row]:
    rows = []
    for modality in ASKED:
        names = [name for name, spec in SPECS.items() if spec.modality == modality and name in entrant.tallies]
        counts = {SPECS[name].folder: _counts(entrant, name) for name in names}
        keys = {"origin": entrant.origin, "system": entrant.label, "modality": modality}
        rows += [Row({**keys, "task": task}, accuracy_values(told)) for task, told in counts.items()]
        if counts:
            told = accuracy_values(Counts.pooled(counts.values()))
            rows.append(Row({**keys, "task": ALL}, {**told, "tasks": len(counts)}))
    return rows


def _counts(entrant: Entrant, task: str) -> Counts:
    told: Mapping[str, Any] = entrant.kept.get(task, {})
    names = {field.name for field in fields(Counts)}
    if set(told) != names or not all(type(value) is int and value >= 0 for value in told.values()):
        raise AudioTasksError(f"{entrant.label}: the leaderboard's counts of {task} are not {', '.join(sorted(names))}")
    return Counts(**told)


def _of_all(form: Form) -> Form:
    def told(row: Row) -> str:
        tasks = row.get("tasks")
        return form(row) + (f" ({tasks} of {len(FOLDERS)} tasks)" if tasks != len(FOLDERS) else "")

    return told


def _rank(rows: Sequence[Row]) -> tuple[float, ...]:
    spoken = next((row for row in rows if row.keys["task"] == ALL and row.keys["modality"] == "audio"), None)
    real = rows[0].keys["origin"] == "run"
    if spoken is None:
        return (-real, 1, 0.0)
    return (-real, -(spoken.get("tasks") == len(FOLDERS)), -float(spoken.get("accuracy") or 0))
