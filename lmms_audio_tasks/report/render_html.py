"""A report as one HTML file that needs nothing else: no network, no other file but the recordings it may play.

Everything that a model, a judge or a log wrote goes through `html.escape`, in JSON through `_json`; the page's policy
allows no script but its own, so that a hole in the escaping would still run nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lmms_audio_tasks import registry
from lmms_audio_tasks.report import plots, render_json
from lmms_audio_tasks.report.document import Cell, Column, Line, Note, Report, Table, first_of_each, lines

_HERE = Path(__file__).parent
_MIME = {".wav": "audio/wav", ".flac": "audio/flac", ".ogg": "audio/ogg", ".mp3": "audio/mpeg"}
_FILTERED_FROM = 6
"""Tables with fewer lines get no filter."""


@dataclass(slots=True)
class Audio:
    """How recordings get into the page.

    Attributes:
        folder: where the page will lie; recordings are named relative to it.
        embed_mb: None leaves them where they are; else they are put into the page up to so many megabytes in all.
        clips: those put in, by path.
    """

    folder: Path
    embed_mb: float | None = None
    clips: dict[str, str] = field(default_factory=dict)
    used: int = 0
    too_many: set[str] = field(default_factory=set)

    def attribute(self, path: str) -> str:
        """The attribute of an `<audio>` element that names the recording."""
        if self.embed_mb is not None and self._embedded(path):
            return f'data-clip="{escape(path)}"'
        # Windows drives have no relative path between them.
        try:
            link = quote(Path(os.path.relpath(path, self.folder)).as_posix())
        except ValueError:
            link = Path(path).as_uri()
        return f'src="{escape(link)}"'

    def _embedded(self, path: str) -> bool:
        if path in self.clips:
            return True
        size = Path(path).stat().st_size
        if self.used + size > (self.embed_mb or 0) * 1e6:
            self.too_many.add(path)
            return False
        mime = _MIME.get(Path(path).suffix.lower(), "application/octet-stream")
        self.clips[path] = f"data:{mime};base64,{base64.b64encode(Path(path).read_bytes()).decode('ascii')}"
        self.used += size
        return True


def render(report: Report, audio: Audio | None = None) -> str:
    """The page.

    Without matplotlib it has no plots, and says how to get them.

    Args:
        audio: None shows recordings by name only.
    """
    drawn, notice = _plots(report)
    head = [plot for plot in drawn if not plot.table]
    tables = [_table(table, audio, [plot for plot in drawn if plot.table == table.name]) for table in report.tables]
    notes = [*report.notes, *notice, *_audio_notes(audio)]
    script = (_HERE / "page.js").read_text(encoding="utf-8")
    title = report.heading
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src 'self' file: data:; "
        f"script-src 'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
    )
    clips = "" if audio is None else _json_script("clips", audio.clips)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>{(_HERE / "page.css").read_text(encoding="utf-8")}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
<p class="made">lmms-audio-tasks {escape(report.plugin_version)} · intervals: {escape(report.interval)} ·
<button type="button" id="save">Save the data as JSON</button></p>
{_contents(report, bool(head))}
</header>
<main>
{_banner(report)}{_notes(notes)}{_plots_section(head)}
{"".join(tables)}
</main>
{_json_script("report-data", render_json.to_dict(report))}
{clips}
<script>{script}</script>
</body>
</html>
"""


