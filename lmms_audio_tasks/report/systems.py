"""Which logs a report compares: one system for each model (and its arguments), with one log a task."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.registry import UnknownNameError
from lmms_audio_tasks.report.document import Note
from lmms_audio_tasks.report.load import TaskLog

DEMO_MARK = " (demo data)"
_NAMING = ("pretrained", "model", "model_name", "model_version", "model_id")
_NO_MATTER = ("device", "device_map", "batch_size", "max_batch_size")
"""Arguments that say where and how fast a model runs, not which it is."""
_SEED = "seed"
"""The argument in which runs of one system may differ where they are averaged."""
_ARGUMENT = re.compile(r",(?=\s*[A-Za-z_]\w*=)")


@dataclass(frozen=True, slots=True)
class System:
    """A row of the tables: a model with its arguments (of one run, where all runs are shown).

    Attributes:
        label: what the report calls it; marked where its data are the demo set.
        logs: by task, of each the latest.
        runs: by task, the logs of all runs that count, the latest last.
    """

    label: str
    model: str
    model_args: str
    demo: bool
    logs: Mapping[str, TaskLog]
    runs: Mapping[str, tuple[TaskLog, ...]]

    @property
    def origin(self) -> str:
        """`demo` or `run`, as a row's key."""
        return "demo" if self.demo else "run"

    @property
    def dates(self) -> list[str]:
        """The runs its logs come from."""
        return sorted({log.run.date for log in self.logs.values()})


class Chosen(NamedTuple):
    """The systems to report on, and what was left out."""

    systems: list[System]
    notes: list[Note]


class _Key(NamedTuple):
    model: str
    arguments: tuple[str, ...]
    demo: bool
    date: str = ""


def choose(
    logs: Sequence[TaskLog],
    runs: Sequence[str] = (),
    all_runs: bool = False,
    names: Sequence[tuple[str, str]] = (),
    averaged: bool = False,
) -> Chosen:
    """Sort logs into systems: the latest run for each model and task, or each run for itself with `all_runs`.

    Demo data never stand in for real data: a model run on both gives two systems. Demo ones come last.

    Args:
        runs: starts of dates; only runs that begin with one of them count.
        averaged: keep the older runs in `System.runs`, those with another `seed` among the arguments too.
        names: pairs of a model (its label, its `--model`, or both with arguments as `model,arguments`) and a new label.

    Raises:
        UnknownNameError: a run or a name that no log has.
        AudioTasksError: a name that stands for several systems, or two systems of one label.
    """
    kept = _of_runs(logs, runs)
    grouped: defaultdict[_Key, defaultdict[str, list[TaskLog]]] = defaultdict(lambda: defaultdict(list))
    for log in kept:
        grouped[_key(log, all_runs, averaged)][log.task].append(log)
    labels = _renamed(_labels(list(grouped)), names)
    systems, older = [], set()
    for key, by_task in grouped.items():
        all_of = {task: sorted(found, key=lambda log: (log.run.date, str(log.file))) for task, found in by_task.items()}
        latest = {task: found[-1] for task, found in all_of.items()}
        counting = {task: tuple(found if averaged else found[-1:]) for task, found in all_of.items()}
        older |= {log.run.date for found in by_task.values() for log in found} - {
            log.run.date for log in latest.values()
        }
        newest = max(latest.values(), key=lambda log: log.run.date).run
        arguments = _without_seed(newest.model_args) if averaged else newest.model_args
        label = labels[key] + (DEMO_MARK if key.demo else "")
        systems.append(System(label, newest.model, arguments, key.demo, latest, counting))
    notes = [Note("older runs", f"not shown, as later ones are: {', '.join(sorted(older))}")] if older else []
    notes = [] if averaged else notes
    return Chosen(sorted(systems, key=lambda system: system.demo), notes)


def _of_runs(logs: Sequence[TaskLog], runs: Sequence[str]) -> list[TaskLog]:
    dates = sorted({log.run.date for log in logs})
    for run in runs:
        if not any(date.startswith(run) for date in dates):
            raise UnknownNameError("run", run, dates)
    return [log for log in logs if not runs or log.run.date.startswith(tuple(runs))]


def _key(log: TaskLog, all_runs: bool, averaged: bool) -> _Key:
    run = log.run
    passed_over = {*_NO_MATTER, *([_SEED] if averaged else [])}
    kept = sorted(part for part in split_arguments(run.model_args) if part.partition("=")[0] not in passed_over)
    return _Key(run.model, tuple(kept), log.demo, run.date if all_runs else "")


def split_arguments(arguments: str) -> list[str]:
    """The parts of `a=1,b=x,y,c=2`: `a=1`, `b=x,y`, `c=2`."""
    return [part.strip() for part in _ARGUMENT.split(arguments) if part.strip()]


def _without_seed(arguments: str) -> str:
    return ",".join(part for part in split_arguments(arguments) if part.partition("=")[0] != _SEED)


def _short(key: _Key) -> str:
    arguments = dict(part.partition("=")[::2] for part in key.arguments)
    return next((arguments[name] for name in _NAMING if arguments.get(name)), key.model)


def _labels(keys: Sequence[_Key]) -> dict[_Key, str]:
    """The shortest labels that tell systems apart: the model's name, then its arguments, then the run."""

    def arguments(key: _Key) -> str:
        return f"{key.model} ({', '.join(key.arguments)})" if key.arguments else key.model

    def unique(make: Sequence[str]) -> Counter[tuple[str, bool]]:
        return Counter((label, key.demo) for label, key in zip(make, keys, strict=True))

    kinds = {(key.model, key.arguments): _short(key) for key in keys}
    shorts = Counter(kinds.values())
    labels = [_short(key) if shorts[_short(key)] == 1 else arguments(key) for key in keys]
    counts = unique(labels)
    return {
        key: f"{label} [{key.date}]" if counts[label, key.demo] > 1 else label
        for key, label in zip(keys, labels, strict=True)
    }


def _renamed(labels: Mapping[_Key, str], names: Sequence[tuple[str, str]]) -> dict[_Key, str]:
    renamed = dict(labels)
    for name, label in names:
        fitting = [key for key, known in labels.items() if known == name] or [
            key for key in labels if name in (key.model, ",".join((key.model, *key.arguments)))
        ]
        if not fitting:
            raise UnknownNameError("model", name, set(labels.values()))
        if len({key.demo for key in fitting}) < len(fitting):
            told = ", ".join(labels[key] for key in fitting)
            raise AudioTasksError(f"--name {name}=...: stands for several systems: {told}; name one of them")
        renamed |= dict.fromkeys(fitting, label)
    double = [label for (label, _), count in Counter((renamed[k], k.demo) for k in renamed).items() if count > 1]
    if double:
        raise AudioTasksError(f"two systems would be called {double[0]!r}; give each a --name of its own")
    return renamed


def describe(system: System) -> dict[str, object]:
    """A system as plain JSON types: label, model, arguments, whether demo, and its runs."""
    return {
        "label": system.label,
        "model": system.model,
        "model_args": system.model_args,
        "demo": system.demo,
        "runs": sorted({log.run.date for logs in system.runs.values() for log in logs}),
        "tasks": sorted(system.logs),
    }
