"""HAVE-Bench's leaderboard: an entry keeps, run by run, how often each verdict was given in each subtask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.records import VERDICTS
from lmms_audio_tasks.report.definitions import Entrant
from lmms_audio_tasks.report.document import FROM, SYSTEM, Column, Row, Table, Value
from lmms_audio_tasks.report.have_bench import scores
from lmms_audio_tasks.report.have_bench.shared import (
    LEVEL_TASKS,
    LEVEL_TITLES,
    PAPER_LEVELS,
    counted,
    runs_form,
    score_form,
)
from lmms_audio_tasks.report.load import TaskLog

_Counts = Mapping[str, Mapping[str, int]]
"""How often each verdict was given, by subtask."""
_MOST = 1_000_000
"""More items than any set has; a file that says more is at fault."""


def kept(log: TaskLog) -> dict[str, Any]:
    """`{"subtasks": {subtask: {verdict: count}}}`, verdicts that were not given left out."""
    found: dict[str, Counter[str]] = {}
    for record in log.records:
        found.setdefault(record.groups.get("subtask", ""), Counter())[record.verdict] += 1
    return {"subtasks": {subtask: dict(sorted(found[subtask].items())) for subtask in sorted(found)}}


def table(entrants: Sequence[Entrant]) -> Table:
    """A line an entry: the score of each level, and the items behind it."""
    ranked = sorted((rows for rows in map(_rows, entrants) if rows), key=_rank)
    rows = tuple(row for rows in ranked for row in rows)
    there = {row.keys["level"] for row in rows}
    levels = {level: title for level, title in LEVEL_TITLES.items() if level in there}
    columns = (
        *(SYSTEM, FROM),
        *(
            column
            for level, title in levels.items()
            for where in [{"level": level}]
            for column in (
                Column("Score", "score", form=score_form, group=title, where=where, tip=counted),
                Column("Runs", "runs", form=runs_form, group=title, where=where),
            )
        ),
    )
    about = (
        "In %: the plain mean over a level's subtasks; of one run with its 95 % interval, of several their mean and "
        "spread. Entries with all three levels come first, in the order of the mean of the levels, which the paper "
        "does not print. Where answers are unjudged there is no score, but the two ends between which it will lie."
    )
    return Table("table1", "Scores by level", about, rows, columns, lines_by=("origin", "system"))


def _rows(entrant: Entrant) -> list[Row]:
    rows = []
    for level, task in LEVEL_TASKS.items():
        if task in entrant.tallies:
            keys = {"origin": entrant.origin, "system": entrant.label, "level": level}
            rows.append(Row(keys, _values(_runs(entrant, task))))
    return rows


def _values(runs: Sequence[_Counts]) -> dict[str, Value]:
    """The figures of a level. Several runs have no interval: counts do not tell which item was right when."""
    subtasks = {name: [_verdicts(run.get(name, {})) for run in runs] for name in sorted(set().union(*runs))}
    values = scores.of_level(subtasks).values()
    return values if len(runs) == 1 else {**values, "ci_low": None, "ci_high": None}


def _verdicts(counts: Mapping[str, int]) -> dict[str, str]:
    """Items that are told apart by number alone: all that a score needs."""
    told = [verdict for verdict, count in counts.items() for _ in range(count)]
    return {str(number): verdict for number, verdict in enumerate(told)}


def _runs(entrant: Entrant, task: str) -> list[_Counts]:
    """The counts of each run by subtask, the latest last."""
    runs = entrant.kept.get(task, {}).get("runs")
    found = [runs[date] for date in sorted(runs)] if isinstance(runs, dict) else []
    counts = [told.get("subtasks") if isinstance(told, dict) else None for told in found]
    if not counts or not all(map(_sound, counts)):
        raise AudioTasksError(f"{entrant.label}: the leaderboard's counts of {task} are not verdicts by subtask")
    return [told for told in counts if told is not None]


def _sound(found: object) -> bool:
    return isinstance(found, dict) and all(
        isinstance(counts, dict)
        and counts.keys() <= set(VERDICTS)
        and all(type(count) is int and 0 <= count < _MOST for count in counts.values())
        for counts in found.values()
    )


def _rank(rows: Sequence[Row]) -> tuple[float, ...]:
    by_level = {row.keys["level"]: row.get("score") for row in rows}
    known = [float(score) for level in PAPER_LEVELS if isinstance(score := by_level.get(level), (int, float))]
    real = rows[0].keys["origin"] == "run"
    return (-real, -len(known), -sum(known) / max(1, len(known)))
