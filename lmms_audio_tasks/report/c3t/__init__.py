"""C3T's report: the paper's Table 1 joined from the three kinds of task, and who is served worse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmms_audio_tasks.c3t import CUSTOM_SPECS
from lmms_audio_tasks.report.c3t import accuracy, board, notes, speakers, table1
from lmms_audio_tasks.report.c3t.joined import join, systems_apart
from lmms_audio_tasks.report.definitions import Content, Entrant, Options
from lmms_audio_tasks.report.document import Table
from lmms_audio_tasks.report.load import TaskLog
from lmms_audio_tasks.report.systems import System
from lmms_audio_tasks.report.tables import Method

TITLE = "C3T"
INTERVALS: tuple[Method, ...] = ("wilson",)
TAKES_DATA = False
OPTIONAL = tuple(CUSTOM_SPECS)
AVERAGES_RUNS = False
OPEN_SCORES = False


def content(systems: Sequence[System], options: Options) -> Content:
    """All of C3T's tables, and what is missing in them."""
    systems = systems_apart(systems)
    joined = [join(system) for system in systems]
    found = [
        table1.overall_table(joined, options.published),
        table1.task_table(joined),
        accuracy.accuracy_table(systems),
        speakers.gap_table(joined, options.shown_items),
        *speakers.group_tables(joined),
        speakers.accent_table(joined),
        speakers.flip_table(joined, options.shown_items),
        accuracy.verdict_table(systems),
    ]
    told = [note for system in joined for note in notes.of_system(system)]
    published = [notes.PUBLISHED] if options.published else []
    return Content([table for table in found if table.rows], [*told, *published])


def kept(log: TaskLog) -> dict[str, Any]:
    """How each whole prompt's voices were answered: what fairness and robustness are counted from."""
    return board.kept(log)


def leaderboard_table(entrants: Sequence[Entrant]) -> Table:
    """Table 1 of the entries, best spoken exact match first; incomplete entries come last, demo ones after them.

    Raises:
        AudioTasksError: an entry whose prompts cannot be read.
    """
    return board.table(entrants)
