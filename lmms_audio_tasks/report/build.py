"""Puts a report together: logs -> systems -> tables and notes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmms_audio_tasks import __version__
from lmms_audio_tasks.report import repeats, settings
from lmms_audio_tasks.report.definitions import Options, check, definitions
from lmms_audio_tasks.report.document import SYSTEM, Column, Report, Row, Table
from lmms_audio_tasks.report.load import load
from lmms_audio_tasks.report.notes import missing
from lmms_audio_tasks.report.systems import System, choose, describe

__all__ = ["Options", "build"]


def build(logdirs: Sequence[Path], benchmark: str = "sakura", options: Options | None = None) -> Report:
    """The report on all logs of a benchmark below `logdirs`.

    Raises:
        DataError: no logs, or a file at fault; see `load.load`.
        AudioTasksError: an option that fits no log; see `systems.choose`.
    """
    options = options or Options()
    own = definitions(benchmark)
    check(own, options)
    logs, notes = load(logdirs, benchmark)
    systems, left_out = choose(logs, options.runs, options.all_runs, options.names, own.AVERAGES_RUNS)
    if own.AVERAGES_RUNS:
        systems, left_out = repeats.counted(systems)
    told = tuple(_told(system) for system in systems)
    content = own.content(systems, options)
    return Report(
        benchmark=benchmark,
        title=own.TITLE,
        plugin_version=__version__,
        interval=options.interval,
        demo=any(system.demo for system in systems) or bool(options.data and options.data.demo),
        systems=told,
        notes=(
            *missing(systems, benchmark, own.OPTIONAL, own.OPEN_SCORES),
            *content.notes,
            *left_out,
            *notes,
        ),
        tables=(*content.tables, _made_with(told)),
    )


def _told(system: System) -> dict[str, Any]:
    """A system with its settings: each one's different values over its tasks."""
    logs = list(system.logs.values())
    readers = {
        "data": settings.data_kind,
        "judge": settings.judge_label,
        "task_version": settings.task_version,
        "generation": settings.generation,
        "plugin": settings.plugin_version,
        "host": settings.host_version,
    }
    told = {name: sorted({settings.text(read(log)) for log in logs}) for name, read in readers.items()}
    return {**describe(system), "settings": told}


def _made_with(systems: Sequence[dict[str, Any]]) -> Table:
    """What each system's numbers were made with; several values where its tasks differ."""
    fields = ("model", "model_args", "runs", *systems[0]["settings"])
    rows = []
    for system in systems:
        settings_told = {name: "; ".join(values) for name, values in system["settings"].items()}
        keys = {"origin": "demo" if system["demo"] else "run", "system": system["label"]}
        named = {"model": system["model"], "model_args": system["model_args"], "runs": ", ".join(system["runs"])}
        rows.append(Row(keys, {**named, **settings_told}))
    columns = [Column(name.replace("_", " ").capitalize(), name, kind="text") for name in fields]
    about = "The settings of each system, as far as the logs tell them."
    return Table("systems", "How the numbers were made", about, tuple(rows), (SYSTEM, *columns))
