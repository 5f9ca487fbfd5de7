"""How far a judge agrees with people, or with another judge (SAKURA, section 3.1, reports 99.5 % of 200)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_audio_tasks import stats
from lmms_audio_tasks.judge.labels import Label, Matched, match_labels, read_labels

_VERDICTS = ("correct", "incorrect")


@dataclass(frozen=True, slots=True)
class FileAgreement:
    """Two files of verdicts compared.

    Attributes:
        names: the files.
        matched: the items in both.
        compared: the pairs in which both have a verdict; all sums are over these.
    """

    names: tuple[str, str]
    matched: Matched
    compared: list[tuple[Label, Label]]

    @property
    def sums(self) -> stats.Agreement:
        """Rate, interval, kappa and confusion; rate and kappa are None where nothing can be compared."""
        first, second = ([str(pair[side].verdict) for pair in self.compared] for side in (0, 1))
        return stats.agreement(first, second)

    @property
    def table(self) -> dict[str, dict[str, int]]:
        """Counts by the first file's verdict, then the second's."""
        seen = [(a.verdict, b.verdict) for a, b in self.compared]
        return {first: {second: seen.count((first, second)) for second in _VERDICTS} for first in _VERDICTS}

    @property
    def disagreements(self) -> list[tuple[Label, Label]]:
        """The pairs that differ."""
        return [(a, b) for a, b in self.compared if a.verdict != b.verdict]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        sums = self.sums
        return {
            "labels": self.names[0],
            "judgements": self.names[1],
            "matched_by": self.matched.by,
            "n": sums.n,
            "agree": sums.agree,
            "agreement": sums.rate,
            "ci95_low": sums.interval.low,
            "ci95_high": sums.interval.high,
            "kappa": sums.kappa,
            "table": self.table,
            "without_verdict": len(self.matched.pairs) - len(self.compared),
            "only_in_labels": self.matched.only_first,
            "only_in_judgements": self.matched.only_second,
            "disagreements": [
                {
                    "item": a.name or b.name,
                    "label": a.verdict,
                    "judgement": b.verdict,
                    "instruction": a.instruction or b.instruction,
                    "response": a.response or b.response,
                }
                for a, b in self.disagreements
            ],
        }

    def to_text(self) -> str:
        """The same for people."""
        values = self.to_dict()
        lines = [f"labels      {self.names[0]}", f"judgements  {self.names[1]}"]
        lines.append(f"compared    {values['n']} items, matched by {values['matched_by']}")
        for name, told in _LEFT_OUT:
            if values[name]:
                lines.append(f"left out    {values[name]} {told}")
        if values["n"]:
            interval = f"{values['ci95_low']:.4f} to {values['ci95_high']:.4f}"
            lines.append(f"agreement   {values['agreement']:.4f}  (95 % Wilson interval {interval})")
            kappa = "undefined (both give one and the same verdict throughout)"
            lines.append(f"kappa       {kappa if values['kappa'] is None else format(values['kappa'], '.4f')}")
            lines += ["", *_table_lines(self.table)]
        lines += _disagreement_lines(values["disagreements"])
        return "\n".join(lines)


_LEFT_OUT = (
    ("without_verdict", "without a verdict in one of the two"),
    ("only_in_labels", "only in the labels"),
    ("only_in_judgements", "only in the judgements"),
)


def compare_files(labels: Path, judgements: Path) -> FileAgreement:
    """Compare two files of verdicts; see `labels.read_labels` for their forms and `match_labels` for the matching.

    Raises:
        AudioTasksError: a file cannot be read, or the two do not belong together.
    """
    return compare(read_labels(labels), read_labels(judgements), (str(labels), str(judgements)))


def compare(
    first: Sequence[Label], second: Sequence[Label], names: tuple[str, str] = ("labels", "judgements")
) -> FileAgreement:
    """Compare two lists of verdicts.

    Raises:
        AudioTasksError: see `match_labels`.
    """
    matched = match_labels(first, second)
    compared = [(a, b) for a, b in matched.pairs if a.verdict is not None and b.verdict is not None]
    return FileAgreement(names, matched, compared)


def _table_lines(table: dict[str, dict[str, int]]) -> list[str]:
    width = len("incorrect")
    head = " " * len("labels incorrect") + "".join(f"  {name:>{width}}" for name in _VERDICTS) + "  (judgements)"
    rows = [
        f"labels {first:<{width}}" + "".join(f"  {count:>{width}}" for count in counts.values())
        for first, counts in table.items()
    ]
    return [head, *rows]


def _disagreement_lines(disagreements: Sequence[dict[str, Any]]) -> list[str]:
    lines = ["", f"disagreements ({len(disagreements)})"] if disagreements else []
    for entry in disagreements:
        lines.append(f"- {entry['item']}: labels {entry['label']}, judgements {entry['judgement']}")
        if entry["response"]:
            lines.append(f"  response: {' '.join(entry['response'].split())[:300]}")
    return lines
