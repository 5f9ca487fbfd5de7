"""Two logs on the same items: audio against text, and model against model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from lmms_audio_tasks import stats
from lmms_audio_tasks.report.document import Column, Form, Value, decimal, p_value, with_interval
from lmms_audio_tasks.report.load import Item, TaskLog


class Pairing(NamedTuple):
    """Two logs' results on the items that both scored.

    Attributes:
        difference: a minus b.
        left_out: items that just one of them scored, or whose options or right answer differ.
    """

    difference: stats.PairedDifference
    left_out: int


def right(log: TaskLog) -> dict[str, bool]:
    """Which items were answered correctly; items on which the model failed are not in it."""
    return {
        item_id: item.record.verdict == "correct"
        for item_id, item in log.items.items()
        if item.record.verdict != "error"
    }


def given(log: TaskLog, condition: TaskLog) -> stats.Conditional:
    """Accuracy on the items that `condition` has right."""
    return stats.conditional(right(log), right(condition))


def pair(a: TaskLog, b: TaskLog, condition: TaskLog | None = None) -> Pairing:
    """Compare two logs on the items that both scored, and that `condition` has right where it is given."""
    right_a, right_b = right(a), right(b)
    allowed = None if condition is None else {item for item, correct in right(condition).items() if correct}
    wanted = {item for item in right_a.keys() | right_b.keys() if allowed is None or item in allowed}
    shared = sorted(
        item for item in wanted & right_a.keys() & right_b.keys() if _same_question(a.items[item], b.items[item])
    )
    difference = stats.paired_difference([right_a[i] for i in shared], [right_b[i] for i in shared])
    return Pairing(difference, len(wanted) - len(shared))


def _same_question(a: Item, b: Item) -> bool:
    return (a.record.golden, a.record.options) == (b.record.golden, b.record.options)


def paired_values(pairing: Pairing, names: tuple[str, str] = ("accuracy", "against_accuracy")) -> dict[str, Value]:
    """A comparison's figures, in percentage points; accuracies and difference are None where no item is shared.

    Args:
        names: of the accuracies of a and b.
    """
    found = pairing.difference
    n = found.n
    return {
        "n": n,
        "left_out": pairing.left_out,
        names[0]: 100 * (found.both + found.only_a) / n if n else None,
        names[1]: 100 * (found.both + found.only_b) / n if n else None,
        "difference": None if found.difference is None else 100 * found.difference,
        "ci_low": 100 * found.interval.low if n else None,
        "ci_high": 100 * found.interval.high if n else None,
        "only_first": found.only_a,
        "only_second": found.only_b,
        "p": found.p_value if n else None,
        "smallest_detectable": detectable(n, found.only_a + found.only_b),
    }


def paired_columns(
    difference: str, first: str, second: str, told: Callable[[Form], Form] = lambda form: form
) -> tuple[Column, ...]:
    """The columns of a comparison: difference, discordant items, p values, and what could be detected.

    Args:
        told: what is added to the difference's form.
    """
    return (
        Column(difference, "difference", form=told(with_interval("difference", "wilson", sign=True))),
        Column(first, "only_first", group="Only right"),
        Column(second, "only_second", group="Only right"),
        Column("p", "p", form=p_value("p")),
        Column("p (Holm)", "p_holm", form=p_value("p_holm")),
        Column("Detectable", "smallest_detectable", form=decimal("smallest_detectable")),
    )


def pooled(pairings: Sequence[Pairing]) -> Pairing:
    """The items of several tasks taken together as one comparison."""
    counts = (sum(getattr(p.difference, name) for p in pairings) for name in ("both", "only_a", "only_b", "neither"))
    return Pairing(stats.paired_counts(*counts), sum(pairing.left_out for pairing in pairings))


def detectable(n: int, discordant: int) -> float | None:
    """The smallest difference that so many items show with a power of 80 %, in percentage points.

    From the discordance that was seen; None where there was none, or where n is too small for any.
    """
    if not n or not discordant:
        return None
    found = stats.smallest_detectable_difference(n, discordant / n)
    return None if found is None else 100 * found


def average_values(
    pairings: Sequence[Pairing], names: tuple[str, str] = ("accuracy", "against_accuracy")
) -> dict[str, Value]:
    """The same for the plain mean over tracks, of those that have items.

    The interval recovers the mean's variance from the tracks' own intervals, as `stats.macro_average` does for single
    proportions. The p value is McNemar's on the discordant items of all tracks together, which is exact where in no
    track one side is favoured. `smallest_detectable` takes all items as one sample.
    """
    kept = [pairing for pairing in pairings if pairing.difference.n]
    if not kept:
        return paired_values(Pairing(stats.paired_difference([], []), sum(p.left_out for p in pairings)), names)
    single = [paired_values(pairing, names) for pairing in kept]
    mean, (low, high) = stats.mean_interval([(p.difference.difference or 0.0, p.difference.interval) for p in kept])
    only_a, only_b = (sum(getattr(p.difference, side) for p in kept) for side in ("only_a", "only_b"))
    n = sum(pairing.difference.n for pairing in kept)
    return {
        "n": n,
        "left_out": sum(pairing.left_out for pairing in pairings),
        **{name: _mean([values[name] for values in single]) for name in names},
        "difference": 100 * mean,
        "ci_low": 100 * low,
        "ci_high": 100 * high,
        "only_first": only_a,
        "only_second": only_b,
        "p": stats.mcnemar_exact(only_a, only_b),
        "smallest_detectable": detectable(n, only_a + only_b),
        "groups": len(kept),
    }


def _mean(values: Sequence[Value]) -> float:
    return math.fsum(float(value or 0) for value in values) / len(values)


def with_holm(by_track: Mapping[str, dict[str, Value]]) -> dict[str, dict[str, Value]]:
    """The same figures with `p_holm`, corrected over the tracks that have a p value; None for the others."""
    tested = {track: p for track, values in by_track.items() if isinstance(p := values["p"], float)}
    corrected = dict(zip(tested, stats.holm(list(tested.values())), strict=True))
    return {track: {**values, "p_holm": corrected.get(track)} for track, values in by_track.items()}
