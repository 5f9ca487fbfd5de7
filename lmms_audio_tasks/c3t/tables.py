"""A system's C3T tables as plain rows: the paper's Table 1, intervals, groups, gaps, flips. For `score` and reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lmms_audio_tasks.c3t.fairness import CONSTRAINTS, METRICS, Prompts
from lmms_audio_tasks.c3t.groups import CHARACTERISTICS, AccentFlips, Flip, Gap, Group, flips, gap, grid, groups
from lmms_audio_tasks.c3t.outcomes import Outcomes

ALL = "all"
"""How rows name the eleven tasks taken together."""

Row = dict[str, Any]


def tables(outcomes: Outcomes, system: str) -> dict[str, list[Row]]:
    """Every table of one system, by name; each is a list of flat rows.

    `rows`: a row a task (and `all`) and constraint, with the columns of the published Table 1, the number of prompts
    and how many of those are incomplete. `intervals`: a row a task, constraint and metric. `groups`: a row a task,
    characteristic and group. `gaps`: a row a task and characteristic with at least two groups. `accents`: how often
    each accent flips prompts, a row a task and accent. `flips`: a row a prompt on which accents differ. Without
    outcomes the tables have rows of None for `all`, or none.
    """
    prompts = Prompts.of(outcomes)
    scopes: list[tuple[str, str | None]] = [*((task, task) for task in outcomes.tasks), (ALL, None)]
    found: dict[str, list[Row]] = {name: [] for name in ("rows", "intervals", "groups", "gaps", "accents", "flips")}
    for label, task in scopes:
        head = {"task": label, "system": system}
        for constraint in CONSTRAINTS:
            measures = prompts.measure(constraint, task)
            counts = {"prompts": measures.prompts, "incomplete": measures.incomplete}
            found["rows"].append({**head, "constraint": constraint, **measures.values(), **counts})
            intervals = prompts.intervals(measures, constraint, task)
            for metric in METRICS:
                k, n = getattr(measures, metric)
                limits = _limits(intervals[metric]) if n else {"ci95_low": None, "ci95_high": None}
                value = getattr(measures, metric).value
                told = {"constraint": constraint, "metric": metric, "value": value, "k": k, "n": n}
                found["intervals"].append({**head, **told, **limits})
        _by_group(outcomes, prompts, task, head, found)
    return found


def _by_group(outcomes: Outcomes, prompts: Prompts, task: str | None, head: Row, found: dict[str, list[Row]]) -> None:
    kept = prompts.of_task(task)
    for characteristic in CHARACTERISTICS:
        counts = grid(outcomes, characteristic, kept)
        members = groups(counts, characteristic)
        found["groups"] += [{**head, **_group_row(group)} for group in members]
        largest = gap(counts, members)
        if largest is not None:
            found["gaps"].append({**head, **_gap_row(largest)})
    listed, accents = flips(outcomes, kept)
    found["accents"] += [{**head, **_accent_row(row)} for row in accents]
    if task is not None:
        found["flips"] += [_flip_row(flip, head["system"]) for flip in listed]


def _limits(interval: Iterable[float]) -> Row:
    low, high = interval
    return {"ci95_low": low, "ci95_high": high}


def _group_row(group: Group) -> Row:
    told = {"characteristic": group.characteristic, "group": group.name, "right": group.right, "n": group.n}
    return {**told, "accuracy": group.accuracy, **_limits(group.interval)}


def _gap_row(gap: Gap) -> Row:
    return {
        "characteristic": gap.characteristic,
        "best": gap.best.name,
        "best_accuracy": gap.best.accuracy,
        **{f"best_{name}": limit for name, limit in _limits(gap.best.interval).items()},
        "worst": gap.worst.name,
        "worst_accuracy": gap.worst.accuracy,
        **{f"worst_{name}": limit for name, limit in _limits(gap.worst.interval).items()},
        "gap": gap.gap,
        "prompts_better": gap.better,
        "prompts_worse": gap.worse,
        "p_value": gap.p_value,
        "p_holm": gap.p_holm,
        "pairs": gap.pairs,
        "pairs_significant": gap.pairs_significant,
    }


def _accent_row(row: AccentFlips) -> Row:
    share = (row.to_right + row.to_wrong) / row.prompts
    told = {"accent": row.accent, "prompts": row.prompts}
    return {**told, "flips_to_right": row.to_right, "flips_to_wrong": row.to_wrong, "share": share}


def _flip_row(flip: Flip, system: str) -> Row:
    head = {"task": flip.task, "system": system, "instance_id": flip.instance_id, "majority": flip.majority}
    return {**head, "right": flip.right, "wrong": flip.wrong, "accents": list(flip.by)}


def to_text(found: dict[str, list[Row]]) -> str:
    """The tables for people: Table 1 of every task, then groups, gaps and flips over all tasks."""
    parts = [_grid(["task", "constraint", *METRICS, "prompts", "incomplete"], found["rows"])]
    whole = {name: [row for row in rows if row["task"] == ALL] for name, rows in found.items()}
    gaps = whole["gaps"]
    if gaps:
        parts.append("largest gap between two groups of voices, over all tasks (p by Holm, over all pairs)")
        parts.append(
            _grid(["characteristic", "best", "best_accuracy", "worst", "worst_accuracy", "gap", "p_holm"], gaps)
        )
    if whole["groups"]:
        parts.append("accuracy by group of voices, over all tasks")
        parts.append(_grid(["characteristic", "group", "accuracy", "ci95_low", "ci95_high", "n"], whole["groups"]))
    if whole["accents"]:
        parts.append("accents that turn prompts from what most accents give, over all tasks")
        ordered = sorted(whole["accents"], key=lambda row: -row["share"])
        parts.append(_grid(["accent", "share", "flips_to_right", "flips_to_wrong", "prompts"], ordered))
    return "\n\n".join(parts)


def _grid(columns: Sequence[str], rows: Sequence[Row]) -> str:
    cells = [list(columns), *([_cell(row[column]) for column in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in cells)


def _cell(value: object) -> str:
    return "N/A" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)
