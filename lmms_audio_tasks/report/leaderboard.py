"""The leaderboard file: versioned JSON with one entry for each system and settings; docs/report.md documents it.

Keys are sorted and entries named by what they hold, so that the file can be kept in git and merged there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import AudioTasksError, DataError
from lmms_audio_tasks.files import write_whole
from lmms_audio_tasks.records import VERDICTS, count_verdicts
from lmms_audio_tasks.report import repeats, settings
from lmms_audio_tasks.report.definitions import Definitions, definitions
from lmms_audio_tasks.report.load import TaskLog, load
from lmms_audio_tasks.report.systems import System, choose

SCHEMA = "lmms-audio-tasks/leaderboard"
VERSION = 1
Entry = dict[str, Any]
_ENTRY: dict[str, type] = {"benchmark": str, "demo": bool, "fingerprint": dict, "label": str, "tasks": dict}
_TASK_KEYS = ("questions", "revision", "run", "version", "verdicts")


def add(
    file: Path,
    logdirs: Sequence[Path],
    benchmark: str = "sakura",
    runs: Sequence[str] = (),
    names: Sequence[tuple[str, str]] = (),
    allow_demo: bool = False,
) -> list[str]:
    """Add the systems of log folders to `file`, which is made where it is missing.

    A system with the settings of an entry and no task that differs in version or questions joins that entry; of a task
    in both the later run counts. So adding twice changes nothing, in whatever order.

    Returns:
        a line for each system: added, updated or unchanged.

    Raises:
        DataError: `file` is no leaderboard, or see `load.load`.
        AudioTasksError: demo data without `allow_demo`, or tasks of one system with different settings.
    """
    own = definitions(benchmark)
    systems = choose(load(logdirs, benchmark).logs, runs=runs, names=names, averaged=own.AVERAGES_RUNS).systems
    systems = repeats.counted(systems).systems if own.AVERAGES_RUNS else systems
    demo = [system.label for system in systems if system.demo]
    if demo and not allow_demo:
        raise AudioTasksError(f"{', '.join(demo)}: demo scores do not belong on a leaderboard (--allow-demo adds them)")
    entries = read(file) if file.exists() else {}
    told = []
    for system in systems:
        before = json.dumps(entries, sort_keys=True)
        known = len(entries)
        name = _put(entries, _entry(system, benchmark, own))
        changed = "unchanged" if json.dumps(entries, sort_keys=True) == before else "updated"
        told.append(f"{'added' if len(entries) > known else changed}: {system.label} ({name})")
    write_whole(file, _dump(entries))
    return told


def read(file: Path) -> dict[str, Entry]:
    """The entries of a leaderboard file by their names.

    Raises:
        DataError: the file cannot be read, is not a leaderboard of this version, or has an entry at fault.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(file, "a leaderboard file", error.strerror or str(error)) from error
    except json.JSONDecodeError as error:
        raise DataError(file, "JSON (an unfinished merge is not)", error.msg, f"line {error.lineno}") from error
    except UnicodeDecodeError as error:
        raise DataError(file, "UTF-8", f"a byte that is not ({error.reason})") from error
    told = (content.get("schema"), content.get("version")) if isinstance(content, dict) else (None, None)
    if told != (SCHEMA, VERSION):
        raise DataError(file, f"schema {SCHEMA!r}, version {VERSION}", f"schema {told[0]!r}, version {told[1]!r}")
    entries = content.get("entries")
    if not isinstance(entries, dict):
        raise DataError(file, "entries to be an object", f"{entries!r:.60}")
    for name, entry in entries.items():
        _check(file, name, entry)
    return entries


def _check(file: Path, name: str, entry: Any) -> None:
    for key, kind in _ENTRY.items():
        if not isinstance(entry, dict) or not isinstance(entry.get(key), kind):
            raise DataError(file, f"an entry with {key} ({kind.__name__})", f"{entry!r:.60}", f"entry {name!r}")
    for task, told in entry["tasks"].items():
        if not isinstance(told, dict) or not all(key in told for key in _TASK_KEYS):
            raise DataError(file, f"{', '.join(_TASK_KEYS)} of {task}", f"{told!r:.60}", f"entry {name!r}")
        if not isinstance(told.get("kept", {}), dict):
            raise DataError(file, f"kept of {task} to be an object", f"{told['kept']!r:.60}", f"entry {name!r}")
        counts = told["verdicts"]
        if not isinstance(counts, dict) or set(counts) - set(VERDICTS) or not all(map(_is_count, counts.values())):
            raise DataError(file, f"counts of verdicts of {task}", f"{counts!r:.60}", f"entry {name!r}")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def read_all(files: Iterable[Path]) -> dict[str, Entry]:
    """The entries of several files as one, joined as `add` joins.

    Raises:
        DataError: see `read`.
    """
    entries: dict[str, Entry] = {}
    for file in files:
        for entry in read(file).values():
            _put(entries, entry)
    return entries


