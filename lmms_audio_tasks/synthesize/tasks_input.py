"""Text tasks as they come in: JSON lines of our own, or BIG-Bench-Hard files as lm-evaluation-harness reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_audio_tasks.c3t import TASK_NAMES, task_named
from lmms_audio_tasks.c3t.rows import is_id, json_lines
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.strict_json import read_json, short

COLUMNS = ("task_name", "instance_id", "text_prompt", "answers", "options")
CLOSED = (frozenset({"yes", "no"}), frozenset({"valid", "invalid"}), frozenset({"true", "false"}))
"""Sets of answers that are options where a BIG-Bench-Hard task lists none."""
_LONGEST_NAME = 100
"""Bytes of a task's name. File systems take 255; the cache of `datasets` adds to the name."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One text task's instance, as read.

    Attributes:
        task: one of C3T's eleven as C3T names it, or the name as given.
        answers: at least one; each answers the prompt.
        options: all options where the prompt has some, the answers among them; else none.
        file, row: where it stood, for messages.
    """

    task: str
    instance_id: str
    text: str
    answers: tuple[str, ...]
    options: tuple[str, ...]
    file: str
    row: int

    @property
    def key(self) -> tuple[str, str]:
        """What names it: task and instance id."""
        return self.task, self.instance_id

    def fault(self, expected: str, found: str) -> DataError:
        """An error about it."""
        return DataError(self.file, expected, found, self.row)


def read(paths: Iterable[Path]) -> tuple[list[Prompt], list[DataError]]:
    """The prompts of all files, in order, and what is wrong with the other rows.

    A `.json` file is one BIG-Bench-Hard task, called as the file is; a `.jsonl` file holds rows of `COLUMNS`, of
    BIG-Bench-Hard (`input`, `target`), or the samples that lm-evaluation-harness logs (the same two under `doc`).
    """
    prompts: list[Prompt] = []
    faults: list[DataError] = []
    for path in paths:
        for found in _bbh_json(path) if path.suffix.lower() == ".json" else _lines(path):
            if isinstance(found, Prompt):
                prompts.append(found)
            else:
                faults.append(found)
    kept, double = _once(prompts)
    return kept, faults + double


def _once(prompts: Sequence[Prompt]) -> tuple[list[Prompt], list[DataError]]:
    """The prompts whose task and id come for the first time, and a fault for each other one."""
    first: dict[tuple[str, str], Prompt] = {}
    folders: dict[str, str] = {}
    faults: list[DataError] = []
    for prompt in prompts:
        before = first.setdefault(prompt.key, prompt)
        other = folders.setdefault(folder_name(prompt.task), prompt.task)
        if before is not prompt:
            told = f"{prompt.instance_id!r} of {prompt.task} again, first in {before.file}, row {before.row}"
            faults.append(prompt.fault("each instance_id of a task once", told))
        elif other != prompt.task:
            del first[prompt.key]
            faults.append(prompt.fault("task names that differ in letters or digits", f"{prompt.task!r} and {other!r}"))
    return list(first.values()), faults


def folder_name(task: str) -> str:
    """The task as folders and configurations are called: small letters, digits and underscores; "" if none is left."""
    return re.sub(r"\W+", "_", task.lower()).strip("_")


# --- JSON lines ---


def _lines(path: Path) -> Iterator[Prompt | DataError]:
    bbh: list[tuple[int, Mapping[str, Any]]] = []
    empty = True
    for number, fields in json_lines(path):
        empty = False
        if isinstance(fields, DataError):
            yield fields
            continue
        example = fields.get("doc", fields)
        if isinstance(example, dict) and "input" in example and "text_prompt" not in fields:
            bbh.append((number, example))
        else:
            yield _prompt(path, number, fields)
    if bbh:
        yield from _bbh_rows(path, bbh)
    if empty:
        yield DataError(path, "at least one task", "an empty file")


def _prompt(path: Path, number: int, fields: Mapping[str, Any]) -> Prompt | DataError:
    fault = next(_faults(fields), None)
    if fault:
        return DataError(path, *fault, number)
    task = fields["task_name"].strip()
    options = tuple(fields.get("options") or ())
    return Prompt(
        task_named(task) or task,
        str(fields["instance_id"]).strip(),
        fields["text_prompt"].strip(),
        tuple(fields["answers"]),
        options,
        str(path),
        number,
    )


def _faults(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What was expected and what was found, for each thing that is wrong with a row."""
    missing = [name for name in COLUMNS if name not in fields and name != "options"]
    extra = [name for name in fields if name not in COLUMNS]
    if missing:
        yield f"keys {', '.join(COLUMNS)}", f"no {', '.join(missing)}"
        return
    if extra:
        yield f"only the keys {', '.join(COLUMNS)}", f"also {', '.join(map(repr, extra))}"
    yield from _name_faults(fields["task_name"])
    if not is_id(fields["instance_id"]) or not _is_printable(fields["instance_id"]):
        yield "instance_id to be a text on one line or a whole number", short(fields["instance_id"])
    if not _is_text(fields["text_prompt"]):
        yield "a text_prompt that is not empty", short(fields["text_prompt"])
    answers, options = fields["answers"], [] if fields.get("options") is None else fields["options"]
    if not _are_texts(answers) or not answers:
        yield "answers to be a list of at least one text", short(answers)
    elif not _are_texts(options):
        yield "options to be a list of texts", short(options)
    elif options and not set(answers) & set(options):
        yield "an answer that is one of the options", f"{short(answers)} among {short(options)}"


