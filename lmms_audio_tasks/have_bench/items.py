"""`items.jsonl`: the questions of the levels perception and reasoning, read and checked line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import Any, Literal

from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.have_bench import ITEMS_FILE
from lmms_audio_tasks.have_bench.lines import json_objects, schema_faults
from lmms_audio_tasks.have_bench.media import Kind, Media
from lmms_audio_tasks.options import OptionError, parse_options
from lmms_audio_tasks.strict_json import short


@dataclass(frozen=True, slots=True)
class Item:
    """One line of `items.jsonl`; see `schema/items.schema.json` for what each field is.

    Attributes:
        line: 1-based, in the file.
        asr: None where the data have no recogniser's transcript.
    """

    line: int
    id: str
    level: Literal["perception", "reasoning"]
    role: Literal["AaI", "AaC"]
    subtask: str
    images: tuple[str, ...]
    audios: tuple[str, ...]
    question: str
    spoken: bool
    choices: tuple[str, ...]
    answer: str
    kind: Literal["mcq", "open"]
    transcript: str = ""
    asr: str | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """The choices as a model reads them, `(a) text`; empty for an open question."""
        return tuple(f"({letter}) {text}" for letter, text in zip(ascii_lowercase, self.choices, strict=False))

    @property
    def golden(self) -> str:
        """The right answer: its option as `(a) text`, or the reference of an open question."""
        return self.options[self.choices.index(self.answer)] if self.choices else self.answer

    @property
    def written(self) -> str:
        """The question with its options, as a judge is shown it."""
        return "\n".join([self.question, *self.options])


@dataclass(frozen=True, slots=True)
class Read:
    """The file as read: the items that are sound, the ids of all lines that have one, and every fault by line."""

    items: tuple[Item, ...]
    ids: dict[str, int]
    faults: tuple[DataError, ...]


def read_items(root: Path, media: Media) -> Read:
    """Read `root/items.jsonl` and check everything; what its media are checked for is up to `media`.

    Never raises for what is in the files: it is a fault in the result, the line named as `line 3`.
    """
    path = root / ITEMS_FILE
    faults: list[DataError] = []
    items: list[Item] = []
    ids: dict[str, int] = {}
    for number, value in json_objects(path):
        if isinstance(value, DataError):
            faults.append(value)
            continue
        found = schema_faults(path, number, value, "items") or list(_text_faults(path, number, value))
        faults += [*found, *_double_ids(path, number, value, ids)]
        if not found:
            items.append(_item(number, value))
    media.look((kind, name) for item in items for kind, name in media_of(item))
    bad = {item.line: list(_media_faults(path, item, media)) for item in items}
    faults += [fault for found in bad.values() for fault in found]
    faults.sort(key=lambda fault: int(str(fault.row or "line 0").split()[-1]))
    return Read(tuple(item for item in items if not bad[item.line]), ids, tuple(faults))


def media_of(item: Item) -> Iterator[tuple[Kind, str]]:
    """The files of an item, pictures first."""
    yield from (("image", name) for name in item.images)
    yield from (("audio", name) for name in item.audios)


def _item(line: int, value: dict[str, Any]) -> Item:
    lists = {name: tuple(value.get(name, ())) for name in ("images", "audios", "choices")}
    stripped = {"choices": tuple(text.strip() for text in lists["choices"]), "answer": value["answer"].strip()}
    question = {"question": value["question"].strip()}
    return Item(line=line, **{**value, **lists, **stripped, **question})


def _double_ids(path: Path, line: int, value: dict[str, Any], ids: dict[str, int]) -> Iterator[DataError]:
    name = value.get("id")
    if isinstance(name, str):
        before = ids.setdefault(name, line)
        if before != line:
            yield DataError(path, "each id once", f"{name!r} again, first in line {before}", f"line {line}")


def _text_faults(path: Path, line: int, value: dict[str, Any]) -> Iterator[DataError]:
    """What a schema cannot say of an mcq item: that its answer is a choice, and that the choices can be told apart."""
    if value["kind"] == "open":
        return
    item, row = _item(line, value), f"line {line}"
    same = _repeated([" ".join(choice.casefold().split()) for choice in item.choices])
    if same:
        yield DataError(path, "choices that differ", f"{same!r} twice or more", row)
    elif item.answer not in item.choices:
        listed = ", ".join(map(repr, item.choices))
        yield DataError(path, f"answer to be one of the choices {listed}", short(item.answer), row)
    else:
        yield from _listing_faults(path, row, item)


def _listing_faults(path: Path, row: str, item: Item) -> Iterator[DataError]:
    """Choices that a reader of the prompt would not find again, e.g. one that holds `(c)`."""
    try:
        found = [option.text for option in parse_options(item.written)]
    except OptionError as error:
        yield DataError(path, "a question and choices that can be told apart in the prompt", str(error), row)
        return
    if found != list(item.choices):
        told = f"that they read as {', '.join(map(repr, found))}"
        yield DataError(path, "choices that can be told apart in the prompt", told, row)


def _repeated(texts: Sequence[str]) -> str:
    return next((text for text in texts if texts.count(text) > 1), "")


def _media_faults(path: Path, item: Item, media: Media) -> Iterator[DataError]:
    row = f"line {item.line}"
    expected = {"image": "a picture that can be decoded", "audio": "a recording that can be decoded"}
    for kind, name in media_of(item):
        problem = media.problem(kind, name)
        if problem:
            yield DataError(path, expected[kind], problem, row)
        elif kind == "audio" and item.role == "AaI" and name in media.silent:
            yield DataError(path, "a recording with the spoken question of an AaI item", f"{name!r}: silence", row)
