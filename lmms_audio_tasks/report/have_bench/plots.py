"""HAVE-Bench's plots, drawn from the tables of a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lmms_audio_tasks.report import plots
from lmms_audio_tasks.report.document import Report, Row
from lmms_audio_tasks.report.have_bench.episodes import END_TITLES
from lmms_audio_tasks.report.have_bench.shared import (
    AVERAGE,
    LEVEL_TITLES,
    PAPER_LEVELS,
    subtask_order,
    subtask_title,
)
from lmms_audio_tasks.report.have_bench.table2 import MODES
from lmms_audio_tasks.report.published import published

_END_COLOURS = {
    "goal": "#009E73",
    "stuck": "#D55E00",
    "turn_limit": "#E69F00",
    "judge_error": "#c9ced6",
    "model_error": "#5b6472",
}
_Mark = tuple[float, float, float]


def draw(report: Report) -> list[plots.Plot]:
    """The levels, the ways of asking, and the ends of episodes; a plot without data is left out."""
    found = [_levels(report), _modes(report), _ends(report)]
    return [plot for plot in found if plot is not None]


def _rows(report: Report, table: str) -> list[Row]:
    there = report.table(table)
    return [row for row in (there.rows if there else ()) if row.keys["origin"] != "published"]


def _mark(row: Row) -> _Mark | None:
    found = [row.get(name) for name in ("score", "ci_low", "ci_high")]
    numbers = [float(value) for value in found if isinstance(value, (int, float))]
    return (numbers[0], numbers[1], numbers[2]) if len(numbers) == len(found) else None


def _places(report: Report, rows: Iterable[Row]) -> list[tuple[int, str]]:
    """The systems in rows, with their place in the report, so that they keep their colours in all plots."""
    there = {row.keys["system"] for row in rows}
    labels = [str(system["label"]) for system in report.systems]
    return [(place, label) for place, label in enumerate(labels) if label in there]


def _levels(report: Report) -> plots.Plot | None:
    rows = _rows(report, "levels")
    # A leaderboard has Table 1 alone.
    rows = rows or _rows(report, "table1")
    marks = {(row.keys["system"], row.keys["level"]): _mark(row) for row in rows}
    bounds = {(row.keys["system"], row.keys["level"]): _bounds(row) for row in rows}
    if not any(marks.values()) and not any(bounds.values()):
        return None
    levels = [*PAPER_LEVELS, *(level for level in LEVEL_TITLES if level not in PAPER_LEVELS and _has(rows, level))]
    series = [
        plots.Series(label, place, tuple(found.get((label, level)) for level in levels), hollow=found is bounds)
        for place, label in _places(report, rows)
        for found in (marks, bounds)
        if any(found.get((label, level)) for level in levels)
    ]
    beside = any(not system["demo"] for system in report.systems)
    columns = [LEVEL_TITLES[level] for level in levels]
    greys = _published(levels) if beside else []
    svg = plots.profiles(columns, series, greys, "score (%)", "levels", joined=len(PAPER_LEVELS))
    about = "Scores with 95 % intervals."
    about += " A bar: between its ends the score lies, some answers being unjudged." if any(bounds.values()) else ""
    about += " Grey: the paper's systems." if beside else ""
    alt = "; ".join(f"{told.label}: {', '.join(map(_figure, told.values))}" for told in series if not told.hollow)
    return plots.Plot("From perception to interaction", about, alt, svg)


def _bounds(row: Row) -> _Mark | None:
    """Where the score of a row lies that is not known."""
    low, high = row.get("least"), row.get("greatest")
    if not row.get("unjudged") or not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        return None
    return (low + high) / 2, float(low), float(high)


def _has(rows: Sequence[Row], level: str) -> bool:
    return any(row.keys["level"] == level for row in rows)


def _published(levels: Sequence[str]) -> list[plots.Series]:
    by_system: dict[str, dict[str, float]] = {}
    for row in published("have_bench_table1"):
        by_system.setdefault(row["system"], {})[row["level"]] = float(row["score"])
    return [
        plots.Series(name, 0, tuple((told[at], told[at], told[at]) if at in told else None for at in levels))
        for name, told in by_system.items()
    ]


def _figure(mark: _Mark | None) -> str:
    return "none" if mark is None else f"{mark[0]:.1f}"


def _modes(report: Report) -> plots.Plot | None:
    """By subtask for one system, the average alone for several; of those that were asked in more than one way."""
    marks = {(r.keys["system"], r.keys["modality"], r.keys["subtask"]): _mark(r) for r in _rows(report, "table2")}
    modes = {label: {mode for system, mode, _ in marks if system == label} for label, _, _ in marks}
    systems = [label for label in modes if len(modes[label]) > 1]
    if not systems:
        return None
    alone = len(systems) == 1
    subtasks = sorted({subtask for system, _, subtask in marks if system == systems[0]}, key=subtask_order)
    cells = [(systems[0], subtask) for subtask in subtasks] if alone else [(label, AVERAGE) for label in systems]
    lines = [subtask_title(subtask) if alone else label for label, subtask in cells]
    series = [
        plots.Series(title, place, tuple(marks.get((label, mode, subtask)) for label, subtask in cells))
        for place, (mode, title) in enumerate(MODES.items())
        if any(mode in modes[label] for label in systems)
    ]
    svg = plots.dots(lines, series, "right answers (%)", "have-modes", middle=False)
    about = (
        "The same items by speech (SI), in writing (TI) and as a recogniser heard them (ASR+TI), with 95 % intervals"
    )
    about += "." if alone else "; the average over subtasks."
    alt = "; ".join(
        f"{line}: {', '.join(f'{told.label} {_figure(told.values[at])}' for told in series)}"
        for at, line in enumerate(lines)
    )
    return plots.Plot("Asked by speech and in writing", about, alt, svg, table="table2")


def _labels(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(row.keys["system"] for row in rows))


def _ends(report: Report) -> plots.Plot | None:
    rows = [row for row in _rows(report, "interaction") if row.keys["subtask"] != AVERAGE]
    if not rows:
        return None
    whose = [(row.keys["system"], row.keys["level"]) for row in rows]
    heads = {at: _head(*whose[at]) for at in range(len(rows)) if at == 0 or whose[at] != whose[at - 1]}
    lines = [subtask_title(row.keys["subtask"]) for row in rows]
    parts = {
        title: (_END_COLOURS[end], counts)
        for end, title in END_TITLES.items()
        if any(counts := [int(row.get(end) or 0) for row in rows])
    }
    svg = plots.stacked(lines, parts, "share of episodes (%)", "ends", heads)
    told = [
        f"{_head(*at)}, {line}: {row.get('goal')} of {sum(counts)} reached the goal"
        for at, line, row, *counts in zip(whose, lines, rows, *(counts for _, counts in parts.values()), strict=True)
    ]
    about = "The numbers are episodes, over all runs."
    return plots.Plot("Why episodes ended", about, "; ".join(told), svg, table="interaction")


def _head(system: str, level: str) -> str:
    return f"{system}, agentic" if level == "interaction_agentic" else system
