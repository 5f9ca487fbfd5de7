"""Fairness, robustness and exact match: section 5 of the C3T paper, for a task or over all.

What the formulas call a task is one text prompt with all its voices. A prompt is fair if all its outcomes are alike,
fair for a characteristic if changing that alone never changes the outcome. A missing voice is left out: the prompt is
judged on those present, and counted in `incomplete`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from lmms_audio_tasks.c3t.outcomes import Bools, Ints, Outcomes
from lmms_audio_tasks.stats import Interval, cluster_counts, wilson

Constraint = Literal["none", "ca", "ca_speech"]
"""Which prompts count. `none`: all. `ca`: those answered right in writing and by at least one voice, the reading under
which the published `c.a.` rows are consistent. `ca_speech`: those answered right by at least one voice, to the letter
of the paper."""
CONSTRAINTS: tuple[Constraint, ...] = get_args(Constraint)

METRICS = (
    "fairness_overall",
    "fairness_age",
    "fairness_gender",
    "fairness_dialect",
    "robustness",
    "em_textual",
    "em_spoken",
)
"""The columns of the paper's Table 1."""


class Share(NamedTuple):
    """`k` of `n`."""

    k: int
    n: int

    @property
    def value(self) -> float | None:
        """The share in [0, 1]; None of nothing."""
        return self.k / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class Measures:
    """The metrics of one system on one set of prompts.

    Attributes:
        fairness_overall: of the prompts with outcomes in both spoken splits, those whose spoken outcomes are all alike.
        fairness_age, fairness_gender: of the prompts with outcomes in the age and gender split, those for which all
            ages agree within each gender, and all genders within each age.
        fairness_dialect: of the prompts with outcomes in the accent split, those for which all accents agree.
        robustness: of the prompts counted for `fairness_overall` that have an outcome in writing, those that are fair
            and whose outcome equals the one in writing.
        em_textual: right answers among prompts in writing.
        em_spoken: right answers among spoken prompts, of both splits.
        prompts: prompts that the constraint leaves.
        incomplete: those among them that lack a voice (of the splits that occur) or the outcome in writing (if any
            prompt has one).
    """

    fairness_overall: Share
    fairness_age: Share
    fairness_gender: Share
    fairness_dialect: Share
    robustness: Share
    em_textual: Share
    em_spoken: Share
    prompts: int
    incomplete: int

    def values(self) -> dict[str, float | None]:
        """The metrics by name, each in [0, 1], None where there is nothing to count."""
        return {name: getattr(self, name).value for name in METRICS}


