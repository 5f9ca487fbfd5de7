"""One system's logs joined over the three kinds of task, and every table that follows from its outcomes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from lmms_audio_tasks.c3t import ALL_SPECS, CUSTOM, KINDS, SPECS, TASK_NAMES
from lmms_audio_tasks.c3t.outcomes import Outcome, Outcomes, needed_groups, outcome_of, whole_prompts
from lmms_audio_tasks.c3t.tables import ALL, tables
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.records import Record
from lmms_audio_tasks.report.load import TaskLog
from lmms_audio_tasks.report.systems import System
from lmms_audio_tasks.strict_json import HALF_CHARACTER, short

OWN_MARK = " (own tasks)"
_COUNT = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Joined:
    """A system's outcomes on the prompts that were asked in all voices the data have of them.

    Attributes:
        found: the tables of `lmms_audio_tasks.c3t.tables`, by name.
        kinds: by task, the kinds that were run.
        cut: by host task, how many prompts `--limit` cut apart; they are left out.
        failed: how many items the model failed on; their voices are missing.
    """

    system: System
    found: Mapping[str, list[dict[str, Any]]]
    kinds: Mapping[str, tuple[str, ...]]
    cut: Mapping[str, int]
    failed: int

    @property
    def keys(self) -> dict[str, str]:
        """The keys that all of its rows have."""
        return {"origin": self.system.origin, "system": self.system.label}


def systems_apart(systems: Iterable[System]) -> list[System]:
    """The systems on the paper's tasks, and after them those on tasks of the user's own, which none is pooled with."""
    found, own = [], []
    for system in systems:
        paper = {name: log for name, log in system.logs.items() if name in SPECS}
        others = {name: log for name, log in system.logs.items() if name not in SPECS}
        found += [replace(system, logs=paper)] if paper else []
        own += [replace(system, label=system.label + OWN_MARK, logs=others)] if others else []
    return [*found, *own]


def join(system: System) -> Joined:
    """Join a system's logs.

    Raises:
        DataError: a record that lacks what it should tell of its prompt and voice.
    """
    outcomes: list[Outcome] = []
    cut: dict[str, int] = {}
    kinds: dict[str, dict[str, None]] = {}
    failed = 0
    for log in logs_in_order(system):
        kind = ALL_SPECS[log.task].kind
        whole, cut[log.task] = whole_records(log)
        own = outcomes_of(whole)
        failed += len(whole) - len(own)
        outcomes += own
        for task in dict.fromkeys(record.groups["task_name"] for record in log.records):
            kinds.setdefault(task, {})[kind] = None
    found = tables(Outcomes.of(outcomes), system.label)
    told = {task: tuple(there) for task, there in kinds.items()}
    return Joined(system, found, told, {name: count for name, count in cut.items() if count}, failed)


def logs_in_order(system: System) -> list[TaskLog]:
    """The system's logs task by task, its kinds beside each other."""
    tasks = [*TASK_NAMES, CUSTOM]
    specs = [ALL_SPECS[name] for name in system.logs]
    ordered = sorted(specs, key=lambda spec: (tasks.index(spec.task_name), KINDS.index(spec.kind)))
    return [system.logs[spec.name] for spec in ordered]


def whole_records(log: TaskLog) -> tuple[list[Record], int]:
    """The records of prompts that were asked in all the voices the data have of them, and how many others there are.

    Raises:
        DataError: a record that lacks what it should tell of its prompt and voice.
    """
    records = log.records
    kind = ALL_SPECS[log.task].kind
    needed = needed_groups(kind)
    # Records have few kinds of keys, splits and numbers of variants; each is looked at once.
    seen = dict.fromkeys((tuple(r.groups), r.groups.get("split"), r.groups.get("variants", "")) for r in records)
    for names, split, variants in seen:
        if not {*names} >= {*needed} or split != kind or not _COUNT.fullmatch(variants):
            expected = f"groups {', '.join(needed)}, of the split {kind} and with a number of variants"
            found = f"{', '.join(names)}; split {split}, variants {short(variants) if variants else 'none'}"
            raise DataError(log.file, expected, found)
    for name in needed:
        for label in dict.fromkeys(record.groups[name] for record in records):
            if not label.strip() or HALF_CHARACTER.search(label):
                raise DataError(log.file, f"{name} to be a text of whole characters", short(label))
    return whole_prompts(records, attrgetter("groups"))


def outcomes_of(records: Iterable[Record]) -> list[Outcome]:
    """The outcomes of records; items on which the model failed have none."""
    found = (outcome_of(record.verdict, record.groups) for record in records)
    return [outcome for outcome in found if outcome is not None]


def of_all(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rows of all tasks together."""
    return [row for row in rows if row["task"] == ALL]
