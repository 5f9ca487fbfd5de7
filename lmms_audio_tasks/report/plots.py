"""Plots as SVG. matplotlib is an extra (`report`) and imported only here, when a plot is drawn."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

INSTALL = "pip install 'lmms-audio-tasks[report]'"
# Okabe and Ito's colours, which colour-blind readers can tell apart; black comes last as it is the text's.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "D", "^", "v", "P", "X")
GREY = "#8a8f98"
_INK = "#1c2430"


@dataclass(frozen=True, slots=True)
class Point:
    """A point with its label; one with a `colour` (a number) stands out, others are grey.

    `error` is the interval's length to the (left, right, bottom, top).
    """

    label: str
    x: float
    y: float
    colour: int | None = None
    error: tuple[float, float, float, float] | None = None


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
        _plain(axes)
        for point in ordered:
            colour, marker = _look(point.colour)
            if point.error:
                left, right, below, above = point.error
                sides: dict[str, Any] = {"xerr": [[left], [right]], "yerr": [[below], [above]]}
                axes.errorbar(point.x, point.y, fmt="none", ecolor=colour, alpha=0.45, zorder=2, **sides)
            size = 24 if point.colour is None else 52
            axes.scatter([point.x], [point.y], color=colour, marker=marker, s=size, zorder=3, clip_on=False)
        _place_labels(axes, ordered[::-1])

    return _svg(draw, (6.8, 6.2), "scatter")


def _look(number: int | None) -> tuple[str, str]:
    """Colour and marker; different for the first 49 numbers."""
    if number is None:
        return GREY, "o"
    return COLOURS[number % len(COLOURS)], MARKERS[(number + number // len(COLOURS)) % len(MARKERS)]


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
            _plain(axes)
            for slope in sorted(panel, key=lambda slope: slope.colour is not None):
                handles["" if slope.colour is None else slope.label] = _slope(axes, slope)
        all_axes[0].set_ylabel("accuracy (%)")
        shown = [*own, *([""] if others else [])]
        texts = [_literal(label) or "published" for label in shown]
        lines = [handles[label] for label in shown]
        figure.legend(lines, texts, loc="outside lower center", ncols=min(3, len(shown)), frameon=False)

    rows = -(-(len(own) + others) // 3)
    return _svg(draw, (1.4 + 1.9 * len(panels), 3.9 + 0.25 * rows), "slopes")


def _slope(axes: Any, slope: Slope) -> Any:
    values = [slope.left, slope.right]
    if slope.colour is None:
        return axes.plot([0, 1], values, color="#c9ced6", linewidth=1.2)[0]
    colour, marker = _look(slope.colour)
    # Markers at 0 and 100 would else be cut in half.
    return axes.plot([0, 1], values, color=colour, marker=marker, linewidth=2, markersize=6, clip_on=False)[0]


def heat_map(lines: Sequence[str], columns: Sequence[str], shares: Sequence[Sequence[float]], name: str) -> str:
    """A square a share (in percent), darker for more, framed where line and column are the same.

    Args:
        name: keeps the ids of several maps in one page apart.
    """

    def draw(figure: Any) -> None:
        from matplotlib.patches import Rectangle

        axes = figure.subplots()
        edges = [[n - 0.5 for n in range(len(names) + 1)] for names in (columns, lines)]
        axes.pcolormesh(*edges, shares, cmap="Blues", vmin=0, vmax=100, edgecolors="white", linewidth=0.8)
        axes.set_aspect("equal")
        axes.invert_yaxis()
        axes.set_xticks(range(len(columns)), map(_literal, columns), rotation=40, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(len(lines)), map(_literal, lines))
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_xlabel("chosen")
        axes.set_ylabel("right")
        for y, line in enumerate(shares):
            for x, share in enumerate(line):
                if lines[y] == columns[x]:
                    axes.add_patch(
                        Rectangle((x - 0.47, y - 0.47), 0.94, 0.94, fill=False, edgecolor=_INK, linewidth=0.8)
                    )
                if share >= 0.5:
                    axes.text(
                        x,
                        y,
                        f"{share:.0f}",
                        ha="center",
                        va="center",
                        fontsize=8,
                        color="white" if share > 55 else _INK,
                    )

    return _svg(draw, (1.5 + 0.42 * len(columns), 1.3 + 0.42 * len(lines)), name)


def _plain(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, color="#e8ebf0", linewidth=0.8)
    axes.set_axisbelow(True)


def _place_labels(axes: Any, points: Sequence[Point]) -> None:
    """Label the points, first ones first, each at the place beside it where the label covers least."""
    from matplotlib.patheffects import withStroke

    axes.figure.canvas.draw()
    renderer = axes.figure.canvas.get_renderer()
    window = axes.get_window_extent(renderer)
    frame: _Box = (window.x0, window.y0, window.x1, window.y1)
    pixels = axes.figure.dpi / 72
    marks = [axes.transData.transform((point.x, point.y)) for point in points]
    taken = [box for point in points for box in _taken(axes, point)]
    for point, (x, y) in zip(points, marks, strict=True):
        own = point.colour is not None
        text = axes.annotate(
            _literal(point.label),
            (point.x, point.y),
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=9 if own else 7.5,
            color=_look(point.colour)[0] if own else "#5d636e",
            fontweight="bold" if own else "normal",
            zorder=5 if own else 4,
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )
        # A label that counts in the layout would move the axes that it is placed in.
        text.set_in_layout(False)
        size = text.get_window_extent(renderer)
        boxes = [_beside(x, y, size.width, size.height, place, pixels) for place in _PLACES]
        costs = [_cost(box, taken, frame) for box in boxes]
        best = costs.index(min(costs))
        taken.append((3, boxes[best]))
        dx, dy, horizontal, vertical = _PLACES[best]
        text.xyann = (dx, dy)
        text.set(ha=horizontal, va=vertical)
        if max(abs(dx), abs(dy)) > 10:
            line = {"arrowstyle": "-", "color": text.get_color(), "linewidth": 0.6, "shrinkA": 0, "shrinkB": 4}
            offset: dict[str, Any] = {"textcoords": "offset points", "arrowprops": line, "zorder": 3}
            axes.annotate("", (point.x, point.y), (dx, dy), **offset).set_in_layout(False)


_Box = tuple[float, float, float, float]
"""Left, bottom, right, top, in pixels."""


def _taken(axes: Any, point: Point) -> list[tuple[int, _Box]]:
    """What a point takes up, and how bad it would be to cover it."""

    def box(left: float, right: float, below: float, above: float, pad: float) -> _Box:
        x0, y0 = axes.transData.transform((point.x - left, point.y - below))
        x1, y1 = axes.transData.transform((point.x + right, point.y + above))
        return (x0 - pad, y0 - pad, x1 + pad, y1 + pad)

    found = [(2, box(0, 0, 0, 0, 4))]
    if point.error:
        left, right, below, above = point.error
        found += [(1, box(left, right, 0, 0, 1)), (1, box(0, 0, below, above, 1))]
    return found


def _beside(x: float, y: float, width: float, height: float, place: tuple[int, int, str, str], pixels: float) -> _Box:
    """The box of a label of that size at a place beside the point (x, y)."""
    dx, dy, horizontal, vertical = place
    left = x + dx * pixels - width * {"left": 0, "center": 0.5, "right": 1}[horizontal]
    bottom = y + dy * pixels - height * {"bottom": 0, "center": 0.5, "top": 1}[vertical]
    return (left, bottom, left + width, bottom + height)


def _cost(box: _Box, taken: Sequence[tuple[int, _Box]], frame: _Box) -> int:
    left, bottom, right, top = box
    outside = left < frame[0] or bottom < frame[1] or right > frame[2] or top > frame[3]
    return 4 * outside + sum(
        weight for weight, (x0, y0, x1, y1) in taken if left < x1 and x0 < right and bottom < y1 and y0 < top
    )


_PLACES = tuple(
    place
    for far in (7, 14, 24, 36)
    for place in (
        (far, 0, "left", "center"),
        (-far, 0, "right", "center"),
        (0, far, "center", "bottom"),
        (0, -far, "center", "top"),
        (far, far, "left", "bottom"),
        (far, -far, "left", "top"),
        (-far, far, "right", "bottom"),
        (-far, -far, "right", "top"),
    )
)


def _literal(text: str) -> str:
    """`text` in one line, cut to a label's length, with dollar signs that do not start a formula."""
    line = " ".join(text.split())
    return (line if len(line) <= 40 else line[:37] + "...").replace("$", r"\$")


