"""ART's report: the official score by task, yes-bias, and what hearing the question costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmms_audio_tasks.art import SPECS
from lmms_audio_tasks.report.art import accuracy, board, comparisons
from lmms_audio_tasks.report.definitions import Content, Entrant, Options
from lmms_audio_tasks.report.document import Note, Table
from lmms_audio_tasks.report.load import TaskLog
from lmms_audio_tasks.report.systems import System
from lmms_audio_tasks.report.tables import Method

TITLE = "ART"
INTERVALS: tuple[Method, ...] = ("wilson",)
TAKES_DATA = False
OPTIONAL = tuple(name for name, spec in SPECS.items() if spec.text)
AVERAGES_RUNS = False
OPEN_SCORES = False


def content(systems: Sequence[System], options: Options) -> Content:
    """All of ART's tables."""
    found = [
        accuracy.accuracy_table(systems),
        accuracy.bias_table(systems),
        comparisons.speech_text_table(systems),
        comparisons.comparison_table(systems),
        accuracy.verdict_table(systems),
    ]
    unknown = Note("published", "no published figures of ART come with this package")
    return Content([table for table in found if table.rows], [unknown] if options.published else [])


def kept(log: TaskLog) -> dict[str, Any]:
    """The counts behind the lenient reading and the yes-bias, which no verdict tells."""
    return board.kept(log)


def leaderboard_table(entrants: Sequence[Entrant]) -> Table:
    """Exact match of all tasks and of each, best first; incomplete entries come last, and demo ones after them.

    Raises:
        AudioTasksError: an entry whose counts are none.
    """
    return board.table(entrants)
