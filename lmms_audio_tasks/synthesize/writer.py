"""The data set as C3T's tasks and the hub's loader read it: parquet files with a column `audio`, a folder a task.

The files depend on their content and on the versions of pyarrow and datasets alone: no time, no host name.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_audio_tasks.c3t import SPLITS
from lmms_audio_tasks.c3t.layout import MANIFEST
from lmms_audio_tasks.errors import AudioTasksError, DataError
from lmms_audio_tasks.synthesize.tasks_input import folder_name

_GROUP_BYTES = 32 << 20
"""Bytes of audio in a row group, which is what is held in memory while writing and what a reader takes at a time."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row to write: all columns but the recording, and where that lies.

    Attributes:
        task, split: which files it goes to.
        size: of the recording in bytes.
    """

    task: str
    split: str
    fields: dict[str, Any]
    path: Path
    size: int


@dataclass(frozen=True, slots=True)
class Shard:
    """A parquet file that was written; `path` is relative to the folder of the data set."""

    path: str
    rows: int
    size: int
    sha256: str


def features() -> Any:
    """The columns of the official data, as `datasets` describes them."""
    from datasets import Audio, Features, Sequence, Value

    texts = ("sample_id", "text_prompt", "audio_prompt", "accent", "age", "gender")
    return Features(
        {
            "task_name": Value("string"),
            "task_id": Value("int64"),
            "instance_id": Value("string"),
            "sample_id": Value("string"),
            "audio": Audio(),
            **{name: Sequence(Value("string")) for name in ("answers", "options")},
            **{name: Value("string") for name in texts},
        }
    )


def write(folder: Path, rows: Sequence[Row], shard_bytes: float) -> list[Shard]:
    """Write `rows`, in their order, into `folder`, which must not exist yet.

    Raises:
        DataError: it cannot be written, e.g. as the disk is full; or a recording is not as long as it was.
    """
    shards: list[Shard] = []
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.task, row.split), []).append(row)
    try:
        for (task, split), members in sorted(groups.items(), key=lambda item: (item[0][0], SPLITS.index(item[0][1]))):
            target = folder / folder_name(task)
            target.mkdir(parents=True, exist_ok=True)
            parts = list(_parts(members, shard_bytes))
            for number, part in enumerate(parts):
                path = target / f"{split}-{number:05d}-of-{len(parts):05d}.parquet"
                _write_shard(path, part)
                digest = hashlib.sha256()
                with path.open("rb") as file:
                    while chunk := file.read(1 << 20):
                        digest.update(chunk)
                name = path.relative_to(folder).as_posix()
                shards.append(Shard(name, len(part), path.stat().st_size, digest.hexdigest()))
    except OSError as error:
        raise DataError(folder, "a folder that can be written", error.strerror or str(error)) from error
    return shards


def _parts(rows: Sequence[Row], limit: float) -> Iterator[list[Row]]:
    """`rows` in runs of at most `limit` bytes of audio, each of at least one row."""
    part: list[Row] = []
    size = 0
    for row in rows:
        if part and size + row.size > limit:
            yield part
            part, size = [], 0
        part.append(row)
        size += row.size
    if part:
        yield part


def _write_shard(path: Path, rows: Sequence[Row]) -> None:
    import pyarrow
    from pyarrow import parquet

    schema = features().arrow_schema
    with parquet.ParquetWriter(path, schema) as writer:
        for group in _parts(rows, _GROUP_BYTES):
            columns = [{**row.fields, "audio": _audio(row)} for row in group]
            writer.write_table(pyarrow.Table.from_pylist(columns, schema))


def _audio(row: Row) -> dict[str, Any]:
    content = row.path.read_bytes()
    if len(content) != row.size:
        raise DataError(row.path, f"a recording of {row.size} bytes", f"{len(content)}")
    return {"bytes": content, "path": f"{folder_name(row.fields['sample_id'])}.flac"}


# --- taking the place of an earlier set ---


def check_replaceable(folder: Path) -> None:
    """Refuse a folder of data that this command did not write, which would be lost.

    Raises:
        AudioTasksError: there is one.
    """
    if folder.exists() and not (folder / MANIFEST).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise AudioTasksError(f"{folder} holds data that `synthesize` did not write; choose another -o")


def put_in_place(new: Path, folder: Path, manifest: dict[str, Any]) -> None:
    """Complete `new` with its manifest and put it in the place of `folder`.

    Raises:
        DataError: it cannot be written.
    """
    old = folder.with_name(f".{folder.name}.old")
    try:
        text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        (new / MANIFEST).write_text(text, "utf-8")
        shutil.rmtree(old, ignore_errors=True)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise DataError(folder, "a folder that can be written", error.strerror or str(error)) from error


@contextmanager
def successor(folder: Path) -> Iterator[Path]:
    """An empty place beside `folder` to write its successor into; what cannot be finished does not stay on a full disk.

    Raises:
        DataError: it cannot be made.
    """
    new = _fresh(folder)
    try:
        yield new
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def _fresh(folder: Path) -> Path:
    """The place, empty; what a killed run left there goes."""
    new = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    if new.exists():
        raise DataError(new, "a folder that can be removed", "one that cannot")
    try:
        new.mkdir(parents=True)
    except OSError as error:
        raise DataError(new, "a folder that can be written", error.strerror or str(error)) from error
    return new


def removed(path: Path) -> None:
    """Remove a file if it is there.

    Raises:
        DataError: it cannot be removed.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(path, "a file that can be removed", error.strerror or str(error)) from error


def require_writable(folder: Path) -> None:
    """Make `folder` if need be and try to write into it.

    Raises:
        DataError: it cannot be.
    """
    probe = folder / f".write-test-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise DataError(folder, "a folder that can be written", error.strerror or str(error)) from error
