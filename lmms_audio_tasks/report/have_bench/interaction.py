"""Interaction by scenario: success, how far episodes got, how many turns they took, and why they ended."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from lmms_audio_tasks.report.document import SYSTEM, Column, Row, Table, Value, decimal
from lmms_audio_tasks.report.have_bench import scores
from lmms_audio_tasks.report.have_bench.episodes import END_TITLES, Played, by_scenario
from lmms_audio_tasks.report.have_bench.shared import (
    AVERAGE,
    LEVEL,
    PLAYED,
    SUBTASK,
    counted,
    keys_of,
    runs_form,
    score_form,
)
from lmms_audio_tasks.report.systems import System


def scenario_table(systems: Sequence[System], played: dict[tuple[str, str], list[list[Played]]]) -> Table:
    """A row for each system, form of the task and scenario, and one for all scenarios."""
    rows = []
    for system in systems:
        for level in PLAYED:
            runs = played.get((system.label, level))
            for scenario, values in _by_scenario(runs) if runs else ():
                rows.append(Row(keys_of(system, level=level, subtask=scenario), values))
    columns = (
        *(SYSTEM, LEVEL, SUBTASK, Column("Episodes", "n")),
        Column("Success", "score", form=score_form, tip=counted),
        Column("Runs", "runs", form=runs_form),
        Column("Path completion", "path_completion", form=decimal("path_completion")),
        Column("All", "turns", form=decimal("turns"), group="Turns"),
        Column("To the goal", "turns_to_goal", form=decimal("turns_to_goal"), group="Turns"),
        *(Column(title, end, group="Ended") for end, title in END_TITLES.items()),
    )
    about = (
        "Success: share of episodes that reached a goal, in % with 95 % intervals; the average is the plain mean over "
        "scenarios. Path completion: the share of the shortest path that was covered, in %. It and the turns are means "
        "over the episodes that were judged to their end, of all scenarios in the last line. Ended: how often and why, "
        "over all runs; an episode without a verdict is neither success nor failure."
    )
    return Table("interaction", "Interaction by scenario", about, tuple(rows), columns)


def _by_scenario(runs: Sequence[Sequence[Played]]) -> Iterable[tuple[str, dict[str, Value]]]:
    split = [by_scenario(run) for run in runs]
    names = list(split[-1])
    verdicts = {name: [_verdicts(run.get(name, [])) for run in split] for name in names}
    for name in names:
        own = [one for run in split for one in run.get(name, [])]
        yield name, {**scores.of_subtask(verdicts[name]).values(), **_played(own)}
    everything = [one for run in runs for one in run]
    yield AVERAGE, {**scores.of_level(verdicts).values(), **_played(everything), "groups": len(names)}


def _verdicts(episodes: Iterable[Played]) -> dict[str, str]:
    return {one.record.item_id: one.record.verdict for one in episodes}


def _played(episodes: Sequence[Played]) -> dict[str, Value]:
    judged = [one for one in episodes if one.judged]
    ends = Counter(str(one.episode.end) for one in episodes)
    completion = _mean([one.completion for one in judged])
    return {
        "path_completion": None if completion is None else 100 * completion,
        "turns": _mean([len(one.episode.turns) for one in judged]),
        "turns_to_goal": _mean([len(one.episode.turns) for one in judged if one.episode.end == "goal"]),
        "several": sum(turn.several for one in episodes for turn in one.episode.turns),
        **{end: ends[end] for end in END_TITLES},
    }


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