def _dump(entries: Mapping[str, Entry]) -> str:
    content = {"schema": SCHEMA, "version": VERSION, "entries": entries}
    return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _entry(system: System, benchmark: str, own: Definitions) -> Entry:
    return {
        "label": system.label,
        "benchmark": benchmark,
        "demo": system.demo,
        "fingerprint": fingerprint(system, own.AVERAGES_RUNS),
        "tasks": {task: _task(log, _kept(system.runs[task], own)) for task, log in system.logs.items()},
    }


def _kept(logs: Sequence[TaskLog], own: Definitions) -> dict[str, Any]:
    """What is kept of the latest run, or of each run by its date where runs are averaged."""
    if not own.AVERAGES_RUNS:
        return own.kept(logs[-1])
    return {"runs": {log.run.date: own.kept(log) for log in logs}}


def fingerprint(system: System, averaged: bool = False) -> dict[str, Any]:
    """What the system's numbers were made with, as far as all of its tasks share it.

    Args:
        averaged: runs of several seeds make one entry, which then names none.

    Raises:
        AudioTasksError: its tasks were run with different settings.
    """
    readers = {
        "data": _place,
        "generation": settings.generation,
        "host": settings.host_version,
        "judge": settings.judge,
        "plugin": settings.plugin_version,
        **({} if averaged else {"seeds": settings.seeds}),
    }
    found: dict[str, Any] = {"model": system.model, "model_args": system.model_args}
    logs = list(system.logs.values())
    for name, read_setting in readers.items():
        values = {settings.text(value): value for value in map(read_setting, logs)}
        joined = settings.one_judge(logs) if name == "judge" else None
        values = values if joined is None else {settings.text(joined): joined}
        if len(values) > 1:
            raise AudioTasksError(
                f"{system.label}: its tasks differ in {name} ({'; '.join(values)}); name one run with --run DATE"
            )
        found[name] = next(iter(values.values()))
    return found


def _place(log: TaskLog) -> str:
    """A folder's path is nobody else's business; its content is told by the hashes of the questions."""
    kind = settings.data_kind(log)
    return kind if kind in ("hub", "demo") else "folder"


def _task(log: TaskLog, kept: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "run": log.run.date,
        "version": settings.task_version(log),
        "questions": settings.content(log),
        "revision": settings.revision(log),
        "verdicts": count_verdicts(record.verdict for record in log.records),
        **({"kept": dict(kept)} if kept else {}),
    }


def _put(entries: dict[str, Entry], new: Entry) -> str:
    """Join `new` with the entry it agrees with, or let it stand for itself; returns its name."""
    for name, known in list(entries.items()):
        if _agree(known, new):
            tasks = dict(known["tasks"])
            for task, told in new["tasks"].items():
                tasks[task] = told if task not in tasks else _joined(tasks[task], told)
            del entries[name]
            new = {**new, "tasks": tasks}
    name = _name(new)
    entries[name] = new
    return name


def _agree(a: Entry, b: Entry) -> bool:
    if any(a[key] != b[key] for key in ("benchmark", "demo", "fingerprint")):
        return False
    shared = a["tasks"].keys() & b["tasks"].keys()
    return all(_same_task(a["tasks"][task], b["tasks"][task]) for task in shared)


def _same_task(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return all(a[key] == b[key] for key in ("version", "questions", "revision"))


def _joined(known: Mapping[str, Any], new: Mapping[str, Any]) -> Mapping[str, Any]:
    """The later of the two, with the runs of both where an entry keeps them."""
    first, last = (known, new) if _later(new, known) else (new, known)
    runs = [told.get("kept", {}).get("runs") for told in (first, last)]
    if not all(isinstance(told, dict) for told in runs):
        return last
    return {**last, "kept": {**last["kept"], "runs": {**runs[0], **runs[1]}}}


def _later(new: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    """Whether `new` takes the place of `known`. Of two runs of one date one always wins: merging has one result."""
    return _order(new) > _order(known)


def _order(told: Mapping[str, Any]) -> tuple[str, str]:
    return str(told["run"]), json.dumps(told, sort_keys=True)


def _name(entry: Entry) -> str:
    tasks = {task: [told[key] for key in ("version", "questions", "revision")] for task, told in entry["tasks"].items()}
    identity = [entry["benchmark"], entry["demo"], entry["fingerprint"], tasks]
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12]
    return f"{entry['fingerprint'].get('model', 'model')} {digest}"
