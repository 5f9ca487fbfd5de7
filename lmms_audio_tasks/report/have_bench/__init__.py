"""HAVE-Bench's report: levels beside the paper's Table 1, speech against writing, and every episode with its path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lmms_audio_tasks.have_bench import SPECS
from lmms_audio_tasks.report.definitions import Content, Entrant, Options
from lmms_audio_tasks.report.document import Table
from lmms_audio_tasks.report.have_bench import board, episodes, interaction, table1, table2, verdicts
from lmms_audio_tasks.report.load import TaskLog
from lmms_audio_tasks.report.systems import System
from lmms_audio_tasks.report.tables import Method

TITLE = "HAVE-Bench"
INTERVALS: tuple[Method, ...] = ("wilson",)
TAKES_DATA = False
OPTIONAL = (*(name for name, spec in SPECS.items() if spec.mode != "speech"), "have_interaction_agentic")
AVERAGES_RUNS = True
OPEN_SCORES = True


def content(systems: Sequence[System], options: Options) -> Content:
    """All of HAVE-Bench's tables, and which runs are in them.

    Raises:
        DataError: an episode in a log is not what the interaction tasks write.
    """
    asked = [table2.asked(system) for system in systems]
    played = episodes.read_all(systems)
    levels = table1.level_rows(systems)
    found = [
        table1.level_table(levels, options.published),
        table1.detail_table(levels),
        table1.run_table(systems),
        table1.subtask_table(systems),
        table2.mode_table(asked, options.published),
        table2.comparison_table(asked),
        interaction.scenario_table(systems, played),
        verdicts.verdict_table(systems),
        episodes.episode_table(systems, played, options.shown_items),
    ]
    return Content([table for table in found if table.rows], list(table2.notes(asked)))


def kept(log: TaskLog) -> dict[str, Any]:
    """How often each verdict was given in each subtask, and how far the episodes got."""
    return board.kept(log)


def leaderboard_table(entrants: Sequence[Entrant]) -> Table:
    """The levels of the entries; incomplete entries come last, demo ones after them.

    Raises:
        AudioTasksError: an entry whose counts cannot be read.
    """
    return replace(board.table(entrants), title=f"{TITLE}: scores by level")
