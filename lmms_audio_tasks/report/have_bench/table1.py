"""The paper's Table 1: a score for each level, beside the published rows; what is behind it, and run by run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lmms_audio_tasks.report.document import FROM, SYSTEM, Column, Row, Table, Value, decimal
from lmms_audio_tasks.report.have_bench import scores
from lmms_audio_tasks.report.have_bench.shared import (
    LEVEL,
    LEVEL_TASKS,
    LEVEL_TITLES,
    PAPER_LEVELS,
    PLAYED,
    SUBTASK,
    counted,
    keys_of,
    runs_form,
    score_form,
    subtask_order,
)
from lmms_audio_tasks.report.load import TaskLog
from lmms_audio_tasks.report.published import number, published
from lmms_audio_tasks.report.systems import System

_OPEN = (
    " Where answers are unjudged there is no score: the two ends between which it will lie stand in its place. What "
    "the model failed on is in no score."
)
_INTERVALS = (
    " In brackets 95 % intervals for the sampling of items: Wilson's, for several runs at the effective sample size, "
    "and for means over subtasks combined from theirs."
)


def levels_of(system: System) -> Iterator[tuple[str, tuple[TaskLog, ...]]]:
    """The levels that were run, and the runs of each."""
    for level, task in LEVEL_TASKS.items():
        if task in system.runs:
            yield level, system.runs[task]


def level_rows(systems: Sequence[System]) -> list[Row]:
    """A row for each system and level, with all figures."""
    return [
        Row(keys_of(system, level=level), scores.of_level(scores.by_subtask(logs)).values())
        for system in systems
        for level, logs in levels_of(system)
    ]


def level_table(rows: Sequence[Row], with_published: bool = False) -> Table:
    """Table 1: a line a system."""
    shown = [*rows, *(_published() if with_published else [])]
    there = {row.keys["level"] for row in shown}
    levels = [level for level in LEVEL_TITLES if level in there or level in PAPER_LEVELS]
    columns = (
        *(SYSTEM, FROM),
        *(
            column
            for level in levels
            for column in (
                Column("Score", "score", form=score_form, group=LEVEL_TITLES[level], where=_of(level), tip=counted),
                Column("Runs", "runs", form=runs_form, group=LEVEL_TITLES[level], where=_of(level)),
            )
        ),
    )
    about = (
        "In %; a level's score is the plain mean over its subtasks, for interaction the success rate over scenarios. "
        "Runs: how many the score is the mean of; with more than one, the standard deviation between them and the "
        "lowest and highest." + _OPEN + _INTERVALS
    )
    about += " Agentic: episodes told anew at every turn, another protocol." if "interaction_agentic" in there else ""
    about += " Published rows stand as printed; the paper's are means of three runs." if with_published else ""
    return Table("table1", "Table 1: scores by level", about, tuple(shown), columns, lines_by=("origin", "system"))


def _of(level: str) -> dict[str, str]:
    return {"level": level}


def _published() -> list[Row]:
    return [
        Row({"origin": "published", "system": told["system"], "level": told["level"]}, {"score": number(told["score"])})
        for told in published("have_bench_table1")
    ]


DETAILS = (
    Column("Items", "n"),
    Column("Score", "score", form=score_form, tip=counted),
    Column("Runs", "runs", form=runs_form),
    Column("Judged", "coverage", form=decimal("coverage"), tip=lambda row: f"{row.get('answered')} answered"),
    Column("Failed", "failed"),
    Column("Unjudged", "unjudged"),
)


def detail_table(rows: Sequence[Row]) -> Table:
    """What is behind Table 1: how many items, how many of them have a verdict, and the bounds of a score without."""
    about = (
        "Items: of one run. Judged: the share, in %, of all that was asked that has an answer and a verdict. Failed "
        "and unjudged are counted over all runs."
    )
    return Table("levels", "Levels in detail", about, tuple(rows), (SYSTEM, LEVEL, *DETAILS))


def run_table(systems: Sequence[System]) -> Table:
    """Run by run, where there are several."""
    rows = []
    for system in systems:
        for level, logs in levels_of(system):
            for log in logs if len(logs) > 1 else ():
                values: dict[str, Value] = scores.of_level(scores.by_subtask([log])).values()
                rows.append(Row(keys_of(system, level=level, run=log.run.date), values))
    columns = (SYSTEM, LEVEL, Column("Run", "run", kind="text"), *(c for c in DETAILS if c.title != "Runs"))
    return Table("runs", "Run by run", "The runs behind each mean of Table 1.", tuple(rows), columns)


def subtask_table(systems: Sequence[System]) -> Table:
    """The subtasks of perception and reasoning; the scenarios of interaction have a table of their own."""
    rows = []
    for system in systems:
        for level, logs in levels_of(system):
            if level in PLAYED:
                continue
            roles: dict[str, set[str]] = {}
            for record in logs[-1].records:
                roles.setdefault(record.groups.get("subtask", ""), set()).add(record.groups.get("role", ""))
            found = scores.by_subtask(logs)
            for name in sorted(found, key=subtask_order):
                role = ", ".join(sorted(roles[name], reverse=True))
                values = {**scores.of_subtask(found[name]).values(), "role": role}
                rows.append(Row(keys_of(system, level=level, subtask=name), values))
    columns = (SYSTEM, LEVEL, SUBTASK, Column("Role", "role", kind="text"), *DETAILS)
    about = (
        "Right answers in % of all that the model gave, with 95 % intervals (Wilson's; for several runs at the "
        "effective sample size). Role: AaI, the question is spoken; AaC, it is written and needs the recording."
    )
    return Table("subtasks", "Scores by subtask", about, tuple(rows), columns)
