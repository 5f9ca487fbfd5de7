"""C3T's data: the documents each task is asked, from a local folder or from the hub.

A document of a spoken task holds its recording as a path or as bytes that Arrow maps from disk and reads when a model
asks for them, so neither building nor scoring requests reads audio. All voices of a prompt stand together, so that the
host's `--limit` cuts at most one prompt apart.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_audio_tasks import sources
from lmms_audio_tasks.c3t import ALL_SPECS, CUSTOM, HUB_ID, SPLITS, TaskSpec, layout, table_of
from lmms_audio_tasks.c3t.rows import TASK_COLUMNS, USED, Row, RowReader, in_rows, table_columns
from lmms_audio_tasks.errors import AudioTasksError, DataError

if TYPE_CHECKING:
    from datasets import Dataset

INSTANCES_VARIABLE = "LMMS_AUDIO_TASKS_C3T_INSTANCES"


def instance_limit() -> int | None:
    """How many prompts of each task are asked, each with all its voices; None for all.

    Raises:
        AudioTasksError: `LMMS_AUDIO_TASKS_C3T_INSTANCES` is not a whole number of at least 1.
    """
    value = os.environ.get(INSTANCES_VARIABLE, "").strip()
    if not value:
        return None
    if not re.fullmatch(r"[1-9][0-9]*", value):
        raise AudioTasksError(f"{INSTANCES_VARIABLE} must be a whole number of at least 1, not {value!r}")
    return int(value)


def validate(task: str) -> None:
    """Raise `AudioTasksError` where the source in force cannot serve `task`; the hub is left to the host.

    Everything is checked save that recordings decode, which `lmms-audio-tasks check c3t` does.
    """
    instance_limit()
    source = sources.current()
    spec = ALL_SPECS[task]
    if source.kind != "hub":
        load_rows(source, spec)
    elif spec.custom:
        raise hub_has_none(spec)


def hub_has_none(spec: TaskSpec) -> AudioTasksError:
    """The error for a task of the user's own that is asked without the folder it lies in."""
    return AudioTasksError(f"{spec.name} asks tasks of your own: say where they are with --audio_data DIR")


def load_rows(source: sources.Source, spec: TaskSpec) -> list[Row]:
    """The rows behind a task of a local source, free of faults and in the order they are asked.

    For a text task these are the rows of both spoken splits, one of each prompt.

    Raises:
        DataError: the first fault, with the number of further ones.
    """
    folder = source.folder("c3t")
    rows: list[Row] = []
    faults: list[DataError] = []
    for table in _tables(folder, spec):
        read = table.read(recordings=not spec.text)
        rows += read.rows
        faults += read.faults
    faults += row_set_faults(rows)
    if faults:
        first, more = faults[0], len(faults) - 1
        listing = f" (and {more} more: `lmms-audio-tasks check c3t --data {source.label}` lists all)" if more else ""
        raise DataError(first.file, first.expected, first.found + listing, first.row)
    return _chosen(rows, spec)


def _tables(folder: Path, spec: TaskSpec) -> list[layout.Table]:
    """The files behind a task; a text task makes do with one of the two splits."""
    if not spec.text:
        return [layout.find(folder, spec.task_name, spec.kind)]
    return layout.tables(folder, [spec.task_name]) or [layout.find(folder, spec.task_name, SPLITS[0])]


def row_set_faults(rows: Iterable[Row]) -> list[DataError]:
    """What is wrong between rows: an id twice, a voice of a prompt twice, a prompt that is not the same throughout."""
    samples: dict[str, Row] = {}
    voices: dict[tuple[str, ...], Row] = {}
    prompts: dict[tuple[str, str], Row] = {}
    faults = []
    for row in rows:
        first = samples.setdefault(row.sample_id, row)
        if first is not row:
            faults.append(row.fault("each sample_id once", f"{row.sample_id!r} again, first in {_place(first, row)}"))
        voice = (row.split, *row.instance, *row.voice)
        first = voices.setdefault(voice, row)
        if first is not row and first.sample_id != row.sample_id:
            faults.append(
                row.fault("each voice of a prompt once", f"{_voice(row)} again, first in {_place(first, row)}")
            )
        first = prompts.setdefault(row.instance, row)
        if first is row or (first.prompt, first.answers, first.options) == (row.prompt, row.answers, row.options):
            continue
        for name in ("prompt", "answers", "options"):
            if getattr(first, name) != getattr(row, name):
                name = "text_prompt" if name == "prompt" else name
                faults.append(row.fault(f"the {name} of instance {row.instance_id} in {_place(first, row)}", "another"))
    return faults


