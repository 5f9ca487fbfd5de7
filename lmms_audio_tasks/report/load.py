"""Log folders as the host writes them -> records: `<date>_samples_<task>.jsonl` beside `<date>_results.json`.

Without `pretrained=` the host puts runs of different models into one folder, so that a file's folder does not tell
whose it is: the results file of the same date does.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from lmms_audio_tasks import registry
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.files import read_lines
from lmms_audio_tasks.judge.verdict_file import read_verdicts, verdicts_path
from lmms_audio_tasks.records import VERDICTS, Record
from lmms_audio_tasks.report.document import Note

_SAMPLES = re.compile(r"(?P<date>[^.].*?)_samples_(?P<task>.+)\.jsonl")
_RESULTS = re.compile(r"(?P<date>[^.].*?)_results\.json")
_OWN = frozenset((*(field.name for field in fields(Record)), "score", "cluster"))
"""A record's own fields, and the two that the host averages by."""
_TEXTS = ("item_id", "benchmark", "task", "source", "response", "verdict", "reason", "golden", "chosen")
_FIELDS = itemgetter(*_TEXTS, "groups", "options")
_SECRET = re.compile(r"(?i)\b([\w.-]*(?:key|token|secret|password))=[^,]*")
LOGGED = "lmms_eval --output_path DIR --log_samples writes them"


class Item(NamedTuple):
    """A record and the prompt it answers ("" where the log has none).

    Attributes:
        more: what the log holds of it beside the record's own fields, such as the trace of an episode; mostly nothing.
    """

    record: Record
    prompt: str
    more: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the host.

    Attributes:
        model: `--model`; the folder's name where the results file is missing.
        model_args: `--model_args`, secrets masked.
        date: the start of its files' names, which sorts by time.
        results: the results file's content, {} where it is missing.
    """

    model: str
    model_args: str
    date: str
    folder: Path
    results: Mapping[str, Any]

    def task_config(self, task: str) -> Mapping[str, Any]:
        """What the host recorded of a task's configuration; {} where it did not."""
        return _mapping(_mapping(self.results.get("configs")).get(task))


@dataclass(frozen=True)
class TaskLog:
    """The records of one task in one run.

    Attributes:
        items: by item id, in the order of the log.
        judges: the settings of every judge whose verdicts are among the records.
    """

    run: Run
    task: str
    file: Path
    items: Mapping[str, Item]
    judges: tuple[Mapping[str, Any], ...]

    @property
    def demo(self) -> bool:
        """Whether any record is of the demo set."""
        return any(item.record.demo for item in self.items.values())

    @cached_property
    def records(self) -> list[Record]:
        """The records alone."""
        return [item.record for item in self.items.values()]


class Loaded(NamedTuple):
    """All logs of one benchmark, and what was passed over."""

    logs: list[TaskLog]
    notes: list[Note]


def load(logdirs: Sequence[Path], benchmark: str) -> Loaded:
    """Read the samples of one benchmark below `logdirs`, verdict files beside them merged in.

    Folders may lie in one another; no file is read twice.

    Raises:
        DataError: a folder without logs of this benchmark, or a file at fault with its line.
        UnknownNameError: no such benchmark.
    """
    tasks = {task.name for task in registry.benchmark(benchmark).tasks}
    files: dict[Path, re.Match[str]] = {}
    others: set[str] = set()
    bare: set[Path] = set()
    for logdir in logdirs:
        found = _find(logdir, _SAMPLES)
        results = _find(logdir, _RESULTS)
        ours = {path: match for path, match in found.items() if match["task"] in tasks}
        named = {match["task"] for match in found.values()} - tasks
        without = _without_samples(results, found, tasks)
        if not ours:
            raise _nothing_to_read(logdir, benchmark, named, without)
        files |= ours
        others |= named
        bare |= without
    runs: dict[tuple[Path, str], Run] = {}
    logs = []
    with without_collection():
        for path in sorted(files):
            key = (path.parent, files[path]["date"])
            runs[key] = runs.get(key) or _read_run(*key)
            logs.append(_read_log(runs[key], files[path]["task"], path))
    return Loaded(logs, _notes(logs, others, bare, benchmark))


