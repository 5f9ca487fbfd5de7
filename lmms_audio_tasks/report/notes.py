"""What a reader must know before trusting the tables: what is missing, failed, unjudged, demo, or mixed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from lmms_audio_tasks import registry
from lmms_audio_tasks.records import Verdict
from lmms_audio_tasks.report import settings
from lmms_audio_tasks.report.document import Note
from lmms_audio_tasks.report.load import TaskLog
from lmms_audio_tasks.report.systems import System

DEMO = Note("demo", "Demo data: scores marked so are of the shipped demo set and say nothing about a model.")

_COUNTED: tuple[tuple[Verdict, str], ...] = (
    ("unjudged", "have no usable verdict; they stay in the denominator as not correct; run the judge again"),
    ("error", "failed in the model; they are not in the accuracy"),
    ("undecided", "are undecided by the rules and count as not correct; a judge could settle them (--judge hybrid)"),
)

_OPEN = (
    "have no usable verdict, so that the scores they belong to are told by their bounds alone; run the judge again, "
    "and of interaction the task"
)

# What must be the same in all cells: its name, and how it reads.
_SAME_EVERYWHERE: tuple[tuple[str, Callable[[TaskLog], Any]], ...] = (
    ("data sources", settings.data_kind),
    ("judge settings", settings.judge_but_prompts),
    ("task versions", settings.task_version),
    ("generation settings", settings.generation),
)
# What differs from task to task, and must be the same in all systems of one task.
_SAME_IN_A_TASK: tuple[tuple[str, Callable[[TaskLog], Any]], ...] = (
    ("data revisions", settings.revision),
    ("questions", settings.content),
    ("judge prompts", settings.judge_prompts),
)


def missing(
    systems: Sequence[System], benchmark: str, optional: Collection[str] = (), open_scores: bool = False
) -> list[Note]:
    """Everything to be told about `systems`, most important first; [] where all is complete, equal and official.

    Args:
        optional: tasks that nobody misses.
        open_scores: see `Definitions.OPEN_SCORES`.
    """
    notes = [DEMO] if any(system.demo for system in systems) else []
    for system in systems:
        label, logs = system.label, system.logs
        notes += not_run(label, list(logs), benchmark, optional)
        notes += too_few(label, {task: len(log.items) for task, log in logs.items()})
        notes += _limited(system)
        verdicts = {
            task: Counter(record.verdict for log in runs for record in log.records)
            for task, runs in system.runs.items()
        }
        responses = sum(found.total() for found in verdicts.values())
        for verdict, _ in _COUNTED:
            counts = {task: found[verdict] for task, found in verdicts.items()}
            notes += counted(label, verdict, counts, responses, open_scores)
        notes += _empty(system)
        notes += _several_runs(system)
        notes += _several_judges(system)
    return notes + _mixed(systems)


def not_run(label: str, tasks: Sequence[str], benchmark: str, optional: Collection[str] = ()) -> list[Note]:
    """The benchmark's tasks that are neither among `tasks` nor `optional`; none where only the user's own were run."""
    known = registry.benchmark(benchmark).tasks
    if {*tasks} <= {task.name for task in known if task.source == registry.OWN_DATA}:
        return []
    absent = [task.name for task in known if task.name not in tasks and task.name not in optional]
    return [Note("not run", listed(absent), label)] if absent else []


def too_few(label: str, items: Mapping[str, int]) -> list[Note]:
    """Tasks whose number of items is not the official one, those with the same number together."""
    official = registry.tasks()
    by_count: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for task, count in items.items():
        whole = official[task].items if task in official else None
        if whole is not None and count != whole:
            by_count[count, whole].append(task)
    return [
        Note("items", f"{count} of the official {whole} items in {all_or_listed(tasks, len(items))}", label)
        for (count, whole), tasks in by_count.items()
    ]


def counted(
    label: str, verdict: str, counts: Mapping[str, int], responses: int, open_scores: bool = False
) -> list[Note]:
    """How many responses got a verdict that must be told beside the accuracy."""
    there = [f"{task} {count}" for task, count in counts.items() if count]
    if not there:
        return []
    meaning = _OPEN if open_scores and verdict == "unjudged" else dict(_COUNTED)[verdict]  # type: ignore[index]
    return [Note(verdict, f"{sum(counts.values())} of {responses} responses {meaning}: {listed(there)}", label)]


def _limited(system: System) -> list[Note]:
    notes = []
    for name, read in (("limit", settings.limit), ("offset", settings.offset)):
        found = {str(value) for log in system.logs.values() if (value := read(log)) is not None}
        notes += [Note(name, f"run with --{name} {', '.join(sorted(found))}", system.label)] if found else []
    return notes


def _empty(system: System) -> list[Note]:
    records = [record for log in system.logs.values() for record in log.records if record.verdict != "error"]
    empty = sum(not record.response.strip() for record in records)
    text = f"{empty} of {len(records)} responses are empty; some models hide failures so"
    return [Note("empty", text, system.label)] if empty else []


def _several_runs(system: System) -> list[Note]:
    if len(system.dates) < 2:
        return []
    return [Note("several runs", f"its tasks come from the runs {', '.join(system.dates)}", system.label)]


def _several_judges(system: System) -> list[Note]:
    tasks = [task for task, log in system.logs.items() if len(log.judges) > 1]
    judges = dict.fromkeys(settings.judge_label(system.logs[task]) for task in tasks)
    text = f"verdicts of {'; '.join(judges)} within {all_or_listed(tasks, len(system.logs))}"
    return [Note("several judges", text, system.label)] if tasks else []


def _mixed(systems: Sequence[System]) -> list[Note]:
    """One note for each setting that is not the same in all cells that the tables put side by side."""
    notes = []
    for name, read in _SAME_EVERYWHERE:
        told = [(system.label, settings.text(read(log))) for system in systems for log in system.logs.values()]
        notes += differing(name, told)
    for name, read in _SAME_IN_A_TASK:
        cells = {system.label: {task: str(read(log)) for task, log in system.logs.items()} for system in systems}
        notes += differing_in_tasks(name, cells)
    return notes


def differing(name: str, told: Sequence[tuple[str, str]]) -> list[Note]:
    """A note with all values and whose they are, for a setting told as (system, value) that is not the same in all."""
    systems: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for system, value in told:
        systems[value][system] = None
    if len(systems) < 2:
        return []
    text = "; ".join(f"{value or 'none'} ({', '.join(whose)})" for value, whose in systems.items())
    return [Note(f"mixed {name}", text)]


def differing_in_tasks(name: str, cells: Mapping[str, Mapping[str, str]]) -> list[Note]:
    """For each way in which systems differ in some tasks, a note that says so; `cells` are by system, then task."""
    tasks = dict.fromkeys(task for told in cells.values() for task in told)
    ways: defaultdict[str, list[str]] = defaultdict(list)
    for task in tasks:
        whose: defaultdict[str, list[str]] = defaultdict(list)
        for system, told in cells.items():
            if task in told:
                whose[told[task]].append(system)
        if len(whose) > 1:
            ways[" differ from ".join(", ".join(labels) for labels in whose.values())].append(task)
    return [Note(f"mixed {name}", f"{way} in {all_or_listed(at, len(tasks))}") for way, at in ways.items()]


def all_or_listed(tasks: Sequence[str], whole: int) -> str:
    """`tasks` by name, or their number where they are all."""
    return f"all {whole} tasks" if len(tasks) == whole > 1 else listed(tasks)


def listed(names: Sequence[str], most: int = 12) -> str:
    """The names, the first ones of many."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
