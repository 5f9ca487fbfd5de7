"""A score over the runs of a system: its mean, its spread, its interval, and its bounds where answers are unjudged.

A level's score follows `lmms_audio_tasks.have_bench.levels`: the plain mean over its subtasks, run by run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import stdev

from lmms_audio_tasks import stats
from lmms_audio_tasks.have_bench.levels import Tally, level_bounds, level_score
from lmms_audio_tasks.report.document import Value
from lmms_audio_tasks.report.load import TaskLog

Verdicts = Mapping[str, str]
"""The verdict on each item of one run, by item id."""


@dataclass(frozen=True, slots=True)
class Score:
    """A score, as fractions in [0, 1].

    Attributes:
        by_run: the score of each run, None where it has none.
        mean: over the runs; None where a run has no score.
        interval: 95 %, for the sampling of items; None where `mean` is.
        bounds: the least and the greatest that the mean can be once all is judged.
        tally: the counts of all runs together.
    """

    by_run: tuple[float | None, ...]
    mean: float | None
    interval: stats.Interval | None
    bounds: tuple[float, float]
    tally: Tally

    def values(self) -> dict[str, Value]:
        """The figures of a row, in percent; `n` is the number of items that one run asked."""
        known = [100 * score for score in self.by_run if score is not None]
        several = len(known) > 1 and len(known) == len(self.by_run)
        tally, runs = self.tally, len(self.by_run)
        return {
            "score": _percent(self.mean),
            "ci_low": _percent(self.interval.low if self.interval else None),
            "ci_high": _percent(self.interval.high if self.interval else None),
            "runs": runs,
            "sd": stdev(known) if several else None,
            "lowest": min(known) if several else None,
            "highest": max(known) if several else None,
            "n": tally.n // runs if runs else 0,
            "answered": tally.answered,
            "correct": tally.correct,
            "failed": tally.errors,
            "unjudged": tally.unjudged,
            "coverage": 100 * (tally.answered - tally.unjudged) / tally.n if tally.n else None,
            "least": 100 * self.bounds[0],
            "greatest": 100 * self.bounds[1],
        }


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def by_subtask(runs: Sequence[TaskLog]) -> dict[str, list[Verdicts]]:
    """The verdicts of each subtask, run by run; runs are of the same questions, so that all have the same subtasks."""
    found: dict[str, list[dict[str, str]]] = {}
    for number, log in enumerate(runs):
        for record in log.records:
            own = found.setdefault(record.groups.get("subtask", ""), [{} for _ in runs])
            own[number][record.item_id] = record.verdict
    return {subtask: list[Verdicts](found[subtask]) for subtask in sorted(found)}


def of_subtask(runs: Sequence[Verdicts]) -> Score:
    """The share of right answers: of one run with Wilson's interval, of several at their effective sample size."""
    tallies = [Tally.of(run.values()) for run in runs]
    mean = _mean([tally.score for tally in tallies])
    interval = None if mean is None else _interval(runs)
    return Score(tuple(t.score for t in tallies), mean, interval, _mean_bounds([t.bounds for t in tallies]), _sum(runs))


def of_level(subtasks: Mapping[str, Sequence[Verdicts]]) -> Score:
    """The plain mean over subtasks. Its interval combines those of the subtasks (`stats.mean_interval`)."""
    count = len(next(iter(subtasks.values()), ()))
    tallies = [{name: Tally.of(runs[at].values()) for name, runs in subtasks.items()} for at in range(count)]
    by_run = tuple(level_score(told) for told in tallies)
    parts = [of_subtask(runs) for runs in subtasks.values()]
    limits = [(part.mean, part.interval) for part in parts if part.mean is not None and part.interval is not None]
    mean = _mean(by_run)
    interval = None if mean is None else stats.mean_interval(limits, floor=0.0)[1]
    everything = [run for runs in subtasks.values() for run in runs]
    return Score(by_run, mean, interval, _mean_bounds([level_bounds(told) for told in tallies]), _sum(everything))


def _interval(runs: Sequence[Verdicts]) -> stats.Interval:
    """The answers that several runs give to one item are not independent: an item is a cluster of them."""
    counts: dict[str, list[int]] = {}
    for run in runs:
        for item, verdict in run.items():
            if verdict != "error":
                count = counts.setdefault(item, [0, 0])
                count[0] += verdict == "correct"
                count[1] += 1
    if len(runs) == 1:
        return stats.wilson(sum(k for k, _ in counts.values()), len(counts))
    return stats.cluster_counts(list(counts.values())).interval


def _sum(runs: Sequence[Verdicts]) -> Tally:
    return Tally.of(verdict for run in runs for verdict in run.values())


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None


def _mean_bounds(bounds: Sequence[tuple[float, float]]) -> tuple[float, float]:
    low, high = (math.fsum(side) / len(bounds) for side in zip(*bounds, strict=True)) if bounds else (0.0, 1.0)
    return low, high
