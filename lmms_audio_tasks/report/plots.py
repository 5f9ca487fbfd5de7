"""Plots as SVG. matplotlib is an extra (`report`) and imported only here, when a plot is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from lmms_audio_tasks.report.drawing import INK, PALE, literal, look, plain, svg
from lmms_audio_tasks.report.point_labels import Point, place_labels

INSTALL = "pip install 'lmms-audio-tasks[report]'"


@dataclass(frozen=True, slots=True)
class Slope:
    """A line from `left` to `right`; one with a `colour` (a number) stands out, others are grey."""

    label: str
    left: float
    right: float
    colour: int | None = None


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawn plot: `alt` says in words what it shows, `table` where it belongs; "" is the report's head."""

    title: str
    about: str
    alt: str
    svg: str
    table: str = ""


def available() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def scatter(points: Sequence[Point], x_label: str, y_label: str) -> str:
    """Points in percent on both axes, with the line on which both are equal."""
    # Grey ones first, so that the others lie above them.
    ordered = sorted(points, key=lambda point: point.colour is not None)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.plot([0, 100], [0, 100], color="#c9ced6", linewidth=1, linestyle=(0, (4, 4)), zorder=1)
        axes.set(xlim=(0, 100), ylim=(0, 100), aspect="equal")
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        plain(axes)
        for point in ordered:
            colour, marker = look(point.colour)
            if point.error:
                left, right, below, above = point.error
                sides: dict[str, Any] = {"xerr": [[left], [right]], "yerr": [[below], [above]]}
                axes.errorbar(point.x, point.y, fmt="none", ecolor=colour, alpha=0.45, zorder=2, **sides)
            size = 24 if point.colour is None else 52
            axes.scatter([point.x], [point.y], color=colour, marker=marker, s=size, zorder=3, clip_on=False)
        place_labels(axes, ordered[::-1])

    return svg(draw, (6.8, 6.2), "scatter")


