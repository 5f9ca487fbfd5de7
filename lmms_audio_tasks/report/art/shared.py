"""Columns and keys that ART's tables have in common."""

from __future__ import annotations

from lmms_audio_tasks.art import FOLDERS
from lmms_audio_tasks.report.art.counts import ALL
from lmms_audio_tasks.report.document import Column, Row
from lmms_audio_tasks.report.systems import System

ASKED = {"audio": "spoken", "text": "spoken and written"}
"""How the question is put, by modality."""


def task_title(task: str) -> str:
    """A task as people read it."""
    return "All tasks" if task == ALL else task.replace("_", " ").capitalize()


def task_form(row: Row) -> str:
    """A row's task as people read it; says of all tasks together how many they are, where some are missing."""
    tasks = row.get("tasks")
    missing = isinstance(tasks, int) and tasks < len(FOLDERS)
    return task_title(row.keys["task"]) + (f" ({tasks} of {len(FOLDERS)})" if missing else "")


def asked_form(row: Row) -> str:
    """How a row's questions were put."""
    return ASKED[row.keys["modality"]]


TASK = Column("Task", "task", form=task_form, kind="text")
QUESTION = Column("Question", "modality", form=asked_form, kind="text")


def keys_of(system: System, modality: str, task: str) -> dict[str, str]:
    """A row's keys."""
    return {"origin": system.origin, "system": system.label, "modality": modality, "task": task}
