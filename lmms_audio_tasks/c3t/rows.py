"""C3T's rows: one spoken prompt each, read from JSONL or from the text columns of parquet files, and checked.

Audio is never read here: in JSONL it is a path, in parquet its column is left alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_audio_tasks.c3t import CUSTOM, TASK_NAMES, table_of, task_named
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.strict_json import BOM, DoubleKey, NoJson, short, strict_loads

USED = (
    "task_name",
    "instance_id",
    "sample_id",
    "text_prompt",
    "answers",
    "options",
    "accent",
    "age",
    "gender",
)
"""The text columns that a run needs."""
COLUMNS = (*USED, "audio", "task_id", "audio_prompt")
"""All columns of the official data; `audio_prompt` names what the voice was cloned from, `task_id` is not used."""
TASK_COLUMNS = ("task_name", "instance_id", "text_prompt", "answers", "options")
"""The columns that belong to the prompt and not to one voice."""

VOICE = {"accent": ("accent",), "age_gender": ("age", "gender"), "text": ()}
"""The columns that tell the voices of a prompt apart, by split."""

Fault = tuple[str, str]
"""What was expected and what was found."""


@dataclass(frozen=True, slots=True)
class Row:
    """One spoken prompt.

    Attributes:
        number: 1-based row in its file; in several parquet files of one split, in the file it stands in.
        file: the file or hub address, for messages.
        split: `accent` or `age_gender`; `text` for a prompt read without a voice.
        instance: what names the prompt: the task as this package names it, e.g. `snarks` (one that is not among the
            eleven as the data do), and the instance id.
        accent, age, gender: "" where the data have none.
        voice: what tells the voices of a prompt apart in this row's split: `(accent,)` or `(age, gender)`.
        audio: the path as JSONL gives it; "" where the recording lies in the table itself.
    """

    number: int
    file: str
    split: str
    instance: tuple[str, str]
    sample_id: str
    prompt: str
    answers: tuple[str, ...]
    options: tuple[str, ...]
    accent: str
    age: str
    gender: str
    voice: tuple[str, ...]
    audio: str = ""

    @property
    def task(self) -> str:
        """The task as this package names it."""
        return self.instance[0]

    @property
    def instance_id(self) -> str:
        """The prompt's id within its task."""
        return self.instance[1]

    def fault(self, expected: str, found: str) -> DataError:
        """An error about this row."""
        return DataError(self.file, expected, found, self.number)


class RowReader:
    """Turns the fields of rows into `Row`s; equal values of different rows are kept in memory once."""

    def __init__(self, split: str, task: str | None = None) -> None:
        """`task` is whose rows they are; with `CUSTOM` names other than the eleven are no faults."""
        self._split = split
        self._custom = task == CUSTOM
        self._kept: dict[Any, Any] = {}

    def read(self, file: str, number: int, fields: Mapping[str, Any], audio: str = "") -> Row | list[DataError]:
        """The row, or everything that is wrong with it."""
        faults = list(self._faults(fields))
        if faults:
            return [DataError(file, expected, found, number) for expected, found in faults]
        keep = self._kept.setdefault
        instance = (task_named(fields["task_name"]) or fields["task_name"].strip(), str(fields["instance_id"]).strip())
        answers, options = tuple(fields["answers"]), tuple(fields["options"] or ())
        accent, age, gender = (str(fields.get(name) or "").strip() for name in ("accent", "age", "gender"))
        voice = (accent,) if self._split == "accent" else (age, gender) if self._split == "age_gender" else ()
        voice = keep(voice, voice)
        prompt = fields["text_prompt"]
        return Row(
            number,
            keep(file, file),
            self._split,
            keep(instance, instance),
            str(fields["sample_id"]).strip(),
            keep(prompt, prompt),
            keep(answers, answers),
            keep(options, options),
            keep(accent, accent),
            keep(age, age),
            keep(gender, gender),
            voice,
            audio,
        )

    def _faults(self, fields: Mapping[str, Any]) -> Iterator[Fault]:
        if not fields.keys() >= _NEEDED:
            missing = [name for name in USED if name in _NEEDED and name not in fields]
            yield f"a column {', '.join(missing)}", f"columns {', '.join(map(str, fields)) or 'none'}"
            return
        task = fields["task_name"]
        if not _is_text(task) or (task_named(task) is None and not self._custom):
            expected = "a text" if self._custom else f"one of {', '.join(TASK_NAMES)}"
            yield f"task_name to be {expected}", short(task)
        for name in ("instance_id", "sample_id"):
            if not is_id(fields[name]):
                yield f"{name} to be a text or a whole number", short(fields[name])
        if not _is_text(fields["text_prompt"]):
            yield "a text_prompt", short(fields["text_prompt"])
        if not _are_texts(fields["answers"]) or not fields["answers"]:
            yield "answers to be a list of at least one text", short(fields["answers"])
        if fields["options"] is not None and not _are_texts(fields["options"]):
            yield "options to be a list of texts", short(fields["options"])
        for name in VOICE[self._split]:
            if not is_id(fields.get(name)):
                yield f"{name} to say whose voice it is", short(fields[name]) if name in fields else "no such column"


_NEEDED = set(USED) - {"accent", "age", "gender"}


def is_id(value: object) -> bool:
    """Whether `value` can be an id or a label: a text that is not blank, or a whole number."""
    return _is_text(value) or (isinstance(value, int) and not isinstance(value, bool))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != "" and not value.isspace()


def _are_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_text, value))


@dataclass(frozen=True, slots=True)
class Read:
    """What a file or a set of files holds: the rows that are sound, and every fault."""

    rows: tuple[Row, ...]
    faults: tuple[DataError, ...]


