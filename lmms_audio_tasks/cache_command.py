"""The command `lmms-audio-tasks cache`: what is kept between runs, where, how large, and away with it."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_audio_tasks.cache import CACHE_VARIABLE, cache_root
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.judge.settings import JudgeSettings
from lmms_audio_tasks.registry import UnknownNameError

KINDS: Mapping[str, str] = {
    "answers": "models' answers, by model and settings",
    "transcripts": "speech recognition's, by recogniser and settings",
    "captions": "audio captioners', by captioner and settings",
    "judge": "LLM judge's verdicts",
    "audio": "recordings written out of tables",
    "models": "converted weights of preset=demo",
}
"""What is kept, by the name that `--clear` takes; each is a folder of that name, save the judge's file."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One kind on disk.

    Attributes:
        kind: its name; for what is in the folder and none of `KINDS`, the file's.
        paths: the files or folders it consists of, whether they are there or not.
        files: how many files there are.
        bytes: their size together.
    """

    kind: str
    what: str
    paths: tuple[Path, ...]
    files: int
    bytes: int

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {"kind": self.kind, "path": str(self.paths[0]), "files": self.files, "bytes": self.bytes}


def look(root: Path) -> list[Kept]:
    """All of `KINDS` in their order, then whatever else lies in `root`, which need not be there.

    Raises:
        AudioTasksError: the judge's settings in the environment cannot be used.
    """
    found = [_kept(kind, what, _paths(root, kind)) for kind, what in KINDS.items()]
    known = {path for kept in found for path in kept.paths}
    others = sorted(path for path in root.iterdir() if path not in known) if root.is_dir() else []
    return [*found, *(_kept(path.name, "not one of the kinds above", (path,)) for path in others)]


def clear(root: Path, kind: str) -> Kept:
    """Delete one of `KINDS`; nothing else may be using it. Returns what it was.

    Raises:
        UnknownNameError: no such kind.
        DataError: it cannot be deleted.
    """
    if kind not in KINDS:
        raise UnknownNameError("kind of cache", kind, list(KINDS))
    kept = _kept(kind, KINDS[kind], _paths(root, kind))
    for path in kept.paths:
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise DataError(path, "something that can be deleted", error.strerror or str(error)) from error
    return kept


def _paths(root: Path, kind: str) -> tuple[Path, ...]:
    if kind != "judge":
        return (root / kind,)
    # SQLite keeps two files beside its own while it is open, and after a kill.
    file = JudgeSettings.from_environment().cache or root / "judge.sqlite3"
    return (file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm"))


def _kept(kind: str, what: str, paths: tuple[Path, ...]) -> Kept:
    sizes = [
        file.lstat().st_size
        for path in paths
        for file in ([path] if path.is_file() else path.rglob("*"))
        if file.is_file()
    ]
    return Kept(kind, what, paths, len(sizes), sum(sizes))


def add_parser(commands: Any) -> None:
    """Add `cache` to the subparsers action `commands`; it sets `run`, which gives the exit code."""
    parser = commands.add_parser(
        "cache",
        help="show what is kept between runs, and clear it",
        description="Show what is kept between runs. All of it is made again when it is missing, at a price.",
    )
    parser.add_argument("--dir", type=Path, help=f"the folder; default: {CACHE_VARIABLE}, else ~/.cache/...")
    parser.add_argument(
        "--clear", action="append", default=[], metavar="KIND", help=f"delete one of: {', '.join(KINDS)}; repeatable"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command that `add_parser` parsed; 0.

    Raises:
        AudioTasksError: see `look` and `clear`.
    """
    root = cache_root() if arguments.dir is None else arguments.dir.expanduser().absolute()
    for kind in arguments.clear:
        if kind not in KINDS:  # before anything is deleted
            raise UnknownNameError("kind of cache", kind, list(KINDS))
    cleared = [clear(root, kind) for kind in dict.fromkeys(arguments.clear)]
    found = look(root)
    if arguments.format == "json":
        told = {"path": str(root), "kept": [kept.to_dict() for kept in found]}
        print(json.dumps({**told, "cleared": [kept.to_dict() for kept in cleared]}, indent=2))  # noqa: T201
        return 0
    lines = [f"cleared {kept.kind}: {kept.files} files, {_size(kept.bytes)}" for kept in cleared]
    lines += [str(root)]
    lines += [f"  {kept.kind:<12} {kept.files:>7} files {_size(kept.bytes):>9}  {_where(kept, root)}" for kept in found]
    print("\n".join(lines))  # noqa: T201
    return 0


def _where(kept: Kept, root: Path) -> str:
    path = kept.paths[0]
    return kept.what if path.parent == root else f"{kept.what}: {path}"


def _size(count: int) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count = count / 1000  # type: ignore[assignment]
    return f"{count:.1f} GB"
