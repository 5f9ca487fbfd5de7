"""One system's outcomes on C3T as columns of numbers: which prompt, whose voice, right or wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
RecordT = TypeVar("RecordT")

CODES = {"accent": 0, "age_gender": 1, "text": 2}
"""How `Outcomes.split` names the splits; `text` is the prompt in writing."""


class Outcome(NamedTuple):
    """One scored response. `accent`, `age` and `gender` are "" where the split does not tell voices by them."""

    task: str
    instance_id: str
    split: str
    right: bool
    accent: str = ""
    age: str = ""
    gender: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Outcomes by columns; a response that is missing has no entry.

    Attributes:
        prompts: task and instance id of each prompt, in the order in which they first came.
        accents, ages, genders: the labels, sorted; the columns below hold their numbers.
        prompt, split, right, accent, age, gender: one value an outcome; -1 where there is no label.
    """

    prompts: tuple[tuple[str, str], ...]
    accents: tuple[str, ...]
    ages: tuple[str, ...]
    genders: tuple[str, ...]
    prompt: Ints
    split: Ints
    right: Bools
    accent: Ints
    age: Ints
    gender: Ints

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Outcomes:
        """The columns of `outcomes`; none give empty columns."""
        rows = list(outcomes)
        number: dict[tuple[str, str], int] = {}
        prompt = [number.setdefault((row[0], row[1]), len(number)) for row in rows]
        split = [CODES[row[2]] for row in rows]
        accents, accent = _encode([row[4] for row in rows])
        ages, age = _encode([row[5] for row in rows])
        genders, gender = _encode([row[6] for row in rows])
        right = np.fromiter((row[3] for row in rows), dtype=np.bool_, count=len(rows))
        ints = [np.array(values, dtype=np.int64) for values in (prompt, split)]
        return cls(tuple(number), accents, ages, genders, ints[0], ints[1], right, accent, age, gender)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks, in the order in which they first came."""
        return tuple(dict.fromkeys(task for task, _ in self.prompts))

    def of_split(self, split: str) -> Bools:
        """Which outcomes belong to a split."""
        return self.split == CODES[split]


def _encode(labels: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """The distinct labels, sorted, and each label's number; "" is none and has -1."""
    names = tuple(sorted(set(labels) - {""}))
    numbers = {"": -1, **{name: number for number, name in enumerate(names)}}
    return names, np.array([numbers[label] for label in labels], dtype=np.int64)


_LABELS: Mapping[str, tuple[str, ...]] = {"accent": ("accent",), "age_gender": ("age", "gender"), "text": ()}
"""By which groups each split tells voices apart."""


def needed_groups(split: str) -> tuple[str, ...]:
    """The groups that a record of a split must have for its outcome to be told."""
    return ("task_name", "instance_id", "split", "variants", *_LABELS[split])


def outcome_of(verdict: str, groups: Mapping[str, str]) -> Outcome | None:
    """The outcome that a C3T record tells by its verdict and groups; None where the model failed on the item."""
    if verdict == "error":
        return None
    split = groups["split"]
    head = groups["task_name"], groups["instance_id"], split, verdict == "correct"
    if split == "accent":
        return Outcome(*head, groups["accent"])
    return Outcome(*head, "", groups["age"], groups["gender"]) if split == "age_gender" else Outcome(*head)


def of_record(record: Mapping[str, Any]) -> Outcome | None:
    """The same of a record as it stands in a samples file."""
    return outcome_of(record["verdict"], record["groups"])


def whole_prompts(
    records: Sequence[RecordT], groups_of: Callable[[Any], Mapping[str, str]] = itemgetter("groups")
) -> tuple[list[RecordT], int]:
    """The records of prompts that were asked in all the voices the data have of them, and how many others there are.

    The host's `--limit` cuts a task after so many documents, and may cut the last prompt apart: its voices cannot be
    compared. A prompt that lacks a voice in the data, or on some of whose voices the model failed, is whole.

    Args:
        groups_of: gives a record's groups.
    """
    keys = list(map(itemgetter("task_name", "split", "instance_id", "variants"), map(groups_of, records)))
    asked = Counter(keys)
    apart = {key for key, count in asked.items() if count < int(key[3])}
    if not apart:
        return list(records), 0
    return [record for record, key in zip(records, keys, strict=True) if key not in apart], len(apart)
