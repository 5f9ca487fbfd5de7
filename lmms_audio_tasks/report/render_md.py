"""A report as Markdown that reads well as plain text too."""

from __future__ import annotations

import re

from lmms_audio_tasks.report.document import Column, Report, Table, first_of_each, lines

_SPECIAL = re.compile(r"([\\`*\[\]|~])")
_LONGEST = 160


def render(report: Report) -> str:
    """The report: what to know first, then a table after the other."""
    parts = [f"# {escape(report.heading)}"]
    if report.notes:
        parts.append("## Read this first\n\n" + "\n".join(_note(n.kind, n.system, n.text) for n in report.notes))
    parts += [_table(table) for table in report.tables]
    return "\n\n".join(parts) + "\n"


def _note(kind: str, system: str, text: str) -> str:
    return f"- **{kind}**" + (f" ({escape(system)})" if system else "") + f": {escape(text)}"


def _table(table: Table) -> str:
    all_lines = lines(table)
    shown = first_of_each(all_lines, table.brief)
    titles = [f"{column.group} {column.title.lower()}" if column.group else column.title for column in table.columns]
    rows = [
        [escape(title) for title in titles],
        *([_cell(column, cell.text) for column, cell in zip(table.columns, line.cells, strict=True)] for line in shown),
    ]
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    dashes = [
        "-" * (width - 1) + ":" if column.kind == "number" else "-" * width
        for width, column in zip(widths, table.columns, strict=True)
    ]
    body = [rows[0], dashes, *rows[1:]]
    text = "\n".join(
        "| "
        + " | ".join(
            cell.rjust(width) if column.kind == "number" else cell.ljust(width)
            for cell, width, column in zip(row, widths, table.columns, strict=True)
        )
        + " |"
        for row in body
    )
    more = len(all_lines) - len(shown)
    others = "the other formats" if table.most is None else "JSON and CSV"
    rest = f"\n\n{more} more are in {others}, or with --items 0." if more else ""
    return f"## {escape(table.title)}\n\n{escape(table.about)}\n\n{text}{rest}{_folds(table)}"


def _folds(table: Table) -> str:
    shown = first_of_each(table.folds, table.brief)
    return "".join(f"\n\n{fold.md().rstrip()}" for fold in shown)


def _cell(column: Column, text: str) -> str:
    if column.kind == "number":
        return text
    if column.kind == "audio":
        text = text.rsplit("/", 1)[-1]
    line = " ".join(text.split())
    return escape(line if len(line) <= _LONGEST else line[: _LONGEST - 4] + " ...")


def escape(text: str) -> str:
    """`text` in one line with nothing in it that Markdown or HTML would act on."""
    line = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", line)