def _voice(row: Row) -> str:
    return f"instance {row.instance_id}, {', '.join(row.voice)}"


def _place(first: Row, row: Row) -> str:
    return f"row {first.number}" if first.file == row.file else f"{first.file}, row {first.number}"


def natural(name: str) -> tuple[Any, ...]:
    """A sort key that puts `9` before `10` and `x9` before `x10`."""
    # Compared by length and digits: Python converts no text of thousands of digits.
    return tuple(
        (0, len(part.lstrip("0")), part.lstrip("0")) if part.isdecimal() else (1, 0, part)
        for part in re.findall(r"\d+|\D+", name)
    )


def _chosen(rows: Iterable[Row], spec: TaskSpec) -> list[Row]:
    """The rows in the order they are asked: the first instances, all voices of each together; in text each once."""
    rows = list({row.instance: row for row in reversed(list(rows))}.values()) if spec.text else list(rows)
    by_task: dict[str, set[str]] = {}
    for row in rows:
        by_task.setdefault(row.task, set()).add(row.instance_id)
    asked = [
        (task, instance)
        for task, instances in sorted(by_task.items())
        for instance in sorted(instances, key=natural)[: instance_limit()]
    ]
    place = {instance: number for number, instance in enumerate(asked)}
    kept = [row for row in rows if row.instance in place]
    return sorted(kept, key=lambda row: (place[row.instance], row.accent, row.age, row.gender, row.sample_id))


def local_dataset(source: sources.Source, spec: TaskSpec) -> Dataset:
    """The documents of a task whose recordings are files, or that needs none (text)."""
    from datasets import Audio, Dataset

    rows = load_rows(source, spec)
    dataset = Dataset.from_dict(_columns(rows, spec, source.label, source.demo), features=_features())
    if spec.text:
        return dataset
    folder = source.folder("c3t")
    dataset = dataset.add_column("audio", [str(folder / row.audio) for row in rows])
    # Undecoded: the host's `datasets` decodes through torchcodec, which needs FFmpeg's libraries.
    return dataset.cast_column("audio", Audio(decode=False))


def table_dataset(dataset: Dataset, spec: TaskSpec, label: str, demo: bool = False) -> Dataset:
    """The documents of a spoken task from a data set with the hub's columns; its recordings stay where they lie.

    Args:
        label: how rows name where they come from.

    Raises:
        DataError: a column is missing, or a row is at fault.
    """
    from datasets import Audio, Dataset, concatenate_datasets

    missing = [name for name in (*USED, "audio") if name not in dataset.column_names]
    if missing:
        raise DataError(label, f"column {', '.join(missing)}", f"columns {', '.join(dataset.column_names)}")
    texts = table_columns(dataset.select_columns(list(USED)).data)
    rows = _sound_rows(in_rows(texts), spec, label)
    place = {row.number - 1: row for row in rows}
    order = _chosen(rows, spec)
    # Beside each other first, ordered then: the other way round the recordings would be copied to bring them in line.
    columns = _columns([place.get(number, rows[0]) for number in range(len(dataset))], spec, label, demo, of=rows)
    documents = Dataset.from_dict(columns, features=_features())
    recordings = dataset.select_columns(["audio"]).cast_column("audio", Audio(decode=False))
    return concatenate_datasets([documents, recordings], axis=1).select([row.number - 1 for row in order])


def _sound_rows(all_fields: Iterable[Mapping[str, Any]], spec: TaskSpec, label: str) -> list[Row]:
    """The rows of the task; raises the first fault."""
    reader, rows = RowReader(spec.kind, spec.task_name), []
    for number, fields in enumerate(all_fields, start=1):
        if table_of(str(fields["task_name"])) not in (spec.task_name, CUSTOM):
            continue
        found = reader.read(label, number, fields)
        if isinstance(found, list):
            raise found[0]
        rows.append(found)
    for fault in row_set_faults(rows):
        raise fault
    if not rows:
        raise DataError(label, f"rows of {spec.task_name}", "none")
    return rows


