"""ART's plots, drawn from the tables of a report."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_audio_tasks.art import FOLDERS
from lmms_audio_tasks.report import plots
from lmms_audio_tasks.report.art.counts import ALL, MODALITIES
from lmms_audio_tasks.report.art.shared import ASKED, task_title
from lmms_audio_tasks.report.document import Report, Row

_Mark = tuple[float, float, float]


def draw(report: Report) -> list[plots.Plot]:
    """Exact match by task, and how often yes is said; a plot without data is left out."""
    found = [
        _plot(
            report,
            "accuracy",
            ("accuracy", "ci_low", "ci_high"),
            "Exact match by task",
            "With 95 % intervals; the dashed line is chance.",
            "exact match (%)",
        ),
        _plot(
            report,
            "yes_bias",
            ("yes_rate", "yes_ci_low", "yes_ci_high"),
            "How often yes is said",
            "Share of all responses with 95 % intervals, beside the share of items to which yes is right.",
            "responses that say yes (%)",
            "gold_yes_rate",
        ),
    ]
    return [plot for plot in found if plot is not None]


def _plot(
    report: Report, table: str, fields: tuple[str, str, str], title: str, about: str, axis: str, gold: str = ""
) -> plots.Plot | None:
    there = report.table(table)
    rows = [row for row in (there.rows if there else ()) if row.get(fields[0]) is not None]
    if not rows:
        return None
    tasks = [task for task in (*FOLDERS, ALL) if any(row.keys["task"] == task for row in rows)]
    series = _series(report, rows, tasks, fields)
    ticks = ("yes is right", [_gold(rows, task, gold) for task in tasks]) if gold else None
    last = len(tasks) - 1
    alt = "; ".join(
        f"{told.label}, {ASKED['text' if told.hollow else 'audio']}, {task_title(tasks[last])}: "
        f"{_figure(told.values[last])}"
        for told in series
    )
    if any(told.hollow for told in series):
        about += " Filled: the question is spoken only; hollow: it is written too."
    lines = [task_title(task) for task in tasks]
    return plots.Plot(title, about, alt, plots.dots(lines, series, axis, f"art-{table}", ticks))


def _series(
    report: Report, rows: Sequence[Row], tasks: Sequence[str], fields: tuple[str, str, str]
) -> list[plots.Series]:
    """A series a system and way to ask; systems keep their colours in all plots."""
    modalities = [modality for modality in MODALITIES if any(row.keys["modality"] == modality for row in rows)]
    found = []
    for place, system in enumerate(system["label"] for system in report.systems):
        for modality in modalities:
            own = {
                row.keys["task"]: _mark(row, fields)
                for row in rows
                if (row.keys["system"], row.keys["modality"]) == (system, modality)
            }
            if own:
                marks = tuple(own.get(task) for task in tasks)
                found.append(plots.Series(system, place, marks, hollow=modality == "text"))
    return found


def _mark(row: Row, fields: tuple[str, str, str]) -> _Mark:
    x, low, high = (float(row.get(field) or 0) for field in fields)
    return x, low, high


def _figure(mark: _Mark | None) -> str:
    return "none" if mark is None else f"{mark[0]:.1f}"


def _gold(rows: Sequence[Row], task: str, field: str) -> float | None:
    """The share as the row of most responses has it: it is told of responses, and of some items there may be none."""
    own = [row for row in rows if row.keys["task"] == task]
    value = max(own, key=lambda row: float(row.get("n") or 0)).get(field) if own else None
    return float(value) if isinstance(value, (int, float)) else None