def read_jsonl(
    path: Path, split: str, exists: Callable[[str], str | None] | None = None, task: str | None = None
) -> Read:
    """Read a JSONL file of one split.

    Args:
        exists: says what is wrong with an `audio` path (None for nothing); left out where recordings are not needed.
        task: the task whose file it is; a row of another one is a fault. None where any may stand there.
    """
    reader = RowReader(split, task)
    rows: list[Row] = []
    faults: list[DataError] = []
    for number, fields in json_lines(path):
        if isinstance(fields, DataError):
            faults.append(fields)
            continue
        name = fields.get("audio")
        found = reader.read(str(path), number, fields, name if isinstance(name, str) else "")
        if isinstance(found, list):
            faults += found
            continue
        rows.append(found)
        problem = _audio_fault(name, exists) if exists else None
        if task is not None and table_of(found.task) != task:
            problem = f"rows of {task} only", f"one of {found.task}"
        if problem:
            faults.append(found.fault(*problem))
    if not rows and not faults:
        faults.append(DataError(path, "at least one row", "an empty file"))
    return Read(tuple(rows), tuple(faults))


def _audio_fault(name: object, exists: Callable[[str], str | None]) -> Fault | None:
    if not isinstance(name, str) or not name.strip():
        return "audio to be a path", short(name)
    problem = exists(name)
    return ("audio to be the path of a recording", problem) if problem else None


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any] | DataError]]:
    """The lines of a JSONL file with their 1-based numbers: the object, or what is wrong.

    Blank lines are passed over. Of a file that cannot be read, what is wrong is all there is.
    """
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.isspace():
                    value = _json_value(line)
                    wrong = None if isinstance(value, dict) else value if isinstance(value, str) else short(value)
                    yield number, value if wrong is None else DataError(path, _LINE, wrong, f"line {number}")
    except FileNotFoundError:
        yield 0, DataError(path, "a JSONL file", "no such file")
    except OSError as error:
        yield 0, DataError(path, "a file that can be read", error.strerror or str(error))


_LINE = "a JSON object in UTF-8"


def _json_value(line: bytes) -> Any:
    """The value; a text that says so where there is none, and for a text, which is no object either."""
    try:
        value = strict_loads(line.rstrip().decode("utf-8"))
        if b"\\ud" in line.lower():  # else there can be no half of a pair, and writing it out to see takes time
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        return f"byte 0x{line[error.start]:02x} in column {error.start + 1}"
    except UnicodeEncodeError as error:
        return f"half a character: {error.object[error.start]!r}"
    except json.JSONDecodeError as error:
        return "a byte order mark" if line.startswith(BOM) else f"{error.msg} in column {error.colno}"
    except (DoubleKey, NoJson) as error:
        return str(error)
    except ValueError:
        return "a number of more digits than Python converts"
    except RecursionError:
        return "deep nesting"
    return short(value) if isinstance(value, str) else value


def read_parquet(paths: Sequence[Path], split: str, task: str | None = None, recordings: bool = False) -> Read:
    """Read the text columns of parquet files; the audio column is not touched.

    Args:
        task: only this task's rows; None for all.
        recordings: whether there has to be an audio column.
    """
    reader = RowReader(split, task)
    rows: list[Row] = []
    faults: list[DataError] = []
    for path in paths:
        try:
            if recordings:
                with open_parquet(path, (*USED, "audio")):
                    pass
            columns = read_columns(path, USED)
        except DataError as fault:
            faults.append(fault)
            continue
        for number, fields in enumerate(in_rows(columns), start=1):
            if task is not None and table_of(str(fields["task_name"])) not in (task, CUSTOM):
                continue
            found = reader.read(str(path), number, fields)
            if isinstance(found, Row):
                rows.append(found)
            else:
                faults += found
    return Read(tuple(rows), tuple(faults))


def read_columns(path: Path, columns: Sequence[str]) -> dict[str, list[Any]]:
    """Some columns of a parquet file, as `table_columns` gives them.

    Raises:
        DataError: it is no parquet file, it lacks a column, or a text is not UTF-8.
    """
    try:
        with open_parquet(path, columns) as file:
            return table_columns(file.read(columns=list(columns), use_threads=False))
    except UnicodeDecodeError as error:
        byte = f"byte 0x{error.object[error.start]:02x} that is not"
        raise DataError(path, "a parquet file with texts in UTF-8", byte) from error


@contextmanager
def open_parquet(path: Path, columns: Sequence[str], **options: Any) -> Iterator[Any]:
    """A `pyarrow.parquet.ParquetFile` that has `columns`, to be read within the block.

    Args:
        options: what `ParquetFile` takes beside the path.

    Raises:
        DataError: it is no parquet file, it lacks a column, or what is read of it within the block is damaged.
    """
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path, **options) as file:
            there = file.schema_arrow.names
            missing = [name for name in columns if name not in there]
            if missing:
                raise DataError(path, f"column {', '.join(missing)}", f"columns {', '.join(there)}")
            yield file
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(path, "a parquet file", str(error).splitlines()[0]) from error


def in_rows(columns: Mapping[str, Sequence[Any]]) -> Iterable[dict[str, Any]]:
    """The rows of a table given by columns."""
    names = list(columns)
    return (dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True))


def table_columns(table: Any) -> dict[str, list[Any]]:
    """The columns of an Arrow table as Python lists, equal texts held once."""
    return {name: _values(table.column(name)) for name in table.column_names}


def _values(column: Any) -> list[Any]:
    import pyarrow

    if pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type):
        encoded = column.combine_chunks().dictionary_encode()
        words = encoded.dictionary.to_pylist()
        return [None if index is None else words[index] for index in encoded.indices.to_pylist()]
    return column.to_pylist()
