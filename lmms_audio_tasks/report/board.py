"""The leaderboard as a report: its entries ranked, what they were made with, and what a reader must know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from lmms_audio_tasks import __version__
from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.report import notes, settings
from lmms_audio_tasks.report.definitions import Entrant, definitions
from lmms_audio_tasks.report.document import SYSTEM, Column, Note, Report, Row, Table, Value
from lmms_audio_tasks.report.leaderboard import Entry
from lmms_audio_tasks.report.tables import Tally


def build(entries: Mapping[str, Entry]) -> Report:
    """The leaderboard as a report: a table of accuracies for each benchmark, then what each entry was made with.

    Raises:
        UnknownNameError: entries of a benchmark that this version does not know.
        AudioTasksError: no entries.
    """
    if not entries:
        raise AudioTasksError("the leaderboard has no entries")
    labels = _labels(entries)
    benchmarks = sorted({entry["benchmark"] for entry in entries.values()})
    tables = []
    for benchmark in benchmarks:
        entrants = [
            Entrant(labels[name], "demo" if entry["demo"] else "run", _tallies(entry), _kept(entry))
            for name, entry in sorted(entries.items())
            if entry["benchmark"] == benchmark
        ]
        table = definitions(benchmark).leaderboard_table(entrants)
        # Names of tables are told apart in one report.
        tables.append(table if len(benchmarks) == 1 else replace(table, name=f"{benchmark}_{table.name}"))
    return Report(
        benchmark=" and ".join(benchmarks),
        title="Leaderboard",
        plugin_version=__version__,
        interval="wilson",
        demo=any(entry["demo"] for entry in entries.values()),
        systems=tuple({"label": labels[name], **entry} for name, entry in sorted(entries.items())),
        notes=tuple(_notes(entries, labels)),
        tables=(*tables, _settings_table(entries, labels)),
    )


def _labels(entries: Mapping[str, Entry]) -> dict[str, str]:
    """Labels that tell a benchmark's entries apart, with the name's hash where two would be the same."""
    counts = Counter((entry["benchmark"], entry["label"]) for entry in entries.values())
    return {
        name: entry["label"]
        if counts[entry["benchmark"], entry["label"]] == 1
        else f"{entry['label']} #{name.rsplit(' ', 1)[-1]}"
        for name, entry in entries.items()
    }


def _tallies(entry: Entry) -> dict[str, Tally]:
    return {task: Tally(told["verdicts"]) for task, told in entry["tasks"].items()}


def _kept(entry: Entry) -> dict[str, dict[str, Any]]:
    return {task: told.get("kept", {}) for task, told in entry["tasks"].items()}


def _notes(entries: Mapping[str, Entry], labels: Mapping[str, str]) -> Iterator[Note]:
    if any(entry["demo"] for entry in entries.values()):
        yield notes.DEMO
    for name, entry in sorted(entries.items()):
        label, tallies = labels[name], _tallies(entry)
        own = definitions(entry["benchmark"])
        yield from notes.not_run(label, list(tallies), entry["benchmark"], own.OPTIONAL)
        yield from notes.too_few(label, {task: tally.n for task, tally in tallies.items()})
        for verdict in ("unjudged", "error"):
            counts = {task: tally.counts.get(verdict, 0) for task, tally in tallies.items()}
            responses = sum(tally.n for tally in tallies.values())
            yield from notes.counted(label, verdict, counts, responses, own.OPEN_SCORES)
    # Entries of two benchmarks do not stand side by side.
    for benchmark in sorted({entry["benchmark"] for entry in entries.values()}):
        side_by_side = [
            (labels[name], entry) for name, entry in sorted(entries.items()) if entry["benchmark"] == benchmark
        ]
        for key in ("data", "judge", "generation", "plugin", "host"):
            yield from notes.differing(key, [(label, _setting(key, entry)) for label, entry in side_by_side])
        for key, title in (("version", "task versions"), ("revision", "data revisions"), ("questions", "questions")):
            cells = {
                label: {task: str(told[key]) for task, told in entry["tasks"].items()} for label, entry in side_by_side
            }
            yield from notes.differing_in_tasks(title, cells)


def _setting(key: str, entry: Entry) -> str:
    value = entry["fingerprint"].get(key)
    return settings.judges_label(value) if key == "judge" and isinstance(value, list) else settings.text(value)


def _settings_table(entries: Mapping[str, Entry], labels: Mapping[str, str]) -> Table:
    rows = []
    for name, entry in sorted(entries.items()):
        values: dict[str, Value] = {key: _setting(key, entry) for key in entry["fingerprint"]}
        runs = ", ".join(sorted({told["run"] for told in entry["tasks"].values()}))
        origin = "demo" if entry["demo"] else "run"
        keys = {"origin": origin, "system": labels[name], "benchmark": entry["benchmark"]}
        rows.append(Row(keys, {**values, "runs": runs, "entry": name}))
    fields = (
        "benchmark",
        "model",
        "model_args",
        "data",
        "judge",
        "generation",
        "seeds",
        "plugin",
        "host",
        "runs",
        "entry",
    )
    columns = [Column(field.replace("_", " ").capitalize(), field, kind="text") for field in fields]
    return Table("entries", "Entries", "What each entry was made with.", tuple(rows), (SYSTEM, *columns))
