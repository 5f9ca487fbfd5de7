"""Where a local folder keeps C3T: `<task>/{accent,age_gender}.jsonl`, or parquet files as the hub has them.

Tasks that are not among the eleven lie in parquet files too, or all together in `custom/{accent,age_gender}.jsonl`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lmms_audio_tasks.c3t import CUSTOM, SPLITS, TASK_NAMES, table_of
from lmms_audio_tasks.c3t.rows import Read, read_columns, read_jsonl, read_parquet
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.strict_json import read_json, short

MANIFEST = "synthesized.json"
"""Written into `DIR/c3t` by `lmms-audio-tasks synthesize`; says under `tasks` and `splits` which ones it has."""


@dataclass(frozen=True, slots=True)
class Table:
    """The files of one task's split.

    Attributes:
        paths: one JSONL file, or any number of parquet files, which may hold other tasks too.
    """

    folder: Path
    task: str
    split: str
    paths: tuple[Path, ...]

    @property
    def parquet(self) -> bool:
        """Whether it is parquet, which holds the recordings themselves."""
        return self.paths[0].suffix == ".parquet"

    def read(self, recordings: bool) -> Read:
        """The rows of the task; that there are none is a fault too.

        Args:
            recordings: whether recordings that JSONL names, or parquet's audio column, have to exist.
        """
        if self.parquet:
            read = read_parquet(self.paths, self.split, self.task, recordings)
            none = DataError(self.paths[0], f"rows of {self.task}", "none")
            return read if read.rows or read.faults else Read((), (none,))
        return read_jsonl(self.paths[0], self.split, self.missing_recording if recordings else None, self.task)

    def missing_recording(self, name: str) -> str | None:
        """What is wrong with a path that JSONL gives, None for nothing; the recording is not opened."""
        path = Path(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name:
            return f"{short(name)}, which does not lie in {self.folder}"
        try:
            size = (self.folder / path).stat().st_size
        except (OSError, ValueError):  # ValueError: a NUL in the path
            return f"{short(name)}, but there is no such file in {self.folder}"
        return None if size else f"{short(name)}, a file of zero bytes"


def find(folder: Path, task: str, split: str) -> Table:
    """The files of one task's split in `folder` (`DIR/c3t`): JSONL, else parquet of the task, else parquet of all.

    Raises:
        DataError: there are none.
    """
    table = _jsonl(folder, task, split) or _parquet(folder, _parquet_files(folder), task, split)
    if table is None:
        inside = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))[:6]
        found = f"only {', '.join(inside)}" if inside else "an empty folder"
        raise DataError(folder, f"{task}/{split}.jsonl, or parquet files of that split", found)
    return table


def expected(folder: Path) -> tuple[tuple[str, str], ...]:
    """The splits of tasks that `folder` should have: those that it lists where it was synthesized, else the eleven's.

    Tasks of the user's own that were not synthesized may have either split, and may be without the eleven.

    Raises:
        DataError: its list, or a parquet file, cannot be read.
    """
    path = folder / MANIFEST
    if path.is_file():
        return _listed(path)
    eleven = tuple((task, split) for task in TASK_NAMES for split in SPLITS)
    own = {split for split in SPLITS if _jsonl(folder, CUSTOM, split)}
    if not own and not all(_jsonl(folder, *key) for key in eleven):
        own = {table.split for table in tables(folder, [CUSTOM])}
    if not own:
        return eleven
    return (*(eleven if tables(folder) else ()), *((CUSTOM, split) for split in SPLITS if split in own))


def _listed(path: Path) -> tuple[tuple[str, str], ...]:
    told = read_json(path, "what was synthesized")
    if not isinstance(told, dict):
        raise DataError(path, "tasks and splits", repr(told))
    names, splits = told.get("tasks"), told.get("splits", list(SPLITS))
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise DataError(path, "a list of texts under tasks", repr(names))
    if not isinstance(splits, list) or not splits or not all(split in SPLITS for split in splits):
        raise DataError(path, f"a list of {' and '.join(SPLITS)} under splits", repr(splits))
    found = {table_of(name) for name in names}
    tasks = [task for task in (*TASK_NAMES, CUSTOM) if task in found]
    return tuple((task, split) for task in tasks for split in SPLITS if split in splits)


def present(folder: Path) -> tuple[tuple[tuple[str, str], ...], list[Table]]:
    """What `folder` should have (see `expected`), and the files of these tasks that it has, one at least.

    Raises:
        DataError: it is missing, has no file of C3T, or a file of it cannot be read.
    """
    wanted = expected(folder)
    found = tables(folder, list(dict.fromkeys(task for task, _ in wanted)))
    if not found:
        find(folder, *wanted[0])  # raises, and says what is there instead
    return wanted, found


def tables(folder: Path, tasks: Sequence[str] = TASK_NAMES) -> list[Table]:
    """The files of both splits of `tasks`, as far as `folder` has them.

    Raises:
        DataError: a parquet file cannot be read.
    """
    keys = [(task, split) for task in tasks for split in SPLITS]
    jsonl = {key: _jsonl(folder, *key) for key in keys}
    # Looked for only where needed: JSONL may come with a hundred thousand recordings to look through.
    files = [] if all(jsonl.values()) else _parquet_files(folder)
    found = [jsonl[key] or _parquet(folder, files, *key) for key in keys]
    return [table for table in found if table is not None]


def _jsonl(folder: Path, task: str, split: str) -> Table | None:
    path = folder / task / f"{split}.jsonl"
    try:
        return Table(folder, task, split, (path,)) if path.is_file() else None
    except OSError as error:
        raise DataError(path, "a file that can be read", error.strerror or str(error)) from error


def _parquet(folder: Path, files: list[Path], task: str, split: str) -> Table | None:
    mine = [path for path in files if _split_of(path.relative_to(folder)) == split]
    own = [path for path in mine if _task_of(path.relative_to(folder)) == task]
    shared = [path for path in mine if _task_of(path.relative_to(folder)) is None]
    paths = own or [path for path in shared if task in _tasks_in(path, *_stamp(path))]
    return Table(folder, task, split, tuple(paths)) if paths else None


def _parquet_files(folder: Path) -> list[Path]:
    """All parquet files, in linked folders too, save in hidden ones such as `.cache`, where `hf download` keeps notes.

    Raises:
        DataError: a folder cannot be read.
    """

    def refuse(error: OSError) -> None:
        raise DataError(error.filename, "a folder that can be read", error.strerror or str(error)) from error

    found: list[Path] = []
    seen: set[Path] = set()  # a link may lead back up
    for place, folders, files in os.walk(folder, onerror=refuse, followlinks=True):
        real = Path(place).resolve()
        folders[:] = [name for name in folders if not name.startswith(".") and real not in seen]
        if real not in seen:
            found += [Path(place, name) for name in files if name.endswith(".parquet") and not name.startswith(".")]
        seen.add(real)
    return sorted(found)


def _plain(path: Path | str) -> str:
    return f"_{re.sub(r'[^a-z0-9]+', '_', str(path).lower()).strip('_')}_"


def _split_of(path: Path) -> str | None:
    """The split that the file's name tells (`accent-00000-of-12.parquet`), else its folders' (`accent/0.parquet`)."""
    for name in (path.name, path.parent):
        found = [split for split in SPLITS if f"_{split}_" in _plain(name)]
        if found:
            return found[0]
    return None


def _task_of(path: Path) -> str | None:
    """The task that the path tells; None for files of the configuration `default`, which has all tasks."""
    plain = _plain(path)
    return next((task for task in TASK_NAMES if f"_{task}_" in plain), None)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except OSError as error:  # a link into a hub cache that was cleared
        raise DataError(path, "a parquet file", error.strerror or str(error)) from error
    return stat.st_size, stat.st_mtime_ns


@lru_cache(maxsize=4096)
def _tasks_in(path: Path, _size: int, _changed: int) -> frozenset[str]:
    """The tasks that a parquet file has rows of."""
    names = set(map(str, read_columns(path, ["task_name"])["task_name"]))
    return frozenset(map(table_of, names))
