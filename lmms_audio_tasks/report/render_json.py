"""A report as JSON; docs/report.md documents the schema."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from lmms_audio_tasks.report.document import Report, Table

SCHEMA = "lmms-audio-tasks/report"
VERSION = 1
"""Raised when a field changes its meaning or goes; new fields and tables leave it as it is."""


def render(report: Report) -> str:
    """The report as indented JSON with a final newline."""
    return json.dumps(to_dict(report), indent=2, ensure_ascii=False) + "\n"


def to_dict(report: Report) -> dict[str, Any]:
    """The report as plain JSON types."""
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "benchmark": report.benchmark,
        "plugin_version": report.plugin_version,
        "interval": report.interval,
        "demo": report.demo,
        "systems": list(report.systems),
        "notes": [asdict(note) for note in report.notes],
        "tables": [_table(table) for table in report.tables],
    }


def _table(table: Table) -> dict[str, Any]:
    """Every row flat: its keys and its measures side by side, whose names never clash."""
    rows = [{**row.keys, **row.values} for row in table.rows]
    return {"name": table.name, "title": table.title, "about": table.about, "rows": rows}