def _json(value: Any) -> str:
    """JSON that may stand inside `<script>`: no character in it that HTML acts on."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _json_script(name: str, value: Any) -> str:
    return f'<script type="application/json" id="{name}">{_json(value)}</script>'


def _banner(report: Report) -> str:
    """What is most important to know stands out."""
    return "".join(f'<p class="banner">{escape(note.text)}</p>\n' for note in report.notes if note.kind == "demo")


def _contents(report: Report, plots_there: bool) -> str:
    entries = [("plots", "Plots")] if plots_there else []
    entries += [(table.name, table.title) for table in report.tables]
    links = "".join(f'<li><a href="#{escape(name)}">{escape(title)}</a></li>' for name, title in entries)
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


def _notes(notes: Iterable[Note]) -> str:
    items = "".join(map(_note, (note for note in notes if note.kind != "demo")))
    return f'<section id="notes" class="notes"><h2>Read this first</h2><ul>{items}</ul></section>\n' if items else ""


def _note(note: Note) -> str:
    system = f"<i>{escape(note.system)}</i> " if note.system else ""
    return f"<li><b>{escape(note.kind)}</b> {system}{escape(note.text)}</li>"


def _audio_notes(audio: Audio | None) -> list[Note]:
    if audio is None or not audio.too_many:
        return []
    text = f"{len(audio.too_many)} recordings are beyond the {audio.embed_mb:g} MB of --embed-audio and play from disk"
    return [Note("audio", text)]


def _plots(report: Report) -> tuple[list[plots.Plot], list[Note]]:
    name = f"{__package__}.{report.benchmark}.plots"
    # A leaderboard of several benchmarks has no plots.
    if report.benchmark not in registry.benchmarks() or find_spec(name) is None:
        return [], []
    if not plots.available():
        return [], [Note("plots", f"left out, as matplotlib is not installed ({plots.INSTALL})")]
    return import_module(name).draw(report), []


def _plots_section(drawn: list[plots.Plot]) -> str:
    return f'<section id="plots"><h2>Plots</h2>{_figures(drawn)}</section>' if drawn else ""


def _figures(drawn: list[plots.Plot]) -> str:
    figures = "".join(
        f'<figure role="img" aria-label="{escape(plot.title)}: {escape(plot.alt)}">'
        f"<figcaption><b>{escape(plot.title)}</b> {escape(plot.about)}</figcaption>{plot.svg}</figure>"
        for plot in drawn
    )
    return f'<div class="plots">{figures}</div>' if drawn else ""


def _table(table: Table, audio: Audio | None, drawn: list[plots.Plot]) -> str:
    all_lines = lines(table)
    shown = first_of_each(all_lines, table.most)
    more = len(all_lines) - len(shown)
    rest = f'<p class="rest">{more:,} more lines are in the JSON, which the button above saves.</p>' if more else ""
    name = f"t-{escape(table.name)}"
    search = (
        f'<div class="tools"><label class="filter">Filter <input type="search" placeholder="words" data-for="{name}">'
        f'</label><output data-count="{name}">{len(shown)} lines</output>'
        "<span>A heading sorts by its column.</span></div>"
        if len(shown) >= _FILTERED_FROM
        else ""
    )
    return (
        f'<section id="{escape(table.name)}"><h2>{escape(table.title)}</h2><p>{escape(table.about)}</p>\n'
        f'{_figures(drawn)}{search}<div class="scroll" tabindex="0" role="region" '
        f'aria-label="{escape(table.title)}"><table id="{name}">{_head(table.columns)}<tbody>\n'
        f"{''.join(_line(table.columns, line, audio) for line in shown)}</tbody></table></div>{rest}"
        f"{_folds(table)}</section>\n"
    )


def _folds(table: Table) -> str:
    """What is long lies closed until it is asked for, with the title that says what it is."""
    return "".join(
        f'<details class="fold"><summary>{escape(fold.title)}</summary>{fold.html()}</details>\n'
        for fold in first_of_each(table.folds, table.most)
    )


def _head(columns: tuple[Column, ...]) -> str:
    top = _groups(columns)
    grouped = any(title for title, _ in top)
    groups = "".join(f'<th colspan="{span}"{" class=g" if title else ""}>{escape(title)}</th>' for title, span in top)
    titles = "".join(
        f'<th scope="col" class="{_class(columns, number)}"><button type="button">{escape(column.title)}</button></th>'
        for number, column in enumerate(columns)
    )
    first = f'<tr class="groups">{groups}</tr>' if grouped else ""
    return f'<thead>{first}<tr class="titles">{titles}</tr></thead>'


def _groups(columns: tuple[Column, ...]) -> list[tuple[str, int]]:
    """Neighbouring columns of one group with their number."""
    found: list[tuple[str, int]] = []
    for column in columns:
        if found and found[-1][0] == column.group:
            found[-1] = (column.group, found[-1][1] + 1)
        else:
            found.append((column.group, 1))
    return found


def _class(columns: tuple[Column, ...], number: int) -> str:
    column = columns[number]
    starts = bool(column.group) and (number == 0 or columns[number - 1].group != column.group)
    return column.kind + (" start" if starts else "")


def _line(columns: tuple[Column, ...], line: Line, audio: Audio | None) -> str:
    cells = "".join(_cell(columns, number, cell, audio) for number, cell in enumerate(line.cells))
    return f'<tr class="{escape(line.origin)}">{cells}</tr>\n'


def _cell(columns: tuple[Column, ...], number: int, cell: Cell, audio: Audio | None) -> str:
    kind = columns[number].kind
    sort = f' data-sort="{cell.value}"' if isinstance(cell.value, (int, float)) else ""
    tip = f' title="{escape(cell.tip)}"' if cell.tip else ""
    content = escape(cell.text)
    if kind == "long":
        content = f"<div>{content}</div>"
    elif kind == "audio":
        content = _player(cell, audio)
    elif kind == "number" and " " in cell.text:
        # The figure itself stands out from its interval.
        figure, rest = cell.text.split(" ", 1)
        content = f"{escape(figure)} <small>{escape(rest)}</small>"
    return f'<td class="{_class(columns, number)}"{sort}{tip}>{content}</td>'


def _player(cell: Cell, audio: Audio | None) -> str:
    if not isinstance(cell.value, str) or not cell.value:
        return "not at hand"
    name = escape(Path(cell.value).name)
    return (
        name
        if audio is None
        else f'<audio controls preload="none" title="{name}" {audio.attribute(cell.value)}></audio>'
    )
