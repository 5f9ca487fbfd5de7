"""Accuracy by task and kind: every item that was asked, those of prompts that `--limit` cut apart too."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from lmms_audio_tasks import stats
from lmms_audio_tasks.c3t import ALL_SPECS, KINDS
from lmms_audio_tasks.c3t.tables import ALL
from lmms_audio_tasks.records import Record, Verdict
from lmms_audio_tasks.report import tables as common
from lmms_audio_tasks.report.c3t.joined import logs_in_order
from lmms_audio_tasks.report.c3t.shared import TASK, kind_title, task_order
from lmms_audio_tasks.report.document import SYSTEM, Column, Row, Table, Value, with_interval
from lmms_audio_tasks.report.systems import System
from lmms_audio_tasks.report.tables import Tally


def accuracy_table(systems: Sequence[System]) -> Table:
    """Accuracy of each task and kind, and of each kind over its tasks."""
    rows = [row for system in systems for row in _rows(system)]
    there = {row.keys["modality"] for row in rows}
    columns = (
        *(SYSTEM, TASK),
        *(
            column
            for kind in KINDS
            if kind in there
            for column in (
                Column("Right", "accuracy", form=_ACCURACY, group=f"{kind_title(kind).capitalize()}", where=_of(kind)),
                Column("Responses", "n", group=f"{kind_title(kind).capitalize()}", where=_of(kind)),
                Column("Failed", "errors", group=f"{kind_title(kind).capitalize()}", where=_of(kind)),
            )
        ),
    )
    about = (
        "Right responses in %, over every item that was asked, with 95 % intervals: Wilson's, at the effective sample "
        "size where a prompt has several voices. All tasks: their items together."
    )
    return Table(
        "accuracy", "Accuracy by task and kind", about, tuple(rows), columns, lines_by=("origin", "system", "task")
    )


_ACCURACY = with_interval("accuracy", "wilson")


def _of(kind: str) -> dict[str, str]:
    return {"modality": kind}


def _rows(system: System) -> list[Row]:
    found: dict[tuple[str, str], list[Record]] = {}
    for log in logs_in_order(system):
        kind = ALL_SPECS[log.task].kind
        for record in log.records:
            found.setdefault((record.groups["task_name"], kind), []).append(record)
    for kind in KINDS:
        own = [record for (_, other), records in found.items() if other == kind for record in records]
        if own:
            found[ALL, kind] = own
    keys = {"origin": system.origin, "system": system.label}
    return [
        Row({**keys, "task": task, "modality": kind}, _values(found[task, kind]))
        for task, kind in sorted(found, key=lambda at: (task_order(at[0]), KINDS.index(at[1])))
    ]


def _values(records: Sequence[Record]) -> dict[str, Value]:
    told = Counter((r.groups["task_name"], r.groups["instance_id"], r.verdict) for r in records)
    counts: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for (task, instance, verdict), count in told.items():
        if verdict != "error":
            counts[task, instance][0] += count * (verdict == "correct")
            counts[task, instance][1] += count
    correct, n = (sum(count[at] for count in counts.values()) for at in range(2))
    values = common.accuracy(correct, n, "wilson")
    if n:
        low, high = stats.cluster_counts(list(counts.values())).interval
        values |= {"ci_low": 100 * low, "ci_high": 100 * high, "half_width": 50 * (high - low)}
    return {**values, "prompts": len(counts), "errors": len(records) - n}


_VERDICTS: dict[Verdict, str] = {
    "correct": "Right",
    "wrong": "Another answer",
    "none": "No answer",
    "several": "Several",
    "error": "Model failed",
}


def verdict_table(systems: Sequence[System]) -> Table:
    """Errors by kind."""
    rows = []
    for system in systems:
        for log in logs_in_order(system):
            spec = ALL_SPECS[log.task]
            keys = {"origin": system.origin, "system": system.label, "task": spec.task_name, "modality": spec.kind}
            rows.append(common.verdict_row(keys, Tally.of(log.records)))
    kind = Column("Kind", "modality", form=lambda row: kind_title(row.keys["modality"]), kind="text")
    return common.verdict_table(rows, (SYSTEM, TASK, kind), _VERDICTS)
