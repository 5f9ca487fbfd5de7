"""Which runs of a system count together: those that differ in nothing from the latest but in what the model answered.

A run of other questions, or with another judge, prompt or generation setting but the seed, is no repetition; it is left
out, and told. For benchmarks whose papers print means of several runs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from lmms_audio_tasks.report import settings
from lmms_audio_tasks.report.document import Note
from lmms_audio_tasks.report.load import TaskLog
from lmms_audio_tasks.report.notes import all_or_listed
from lmms_audio_tasks.report.systems import Chosen, System

_SEED = re.compile(r"""["']?\bseed["']?\s*[=:]\s*["']?\d+["']?,?\s*""")
_SAME: dict[str, Callable[[TaskLog], Any]] = {
    "questions": settings.content,
    "data": settings.data_kind,
    "data revision": settings.revision,
    "judge": settings.judge_label,
    "task version": settings.task_version,
    "generation settings": lambda log: _SEED.sub("", settings.text(settings.generation(log))),
}


class _Sorted(NamedTuple):
    """The runs of one task that count, the latest last, and why each of the others does not, by its date."""

    logs: tuple[TaskLog, ...]
    apart: dict[str, str]


def counted(systems: Sequence[System]) -> Chosen:
    """The systems with the runs that count alone, and what is to be told of their runs."""
    found, notes = [], []
    for system in systems:
        by_task = {task: _sorted(logs) for task, logs in system.runs.items()}
        found.append(replace(system, runs={task: told.logs for task, told in by_task.items()}))
        notes += list(_notes(system.label, by_task))
    return Chosen(found, notes)


def _sorted(found: Sequence[TaskLog]) -> _Sorted:
    *older, latest = found
    if not older:
        return _Sorted((latest,), {})
    wanted = {name: settings.text(read(latest)) for name, read in _SAME.items()}
    logs, apart = [latest], {}
    for log in reversed(older):
        other = [name for name, read in _SAME.items() if settings.text(read(log)) != wanted[name]]
        if other:
            apart[log.run.date] = f"other {' and '.join(other)}"
        elif not any(_copy(log, known) for known in logs):
            logs.append(log)
    return _Sorted(tuple(reversed(logs)), apart)


def _copy(a: TaskLog, b: TaskLog) -> bool:
    """Whether two logs are of one run: a folder of logs may have been copied into another."""
    return a.run.date == b.run.date and _responses(a) == _responses(b)


def _responses(log: TaskLog) -> dict[str, str]:
    return {item_id: item.record.response for item_id, item in log.items.items()}


def _notes(label: str, by_task: dict[str, _Sorted]) -> Iterator[Note]:
    """How many runs the scores are of, which are left out, and whether they can show any spread."""
    by_dates: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    by_reason: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for task, found in by_task.items():
        by_dates[tuple(log.run.date for log in found.logs)].append(task)
        for date, reason in found.apart.items():
            by_reason[date, reason].append(task)
    whole = len(by_task)
    for dates, tasks in sorted(by_dates.items()):
        where = all_or_listed(tasks, whole)
        if len(dates) == 1:
            yield Note("1 run", f"one run of {where}, which cannot show a spread", label)
        else:
            yield Note("runs", f"means over {len(dates)} runs ({', '.join(dates)}) of {where}", label)
    for (date, reason), tasks in sorted(by_reason.items()):
        text = f"{date} is not averaged with the latest run, which has {reason}: {all_or_listed(tasks, whole)}"
        yield Note("other run", text, label)
    same = [task for task, found in by_task.items() if _all_same(found.logs)]
    if same:
        text = "every run gave the same responses, so that their spread tells nothing (greedy decoding or a cache?): "
        yield Note("same responses", text + all_or_listed(same, whole), label)
    repeated = [task for task, found in by_task.items() if _host_repeats(found.logs[-1]) > 1]
    if repeated:
        text = "the host scores the first response to each item alone; run several times instead: "
        yield Note("--repeats", text + all_or_listed(repeated, whole), label)


def _all_same(logs: Sequence[TaskLog]) -> bool:
    return len(logs) > 1 and all(_responses(log) == _responses(logs[0]) for log in logs[1:])


def _host_repeats(log: TaskLog) -> int:
    told = log.run.task_config(log.task).get("repeats")
    return told if isinstance(told, int) else 1