def hub_text_dataset(spec: TaskSpec, revision: str | None) -> Dataset:
    """The documents of a text task from the hub: its text columns alone are streamed, no recording is downloaded."""
    from datasets import load_dataset

    def stream(split: str) -> Iterable[Mapping[str, Any]]:
        return load_dataset(
            HUB_ID, spec.hub_config, split=split, revision=revision, streaming=True, columns=list(TASK_COLUMNS)
        )

    return text_dataset({split: stream(split) for split in SPLITS}, spec, f"hub:{HUB_ID}@{revision}")


def text_dataset(splits: Mapping[str, Iterable[Mapping[str, Any]]], spec: TaskSpec, label: str) -> Dataset:
    """The documents of a text task from the prompt's own columns of the spoken splits.

    Raises:
        DataError: a row is at fault.
    """
    from datasets import Dataset

    rows: dict[tuple[str, str], Row] = {}
    for split, all_fields in splits.items():
        reader = RowReader("text")
        for number, fields in enumerate(all_fields, start=1):
            found = reader.read(f"{label}, {split}", number, {**fields, "sample_id": f"{split} {number}"})
            if isinstance(found, list):
                raise found[0]
            if found.task == spec.task_name:
                rows.setdefault(found.instance, found)
    ordered = _chosen(rows.values(), spec)
    return Dataset.from_dict(_columns(ordered, spec, label, demo=False), features=_features())


def _columns(
    rows: Sequence[Row], spec: TaskSpec, source: str, demo: bool, of: Sequence[Row] | None = None
) -> dict[str, list[Any]]:
    """The documents of `rows` by columns; `of` are the rows of the whole task where `rows` is not that."""
    whole = rows if of is None else of
    variants = Counter(row.instance for row in whole)
    answers: dict[str, set[str]] = {}
    for row in whole:
        answers.setdefault(row.task, set()).update(row.answers)
    guesses = {task: sorted(given, key=natural) for task, given in answers.items()}
    return {
        "item_id": [f"{r.task}/{spec.kind}/{r.instance_id if spec.text else r.sample_id}" for r in rows],
        "task": [spec.name] * len(rows),
        "task_name": [row.task for row in rows],
        "split": [spec.kind] * len(rows),
        "modality": ["text" if spec.text else "audio"] * len(rows),
        "instance_id": [row.instance_id for row in rows],
        "sample_id": ["" if spec.text else row.sample_id for row in rows],
        "accent": ["" if spec.text else row.accent for row in rows],
        "age": ["" if spec.text else row.age for row in rows],
        "gender": ["" if spec.text else row.gender for row in rows],
        "variants": [1 if spec.text else variants[row.instance] for row in rows],
        "text_prompt": [row.prompt for row in rows],
        # What is given in writing: a spoken prompt is whole as it is spoken.
        "prompt": [row.prompt if spec.text else "" for row in rows],
        "answer": [row.answers[0] for row in rows],
        "answers": [list(row.answers) for row in rows],
        "options": [list(row.options) for row in rows],
        # What one who only guesses picks from: the options, or all answers of a task that lists none.
        "choices": [list(row.options) or guesses[row.task] for row in rows],
        "source": [source] * len(rows),
        "demo": [demo] * len(rows),
    }


_TEXTS = ("item_id", "task", "task_name", "split", "modality", "instance_id", "sample_id", "accent", "age", "gender")
_LISTS = ("answers", "options", "choices")


def _features() -> Any:
    """The documents' columns; told to `datasets`, which could not guess the type of lists that are all empty."""
    from datasets import Features, Sequence, Value

    texts = dict.fromkeys((*_TEXTS, "text_prompt", "prompt", "answer", "source"), Value("string"))
    lists = dict.fromkeys(_LISTS, Sequence(Value("string")))
    return Features({**texts, **lists, "variants": Value("int32"), "demo": Value("bool")})


def hub_label(dataset: Dataset, source: sources.Source) -> str:
    """How records name the hub's data: its id, and the commit it served as the download addresses tell it."""
    for address in dataset.info.download_checksums or {}:
        found = re.search(r"@([0-9a-f]{40})/", address)
        if found:
            return f"hub:{HUB_ID}@{found[1]}"
    return f"hub:{HUB_ID}@{source.revision or 'unknown'}"
