"""The leaderboard as a report: its entries ranked, what they were made with, and what a reader must know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from lmms_audio_tasks import __version__
from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.report import notes, settings
from lmms_audio_tasks.report.build import definitions
from lmms_audio_tasks.report.document import Column, Note, Report, Row, Table, Value
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
    tables = []
    for benchmark in sorted({entry["benchmark"] for entry in entries.values()}):
        rows = [
            (labels[name], "demo" if entry["demo"] else "run", _tallies(entry))
            for name, entry in sorted(entries.items())
            if entry["benchmark"] == benchmark
        ]
        tables.append(definitions(benchmark).leaderboard_table(rows))
    return Report(
        benchmark=" and ".join(sorted({entry["benchmark"] for entry in entries.values()})),
        title="Leaderboard",
        plugin_version=__version__,
        interval="wilson",
        demo=any(entry["demo"] for entry in entries.values()),
        systems=tuple({"label": labels[name], **entry} for name, entry in sorted(entries.items())),
        notes=tuple(_notes(entries, labels)),
        tables=(*tables, _settings_table(entries, labels)),
    )


def _labels(entries: Mapping[str, Entry]) -> dict[str, str]:
    """Labels that tell entries apart, with the name's hash where two would be the same."""
    counts = Counter(entry["label"] for entry in entries.values())
    return {
        name: entry["label"] if counts[entry["label"]] == 1 else f"{entry['label']} #{name.rsplit(' ', 1)[-1]}"
        for name, entry in entries.items()
    }


def _tallies(entry: Entry) -> dict[str, Tally]:
    return {task: Tally(told["verdicts"]) for task, told in entry["tasks"].items()}


def _notes(entries: Mapping[str, Entry], labels: Mapping[str, str]) -> Iterator[Note]:
    if any(entry["demo"] for entry in entries.values()):
        yield notes.DEMO
    for name, entry in sorted(entries.items()):
        label, tallies = labels[name], _tallies(entry)
        yield from notes.not_run(label, list(tallies), entry["benchmark"])
        yield from notes.too_few(label, {task: tally.n for task, tally in tallies.items()})
        for verdict in ("unjudged", "error"):
            counts = {task: tally.counts.get(verdict, 0) for task, tally in tallies.items()}
            yield from notes.counted(label, verdict, counts, sum(tally.n for tally in tallies.values()))
    for key in ("data", "judge", "generation", "plugin", "host"):
        told = [(labels[name], _setting(key, entry)) for name, entry in sorted(entries.items())]
        yield from notes.differing(key, told)
    for key, title in (("version", "task versions"), ("revision", "data revisions"), ("questions", "questions")):
        cells = {
            labels[name]: {task: str(told[key]) for task, told in entry["tasks"].items()}
            for name, entry in sorted(entries.items())
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
        keys = {"origin": "demo" if entry["demo"] else "run", "system": labels[name]}
        rows.append(Row(keys, {**values, "runs": runs, "entry": name}))
    fields = ("model", "model_args", "data", "judge", "generation", "seeds", "plugin", "host", "runs", "entry")
    columns = [Column(field.replace("_", " ").capitalize(), field, kind="text") for field in fields]
    system = Column("System", "system", kind="text")
    return Table("entries", "Entries", "What each entry was made with.", tuple(rows), (system, *columns))