def _svg(draw: Callable[[Any], None], size: tuple[float, float], name: str) -> str:
    """Draw onto a figure of that size in inches and return the `<svg>` element, the same for the same input."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings: Any = {
        "svg.hashsalt": name,
        "svg.fonttype": "path",
        "font.size": 10,
        "text.color": _INK,
        "axes.labelcolor": _INK,
        "axes.edgecolor": "#9aa1ac",
        "xtick.color": _INK,
        "ytick.color": _INK,
    }
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # A label in a script that the font lacks is drawn as boxes; the tables have it in full.
        warnings.filterwarnings("ignore", message="Glyph")
        figure = Figure(figsize=size, layout="constrained")
        # Measuring text needs a canvas that draws; saving takes the SVG one by itself.
        FigureCanvasAgg(figure)
        draw(figure)
        out = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(out, format="svg", transparent=True, metadata=nothing)
    return _inline(out.getvalue(), name)


def _inline(document: str, name: str) -> str:
    """The `<svg>` element alone, its ids made unique in a page of several, its size left to the page."""
    svg = document[document.index("<svg") :]
    # Comments hold the labels, which a log may have named.
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    # Its only rule would hold for the whole page; as an attribute it holds for this picture.
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, count=1, flags=re.DOTALL)
    head, rest = svg.split(">", 1)
    width = re.search(r'width="([\d.]+)pt"', head)
    head = re.sub(r'\s(width|height)="[^"]*"', "", head)
    size = f' style="width:{float(width[1]) * 4 / 3:.0f}px"' if width else ""
    return f'{head} stroke-linejoin="round" stroke-linecap="butt" aria-hidden="true"{size}>{rest}'.strip()
