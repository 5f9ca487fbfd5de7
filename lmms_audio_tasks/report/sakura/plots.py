"""SAKURA's plots, drawn from the tables of a report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from lmms_audio_tasks.report import heat_maps, plots
from lmms_audio_tasks.report.document import Report, Row
from lmms_audio_tasks.report.published import number, published
from lmms_audio_tasks.report.sakura.shared import AVERAGE
from lmms_audio_tasks.sakura import TRACKS


def draw(report: Report) -> list[plots.Plot]:
    """Single against multi, audio against text, and confusions; a plot without own data is left out."""
    found = [_single_multi(report), _audio_text(report), *_confusions(report)]
    return [plot for plot in found if plot is not None]


def _own(report: Report, table: str, **keys: str) -> list[Row]:
    found = report.table(table)
    return [
        row
        for row in (found.rows if found else ())
        if row.keys["origin"] != "published"
        and row.get("accuracy") is not None
        and all(row.keys.get(name) == value for name, value in keys.items())
    ]


def _colour(report: Report, label: str) -> int:
    """A system's place in the report, so that it has one colour in all plots."""
    return [system["label"] for system in report.systems].index(label)


def _beside(report: Report) -> bool:
    """Whether published systems are drawn: not beside demo scores alone, which nothing should be compared with."""
    return any(not system["demo"] for system in report.systems)


def _single_multi(report: Report) -> plots.Plot | None:
    single = {row.keys["system"]: row for row in _own(report, "accuracy", hop="single", track=AVERAGE)}
    multi = {row.keys["system"]: row for row in _own(report, "accuracy", hop="multi", track=AVERAGE)}
    own = [
        plots.Point(
            label,
            _figure(single[label]),
            _figure(multi[label]),
            _colour(report, label),
            error=(*_sides(single[label]), *_sides(multi[label])),
        )
        for label in single
        if label in multi
    ]
    if not own:
        return None
    points = own + (_printed_points() if _beside(report) else [])
    about = "Average accuracy over the tracks, with 95 % intervals of your systems. On the dashed line both are equal."
    beside = " Grey: the paper's systems." if _beside(report) else ""
    alt = "; ".join(f"{point.label}: single {point.x:.1f}, multi {point.y:.1f}" for point in own)
    svg = plots.scatter(points, "single-hop accuracy (%)", "multi-hop accuracy (%)")
    return plots.Plot("Single-hop against multi-hop", about + beside, alt, svg)


def _figure(row: Row) -> float:
    value = row.get("accuracy")
    return float(value) if isinstance(value, (int, float)) else 0.0


def _sides(row: Row) -> tuple[float, float]:
    low, high, at = row.get("ci_low"), row.get("ci_high"), _figure(row)
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        return 0.0, 0.0
    return at - low, high - at


def _printed_points() -> list[plots.Point]:
    averages: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for row in published("sakura_table2"):
        if row["track"] == AVERAGE:
            averages[row["system"]][row["hop"]] = float(number(row["accuracy"]) or 0)
    return [plots.Point(name, hops["single"], hops["multi"]) for name, hops in averages.items()]


def _audio_text(report: Report) -> plots.Plot | None:
    panels: dict[str, list[plots.Slope]] = {}
    told = []
    for track in (*TRACKS, AVERAGE):
        audio = {
            row.keys["system"]: _figure(row) for row in _own(report, "given_single", track=track, modality="audio")
        }
        text = {row.keys["system"]: _figure(row) for row in _own(report, "given_single", track=track, modality="text")}
        own = [
            plots.Slope(label, audio[label], text[label], _colour(report, label)) for label in audio if label in text
        ]
        if own:
            panels[track] = own + (_printed_slopes(track) if _beside(report) else [])
            told += [f"{track}, {slope.label}: audio {slope.left:.1f}, text {slope.right:.1f}" for slope in own]
    if not panels:
        return None
    about = "Multi-hop accuracy over the items whose single-hop answer was right, with the audio and with a caption."
    return plots.Plot("Audio against text", about, "; ".join(told), plots.slopes(panels, ("audio", "text")))


def _printed_slopes(track: str) -> list[plots.Slope]:
    found: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for row in published("sakura_table3"):
        if row["track"] == track:
            found[row["system"]][row["modality"]] = float(number(row["accuracy"]) or 0)
    return [plots.Slope(name, pair["audio"], pair["text"]) for name, pair in found.items()]


def _confusions(report: Report) -> list[plots.Plot]:
    found = []
    for track in TRACKS:
        table = report.table(f"confusion_{track}")
        by_system: defaultdict[str, list[Row]] = defaultdict(list)
        for row in table.rows if table else ():
            by_system[row.keys["system"]].append(row)
        for place, (system, rows) in enumerate(by_system.items()):
            found.append(_confusion(track, system, rows, f"confusion-{track}-{place}"))
    return found


def _confusion(track: str, system: str, rows: Sequence[Row], name: str) -> plots.Plot:
    labels = list(dict.fromkeys(row.keys["label"] for row in rows))
    chosen = list(dict.fromkeys(row.keys["chosen"] for row in rows))
    shares = {(row.keys["label"], row.keys["chosen"]): row.get("share") for row in rows}
    grid = [[_share(shares.get((label, column))) for column in chosen] for label in labels]
    svg = heat_maps.heat_map(labels, chosen, grid, name)
    alt = "; ".join(f"{label}: {_share(shares.get((label, label))):.0f} % right" for label in labels)
    return plots.Plot(system, "", alt, svg, table=f"confusion_{track}")


def _share(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
