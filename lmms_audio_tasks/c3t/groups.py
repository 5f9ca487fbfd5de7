"""Who is served worse: accuracy by accent, age and gender, the largest gap and its test, who flips which prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt

from lmms_audio_tasks.c3t.fairness import clustered
from lmms_audio_tasks.c3t.outcomes import Bools, Outcomes
from lmms_audio_tasks.stats import Interval, holm, mcnemar_exact

Characteristic = Literal["accent", "age", "gender", "age_gender"]
CHARACTERISTICS: tuple[Characteristic, ...] = ("accent", "age", "gender", "age_gender")
"""`accent` looks at the accent split, the others at the age and gender split; `age_gender` is each pair of the two."""

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Group:
    """Accuracy of one group of voices: `right` of `n`, and Wilson's 95 % interval.

    Where a prompt has several voices of the group (seven ages of one gender), the interval is Wilson's at the effective
    sample size, as `stats.cluster_interval` has it: outcomes on one prompt are not independent.
    """

    characteristic: Characteristic
    name: str
    right: int
    n: int
    interval: Interval

    @property
    def accuracy(self) -> float:
        """In [0, 1]; a group has at least one outcome."""
        return self.right / self.n


@dataclass(frozen=True, slots=True)
class Gap:
    """The largest gap between two groups of a characteristic.

    Attributes:
        best, worst: the groups of highest and lowest accuracy; of equals, the first by name.
        better, worse: on how many prompts the best group does better than the worst, and worse, the other
            characteristic held fixed.
        p_value: exact two-sided sign test of these; with one voice a prompt, McNemar's test.
        p_holm: corrected by Holm for all pairs of groups, of which the two with the largest gap were picked.
        pairs: how many pairs there are.
        pairs_significant: in how many of them `p_holm` is below 0.05.
    """

    characteristic: Characteristic
    best: Group
    worst: Group
    better: int
    worse: int
    p_value: float
    p_holm: float
    pairs: int
    pairs_significant: int

    @property
    def gap(self) -> float:
        """Difference of the accuracies, in [0, 1]."""
        return self.best.accuracy - self.worst.accuracy


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Counts by prompt, group and, within the group, voice: arrays of shape (prompts, groups, voices)."""

    names: tuple[str, ...]
    right: Counts
    asked: Counts


@dataclass(frozen=True, slots=True)
class Flip:
    """A prompt on which accents differ.

    Attributes:
        majority: what most accents give, `right` or `wrong`; `tie` where there are as many of each.
        right, wrong: how many accents give which.
        by: the accents that differ from the majority; in a tie those that are right.
    """

    task: str
    instance_id: str
    majority: Literal["right", "wrong", "tie"]
    right: int
    wrong: int
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AccentFlips:
    """How often an accent turns a prompt from what most accents give; `prompts` are those with a majority."""

    accent: str
    prompts: int
    to_right: int
    to_wrong: int


def grid(outcomes: Outcomes, characteristic: Characteristic, kept: Bools) -> Grid:
    """The counts of a characteristic on the prompts `kept` (one value a prompt)."""
    split = "accent" if characteristic == "accent" else "age_gender"
    chosen = outcomes.of_split(split) & kept[outcomes.prompt]
    ages, genders = len(outcomes.ages), len(outcomes.genders)
    if characteristic == "accent":
        names, group, voices, voice = outcomes.accents, outcomes.accent, 1, np.zeros_like(outcomes.accent)
    elif characteristic == "age":
        names, group, voices, voice = outcomes.ages, outcomes.age, genders, outcomes.gender
    elif characteristic == "gender":
        names, group, voices, voice = outcomes.genders, outcomes.gender, ages, outcomes.age
    else:
        names = tuple(f"{age} {gender}" for age in outcomes.ages for gender in outcomes.genders)
        group, voices, voice = outcomes.age * genders + outcomes.gender, 1, np.zeros_like(outcomes.age)
    rows = np.cumsum(kept) - 1
    shape = (int(kept.sum()), len(names), voices)
    key = (rows[outcomes.prompt] * len(names) + group) * voices + voice
    size = shape[0] * shape[1] * shape[2]
    right, asked = (np.bincount(key[rows_], minlength=size) for rows_ in (chosen & outcomes.right, chosen))
    return Grid(names, right.reshape(shape), asked.reshape(shape))


