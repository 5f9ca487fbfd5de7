"""A level's score: the plain mean over its subtasks, as the paper has it, told only where every answer has a verdict.

What no judge has judged is neither right nor wrong. Leaving it out would raise the score (open answers that are right
word for word need no judge), counting it as wrong would lower it: so there is no score then, but its bounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tally:
    """What some answers come to, as counts.

    Attributes:
        n: all items, the failed ones too.
        unjudged: answers without a verdict.
        errors: items on which the model failed; they are no answers and in no share.
    """

    n: int
    correct: int
    unjudged: int
    errors: int

    @classmethod
    def of(cls, verdicts: Iterable[str]) -> Tally:
        """The counts of `records.Verdict`s."""
        counts = Counter(verdicts)
        return cls(counts.total(), counts["correct"], counts["unjudged"], counts["error"])

    @property
    def answered(self) -> int:
        """Items with an answer."""
        return self.n - self.errors

    @property
    def score(self) -> float | None:
        """Share of right answers, in [0, 1]; None where an answer is unjudged, or where there is no answer."""
        return self.correct / self.answered if self.answered and not self.unjudged else None

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest that the score can be once all is judged; (0, 1) where there is no answer."""
        if not self.answered:
            return 0.0, 1.0
        return self.correct / self.answered, (self.correct + self.unjudged) / self.answered


def by_subtask(verdicts: Iterable[tuple[str, str]]) -> dict[str, Tally]:
    """The counts of each subtask, in alphabetical order, from pairs of subtask and verdict."""
    found: dict[str, list[str]] = {}
    for subtask, verdict in verdicts:
        found.setdefault(subtask, []).append(verdict)
    return {subtask: Tally.of(found[subtask]) for subtask in sorted(found)}


def level_score(subtasks: Mapping[str, Tally]) -> float | None:
    """The plain mean over the subtasks, in [0, 1]; None where a subtask has no score, or without subtasks."""
    scores = [tally.score for tally in subtasks.values()]
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known and len(known) == len(scores) else None


def level_bounds(subtasks: Mapping[str, Tally]) -> tuple[float, float]:
    """The least and the greatest that the level's score can be; (0, 1) without subtasks."""
    bounds = [tally.bounds for tally in subtasks.values()] or [(0.0, 1.0)]
    low, high = (sum(side) / len(bounds) for side in zip(*bounds, strict=True))
    return low, high