def _name_faults(task: object) -> Iterator[tuple[str, str]]:
    if not _is_text(task) or not _is_printable(task) or not folder_name(str(task)):
        yield "task_name to be a text on one line with a letter or digit", short(task)
        return
    name = folder_name(str(task))
    if len(name.encode()) > _LONGEST_NAME:
        yield f"a task_name of at most {_LONGEST_NAME} bytes, as a folder is called so", short(task)
    inside = next((known for known in TASK_NAMES if f"_{known}_" in f"_{name}_"), None)
    # Readers tell tasks by the names of their files, so such a name would be taken for the C3T task.
    if inside and task_named(str(task)) is None:
        yield f"a task_name that does not go on after {inside!r}, which is a C3T task", short(task)
    if task_named(str(task)) and not str(task).isascii():
        yield "a task_name of letters a to z, or none that names a C3T task, as those alone are compared", short(task)
    if name in ("custom", "default"):
        yield "a task_name other than custom and default", short(task)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_printable(value: object) -> bool:
    """Whether names stay on one line where they are told or listed."""
    return str(value).strip().isprintable()


def _are_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_text, value))


# --- BIG-Bench-Hard ---


def _bbh_json(path: Path) -> Iterator[Prompt | DataError]:
    try:
        value = read_json(path, "a BIG-Bench-Hard task, or tasks as .jsonl")
    except DataError as fault:
        yield fault
        return
    examples = value.get("examples") if isinstance(value, dict) else value
    if not isinstance(examples, list) or not examples:
        yield DataError(path, "a list of examples with input and target", short(value))
        return
    rows = []
    for number, example in enumerate(examples, start=1):
        half = _half_character(example)
        if half:
            yield DataError(path, "whole characters", f"half a character: {half!r}", number)
        elif isinstance(example, dict):
            rows.append((number, example))
        else:
            yield DataError(path, "an example with input and target", short(example), number)
    yield from _bbh_rows(path, rows)


def _half_character(example: object) -> str:
    """The first half of a pair of surrogates in its texts without the other half, which no file takes; "" of none."""
    text = "".join(value for value in example.values() if isinstance(value, str)) if isinstance(example, dict) else ""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return text[error.start]
    return ""


def _bbh_rows(path: Path, rows: Sequence[tuple[int, Mapping[str, Any]]]) -> Iterator[Prompt | DataError]:
    """Prompts of one task's examples; the task is called as the file is, unless an example says otherwise."""
    targets = {str(example.get("target", "")).strip().lower() for _, example in rows}
    closed = next((kind for kind in CLOSED if targets and targets <= kind), frozenset())
    spelled = sorted({str(example.get("target", "")).strip() for _, example in rows})
    name = _task_of_file(path.stem)
    for number, example in rows:
        text, target = example.get("input"), example.get("target")
        if not _is_text(text) or not _is_text(target):
            wrong = {key: example.get(key) for key in ("input", "target") if not _is_text(example.get(key))}
            yield DataError(path, "an example with input and target", short(wrong), number)
            continue
        options = listed_options(str(text)) or _closed_options(closed, spelled)
        task = example.get("task_name", name)
        fields = {
            "task_name": task,
            "instance_id": example.get("instance_id", number),
            "text_prompt": text,
            "answers": [str(target).strip()],
            "options": list(options),
        }
        yield _prompt(path, number, fields)


def _task_of_file(stem: str) -> str:
    """The task in a file's name: `bbh_navigate`, `samples_leaderboard_bbh_navigate_2025-01-01T...` -> `navigate`."""
    plain = re.sub(r"_\d{4}-\d\d-\d\dT.*$", "", stem).removeprefix("samples_")
    return task_named(plain) or plain


def listed_options(text: str) -> tuple[str, ...]:
    """The options that a prompt lists after `Options:`: `(A)`, `(B)`, ... or the texts after dashes; () if none."""
    _, heading, listing = text.partition("Options:")
    if not heading:
        return ()
    letters = re.findall(r"(?m)^\s*(\([A-Z]\))\s", listing)
    return tuple(letters or (item.strip() for item in re.findall(r"(?m)^\s*-\s+(.+)$", listing)))


def _closed_options(closed: frozenset[str], spelled: Sequence[str]) -> tuple[str, ...]:
    """The options of a task that lists none but answers from a closed set, spelled as the answers are."""
    if not closed:
        return ()
    found = {target.lower(): target for target in spelled}
    pattern = spelled[0]
    return tuple(
        found.get(word, word.capitalize() if pattern[:1].isupper() else word) for word in sorted(closed, reverse=True)
    )