def groups(counts: Grid, characteristic: Characteristic) -> list[Group]:
    """Every group that has outcomes, in the order of the names."""
    right, asked = counts.right.sum(axis=2), counts.asked.sum(axis=2)
    return [
        Group(
            characteristic,
            name,
            int(right[:, at].sum()),
            int(asked[:, at].sum()),
            clustered(right[asked[:, at] > 0, at], asked[asked[:, at] > 0, at]),
        )
        for at, name in enumerate(counts.names)
        if asked[:, at].any()
    ]


def gap(counts: Grid, found: Sequence[Group]) -> Gap | None:
    """The largest gap between the groups `found` of `counts`; None with fewer than two."""
    if len(found) < 2:
        return None
    best = max(found, key=lambda group: group.accuracy)
    worst = min((group for group in found if group is not best), key=lambda group: group.accuracy)
    at = {name: number for number, name in enumerate(counts.names)}
    pairs = list(combinations([at[group.name] for group in found], 2))
    wins = [_wins(counts, one, other) for one, other in pairs]
    p_values = [_sign_test(*sorted(won)) for won in wins]
    corrected = holm(p_values)
    chosen = pairs.index(tuple(sorted((at[best.name], at[worst.name]))))  # type: ignore[arg-type]
    better, worse = wins[chosen] if at[best.name] < at[worst.name] else wins[chosen][::-1]
    significant = sum(p < 0.05 for p in corrected)
    return Gap(
        best.characteristic, best, worst, better, worse, p_values[chosen], corrected[chosen], len(pairs), significant
    )


def _wins(counts: Grid, one: int, other: int) -> tuple[int, int]:
    """On how many prompts group `one` has more right than `other`, and the other way round, over voices both have."""
    both = (counts.asked[:, one] > 0) & (counts.asked[:, other] > 0)
    total = np.where(both, counts.right[:, one] - counts.right[:, other], 0).sum(axis=1)
    return int((total > 0).sum()), int((total < 0).sum())


@lru_cache(maxsize=65536)
def _sign_test(fewer: int, more: int) -> float:
    return mcnemar_exact(fewer, more)


def flips(outcomes: Outcomes, kept: Bools) -> tuple[list[Flip], list[AccentFlips]]:
    """On which of the prompts `kept` accents differ, and how often each accent is the one that does."""
    counts = grid(outcomes, "accent", kept)
    asked, right = counts.asked[:, :, 0] > 0, counts.right[:, :, 0] > 0
    rights, wrongs = (right & asked).sum(axis=1), (~right & asked).sum(axis=1)
    mostly_right, tie = rights > wrongs, rights == wrongs
    differ = asked & (right != mostly_right[:, None])
    prompts = [prompt for prompt, keep in zip(outcomes.prompts, kept, strict=True) if keep]
    listed = list(_flips(prompts, counts.names, differ, tie, mostly_right, rights, wrongs))
    decided = ~tie[:, None]
    accents = [
        AccentFlips(name, int(there), int(to_right), int(to_wrong))
        for name, there, to_right, to_wrong in zip(
            counts.names,
            (asked & decided).sum(axis=0),
            (differ & decided & right).sum(axis=0),
            (differ & decided & ~right).sum(axis=0),
            strict=True,
        )
        if there
    ]
    return listed, accents


def _flips(
    prompts: Sequence[tuple[str, str]],
    accents: Sequence[str],
    differ: Bools,
    tie: Bools,
    mostly_right: Bools,
    rights: Counts,
    wrongs: Counts,
) -> Iterator[Flip]:
    for at in np.flatnonzero(differ.any(axis=1)).tolist():
        majority: Literal["right", "wrong", "tie"] = "tie" if tie[at] else "right" if mostly_right[at] else "wrong"
        by = tuple(accents[column] for column in np.flatnonzero(differ[at]).tolist())
        task, instance_id = prompts[at]
        yield Flip(task, instance_id, majority, int(rights[at]), int(wrongs[at]), by)
