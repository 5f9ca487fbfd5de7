"""SAKURA's report: the paper's Tables 1, 2 and 3, and what lies behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lmms_audio_tasks.report.definitions import Content, Entrant, Options
from lmms_audio_tasks.report.document import Row, Table
from lmms_audio_tasks.report.load import TaskLog
from lmms_audio_tasks.report.sakura import behind, comparisons, paper
from lmms_audio_tasks.report.sakura.shared import AVERAGE
from lmms_audio_tasks.report.systems import System
from lmms_audio_tasks.report.tables import Method
from lmms_audio_tasks.sakura import TRACKS

TITLE = "SAKURA"
INTERVALS: tuple[Method, ...] = ("wilson", "paper")
TAKES_DATA = True
OPTIONAL: tuple[str, ...] = ()
AVERAGES_RUNS = False
OPEN_SCORES = False


def content(systems: Sequence[System], options: Options) -> Content:
    """All of SAKURA's tables.

    `options.data` is where the data lie: for Table 1, and for the recordings where the logs do not tell.

    Raises:
        DataError: `options.data` has no SAKURA folder.
    """
    method, published, data = options.interval, options.published, options.data
    accuracies = [row for system in systems for row in paper.system_rows(system, method)]
    found = [
        *([paper.data_table(data, published)] if data is not None and data.kind != "hub" else []),
        paper.accuracy_table(accuracies, method, published),
        paper.given_single_table(systems, method, published),
        comparisons.gap_table(systems),
        comparisons.comparison_table(systems),
        paper.caption_table(systems, method),
        behind.label_table(systems, method),
        behind.verdict_table(systems),
        behind.letter_table(systems),
        *behind.confusion_tables(systems),
        behind.hard_items_table(systems, data, options.shown_items),
    ]
    return Content([table for table in found if table.rows], [])


def kept(log: TaskLog) -> dict[str, Any]:
    """Nothing: accuracies follow from the counts of verdicts."""
    return {}


def leaderboard_table(entrants: Sequence[Entrant]) -> Table:
    """Table 2 of the entries, best multi-hop average first.

    Incomplete entries come last, and demo ones after them.
    """
    rows_of = [paper.accuracy_rows(e.label, e.origin, e.tallies, method="wilson") for e in entrants]
    ranked = sorted((rows for rows in rows_of if rows), key=_rank)
    table = paper.accuracy_table([row for rows in ranked for row in rows], "wilson")
    return replace(table, title=f"{TITLE}: accuracy")


def _rank(rows: Sequence[Row]) -> tuple[float, ...]:
    averages = {row.keys["hop"]: row.values for row in rows if row.keys["track"] == AVERAGE}
    multi, single = averages.get("multi", {}), averages.get("single", {})
    complete = multi.get("groups") == len(TRACKS)
    real = rows[0].keys["origin"] == "run"
    return (-real, -complete, *(-float(values.get("accuracy") or 0) for values in (multi, single)))
