"""Paired comparisons: the question spoken against spoken and written, and system against system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from lmms_audio_tasks.report import compare
from lmms_audio_tasks.report.art.counts import ALL, MODALITIES, task_logs
from lmms_audio_tasks.report.art.shared import QUESTION, TASK, keys_of
from lmms_audio_tasks.report.document import SYSTEM, Column, Row, Table, decimal
from lmms_audio_tasks.report.load import TaskLog
from lmms_audio_tasks.report.systems import System

_TESTED = (
    "Difference in percentage points with its 95 % interval for paired proportions (Newcombe), and McNemar's exact p, "
    "corrected over the tasks by Holm. All tasks: their items together. Detectable: the smallest difference that so "
    "many items show with a power of 80 % at a level of 5 %, given the discordance seen."
)


def speech_text_table(systems: Sequence[System]) -> Table:
    """Exact match with the question written too minus with the question spoken only, on the same items."""
    rows: list[Row] = []
    for system in systems:
        spoken = dict(task_logs(system, "audio"))
        pairs = {task: (log, spoken[task]) for task, log in task_logs(system, "text") if task in spoken}
        keys = {"origin": system.origin, "system": system.label}
        rows += _rows(keys, pairs, ("text_accuracy", "audio_accuracy"))
    columns = (
        *(SYSTEM, TASK, Column("Items", "n")),
        Column("Spoken", "audio_accuracy", form=decimal("audio_accuracy"), group="Exact match"),
        Column("And written", "text_accuracy", form=decimal("text_accuracy"), group="Exact match"),
        *compare.paired_columns("Difference", "And written", "Spoken"),
    )
    about = f"What the question in writing adds: the same items with it minus without it. {_TESTED}"
    return Table("speech_text", "Question spoken, and spoken and written", about, tuple(rows), columns)


def comparison_table(systems: Sequence[System]) -> Table:
    """Every two systems on the items that both answered; demo and real data are never compared."""
    rows: list[Row] = []
    for first, second in combinations(systems, 2):
        if first.demo != second.demo:
            continue
        for modality in MODALITIES:
            others = dict(task_logs(second, modality))
            pairs = {task: (log, others[task]) for task, log in task_logs(first, modality) if task in others}
            keys = {**keys_of(first, modality, ""), "against": second.label}
            rows += _rows(keys, pairs, ("accuracy", "against_accuracy"))
    columns = (
        *(SYSTEM, Column("Against", "against", kind="text"), TASK, QUESTION, Column("Items", "n")),
        Column("System", "accuracy", form=decimal("accuracy"), group="Exact match"),
        Column("Against", "against_accuracy", form=decimal("against_accuracy"), group="Exact match"),
        *compare.paired_columns("Difference", "System", "Against"),
    )
    return Table(
        "systems_compared", "System against system", f"Two systems on the same items. {_TESTED}", tuple(rows), columns
    )


def _rows(keys: Mapping[str, str], pairs: Mapping[str, tuple[TaskLog, TaskLog]], names: tuple[str, str]) -> list[Row]:
    """A row a task, and one for all together where there is more than one."""
    pairings = {task: compare.pair(*logs) for task, logs in pairs.items()}
    values = compare.with_holm({task: compare.paired_values(found, names) for task, found in pairings.items()})
    rows = [Row({**keys, "task": task}, told) for task, told in values.items()]
    if len(pairings) > 1:
        told = compare.paired_values(compare.pooled(list(pairings.values())), names)
        rows.append(Row({**keys, "task": ALL}, {**told, "tasks": len(pairings)}))
    return rows
