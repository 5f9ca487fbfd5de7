"""The paper's Table 1, over all tasks beside the published rows, and for each task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lmms_audio_tasks.c3t.fairness import CONSTRAINTS, METRICS
from lmms_audio_tasks.c3t.tables import ALL
from lmms_audio_tasks.report.c3t.joined import Joined
from lmms_audio_tasks.report.c3t.shared import CONSTRAINT, METRIC_TITLES, TASK
from lmms_audio_tasks.report.document import (
    FROM,
    SYSTEM,
    Column,
    Form,
    Row,
    Table,
    Value,
    decimal,
    plain,
    with_interval,
)
from lmms_audio_tasks.report.published import number, published

_ABOUT = (
    "Shares from 0 to 1, as the paper prints them. Constraint: none, all prompts; c.a., prompts answered right in "
    "writing and by at least one voice, the reading under which the published c.a. rows are consistent; c.a. (speech), "
    "by at least one voice, the paper to the letter. Incomplete prompts lack a voice or their answer in writing; they "
    "are judged on what they have."
)
_INTERVALS = (
    " 95 % intervals: Wilson's over prompts, for spoken exact match at the effective sample size, as a prompt's voices "
    "are not independent."
)


def overall_table(joined: Sequence[Joined], with_published: bool = False) -> Table:
    """Table 1 over all tasks: constraint by constraint, own rows and then the published ones."""
    rows = [row for system in joined for row in _rows(system) if row.keys["task"] == ALL]
    rows += _published() if with_published else []
    rows.sort(key=lambda row: CONSTRAINTS.index(row.keys["constraint"]))
    columns = (SYSTEM, FROM, CONSTRAINT, *metric_columns(intervals=True), _PROMPTS)
    about = _ABOUT + _INTERVALS + (" Published rows stand as printed." if with_published else "")
    return Table("table1", "Table 1: fairness, robustness and exact match", about, tuple(rows), columns)


def task_table(joined: Sequence[Joined]) -> Table:
    """The same for each task."""
    rows = [row for system in joined for row in _rows(system) if row.keys["task"] != ALL]
    columns = (SYSTEM, TASK, CONSTRAINT, *metric_columns(intervals=False), _PROMPTS)
    about = "Shares from 0 to 1, under the constraints of Table 1; intervals are in the other formats."
    return Table("table1_by_task", "Table 1 by task", about, tuple(rows), columns)


def metric_columns(intervals: bool, where: Mapping[str, str] | None = None) -> tuple[Column, ...]:
    """A column for each metric of Table 1."""
    return tuple(
        Column(title, name, form=_form(name, intervals), group=group, where=where, tip=_counted(name))
        for name, (group, title) in METRIC_TITLES.items()
    )


def _form(name: str, intervals: bool) -> Form:
    if not intervals:
        return decimal(name, 4)
    whole = with_interval(name, "wilson", places=3, prefix=f"{name}_")
    figure = decimal(name, 4)

    def told(row: Row) -> str:
        # Four places, as the paper has them; three do for the limits.
        return " ".join([figure(row), *whole(row).split(" ")[1:]])

    return told


def _counted(name: str) -> Form:
    def tip(row: Row) -> str:
        n = row.get(f"{name}_n")
        return f"{row.get(f'{name}_k')} of {n}" if n is not None else ""

    return tip


def _prompts(row: Row) -> str:
    incomplete = row.get("incomplete")
    return plain(row.get("prompts")) + (f" ({incomplete} incomplete)" if incomplete else "")


_PROMPTS = Column("Prompts", "prompts", form=_prompts)


def _rows(system: Joined) -> Iterator[Row]:
    intervals: dict[tuple[str, str], dict[str, Any]] = {}
    for told in system.found["intervals"]:
        intervals.setdefault((told["task"], told["constraint"]), {})[told["metric"]] = told
    for told in system.found["rows"]:
        keys = {**system.keys, "task": told["task"], "constraint": told["constraint"]}
        values: dict[str, Value] = {name: told[name] for name in METRICS}
        values |= {"prompts": told["prompts"], "incomplete": told["incomplete"]}
        for name, more in intervals[told["task"], told["constraint"]].items():
            values |= {f"{name}_k": more["k"], f"{name}_n": more["n"]}
            values |= {f"{name}_ci_low": more["ci95_low"], f"{name}_ci_high": more["ci95_high"]}
        yield Row(keys, values)


def _published() -> list[Row]:
    return [
        Row(
            {"origin": "published", "system": told["system"], "task": ALL, "constraint": told["constraint"]},
            {name: number(told[name]) for name in METRICS},
        )
        for told in published("c3t_table1")
    ]
