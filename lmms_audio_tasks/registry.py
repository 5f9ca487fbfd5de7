"""What this plugin offers: its benchmarks, their tasks and groups. Light to import: no torch, no host, no data."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from lmms_audio_tasks.errors import AudioTasksError

BENCHMARK_MODULES = (
    "lmms_audio_tasks.sakura",
    "lmms_audio_tasks.art",
    "lmms_audio_tasks.c3t",
    "lmms_audio_tasks.have_bench",
)
"""Each module has a `BENCHMARK`."""

OWN_DATA = "a folder"
"""`TaskInfo.source` of tasks that ask the user's own data, which are not the benchmark's."""


class UnknownNameError(AudioTasksError):
    """A name that is not known, told with the nearest ones that are."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}"
        super().__init__(f"unknown {kind} {name!r}; {hint}")


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """One task as `lmms-audio-tasks tasks` lists it.

    Attributes:
        items: number of items in the full official data; None where it is not published.
        output: the host's output type.
        source: where the official data lives.
    """

    name: str
    benchmark: str
    items: int | None
    output: str
    source: str
    paper: str


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark: its tasks, its groups (a group may hold groups) and where its code for data and scores is.

    Its package `lmms_audio_tasks.<name>` has the modules `data` (`validate(task)` raises `DataError` where the source
    in force cannot serve the task), `check` (`check(source)` reports on a whole source) and `predictions`
    (`score_file(path, source)` scores a file in the official form; it may lack `write_judgements`).
    """

    name: str
    title: str
    tasks: tuple[TaskInfo, ...]
    groups: dict[str, tuple[str, ...]]
    judged: bool = False
    """Whether its authors have responses judged by a language model; such a benchmark has a module `judging` too."""

    def module(self, name: Literal["data", "check", "predictions", "judging"]) -> Any:
        """One module of the benchmark's package, imported when it is asked for."""
        return import_module(f"lmms_audio_tasks.{self.name}.{name}")


def benchmarks() -> dict[str, Benchmark]:
    """All benchmarks by name."""
    found = [import_module(module).BENCHMARK for module in BENCHMARK_MODULES]
    return {benchmark.name: benchmark for benchmark in found}


def benchmark(name: str) -> Benchmark:
    """The benchmark of that name; `UnknownNameError` with the nearest ones otherwise."""
    known = benchmarks()
    if name not in known:
        raise UnknownNameError("benchmark", name, known)
    return known[name]


def tasks() -> dict[str, TaskInfo]:
    """All tasks by name."""
    return {task.name: task for benchmark in benchmarks().values() for task in benchmark.tasks}


def groups() -> dict[str, tuple[str, ...]]:
    """All groups by name, with their direct members."""
    return {name: members for benchmark in benchmarks().values() for name, members in benchmark.groups.items()}


def expand(names: Iterable[str]) -> list[str]:
    """The tasks that `names` (tasks and groups) stand for, each once, in order; names of others are left out."""
    known_tasks, known_groups = tasks(), groups()
    found: dict[str, None] = {}
    todo = list(names)[::-1]
    while todo:
        name = todo.pop()
        if name in known_tasks:
            found[name] = None
        todo.extend(known_groups.get(name, ())[::-1])
    return list(found)


def is_ours(name: str) -> bool:
    """Whether `name` is one of this plugin's tasks or groups."""
    return name in tasks() or name in groups()


def validate(names: Iterable[str]) -> None:
    """Raise `DataError` where the data source in force cannot serve one of our tasks among `names`."""
    known_tasks, known_benchmarks = tasks(), benchmarks()
    for name in expand(names):
        known_benchmarks[known_tasks[name].benchmark].module("data").validate(name)
