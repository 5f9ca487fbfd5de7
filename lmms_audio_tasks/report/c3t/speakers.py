"""Who is served worse: accuracy by group of voices, the largest gaps, and which accents turn which prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lmms_audio_tasks.c3t.groups import CHARACTERISTICS
from lmms_audio_tasks.c3t.tables import ALL
from lmms_audio_tasks.report.c3t.joined import Joined
from lmms_audio_tasks.report.c3t.shared import CHARACTERISTIC_TITLES, TASK, percent, task_order, task_title, tasks_of
from lmms_audio_tasks.report.document import SYSTEM, Column, Row, Table, decimal, p_value, with_interval

_GROUP_ABOUT = (
    "Right responses in %, the worst served group over all tasks first, with 95 % intervals: Wilson's, at the "
    "effective sample size where a prompt has several voices of the group."
)
HTML_FLIPS = 200
"""How many prompts the flip table of the page shows of each system; thousands would make it slow."""


def gap_table(joined: Sequence[Joined], shown: int | None) -> Table:
    """The largest gap of each characteristic, over all tasks and for each."""
    rows = [
        Row(
            {**system.keys, "task": told["task"], "characteristic": told["characteristic"]},
            {
                "worst": told["worst"],
                "worst_accuracy": percent(told["worst_accuracy"]),
                "worst_ci_low": percent(told["worst_ci95_low"]),
                "worst_ci_high": percent(told["worst_ci95_high"]),
                "best": told["best"],
                "best_accuracy": percent(told["best_accuracy"]),
                "best_ci_low": percent(told["best_ci95_low"]),
                "best_ci_high": percent(told["best_ci95_high"]),
                "gap": percent(told["gap"]),
                "prompts_better": told["prompts_better"],
                "prompts_worse": told["prompts_worse"],
                "p": told["p_value"],
                "p_holm": told["p_holm"],
                "pairs": told["pairs"],
                "pairs_significant": told["pairs_significant"],
            },
        )
        for system in joined
        for told in sorted(system.found["gaps"], key=lambda told: task_order(told["task"]))
    ]
    worst, best = (with_interval(f"{which}_accuracy", "wilson", prefix=f"{which}_") for which in ("worst", "best"))
    columns = (
        *(SYSTEM, TASK, Column("By", "characteristic", form=_characteristic, kind="text")),
        Column("Voices", "worst", kind="text", group="Worst"),
        Column("Right", "worst_accuracy", form=worst, group="Worst"),
        Column("Voices", "best", kind="text", group="Best"),
        Column("Right", "best_accuracy", form=best, group="Best"),
        Column("Gap", "gap", form=decimal("gap")),
        Column("Best", "prompts_better", group="Prompts won by"),
        Column("Worst", "prompts_worse", group="Prompts won by"),
        Column("p", "p", form=p_value("p")),
        Column("p (Holm)", "p_holm", form=p_value("p_holm")),
        Column("Significant pairs", "pairs_significant", form=_pairs),
    )
    about = (
        "The best and the worst served group of voices, right responses in % with 95 % intervals. p: exact two-sided "
        "sign test over prompts, the other characteristic held fixed; p (Holm) is corrected over all pairs of groups, "
        "as the two were picked for being furthest apart. Significant pairs: those with p (Holm) below 0.05."
    )
    return Table("gaps", "Largest gaps between voices", about, tuple(rows), columns, brief=shown)


def _characteristic(row: Row) -> str:
    return CHARACTERISTIC_TITLES[row.keys["characteristic"]]


def _pairs(row: Row) -> str:
    return f"{row.get('pairs_significant')} of {row.get('pairs')}"


def group_tables(joined: Sequence[Joined]) -> list[Table]:
    """A table for each characteristic: a line a group of voices, a column a task."""
    return [_group_table(joined, characteristic) for characteristic in CHARACTERISTICS]


def _group_table(joined: Sequence[Joined], characteristic: str) -> Table:
    rows = []
    for system in joined:
        found = [told for told in system.found["groups"] if told["characteristic"] == characteristic]
        overall = {told["group"]: told["accuracy"] for told in found if told["task"] == ALL}
        order = sorted(overall, key=lambda group: (overall[group], group))
        for told in sorted(found, key=lambda told: (order.index(told["group"]), task_order(told["task"]))):
            keys = {**system.keys, "task": told["task"], "characteristic": characteristic, "voices": told["group"]}
            limits = {"ci_low": percent(told["ci95_low"]), "ci_high": percent(told["ci95_high"])}
            values = {"n": told["n"], "correct": told["right"], "accuracy": percent(told["accuracy"]), **limits}
            rows.append(Row(keys, values))
    title = CHARACTERISTIC_TITLES[characteristic]
    columns = (
        *(SYSTEM, Column(title.capitalize(), "voices", kind="text")),
        Column("All tasks", "accuracy", form=with_interval("accuracy", "wilson"), where={"task": ALL}, tip=_counted),
        Column("Responses", "n", where={"task": ALL}),
        *(
            Column(task_title(task), "accuracy", form=decimal("accuracy"), where={"task": task}, tip=_with_limits)
            for task in tasks_of(rows)
        ),
    )
    return Table(
        f"by_{characteristic}",
        f"Accuracy by {title}",
        _GROUP_ABOUT,
        tuple(rows),
        columns,
        lines_by=("origin", "system", "voices"),
    )


def _counted(row: Row) -> str:
    return f"{row.get('correct')} of {row.get('n')}"


def _with_limits(row: Row) -> str:
    return f"{with_interval('accuracy', 'wilson')(row)}, {_counted(row)}"


def accent_table(joined: Sequence[Joined]) -> Table:
    """How often each accent is the one that turns a prompt from what most accents give."""
    rows = [
        Row(
            {**system.keys, "task": told["task"], "voices": told["accent"]},
            {
                "n": told["prompts"],
                "flips_to_wrong": told["flips_to_wrong"],
                "flips_to_right": told["flips_to_right"],
                "share": percent(told["share"]),
            },
        )
        for system in joined
        for told in sorted(system.found["accents"], key=lambda told: (task_order(told["task"]), -told["share"]))
    ]
    overall = {"task": ALL}
    columns = (
        *(SYSTEM, Column("Accent", "voices", kind="text")),
        Column("Prompts", "n", where=overall),
        Column("To wrong", "flips_to_wrong", where=overall, group="Turned, all tasks"),
        Column("To right", "flips_to_right", where=overall, group="Turned, all tasks"),
        Column("Share", "share", form=decimal("share"), where=overall, group="Turned, all tasks"),
        *(
            Column(task_title(task), "share", form=decimal("share"), where={"task": task}, tip=_turned)
            for task in tasks_of(rows)
        ),
    )
    about = (
        "On how many prompts an accent has another outcome than most accents have, and their share in % by task; the "
        "accent that turns most comes first. Prompts: those with a majority."
    )
    return Table(
        "accent_flips",
        "Accents that turn prompts",
        about,
        tuple(rows),
        columns,
        lines_by=("origin", "system", "voices"),
    )


def _turned(row: Row) -> str:
    return f"{row.get('flips_to_wrong')} to wrong, {row.get('flips_to_right')} to right, of {row.get('n')}"


def flip_table(joined: Sequence[Joined], shown: int | None) -> Table:
    """Each prompt on which accents differ, those that few accents turn first."""
    rows = [
        Row(
            {**system.keys, "task": told["task"], "item": told["instance_id"]},
            {
                "majority": told["majority"],
                "turned": len(told["accents"]),
                "right": told["right"],
                "wrong": told["wrong"],
                "accents": ", ".join(told["accents"]),
            },
        )
        for system in joined
        for told in sorted(system.found["flips"], key=_clearest)
    ]
    columns = (
        *(SYSTEM, TASK, Column("Prompt", "item", kind="text"), Column("Most accents", "majority", kind="text")),
        *(Column("Right", "right", group="Accents"), Column("Wrong", "wrong", group="Accents")),
        Column("Turned by", "turned"),
        Column("Accents against the majority", "accents", kind="long"),
    )
    about = (
        "Prompts on which accents differ; those that the fewest accents turn come first, as they say most about an "
        "accent. In a tie the accents that are right are listed."
    )
    return Table("flips", "Prompts that accents turn", about, tuple(rows), columns, brief=shown, most=HTML_FLIPS)


def _clearest(told: Mapping[str, Any]) -> tuple[bool, int, tuple[int, str]]:
    """Ties last; before them the prompts that the fewest accents turn."""
    return told["majority"] == "tie", len(told["accents"]), task_order(told["task"])
