"""What C3T's tables have in common: titles, columns, and percent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lmms_audio_tasks.c3t import TASK_NAMES
from lmms_audio_tasks.c3t.tables import ALL
from lmms_audio_tasks.report.document import Column, Row, Value

METRIC_TITLES: Mapping[str, tuple[str, str]] = {
    "fairness_overall": ("Fairness", "Overall"),
    "fairness_age": ("Fairness", "Age"),
    "fairness_gender": ("Fairness", "Gender"),
    "fairness_dialect": ("Fairness", "Dialect"),
    "robustness": ("", "Robustness"),
    "em_textual": ("Exact match", "Textual"),
    "em_spoken": ("Exact match", "Spoken"),
}
"""The columns of the paper's Table 1: group and title."""
CONSTRAINT_TITLES = {"none": "none", "ca": "c.a.", "ca_speech": "c.a. (speech)"}
CHARACTERISTIC_TITLES = {"accent": "accent", "age": "age", "gender": "gender", "age_gender": "age and gender"}
TASK_TITLES = {
    **{task: task.replace("_", " ").capitalize() for task in TASK_NAMES},
    "disambiguation_qa": "Disambiguation QA",
    "reasoning_about_colored_objects": "Colored objects",
}
"""Tasks of the user's own are called what they are."""


def task_title(task: str) -> str:
    """A task as people read it."""
    if task in TASK_TITLES or task == ALL:
        return "All tasks" if task == ALL else TASK_TITLES[task]
    return task


def kind_title(kind: str) -> str:
    """A kind of task as people read it."""
    return {"accent": "accents", "age_gender": "ages and genders", "text": "in writing"}[kind]


def task_form(row: Row) -> str:
    """A row's task as people read it."""
    return task_title(row.keys["task"])


def constraint_form(row: Row) -> str:
    """A row's constraint as the paper prints it; the literal reading is not in the paper."""
    return CONSTRAINT_TITLES[row.keys["constraint"]]


TASK = Column("Task", "task", form=task_form, kind="text")
CONSTRAINT = Column("Constraint", "constraint", form=constraint_form, kind="text")


def percent(value: Any) -> Value:
    """A share in percent; None stays."""
    return None if value is None else 100 * value


def task_order(task: str) -> tuple[int, str]:
    """All tasks together first, then the paper's tasks in its order, then others by name."""
    if task == ALL:
        return -1, ""
    return (TASK_NAMES.index(task), "") if task in TASK_NAMES else (len(TASK_NAMES), task)


def tasks_of(rows: Iterable[Row]) -> list[str]:
    """The tasks that rows are about, but for all together, in order."""
    return sorted({row.keys["task"] for row in rows} - {ALL}, key=task_order)
