"""A report as one tidy CSV: a line a figure."""

from __future__ import annotations

import csv
import io

from lmms_audio_tasks.report.document import KEYS, Report, Value

COLUMNS = ("table", *KEYS, "measure", "value")


def render(report: Report) -> str:
    """The header `COLUMNS`, then a line for each measure of each row; notes are of the table `notes`.

    Figures stand in full precision, an empty value where there is none. Lines end in a newline alone.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for measure in ("benchmark", "plugin_version", "interval", "demo"):
        writer.writerow({"table": "report", "measure": measure, "value": _text(getattr(report, measure))})
    for note in report.notes:
        writer.writerow({"table": "notes", "system": note.system, "measure": note.kind, "value": note.text})
    for table in report.tables:
        for row in table.rows:
            for measure, value in row.values.items():
                writer.writerow({"table": table.name, **row.keys, "measure": measure, "value": _text(value)})
    return out.getvalue()


def _text(value: Value) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
