"""HAVE-Bench's verdicts by kind, task by task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lmms_audio_tasks import registry
from lmms_audio_tasks.records import Verdict
from lmms_audio_tasks.report import tables as common
from lmms_audio_tasks.report.document import SYSTEM, Column, Table
from lmms_audio_tasks.report.have_bench.shared import keys_of
from lmms_audio_tasks.report.systems import System
from lmms_audio_tasks.report.tables import Tally

_VERDICTS: dict[Verdict, str] = {
    "correct": "Right",
    "wrong": "Wrong",
    "none": "No option",
    "several": "Several options",
    "undecided": "Undecided",
    "unjudged": "Unjudged",
    "error": "Model failed",
}


def verdict_table(systems: Sequence[System]) -> Table:
    """Errors by kind; of an episode `wrong` says that it ended without a goal."""
    rows = [
        common.verdict_row(keys_of(system, task=task.name), Tally.of(system.logs[task.name].records))
        for system in systems
        for task in registry.benchmark("have_bench").tasks
        if task.name in system.logs
    ]
    about = (
        "Counts of the latest run. A score is the share of right answers among all that the model gave; it is not "
        "known where answers are unjudged. Of an episode, wrong means that it ended without a goal."
    )
    found = common.verdict_table(rows, (SYSTEM, Column("Task", "task", kind="text")), _VERDICTS)
    return replace(found, about=about)
