"""What is finished so far, on disk: a FLAC file a recording and a line about it, so that a run can go on after a kill.

A file counts only with its line, and only while its size and SHA-256 are those of the line; the line is written after
the file. So whatever moment a run is killed at, what is found later is whole or is made again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.synthesize.quality import Measures

_MEASURES = {field.name for field in fields(Measures)}


@dataclass(frozen=True, slots=True)
class Made:
    """A finished recording.

    Attributes:
        key: what it was made from, see `make.Job`.
        sha256: of the file.
        size: of the file, in bytes.
        measures: as `quality.Measures.to_dict` gives them.
        attempt: which try it was, from 0.
    """

    key: str
    sha256: str
    size: int
    measures: dict[str, Any]
    attempt: int


class WorkFiles:
    """The recordings in `folder`, which is made if need be.

    Raises:
        DataError: the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._journal = folder / "clips.jsonl"
        with _writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._journal.touch()
        self._end_last_line()

    def path(self, key: str) -> Path:
        """Where the recording of that key lies, or will."""
        return path_of(self.folder, key)

    def finished(self, keys: Iterable[str]) -> dict[str, Made]:
        """Those of `keys` that are there, each file read and compared with its line."""
        wanted = set(keys)
        lines = {made.key: made for made in self._lines() if made.key in wanted}
        return {key: made for key, made in lines.items() if self._is_whole(made)}

    def add(self, key: str, content: bytes, measures: dict[str, Any], attempt: int) -> Made:
        """Keep a recording.

        Raises:
            DataError: it cannot be written, e.g. as the disk is full.
        """
        path = self.path(key)
        partial = write_part(self.folder, key, content)
        with _writing(path):
            partial.replace(path)
        made = Made(key, hashlib.sha256(content).hexdigest(), len(content), measures, attempt)
        line = {name: getattr(made, name) for name in Made.__slots__}
        with _writing(self._journal), self._journal.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(line) + "\n")
        return made

    def _lines(self) -> Iterable[Made]:
        with self._journal.open("rb") as file:
            for line in file:
                made = _made(line)
                if made is not None:
                    yield made

    def _is_whole(self, made: Made) -> bool:
        try:
            content = self.path(made.key).read_bytes()
        except OSError:
            return False
        return len(content) == made.size and hashlib.sha256(content).hexdigest() == made.sha256

    def _end_last_line(self) -> None:
        """End a line that a kill cut, or the next one would be lost with it."""
        with _writing(self._journal), self._journal.open("rb+") as file:
            if file.seek(0, 2) and (file.seek(-1, 2), file.read(1))[1] != b"\n":
                file.write(b"\n")


def path_of(folder: Path, key: str) -> Path:
    """Where the recording of that key lies in the folder of a `WorkFiles`, or will."""
    return folder / "clips" / key[:2] / f"{key}.flac"


def write_part(folder: Path, key: str, content: bytes) -> Path:
    """Write a recording that is not kept yet beside its place, and return where.

    Raises:
        DataError: it cannot be written, e.g. as the disk is full.
    """
    path = path_of(folder, key)
    partial = path.with_suffix(".part")
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content)
    return partial


def _made(line: bytes) -> Made | None:
    """The recording that a line tells of; None of a line that a kill cut or a disk damaged: it is made again."""
    try:
        made = Made(**json.loads(line))
    except (ValueError, TypeError, RecursionError):
        return None
    kinds = (made.key, str), (made.sha256, str), (made.size, int), (made.measures, dict), (made.attempt, int)
    if not all(isinstance(value, kind) for value, kind in kinds) or set(made.measures) != _MEASURES:
        return None
    # `loudness` alone may be None.
    sound = all(isinstance(made.measures[name], int | float) for name in _MEASURES - {"loudness"})
    return made if sound else None


class _writing:
    """Errors of the disk as one line with the file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise DataError(self._path, "a file that can be written", error.strerror or str(error)) from error
