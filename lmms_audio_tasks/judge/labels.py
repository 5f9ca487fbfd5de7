"""Verdicts of a judge or of people, from any of the forms they are kept in, and which of them are on the same item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import AudioTasksError, DataError
from lmms_audio_tasks.files import read_lines
from lmms_audio_tasks.judge.judgement_file import JudgementFile, read_json, read_judgements

_WORDS: dict[str, str | None] = {
    **dict.fromkeys(("correct", "right", "true", "1"), "correct"),
    **dict.fromkeys(("incorrect", "wrong", "false", "0", "none", "several"), "incorrect"),
    **dict.fromkeys(("unjudged", "undecided", "error", ""), None),
}


@dataclass(frozen=True, slots=True)
class Label:
    """One verdict.

    Attributes:
        verdict: `correct`, `incorrect`, or None where there is no usable one.
        task: this and the following fields say what was judged; "" where the file does not tell.
    """

    verdict: str | None
    task: str = ""
    item_id: str = ""
    key: str = ""
    instruction: str = ""
    response: str = ""

    @property
    def name(self) -> str:
        """How a report should call the item."""
        return " ".join(filter(None, (self.task, self.item_id or self.key))) or self.instruction


# Each gives () where the label does not tell; a response may be empty, what was asked may not.
_KEYS: tuple[tuple[str, Callable[[Label], tuple[str, ...]]], ...] = (
    ("task and item_id", lambda label: (label.task, label.item_id) if label.task and label.item_id else ()),
    ("key", lambda label: (label.key,) if label.key else ()),
    ("item_id", lambda label: (label.item_id,) if label.item_id else ()),
    ("instruction and response", lambda label: (label.instruction, label.response) if label.instruction else ()),
    ("response", lambda label: (label.response,) if label.response else ()),
)


@dataclass(frozen=True, slots=True)
class Matched:
    """Two files brought together.

    Attributes:
        by: by which fields.
        pairs: the items in both, in the order of the first file.
        only_first: how many items the second file lacks; `only_second` the other way round.
    """

    by: str
    pairs: list[tuple[Label, Label]]
    only_first: int
    only_second: int


def read_labels(path: Path) -> list[Label]:
    """Read verdicts from one of three forms.

    - A judgement file (see `judgement_file`): the key is the audio path.
    - A verdict file of this plugin (see `verdict_file`).
    - JSON lines with `verdict` (or `judgement`) and at least one of `key`, `item_id`, `instruction`, `response`; a
      `task` helps to tell items apart. The words for a verdict are `correct`, `right`, `true`, 1 and `incorrect`,
      `wrong`, `false`, 0, and this plugin's own; `none` and `several` are incorrect, `undecided`, `unjudged`, `error`
      and an empty text are no verdict.

    Raises:
        DataError: the file cannot be read, has no items, or a line has no verdict or an unknown one.
    """
    try:
        whole = read_json(path)
    except DataError as error:
        if error.expected != "JSON":
            raise
        whole = None
    if isinstance(whole, dict) and isinstance(whole.get("results"), dict):
        labels = _of_judgements(read_judgements(path))
    else:
        labels = [_label(path, number, line) for number, line in read_lines(path)]
    if not labels:
        raise DataError(path, "at least one verdict", "none")
    return labels


def _of_judgements(file: JudgementFile) -> list[Label]:
    return [
        Label(_WORDS[entry.judgement], key=key, instruction=entry.instruction, response=entry.response)
        for key, entry in file.results.items()
    ]


def _label(path: Path, number: int, line: dict[str, Any]) -> Label:
    fields = {name.casefold(): value for name, value in line.items()}
    word = fields.get("verdict", fields.get("judgement"))
    if isinstance(word, int):
        word = str(int(word))
    if not isinstance(word, str) or word.strip().casefold() not in _WORDS:
        raise DataError(path, "a verdict: correct or incorrect", repr(word), f"line {number}")
    texts = {name: str(fields.get(name) or "") for name in ("task", "item_id", "key", "instruction", "response")}
    if not any(texts[name] for name in ("item_id", "key", "instruction", "response")):
        raise DataError(path, "one of key, item_id, instruction, response", ", ".join(fields), f"line {number}")
    return Label(_WORDS[word.strip().casefold()], **texts)


def match_labels(first: Sequence[Label], second: Sequence[Label]) -> Matched:
    """Bring two files together by the first of these that both give for every item, once each, with items in common:
    task and item_id, key, item_id, instruction and response, response.

    Raises:
        AudioTasksError: there is no such field, or two verdicts on one item are on different responses.
    """
    for by, key in _KEYS:
        left, right = _by_key(first, key), _by_key(second, key)
        if left is None or right is None or not left.keys() & right.keys():
            continue
        pairs = [(label, right[name]) for name, label in left.items() if name in right]
        for a, b in pairs:
            if a.response and b.response and a.response != b.response:
                raise AudioTasksError(f"the two files judge different responses to {a.name!r}, so they do not compare")
        return Matched(by, pairs, len(left) - len(pairs), len(right) - len(pairs))
    raise AudioTasksError(
        "the two files have no items in common that could be told apart by "
        + "; by ".join(by for by, _ in _KEYS)
        + " (each must be there for every item, and only once)"
    )


def _by_key(labels: Sequence[Label], key: Callable[[Label], tuple[str, ...]]) -> dict[tuple[str, ...], Label] | None:
    keys = [key(label) for label in labels]
    if not all(keys) or max(Counter(keys).values()) > 1:
        return None
    return dict(zip(keys, labels, strict=True))