@contextmanager
def without_collection() -> Iterator[None]:
    """Without Python's search for cycles: records have none, and going through a hundred thousand of them again and
    again takes a quarter of the time of a report."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _find(logdir: Path, pattern: re.Pattern[str]) -> dict[Path, re.Match[str]]:
    if not logdir.is_dir():
        raise DataError(logdir, f"a folder of logs ({LOGGED})", "a file" if logdir.exists() else "no such folder")
    matches = ((path.resolve(), pattern.fullmatch(path.name)) for path in logdir.rglob("*.json*"))
    return {path: match for path, match in matches if match is not None}


def _without_samples(
    results: Mapping[Path, re.Match[str]], samples: Mapping[Path, re.Match[str]], tasks: Iterable[str]
) -> set[Path]:
    """Results files of our tasks whose run left no samples of any."""
    with_samples = {(path.parent, match["date"]) for path, match in samples.items()}
    left = [path for path, match in results.items() if (path.parent, match["date"]) not in with_samples]
    return {path for path in left if set(_mapping(_read_results(path).get("configs"))) & set(tasks)}


def _nothing_to_read(logdir: Path, benchmark: str, others: set[str], bare: set[Path]) -> DataError:
    if bare:
        return DataError(sorted(bare)[0], "samples beside it", "none; run again with --log_samples")
    if others:
        known = registry.tasks()
        theirs = sorted({known[task].benchmark for task in others if task in known})
        hint = f" (--benchmark {' or '.join(theirs)})" if theirs else ""
        found = f"only of others: {', '.join(sorted(others)[:5])}{hint}"
        return DataError(logdir, f"samples of {benchmark} tasks", found)
    return DataError(logdir, f"files *_samples_*.jsonl ({LOGGED})", "none")


def _read_run(folder: Path, date: str) -> Run:
    path = folder / f"{date}_results.json"
    results = _read_results(path) if path.exists() else {}
    config = _mapping(results.get("config"))
    arguments = config.get("model_args") or ""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, sort_keys=True)
    return Run(str(config.get("model") or folder.name), _SECRET.sub(r"\1=***", text), date, folder, results)


def _read_results(path: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(path, "a results file that can be read", error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise DataError(path, "UTF-8", f"a byte that is not ({error.reason})") from error
    except json.JSONDecodeError as error:
        raise DataError(path, "JSON", error.msg, f"line {error.lineno}") from error
    if not isinstance(content, dict):
        raise DataError(path, "a JSON object", type(content).__name__)
    return content


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _read_log(run: Run, task: str, path: Path) -> TaskLog:
    items: dict[str, Item] = {}
    shared: _Shared = {}
    # Two runs that began in the same second write into one results file, and the last one wins.
    told = _mapping(run.results.get("configs"))
    if told and task not in told:
        raise DataError(path, f"a results file that tells of {task}", f"one of another run, of {next(iter(told))}")
    for number, sample in read_lines(path):
        found = _found(path, number, sample)
        record = _record(path, number, found, shared)
        if record.task != task:
            raise DataError(path, f"records of {task}", f"one of {record.task}", f"line {number}")
        if record.item_id in items:
            raise DataError(path, "each item once", f"{record.item_id!r} again", f"line {number}")
        prompt = sample.get("input")
        prompt = shared.setdefault(prompt, prompt) if isinstance(prompt, str) else ""
        if _OWN.issuperset(found):
            items[record.item_id] = Item(record, prompt)
        else:
            items[record.item_id] = Item(record, prompt, {name: found[name] for name in found.keys() - _OWN})
    if not items:
        raise DataError(path, "at least one sample", "an empty file")
    asked = _asked(run, task)
    if asked is not None and len(items) != asked:
        raise DataError(path, f"{asked} samples, as its results file tells", f"{len(items)}: cut, or of another run")
    return _judged(TaskLog(run, task, path, items, ()))


def _asked(run: Run, task: str) -> int | None:
    """On how many items a run asked a task; None where its results file does not tell."""
    config = _mapping(run.results.get("config"))
    whole = _mapping(_mapping(run.results.get("n-samples")).get(task)).get("original")
    limit, offset = config.get("limit") or -1, config.get("offset") or 0
    if not isinstance(whole, int) or not isinstance(limit, int | float) or not isinstance(offset, int):
        return None
    # Of a share of the items the host tells no number: its own is that of the task it came to last.
    if 0 < limit < 1:
        return None
    rest = max(0, whole - offset)
    return rest if limit < 0 else min(rest, int(limit))


_Shared = dict[Any, Any]
"""One copy of whatever many records have alike; it keeps a hundred thousand records small."""


def _found(path: Path, number: int, sample: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record among a sample's metrics, whatever the metric is called."""
    for found in sample.values():
        if isinstance(found, dict) and "item_id" in found:
            return found
    raise DataError(path, "a record of this plugin among the metrics", "none", f"line {number}")


