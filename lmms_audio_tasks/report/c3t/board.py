"""C3T's leaderboard: an entry keeps of each prompt how its voices were answered, so that kinds run apart can be joined.

`kept` is `{"prompts": "..."}`, a text with an entry for each whole prompt, `<id>=<right>/<asked>` and, for ages and
genders, `a` and `g` where the prompt is fair for age and for gender; ids are percent-encoded and entries separated by
blanks. A text of one line keeps the file small and its merges simple.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import numpy as np

from lmms_audio_tasks.c3t import SPECS, TASK_NAMES
from lmms_audio_tasks.c3t.fairness import METRICS, Constraint, Prompts
from lmms_audio_tasks.c3t.outcomes import Outcomes
from lmms_audio_tasks.c3t.tables import ALL
from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.report.c3t.joined import outcomes_of, whole_records
from lmms_audio_tasks.report.c3t.shared import CONSTRAINT
from lmms_audio_tasks.report.c3t.table1 import metric_columns
from lmms_audio_tasks.report.definitions import Entrant
from lmms_audio_tasks.report.document import FROM, SYSTEM, Column, Row, Table
from lmms_audio_tasks.report.load import TaskLog

_ENTRY = re.compile(r"([^\s=]*)=([0-9]{1,9})/([0-9]{1,9})(a?)(g?)")


class _Told(NamedTuple):
    right: int
    asked: int
    fair_age: bool
    fair_gender: bool


def kept(log: TaskLog) -> dict[str, Any]:
    """See the module's text."""
    if log.task not in SPECS:  # tasks of the user's own have no place beside others'
        return {}
    kind = SPECS[log.task].kind
    outcomes = Outcomes.of(outcomes_of(whole_records(log)[0]))
    prompts = Prompts.of(outcomes)
    written = prompts.text, np.ones_like(prompts.text)
    right, asked = written if kind == "text" else (prompts.right, prompts.asked)
    both = kind == "age_gender"
    entries = [
        f"{quote(instance, safe='')}={right[at]}/{asked[at]}"
        + ("a" if both and prompts.fair_age[at] else "")
        + ("g" if both and prompts.fair_gender[at] else "")
        for at, (_, instance) in enumerate(outcomes.prompts)
    ]
    return {"prompts": " ".join(sorted(entries))}


def table(entrants: Sequence[Entrant]) -> Table:
    """See `lmms_audio_tasks.report.c3t.leaderboard_table`."""
    ranked = sorted((rows for entrant in entrants if (rows := list(_rows(entrant)))), key=_rank)
    rows = [row for constraint in _SHOWN for rows in ranked for row in rows if _is(row, constraint)]
    columns = (SYSTEM, FROM, CONSTRAINT, *metric_columns(intervals=False), Column("Prompts", "prompts"), _TASKS)
    about = (
        "The paper's Table 1 over all tasks, shares from 0 to 1, best spoken exact match first. Constraint c.a.: "
        "prompts answered right in writing and by at least one voice. Prompts that --limit cut apart are left out."
    )
    return Table("table1", "C3T: fairness, robustness and exact match", about, tuple(rows), columns)


_SHOWN: tuple[Constraint, ...] = ("none", "ca")
_TASKS = Column("Tasks", "tasks", form=lambda row: f"{row.get('tasks')} of {len(SPECS)}")


def _is(row: Row, constraint: str) -> bool:
    return row.keys["constraint"] == constraint


def _tasks(entrant: Entrant) -> list[str]:
    return [name for name in entrant.tallies if name in SPECS]


def _rows(entrant: Entrant) -> Iterator[Row]:
    if not _tasks(entrant):
        return
    prompts = _prompts(entrant)
    for constraint in _SHOWN:
        measures = prompts.measure(constraint)
        keys = {"origin": entrant.origin, "system": entrant.label, "task": ALL, "constraint": constraint}
        counts = {f"{name}_{part}": getattr(getattr(measures, name), part) for name in METRICS for part in ("k", "n")}
        more = {"prompts": measures.prompts, "tasks": len(_tasks(entrant))}
        yield Row(keys, {**measures.values(), **counts, **more})


def _rank(rows: Sequence[Row]) -> tuple[float, ...]:
    first = rows[0]
    real, complete = first.keys["origin"] == "run", first.get("tasks") == len(SPECS)
    return (-real, -complete, -float(first.get("em_spoken") or 0), -float(first.get("fairness_overall") or 0))


def _prompts(entrant: Entrant) -> Prompts:
    """The prompts of an entry; which voices are missing is not known."""
    found: dict[tuple[str, str], dict[str, _Told]] = {}
    for name in _tasks(entrant):
        spec = SPECS[name]
        for instance, told in _read(entrant, name):
            found.setdefault((spec.task_name, instance), {})[spec.kind] = told
    nothing = _Told(0, 0, True, True)
    kinds = ("accent", "age_gender", "text")
    columns = [[by_kind.get(kind, nothing) for by_kind in found.values()] for kind in kinds]
    right, asked = ([np.array([told[at] for told in column], dtype=np.int64) for column in columns] for at in range(2))
    fair_age, fair_gender = (np.array([told[at] for told in columns[1]], dtype=np.bool_) for at in (2, 3))
    spoken_right, spoken_asked = right[0] + right[1], asked[0] + asked[1]
    return Prompts(
        tasks=TASK_NAMES,
        task=np.array([TASK_NAMES.index(task) for task, _ in found], dtype=np.int64),
        right=spoken_right,
        asked=spoken_asked,
        accent_asked=asked[0],
        voices_asked=asked[1],
        fair=(spoken_right == 0) | (spoken_right == spoken_asked),
        fair_age=fair_age,
        fair_gender=fair_gender,
        fair_dialect=(right[0] == 0) | (right[0] == asked[0]),
        text=np.where(asked[2] > 0, right[2], -1),
        lacking=np.zeros(len(found), dtype=np.int64),
    )


def _read(entrant: Entrant, name: str) -> Iterator[tuple[str, _Told]]:
    text = entrant.kept.get(name, {}).get("prompts")
    for entry in text.split() if isinstance(text, str) else [repr(text)]:
        match = _ENTRY.fullmatch(entry)
        if match is None or not int(match[2]) <= int(match[3]):
            raise AudioTasksError(f"{entrant.label}: the leaderboard's prompts of {name} cannot be read: {entry:.60}")
        yield unquote(match[1]), _Told(int(match[2]), int(match[3]), bool(match[4]), bool(match[5]))