def slopes(panels: Mapping[str, Sequence[Slope]], ends: tuple[str, str]) -> str:
    """A panel for each title: what changes from the left end to the right one, in percent."""
    own = list(dict.fromkeys(slope.label for panel in panels.values() for slope in panel if slope.colour is not None))
    others = any(slope.colour is None for panel in panels.values() for slope in panel)

    def draw(figure: Any) -> None:
        all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        handles: dict[str, Any] = {}
        for axes, (title, panel) in zip(all_axes, panels.items(), strict=True):
            axes.set(xlim=(-0.25, 1.25), ylim=(0, 100))
            axes.set_xticks([0, 1], ends)
            axes.set_title(title, fontsize=11)
            plain(axes)
            for slope in sorted(panel, key=lambda slope: slope.colour is not None):
                handles["" if slope.colour is None else slope.label] = _slope(axes, slope)
        all_axes[0].set_ylabel("accuracy (%)")
        shown = [*own, *([""] if others else [])]
        texts = [literal(label) or "published" for label in shown]
        lines = [handles[label] for label in shown]
        figure.legend(lines, texts, loc="outside lower center", ncols=min(3, len(shown)), frameon=False)

    rows = -(-(len(own) + others) // 3)
    return svg(draw, (1.4 + 1.9 * len(panels), 3.9 + 0.25 * rows), "slopes")


def _slope(axes: Any, slope: Slope) -> Any:
    values = [slope.left, slope.right]
    if slope.colour is None:
        return axes.plot([0, 1], values, color="#c9ced6", linewidth=1.2)[0]
    colour, marker = look(slope.colour)
    # Markers at 0 and 100 would else be cut in half.
    return axes.plot([0, 1], values, color=colour, marker=marker, linewidth=2, markersize=6, clip_on=False)[0]


@dataclass(frozen=True, slots=True)
class Series:
    """A row of marks, one a line: a value with the ends of its interval, or None; `hollow` ones are not filled.

    Series of one label have one entry in the legend.
    """

    label: str
    colour: int
    values: tuple[tuple[float, float, float] | None, ...]
    hollow: bool = False


def dots(
    lines: Sequence[str],
    series: Sequence[Series],
    x_label: str,
    name: str,
    ticks: tuple[str, Sequence[float | None]] | None = None,
    middle: bool = True,
) -> str:
    """A line a task with a mark and its interval for each series, in percent.

    Args:
        middle: whether 50 is marked.
        ticks: what a grey bar in each line marks, and where it stands.
    """

    systems = list(dict.fromkeys(told.label for told in series))
    names = [*map(literal, systems), *([ticks[0]] if ticks else [])]
    # As many as stand side by side below a plot of this width.
    wide = max(1, min(3, len(names), 80 // (max(map(len, names), default=0) + 8)))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        if middle:
            axes.axvline(50, color="#c9ced6", linewidth=1, linestyle=(0, (4, 4)), zorder=1)
        drawn = [_marks(axes, told, _offset(at, len(series))) for at, told in enumerate(series)]
        # The first mark of each label stands for it.
        first = {told.label: handle for told, handle in reversed(list(zip(series, drawn, strict=True)))}
        handles = [first[label] for label in systems]
        if ticks is not None:
            there = [(y, place) for y, place in enumerate(ticks[1]) if place is not None]
            ends = [y - 0.4 for y, _ in there], [y + 0.4 for y, _ in there]
            handles.append(axes.vlines([place for _, place in there], *ends, color="#b4bac4", linewidth=3, zorder=2))
        axes.set(xlim=(0, 100), ylim=(len(lines) - 0.5, -0.5))
        axes.set_yticks(range(len(lines)), map(literal, lines))
        axes.set_xlabel(x_label)
        plain(axes)
        axes.tick_params(axis="y", length=0)
        figure.legend(handles, names, loc="outside lower center", ncols=wide, frameon=False)

    rows = -(-len(names) // wide)
    return svg(draw, (6.15, 0.9 + len(lines) * (0.2 + 0.15 * len(series)) + 0.25 * rows), name)


def _offset(at: int, count: int) -> float:
    """Where a series' marks stand beside the middle of a line."""
    return (at - (count - 1) / 2) * 0.7 / max(count, 2)


def _marks(axes: Any, told: Series, offset: float) -> Any:
    colour, marker = look(told.colour)
    there = [(y + offset, *value) for y, value in enumerate(told.values) if value is not None]
    sides = [[x - low for _, x, low, _ in there], [high - x for _, x, _, high in there]]
    return axes.errorbar(
        [x for _, x, _, _ in there],
        [y for y, _, _, _ in there],
        xerr=sides,
        fmt=marker,
        color=colour,
        markerfacecolor="white" if told.hollow else colour,
        markersize=6,
        elinewidth=1.2,
        zorder=3,
        clip_on=False,
    )


def profiles(
    columns: Sequence[str],
    series: Sequence[Series],
    greys: Sequence[Series],
    y_label: str,
    name: str,
    joined: int | None = None,
) -> str:
    """A line a series over the columns, in percent, each mark with its interval; what is missing breaks the line.

    Args:
        series: hollow ones are bars alone, from the low end to the high one; they belong to the one of their label.
        greys: lines that stay in the background, without marks or intervals.
        name: keeps the ids of several plots in one page apart.
        joined: how many columns the lines join, marks in further ones standing alone; None for all.
    """
    labels = list(dict.fromkeys(told.label for told in series))
    names = [*map(literal, labels), *(["published"] if greys else [])]
    wide = max(1, min(3, len(names), 80 // (max(map(len, names), default=0) + 8)))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.set(xlim=(-0.4, len(columns) - 0.6), ylim=(0, 100))
        axes.set_xticks(range(len(columns)), map(literal, columns))
        axes.set_ylabel(y_label)
        plain(axes)
        axes.tick_params(axis="x", length=0)
        handles: dict[str, Any] = {}
        for told in greys:
            handles[""] = axes.plot(range(len(columns)), _heights(told), color="#c9ced6", linewidth=1.2)[0]
        for told in series:
            offset = 0.4 * _offset(labels.index(told.label), len(labels))
            if told.hollow:
                handles.setdefault(told.label, _bars(axes, told, offset))
            else:
                handles[told.label] = _profile(axes, told, offset, joined)
        shown = [handles[label] for label in (*labels, *([""] if greys else []))]
        figure.legend(shown, names, loc="outside lower center", ncols=wide, frameon=False)

    return svg(draw, (6.6, 3.9 + 0.25 * -(-len(names) // wide)), name)


def _heights(told: Series) -> list[float]:
    return [float("nan") if value is None else value[0] for value in told.values]


def _bars(axes: Any, told: Series, offset: float) -> Any:
    there = [(at + offset, *value) for at, value in enumerate(told.values) if value is not None]
    # Half a point more at both ends, so that the shortest one is seen.
    ends = [low - 0.5 for _, _, low, _ in there], [high + 0.5 for _, _, _, high in there]
    return axes.vlines([x for x, *_ in there], *ends, color=look(told.colour)[0], linewidth=6, alpha=0.6, zorder=3)


def _profile(axes: Any, told: Series, offset: float, joined: int | None) -> Any:
    colour, marker = look(told.colour)
    xs = [at + offset for at in range(len(told.values))]
    axes.plot(xs[:joined], _heights(told)[:joined], color=colour, linewidth=1.8, alpha=0.75, zorder=3)
    there = [(x, *value) for x, value in zip(xs, told.values, strict=True) if value is not None]
    return axes.errorbar(
        [x for x, _, _, _ in there],
        [y for _, y, _, _ in there],
        yerr=[[y - low for _, y, low, _ in there], [high - y for _, y, _, high in there]],
        fmt=marker,
        color=colour,
        markersize=6,
        elinewidth=1.2,
        zorder=4,
        clip_on=False,
    )


def stacked(
    lines: Sequence[str],
    parts: Mapping[str, tuple[str, Sequence[int]]],
    x_label: str,
    name: str,
    heads: Mapping[int, str],
) -> str:
    """A bar a line, of whose length each part takes its share; the counts stand in the parts.

    Args:
        parts: by what a part is called, its colour and its count in each line.
        name: keeps the ids of several plots in one page apart.
        heads: what stands above the line of that number, which begins a group.
    """
    totals = [max(1, sum(counts[at] for _, counts in parts.values())) for at in range(len(lines))]
    ys = [at + 0.9 * sum(head <= at for head in heads) for at in range(len(lines))]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        left = [0.0] * len(lines)
        handles = []
        for colour, counts in parts.values():
            shares = [100 * count / total for count, total in zip(counts, totals, strict=True)]
            handles.append(axes.barh(ys, shares, left=left, color=colour, height=0.74, edgecolor="white"))
            for y, share, begin, count in zip(ys, shares, left, counts, strict=True):
                if share >= 5:
                    ink = INK if colour in PALE else "white"
                    axes.text(begin + share / 2, y, str(count), ha="center", va="center", fontsize=8.5, color=ink)
            left = [begin + share for begin, share in zip(left, shares, strict=True)]
        for at, head in heads.items():
            axes.text(0, ys[at] - 0.52, literal(head), va="bottom", fontsize=10, fontweight="bold")
        axes.set(xlim=(0, 100), ylim=(ys[-1] + 0.5, -0.5))
        axes.set_yticks(ys, map(literal, lines))
        axes.set_xlabel(x_label)
        plain(axes)
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
        figure.legend(handles, list(parts), loc="outside lower center", ncols=len(parts), frameon=False)

    return svg(draw, (6.6, 1.2 + 0.3 * (ys[-1] + 1)), name)
