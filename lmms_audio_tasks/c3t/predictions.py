"""C3T's prediction files, scored offline: no recording and no decoder is needed, only the data's text columns.

One JSON object a line: `{"sample_id", "response"}` answers a spoken prompt, `{"task_name", "instance_id", "response"}`
one in writing.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_audio_tasks.c3t import KINDS, TASK_NAMES, layout, task_named
from lmms_audio_tasks.c3t.correctness import judge
from lmms_audio_tasks.c3t.data import row_set_faults
from lmms_audio_tasks.c3t.outcomes import Outcome, Outcomes
from lmms_audio_tasks.c3t.rows import Row, is_id, json_lines
from lmms_audio_tasks.c3t.tables import tables, to_text
from lmms_audio_tasks.errors import AudioTasksError, DataError
from lmms_audio_tasks.sources import Source
from lmms_audio_tasks.strict_json import short

logger = logging.getLogger(__name__)
SPOKEN_KEYS = {"sample_id", "response"}
TEXT_KEYS = {"task_name", "instance_id", "response"}


Key = str | tuple[str, str]
"""What an answer is to: a sample id, or task and instance id."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of one task's split, or of its prompts in writing, was answered.

    Attributes:
        items: what the data have.
        answered: predictions among these, the failed ones too.
        errors: predictions that tell of a model's failure instead of answering.
    """

    task: str
    split: str
    items: int
    answered: int
    errors: int

    @property
    def missing(self) -> int:
        """Items without a prediction."""
        return self.items - self.answered

    def to_dict(self) -> dict[str, Any]:
        """As a row of plain JSON types."""
        told = {"task": self.task, "split": self.split, "items": self.items}
        return {**told, "answered": self.answered, "missing": self.missing, "errors": self.errors}


@dataclass(frozen=True, slots=True)
class ScoredFile:
    """A prediction file as scored.

    Attributes:
        system: how its rows are named: the file's name without its ending.
        source: where the data are; `demo` where they are the demo set.
        coverage: one entry a task and split that the data have, and one for each task in writing.
        unknown: predictions whose ids the data do not have; they are left out.
    """

    system: str
    source: str
    demo: bool
    outcomes: Outcomes
    coverage: tuple[Coverage, ...]
    unknown: int

    def to_dict(self) -> dict[str, Any]:
        """Every table (see `tables.tables`), the coverage, and the number of unknown ids."""
        head = {"benchmark": "c3t", "system": self.system, "source": self.source, "demo": self.demo}
        coverage = [entry.to_dict() for entry in self.coverage]
        return {**head, **tables(self.outcomes, self.system), "coverage": coverage, "unknown": self.unknown}

    def to_text(self) -> str:
        """The same for people; tables by group over all tasks only."""
        title = f"C3T, {self.system}" + (" (demo data: these scores say nothing about a model)" if self.demo else "")
        total = {kind: [entry for entry in self.coverage if entry.split == kind] for kind in KINDS}
        lines = [
            f"{kind:10}  {sum(e.answered for e in entries)} of {sum(e.items for e in entries)} answered, "
            f"{sum(e.errors for e in entries)} errors"
            for kind, entries in total.items()
            if entries
        ]
        unknown = [f"{self.unknown} predictions have ids that the data do not have"] if self.unknown else []
        notes = "Items without an answer, and errors, are left out; `incomplete` counts the prompts that lack one."
        return "\n".join([title, *lines, *unknown, notes, "", to_text(tables(self.outcomes, self.system))])


def score_file(path: Path, source: Source) -> ScoredFile:
    """Score a prediction file against the data of a local source.

    Raises:
        DataError: a line that is not a prediction, an id twice, no line at all; data that are missing or at fault.
        AudioTasksError: the source is the hub, or no prediction belongs to the data.
    """
    if source.kind == "hub":
        raise AudioTasksError("scoring C3T needs its data: name a folder with --data DIR, or --data demo")
    items = load_items(source)
    outcomes: list[Outcome] = []
    counts: Counter[tuple[str, str, str]] = Counter()
    unknown = answers = 0
    own = {row.task for row in items.values()} - set(TASK_NAMES)
    for key, response in read_predictions(path, own):
        answers += 1
        row = items.get(key)
        if row is None:
            unknown += 1
            continue
        split = row.split if isinstance(key, str) else "text"
        right = judge(response, row.answers, row.options).right
        counts[row.task, split, "answered" if right is not None else "errors"] += 1
        if right is not None:
            outcomes.append(_outcome(row, split, right))
    if unknown == answers:
        raise AudioTasksError(f"{path}: none of its {unknown} ids is in the data in {source.label}")
    if unknown:
        logger.warning("%s: %d of %d ids are not in the data; they are left out", path, unknown, answers)
    coverage = tuple(_coverage(items, counts))
    return ScoredFile(path.stem, source.label, source.demo, Outcomes.of(outcomes), coverage, unknown)


def _outcome(row: Row, split: str, right: bool) -> Outcome:
    task, instance_id = row.instance
    if split == "accent":
        return Outcome(task, instance_id, split, right, row.accent)
    if split == "age_gender":
        return Outcome(task, instance_id, split, right, "", row.age, row.gender)
    return Outcome(task, instance_id, split, right)


def _coverage(items: Mapping[Any, Row], counts: Counter[tuple[str, str, str]]) -> Iterator[Coverage]:
    sizes = Counter((row.task, row.split if isinstance(key, str) else "text") for key, row in items.items())
    for task in sorted({task for task, _ in sizes}):
        for kind in KINDS:
            if sizes[task, kind]:
                errors = counts[task, kind, "errors"]
                yield Coverage(task, kind, sizes[task, kind], counts[task, kind, "answered"] + errors, errors)


def load_items(source: Source) -> dict[Key, Row]:
    """The rows of all tasks that a local source has: by sample id, and one of each prompt by task and instance id.

    Raises:
        DataError: there are none, or the first fault in them.
    """
    folder = source.folder("c3t")
    _, found = layout.present(folder)
    rows: list[Row] = []
    for table in found:
        read = table.read(recordings=False)
        for fault in read.faults:
            raise fault
        rows += read.rows
    for fault in row_set_faults(rows):
        raise fault
    return {**{row.sample_id: row for row in rows}, **{row.instance: row for row in rows}}


def read_predictions(path: Path, own: Collection[str] = ()) -> Iterator[tuple[Key, str]]:
    """Read and check a prediction file: what each line answers, and the response.

    Args:
        own: names of tasks beside the eleven that the data have.

    Raises:
        DataError: see `score_file`.
    """
    first: dict[Key, int] = {}
    for line, fields in json_lines(path):
        if isinstance(fields, DataError):
            raise fields
        key = _key(fields, own)
        if isinstance(key, DataError):
            raise DataError(path, key.expected, key.found, f"line {line}")
        before = first.setdefault(key, line)
        if before != line:
            raise DataError(path, "each item once", f"{key!r} again, first in line {before}", f"line {line}")
        yield key, fields["response"]
    if not first:
        raise DataError(path, "at least one prediction", "an empty file")


def _key(fields: Mapping[str, Any], own: Collection[str]) -> Key | DataError:
    """What a line answers, or what is wrong with it."""
    keys = fields.keys()
    if keys != SPOKEN_KEYS and keys != TEXT_KEYS:
        expected = "keys sample_id and response, or task_name, instance_id and response"
        return DataError("", expected, ", ".join(fields) or "none")
    if not isinstance(fields["response"], str):
        return DataError("", "response to be a text", short(fields["response"]))
    name = "sample_id" if keys == SPOKEN_KEYS else "instance_id"
    if not is_id(fields[name]):
        return DataError("", f"{name} to be a text or a whole number", short(fields[name]))
    if keys == SPOKEN_KEYS:
        return str(fields[name]).strip()
    told = fields["task_name"]
    task = (task_named(told) or told.strip()) if isinstance(told, str) else ""
    if task not in (*TASK_NAMES, *own):
        return DataError("", f"task_name to be one of {', '.join([*TASK_NAMES, *sorted(own)])}", short(told))
    return task, str(fields[name]).strip()
