"""ART's official prediction file (`outputs.json`): reading it, and scoring it without audio or a decoder.

Follows what the authors' README says of their `eval.py`: missing predictions count as wrong, unknown ids are ignored
with a warning, the overall accuracy is over all items together and stands on the last line.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_audio_tasks.art import FOLDERS
from lmms_audio_tasks.art.answers import judge
from lmms_audio_tasks.art.export import export_run
from lmms_audio_tasks.art.metadata import FILE, SCORED, Entry, Metadata, art_folder, first_fault, read_all
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.records import is_error
from lmms_audio_tasks.sources import Source, current
from lmms_audio_tasks.stats import wilson
from lmms_audio_tasks.strict_json import read_json, short

__all__ = ["ScoredFile", "Tally", "export_run", "read_predictions", "score_file"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tally:
    """What the predictions on some items come to, as counts.

    Attributes:
        items: all items of the data.
        predicted: those with a response.
        exact: right by the official rule.
        lenient: right by the lenient reading.
        neither: responses that assert neither answer, or both.
        yes: responses that assert yes.
        golden_yes: items whose answer is yes.
    """

    items: int = 0
    predicted: int = 0
    exact: int = 0
    lenient: int = 0
    neither: int = 0
    yes: int = 0
    golden_yes: int = 0

    def __add__(self, other: Tally) -> Tally:
        """Both sets of items together."""
        return Tally(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    @property
    def accuracy(self) -> float:
        """Right by the official rule, of all items; a missing prediction is wrong."""
        return self.exact / self.items

    def to_dict(self) -> dict[str, Any]:
        """Shares in [0, 1]: `accuracy` and `lenient` of all items, `neither` and `yes_rate` of the responses.

        Without a response the latter two are None. `ci95_*` is Wilson's interval of `accuracy`.
        """
        low, high = wilson(self.exact, self.items)
        return {
            "n": self.items,
            "predicted": self.predicted,
            "coverage": self.predicted / self.items,
            "correct": self.exact,
            "accuracy": self.accuracy,
            "ci95_low": low,
            "ci95_high": high,
            "lenient": self.lenient / self.items,
            "neither": self.neither / self.predicted if self.predicted else None,
            "yes_rate": self.yes / self.predicted if self.predicted else None,
            "golden_yes_rate": self.golden_yes / self.items,
        }


@dataclass(frozen=True, slots=True)
class ScoredFile:
    """A prediction file as scored.

    Attributes:
        tasks: by folder name, those that the data have.
        missing: the tasks that the data lack.
        unknown: how many ids of the file the data do not have.
        errors: how many responses say that the model failed; they count as missing.
    """

    source: Source
    tasks: Mapping[str, Tally]
    missing: tuple[str, ...]
    unknown: int
    errors: int

    @property
    def overall(self) -> Tally:
        """All items together."""
        return sum(self.tasks.values(), Tally())

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types: `overall_accuracy`, and the figures of `Tally.to_dict` for all items and for each task."""
        return {
            "benchmark": "art",
            "source": self.source.label,
            "demo": self.source.demo,
            "overall_accuracy": self.overall.accuracy,
            "overall": self.overall.to_dict(),
            "tasks": [{"task": name, **tally.to_dict()} for name, tally in self.tasks.items()],
            "missing_tasks": list(self.missing),
            "unknown_ids": self.unknown,
            "errors": self.errors,
        }

    def to_text(self) -> str:
        """A line a task and one for all; the last line is `overall_accuracy=0.7500`, as the official script ends."""
        note = " (demo data)" if self.source.demo else ""
        head = ("task", "n", "predicted", "coverage", "accuracy", "lenient", "neither", "yes rate")
        rows = [head, *(_cells(name, tally) for name, tally in self.tasks.items()), _cells("all", self.overall)]
        lines = [f"ART, official exact match{note}", "", *_aligned(rows), ""]
        if self.errors:
            lines.append(f"responses that say the model failed, counted as missing: {self.errors}")
        if self.unknown:
            lines.append(f"ids that the data do not have, ignored: {self.unknown}")
        if self.missing:
            lines.append(f"tasks that the data lack: {', '.join(self.missing)}")
        return "\n".join([*lines, f"overall_accuracy={self.overall.accuracy:.4f}"])


def _cells(name: str, tally: Tally) -> tuple[str, ...]:
    told = tally.to_dict()
    shares = (told[key] for key in ("coverage", "accuracy", "lenient", "neither", "yes_rate"))
    return name, str(tally.items), str(tally.predicted), *("-" if s is None else f"{s:.4f}" for s in shares)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]


def score_file(path: Path, source: Source | None = None) -> ScoredFile:
    """Score an official prediction file on the metadata of `source` (the source in force by default).

    A task folder that the data lack is left out with a warning; ids that the data do not have are ignored with one.

    Raises:
        DataError: the predictions or the metadata are missing, empty or malformed, an id or a reference is not what it
            should be (two records with one id, an answer other than yes or no), or file and data have no id in common.
    """
    source = source or current()
    predictions = read_predictions(path)
    metadata = _read_metadata(source)
    ids = {entry.instance_id for one in metadata.values() for entry in one.entries}
    unknown = len(predictions.keys() - ids)
    if unknown == len(predictions):
        found = f"none of its {unknown} ids, e.g. {short(next(iter(predictions)))}"
        raise DataError(path, f"instance ids of {art_folder(source)}", found)
    missing = tuple(name for name in FOLDERS if name not in metadata)
    if unknown:
        logger.warning("%s: %d of %d ids are not in the data and are ignored", path, unknown, len(predictions))
    if missing:
        logger.warning("%s lacks %d of %d tasks: %s", source.label, len(missing), len(FOLDERS), ", ".join(missing))
    responses = {key: response for key, response in predictions.items() if not is_error(response)}
    errors = sum(key in ids and is_error(response) for key, response in predictions.items())
    tasks = {name: _tally(one.entries, responses) for name, one in metadata.items()}
    return ScoredFile(source, tasks, missing, unknown, errors)


def _read_metadata(source: Source) -> dict[str, Metadata]:
    folder = art_folder(source)
    metadata = read_all(folder, SCORED)
    if not metadata:
        raise DataError(folder, f"task folders with {FILE}, e.g. {FOLDERS[0]}", "none of the nine")
    faults = [fault.error for one in metadata.values() for fault in one.faults]
    if faults:
        raise first_fault(faults, source)
    return metadata


def _tally(entries: Sequence[Entry], responses: Mapping[str, str]) -> Tally:
    exact = lenient = neither = yes = predicted = 0
    for entry in entries:
        response = responses.get(entry.instance_id)
        if response is None:
            continue
        golden = entry.fields["answer"]
        verdict, _, chosen = judge(response, golden)
        predicted += 1
        exact += verdict == "correct"
        lenient += chosen == golden
        neither += not chosen
        yes += chosen == "yes"
    golden_yes = sum(entry.fields["answer"] == "yes" for entry in entries)
    return Tally(len(entries), predicted, exact, lenient, neither, yes, golden_yes)


def read_predictions(path: Path) -> dict[str, str]:
    """Read `{instance_id: response}`, with at least one entry.

    Raises:
        DataError: see `score_file`; with the id at fault where it is one entry.
    """
    content = read_json(path, "a prediction file")
    if not isinstance(content, dict):
        raise DataError(path, "a JSON object of instance_id and response", short(content))
    if not content:
        raise DataError(path, "at least one prediction", "none")
    for key, response in content.items():
        if not isinstance(response, str):
            raise DataError(path, "the response to be a text", short(response), short(key))
    return content