@dataclass(frozen=True, slots=True, eq=False)
class Prompts:
    """What is known of each prompt: arrays with one value a prompt.

    Attributes:
        task: number of the task in `tasks`.
        right, asked: spoken outcomes that are right, and all.
        accent_asked, voices_asked: outcomes in the accent split, and in the age and gender split.
        fair, fair_age, fair_gender, fair_dialect: whether no outcome differs; true where there is none.
        text: 1 right in writing, 0 wrong, -1 no outcome.
        lacking: voices that are missing, with respect to all labels that occur, and the missing outcome in writing.
    """

    tasks: tuple[str, ...]
    task: Ints
    right: Ints
    asked: Ints
    accent_asked: Ints
    voices_asked: Ints
    fair: Bools
    fair_age: Bools
    fair_gender: Bools
    fair_dialect: Bools
    text: Ints
    lacking: Ints

    @classmethod
    def of(cls, outcomes: Outcomes) -> Prompts:
        """Count each prompt's outcomes."""
        count = len(outcomes.prompts)
        accent, voices, written = (outcomes.of_split(split) for split in ("accent", "age_gender", "text"))
        right, asked = _tally(outcomes, accent | voices, outcomes.prompt, count)
        accent_right, accent_asked = _tally(outcomes, accent, outcomes.prompt, count)
        _, voices_asked = _tally(outcomes, voices, outcomes.prompt, count)
        text_right, text_asked = _tally(outcomes, written, outcomes.prompt, count)
        number = {task: at for at, task in enumerate(outcomes.tasks)}
        return cls(
            tasks=outcomes.tasks,
            task=np.array([number[task] for task, _ in outcomes.prompts], dtype=np.int64),
            right=right,
            asked=asked,
            accent_asked=accent_asked,
            voices_asked=voices_asked,
            fair=_alike(right, asked),
            fair_age=_alike_within(outcomes, voices, outcomes.gender, len(outcomes.genders)),
            fair_gender=_alike_within(outcomes, voices, outcomes.age, len(outcomes.ages)),
            fair_dialect=_alike(accent_right, accent_asked),
            text=np.where(text_asked > 0, (text_right > 0).astype(np.int64), -1),
            lacking=_lacking(outcomes, accent, voices, text_asked),
        )

    def under(self, constraint: Constraint) -> Bools:
        """Which prompts `constraint` leaves."""
        by_voice = self.right > 0
        if constraint == "none":
            return np.ones(len(self.task), dtype=np.bool_)
        return by_voice if constraint == "ca_speech" else by_voice & (self.text == 1)

    def of_task(self, task: str | None) -> Bools:
        """Which prompts belong to `task`; all for None."""
        if task is None:
            return np.ones(len(self.task), dtype=np.bool_)
        return self.task == (self.tasks.index(task) if task in self.tasks else -1)

    def measure(self, constraint: Constraint = "none", task: str | None = None) -> Measures:
        """The metrics on the prompts of `task` (all for None) that `constraint` leaves."""
        kept = self.under(constraint) & self.of_task(task)
        voices, accent = kept & (self.voices_asked > 0), kept & (self.accent_asked > 0)
        written = kept & (self.text >= 0)
        robust = self.fair & ((self.right > 0) == (self.text == 1))
        return Measures(
            fairness_overall=_share(self.fair, voices & accent),
            fairness_age=_share(self.fair_age, voices),
            fairness_gender=_share(self.fair_gender, voices),
            fairness_dialect=_share(self.fair_dialect, accent),
            robustness=_share(robust, voices & accent & written),
            em_textual=_share(self.text == 1, written),
            em_spoken=Share(int(self.right[kept].sum()), int(self.asked[kept].sum())),
            prompts=int(kept.sum()),
            incomplete=int((self.lacking[kept] > 0).sum()),
        )

    def intervals(self, measures: Measures, constraint: Constraint, task: str | None) -> dict[str, Interval]:
        """95 % intervals of the metrics: Wilson's over prompts; for spoken exact match, whose samples share prompts,
        Wilson's at the effective sample size (`stats.cluster_counts`)."""
        found = {name: wilson(*getattr(measures, name)) for name in METRICS if name != "em_spoken"}
        kept = self.under(constraint) & self.of_task(task)
        return {**found, "em_spoken": clustered(self.right[kept], self.asked[kept])}


def clustered(right: Ints, asked: Ints) -> Interval:
    """95 % interval of a share of outcomes that come in clusters: `right` of `asked` in each."""
    if asked.max(initial=0) <= 1:  # the same, sooner
        return wilson(int(right.sum()), int(asked.sum()))
    return cluster_counts(list(zip(right.tolist(), asked.tolist(), strict=True))).interval


def _share(is_so: Bools, among: Bools) -> Share:
    return Share(int((is_so & among).sum()), int(among.sum()))


def _tally(outcomes: Outcomes, chosen: Bools, key: Ints, size: int) -> tuple[Ints, Ints]:
    """How many of the chosen outcomes are right, and how many there are, for each key from 0 to size - 1."""
    asked = np.bincount(key[chosen], minlength=size)
    return np.bincount(key[chosen & outcomes.right], minlength=size), asked


def _alike(right: Ints, asked: Ints) -> Bools:
    return (right == 0) | (right == asked)


def _alike_within(outcomes: Outcomes, chosen: Bools, fixed: Ints, labels: int) -> Bools:
    """Whether outcomes are alike for each value of `fixed` (-1 is a value too), prompt by prompt."""
    count, wide = len(outcomes.prompts), labels + 1
    alike = _alike(*_tally(outcomes, chosen, outcomes.prompt * wide + fixed + 1, count * wide))
    return np.logical_and.reduce(alike.reshape(count, wide), axis=1)


def _lacking(outcomes: Outcomes, accent: Bools, voices: Bools, text_asked: Ints) -> Ints:
    count, genders = len(outcomes.prompts), len(outcomes.genders)
    cell = outcomes.age * genders + outcomes.gender
    lacking = np.zeros(count, dtype=np.int64)
    for chosen, voice, size in (
        (accent, outcomes.accent, len(outcomes.accents)),
        (voices, cell, len(outcomes.ages) * genders),
    ):
        there = np.unique(outcomes.prompt[chosen] * max(size, 1) + voice[chosen])
        lacking += size - np.bincount(there // max(size, 1), minlength=count)
    return lacking + ((text_asked == 0) if text_asked.any() else 0)


def measure_all(prompts: Prompts, tasks: Sequence[str | None]) -> dict[tuple[str | None, Constraint], Measures]:
    """The metrics for each of `tasks` (None for all) under each constraint."""
    return {(task, name): prompts.measure(name, task) for task in tasks for name in CONSTRAINTS}
