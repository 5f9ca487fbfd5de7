"""SAKURA's report: the paper's Tables 1, 2 and 3, and what lies behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lmms_audio_tasks import sources
from lmms_audio_tasks.report.document import Row, Table
from lmms_audio_tasks.report.sakura import behind, comparisons, paper
from lmms_audio_tasks.report.sakura.shared import AVERAGE
from lmms_audio_tasks.report.systems import System
from lmms_audio_tasks.report.tables import Method, Tally
from lmms_audio_tasks.sakura import TRACKS

TITLE = "SAKURA"


def tables(
    systems: Sequence[System],
    method: Method = "wilson",
    with_published: bool = False,
    data: sources.Source | None = None,
    shown_items: int | None = behind.SHOWN_ITEMS,
) -> list[Table]:
    """All of SAKURA's tables that have rows, in the order of the report.

    Args:
        data: where the data lie: for Table 1, and for the recordings where the logs do not tell.
        shown_items: how many hard items Markdown lists of each system; None for all.

    Raises:
        DataError: `data` has no SAKURA folder.
    """
    accuracies = [row for system in systems for row in paper.system_rows(system, method)]
    found = [
        *([paper.data_table(data, with_published)] if data is not None and data.kind != "hub" else []),
        paper.accuracy_table(accuracies, method, with_published),
        paper.given_single_table(systems, method, with_published),
        comparisons.gap_table(systems),
        comparisons.comparison_table(systems),
        paper.caption_table(systems, method),
        behind.label_table(systems, method),
        behind.verdict_table(systems),
        behind.letter_table(systems),
        *behind.confusion_tables(systems),
        behind.hard_items_table(systems, data, shown_items),
    ]
    return [table for table in found if table.rows]


def leaderboard_table(entries: Sequence[tuple[str, str, Mapping[str, Tally]]]) -> Table:
    """Table 2 of entries given as (label, origin, tallies), best multi-hop average first.

    Incomplete entries come last, and demo ones after them.
    """
    rows_of = [paper.accuracy_rows(*entry, method="wilson") for entry in entries]
    ranked = sorted((rows for rows in rows_of if rows), key=_rank)
    table = paper.accuracy_table([row for rows in ranked for row in rows], "wilson")
    return replace(table, title=f"{TITLE}: accuracy")


def _rank(rows: Sequence[Row]) -> tuple[float, ...]:
    averages = {row.keys["hop"]: row.values for row in rows if row.keys["track"] == AVERAGE}
    multi, single = averages.get("multi", {}), averages.get("single", {})
    complete = multi.get("groups") == len(TRACKS)
    real = rows[0].keys["origin"] == "run"
    return (-real, -complete, *(-float(values.get("accuracy") or 0) for values in (multi, single)))