def _record(path: Path, number: int, found: Mapping[str, Any], shared: _Shared) -> Record:
    try:
        *texts, groups, options = _FIELDS(found)
        values = [*texts, *groups.values()]
        sound = {*map(type, values), *map(type, options)} == {str} and isinstance(options, list)
    except (KeyError, AttributeError, TypeError):
        raise _fault(path, number, found) from None
    if not sound or found["verdict"] not in VERDICTS:
        raise _fault(path, number, found)
    share: Callable[[Any, Any], Any] = shared.setdefault
    item_id, benchmark, task, source, response, verdict, reason, golden, chosen, *labels = map(share, values, values)
    names, choices = tuple(groups), tuple(options)
    return Record(
        item_id,
        benchmark,
        task,
        source,
        found.get("demo") is True,
        response,
        verdict,
        reason,
        golden,
        chosen,
        dict(zip(share(names, names), labels, strict=True)),
        share(choices, choices),
    )


def _fault(path: Path, number: int, found: Mapping[str, Any]) -> DataError:
    """What is wrong with a record."""
    groups, options = found.get("groups"), found.get("options")
    for name in _TEXTS:
        if not isinstance(found.get(name), str):
            return DataError(path, f"{name} to be a text", f"{found.get(name)!r:.60}", f"line {number}")
    if found["verdict"] not in VERDICTS:
        return DataError(path, f"a verdict ({', '.join(VERDICTS)})", repr(found["verdict"]), f"line {number}")
    if not isinstance(groups, dict) or not all(isinstance(value, str) for value in groups.values()):
        return DataError(path, "groups to be an object of texts", f"{groups!r:.60}", f"line {number}")
    return DataError(path, "options to be a list of texts", f"{options!r:.60}", f"line {number}")


def _judged(log: TaskLog) -> TaskLog:
    """The log with the verdicts of the file beside it, which win over those of the run."""
    file = verdicts_path(log.file)
    items, judges, judged = dict(log.items), [], set()
    for verdict in read_verdicts(file) if file.exists() else ():
        item = items.get(verdict["item_id"])
        if item is None or verdict["task"] != log.task:
            raise DataError(file, f"verdicts on {log.file.name}", f"one on {verdict['task']} {verdict['item_id']}")
        if "trace" in item.more:
            # The verdicts on an episode's steps decided what came next; nothing can be judged afterwards.
            continue
        if _words(verdict.get("response", item.record.response)) != _words(item.record.response):
            raise DataError(
                file, f"verdicts on {log.file.name}", f"one on another response to {verdict['item_id']}; judge it again"
            )
        record = replace(
            item.record, verdict=verdict["verdict"], reason=verdict["reason"], chosen=str(verdict.get("chosen") or "")
        )
        items[record.item_id] = item._replace(record=record)
        judged.add(record.item_id)
        judges.append(_mapping(verdict.get("judge")))
    own = [item for name, item in items.items() if name not in judged]
    told = {item.record.reason: item.record for item in own if "trace" not in item.more}
    judges += map(_judge_of, told.values())
    if any("trace" in item.more for item in own):
        metadata = _mapping(log.run.task_config(log.task).get("metadata"))
        judges.append(_mapping(metadata.get("judge")) or {"mode": "rule"})
    unique = {json.dumps(judge, sort_keys=True): judge for judge in judges}
    return replace(log, items=items, judges=tuple(unique[key] for key in sorted(unique)))


def _words(text: Any) -> bytes:
    # A verdict file has `?` for a lone surrogate, which UTF-8 cannot hold.
    return str(text).encode("utf-8", "replace")


def _judge_of(record: Record) -> Mapping[str, Any]:
    """Who judged a record that no verdict file speaks of."""
    model = record.reason.partition("judge:")[2]
    return {"mode": "llm or hybrid", "model": model} if record.reason.startswith("judge:") else {"mode": "rule"}


def _notes(logs: Sequence[TaskLog], others: set[str], bare: set[Path], benchmark: str) -> list[Note]:
    notes = []
    if others:
        listing = ", ".join(sorted(others)[:10]) + (" ..." if len(others) > 10 else "")
        notes.append(Note("ignored", f"samples that are not of {benchmark} were passed over: {listing}"))
    if bare:
        listing = ", ".join(path.name for path in sorted(bare))
        notes.append(Note("no samples", f"left out, as they were run without --log_samples: {listing}"))
    unknown = sorted({log.file.name for log in logs if not log.run.results})
    if unknown:
        notes.append(
            Note("no results file", f"no results file tells the model and settings of: {', '.join(unknown[:5])}")
        )
    return notes
