"""Tables of any benchmark with options: tallies, accuracy with its interval, verdicts, letters, labels.

Accuracies, shares and differences are in percent (percentage points), as the papers print them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lmms_audio_tasks import stats
from lmms_audio_tasks.records import VERDICTS, Record, Verdict, count_verdicts
from lmms_audio_tasks.report.document import Column, Row, Table, Value

Method = Literal["wilson", "paper"]
Keys = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Tally:
    """How often each verdict was given; all figures of accuracy follow from it."""

    counts: Mapping[str, int]

    @classmethod
    def of(cls, records: Iterable[Record]) -> Tally:
        """The tally of records."""
        return cls(count_verdicts(record.verdict for record in records))

    @property
    def n(self) -> int:
        """All items."""
        return sum(self.counts.values())

    @property
    def scored(self) -> int:
        """The accuracy's denominator: all but errors, which are no responses."""
        return self.n - self.counts.get("error", 0)

    @property
    def correct(self) -> int:
        """The accuracy's numerator."""
        return self.counts.get("correct", 0)


def accuracy(correct: int, n: int, method: Method) -> dict[str, Value]:
    """`n`, `correct`, `accuracy` and its interval, in percent; accuracy and interval are None for n = 0."""
    if not n:
        return {"n": 0, "correct": 0, **_interval(None, None, method)}
    return {"n": n, "correct": correct, **_interval(correct / n, stats.wilson(correct, n), method)}


def average(groups: Sequence[tuple[int, int]], method: Method) -> dict[str, Value]:
    """The plain mean over groups given as (correct, n), with its own interval; `groups` is how many have a value."""
    macro = stats.macro_average(groups)
    n, correct = sum(n for _, n in groups), sum(correct for correct, _ in groups)
    interval = None if macro.mean is None else macro.interval
    return {"n": n, "correct": correct, **_interval(macro.mean, interval, method), "groups": macro.groups}


def _interval(p: float | None, wilson: stats.Interval | None, method: Method) -> dict[str, Value]:
    """Percent. `half_width` is half the interval's length; the `paper` one is cut off at 0 and 100 after that."""
    if p is None or wilson is None:
        return dict.fromkeys(("accuracy", "ci_low", "ci_high", "half_width"))
    if method == "wilson":
        low, high = 100 * wilson.low, 100 * wilson.high
        return {"accuracy": 100 * p, "ci_low": low, "ci_high": high, "half_width": (high - low) / 2}
    half = stats.paper_half_width(100 * p, scale=100)
    return {
        "accuracy": 100 * p,
        "ci_low": max(0.0, 100 * p - half),
        "ci_high": min(100.0, 100 * p + half),
        "half_width": half,
    }


def verdict_row(keys: Keys, tally: Tally) -> Row:
    """Errors by kind: `n`, every verdict's count, and the share of each kind of not correct among scored responses."""
    shares: dict[str, Value] = {}
    for verdict in ("wrong", "none", "several", "undecided", "unjudged"):
        shares[f"{verdict}_share"] = 100 * tally.counts.get(verdict, 0) / tally.scored if tally.scored else None
    return Row(keys, {"n": tally.n, **{verdict: tally.counts.get(verdict, 0) for verdict in VERDICTS}, **shares})


_VERDICT_TITLES: Mapping[Verdict, str] = {
    "correct": "Correct",
    "wrong": "Wrong option",
    "none": "No option",
    "several": "Several options",
    "undecided": "Undecided",
    "unjudged": "Unjudged",
    "error": "Model failed",
}


def verdict_table(
    rows: Sequence[Row], first: Sequence[Column], verdicts: Mapping[Verdict, str] = _VERDICT_TITLES
) -> Table:
    """Errors by kind, of rows that `verdict_row` made.

    Args:
        first: columns that say what a line is about.
        verdicts: those that the benchmark knows, with a title each.
    """
    about = (
        "Counts. Items on which the model failed are not in the accuracy; all other kinds are in its denominator, and "
        "only the first in its numerator."
    )
    columns = (*first, Column("Items", "n"), *(Column(title, verdict) for verdict, title in verdicts.items()))
    return Table("verdicts", "Errors by kind", about, tuple(rows), columns)


def letter_rows(keys: Keys, records: Sequence[Record]) -> list[Row]:
    """How often each option's letter was chosen and how often it was right, over responses that commit to an option.

    `bias` is the total variation distance between the two distributions, in percent: the share of answers that would
    have to move to another letter; 0 is none. [] where no response commits to an option.
    """
    committed = [record for record in records if record.verdict != "error" and _letter(record.chosen)]
    if not committed:
        return []
    chosen = Counter(_letter(record.chosen) for record in committed)
    gold = Counter(_letter(record.golden) for record in committed)
    letters = sorted({*chosen, *gold, *(_letter(option) for record in committed for option in record.options)})
    total = len(committed)
    bias = 100 * sum(abs(chosen[letter] - gold[letter]) for letter in letters) / (2 * total)
    return [
        Row(
            {**keys, "letter": letter},
            {
                "n": total,
                "chosen_count": chosen[letter],
                "gold_count": gold[letter],
                "chosen_share": 100 * chosen[letter] / total,
                "gold_share": 100 * gold[letter] / total,
                "bias": bias,
            },
        )
        for letter in letters
    ]


def _letter(option: str) -> str:
    """The letter of `(a) text`; "" where there is none."""
    text = option.strip()
    return text[1].lower() if len(text) > 2 and text[0] == "(" and text[2] == ")" else ""


def option_text(option: str) -> str:
    """The text of `(a) text`, in one line."""
    text = option.strip()
    return " ".join((text[3:] if _letter(text) else text).split())


def group_rows(keys: Keys, records: Sequence[Record], group: str, method: Method, as_key: str = "label") -> list[Row]:
    """Accuracy of each value of one of the records' groups (an attribute's labels), in alphabetical order."""
    values = sorted({record.groups[group] for record in records if group in record.groups})
    rows = []
    for value in values:
        tally = Tally.of(record for record in records if record.groups.get(group) == value)
        rows.append(Row({**keys, as_key: value}, accuracy(tally.correct, tally.scored, method)))
    return rows


NO_OPTION = "no option"
OTHER = "other"


def confusion_rows(keys: Keys, records: Sequence[Record], label_of: Callable[[Record], str]) -> list[Row]:
    """Which option was chosen for which label, where options are labels themselves.

    Every label and every outcome has a row, also at 0; `share` is of the label's items, in percent. A chosen option
    that is no label counts as `OTHER`, a response that commits to none as `NO_OPTION`; errors are left out.
    """
    answered = [record for record in records if record.verdict != "error"]
    names = {label_of(record).casefold(): label_of(record) for record in answered}
    outcomes = [(label_of(record), _outcome(record.chosen, names)) for record in answered]
    counts, totals = Counter(outcomes), Counter(label for label, _ in outcomes)
    labels = sorted(totals)
    columns = labels + [extra for extra in (OTHER, NO_OPTION) if any(outcome == extra for _, outcome in outcomes)]
    return [
        Row(
            {**keys, "label": label, "chosen": column},
            {
                "n": totals[label],
                "count": counts[label, column],
                "share": 100 * counts[label, column] / totals[label],
            },
        )
        for label in labels
        for column in columns
    ]


def _outcome(chosen: str, names: Mapping[str, str]) -> str:
    if not chosen.strip():
        return NO_OPTION
    return names.get(option_text(chosen).casefold(), OTHER)
