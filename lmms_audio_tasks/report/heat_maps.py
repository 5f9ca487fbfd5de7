"""Heat maps as SVG: a cell a percentage, darker for more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmms_audio_tasks.report.drawing import INK, literal, svg


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
        axes.set_xticks(range(len(columns)), map(literal, columns), rotation=40, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(len(lines)), map(literal, lines))
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_xlabel("chosen")
        axes.set_ylabel("right")
        for y, line in enumerate(shares):
            for x, share in enumerate(line):
                if lines[y] == columns[x]:
                    axes.add_patch(
                        Rectangle((x - 0.47, y - 0.47), 0.94, 0.94, fill=False, edgecolor=INK, linewidth=0.8)
                    )
                if share >= 0.5:
                    axes.text(
                        x,
                        y,
                        f"{share:.0f}",
                        ha="center",
                        va="center",
                        fontsize=8,
                        color="white" if share > 55 else INK,
                    )

    return svg(draw, (1.5 + 0.42 * len(columns), 1.3 + 0.42 * len(lines)), name)


def shaded(
    lines: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    texts: Sequence[Sequence[str]],
    name: str,
    apart: tuple[int, int] = (0, 0),
    cell: tuple[float, float] = (0.62, 0.27),
) -> str:
    """A cell a percentage, darker for more, with its text in it; the scale is told by a bar and spans what there is.

    Args:
        values: None is shown in grey.
        texts: what stands in the cells.
        name: keeps the ids of several maps in one page apart.
        apart: so many lines and columns at the start stand apart from the others, as they sum these up.
        cell: size of a cell in inches.
    """
    low, high = _span([value for line in values for value in line if value is not None])

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        gap = [0.25 if count else 0.0 for count in apart]
        ys = [n + (gap[0] if n >= apart[0] else 0.0) for n in range(len(lines))]
        xs = [n + (gap[1] if n >= apart[1] else 0.0) for n in range(len(columns))]
        colours = _scale(low, high)
        for y, line in zip(ys, range(len(lines)), strict=True):
            for x, column in zip(xs, range(len(columns)), strict=True):
                value = values[line][column]
                face = "#eceef1" if value is None else colours.to_rgba(value)
                axes.add_patch(_cell(x, y, face))
                dark = value is not None and value > low + 0.55 * (high - low)
                ink = "white" if dark else INK
                axes.text(x, y, texts[line][column], ha="center", va="center", fontsize=8, color=ink)
        axes.set(xlim=(-0.5, xs[-1] + 0.5), ylim=(ys[-1] + 0.5, -0.5))
        axes.set_xticks(xs, map(literal, columns), rotation=45, ha="left", rotation_mode="anchor")
        axes.set_yticks(ys, map(literal, lines))
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        bar = figure.colorbar(colours, ax=axes, fraction=0.03, pad=0.01, aspect=30, shrink=0.8, ticks=_tens(low, high))
        bar.set_label("right responses (%)")
        bar.ax.tick_params(length=0)
        bar.outline.set_visible(False)

    longest = max(len(literal(text)) for text in columns)
    width = 2.6 + cell[0] * len(columns)
    height = 0.7 + 0.055 * longest + cell[1] * len(lines)
    return svg(draw, (width, height), name)


def _cell(x: float, y: float, face: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=face, edgecolor="white", linewidth=0.8)


def _scale(low: float, high: float) -> Any:
    """The scale of `shaded`: one hue from light to dark, which needs no colour vision."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    return ScalarMappable(Normalize(low, high), cmap="Blues")


def _tens(low: float, high: float) -> list[float]:
    step = 5 if high - low <= 40 else 10
    return [low + step * n for n in range(int((high - low) // step) + 1)]


def _span(values: Sequence[float]) -> tuple[float, float]:
    """The ends of a scale for `values`, at whole tens and at least 20 apart."""
    low, high = (min(values), max(values)) if values else (0.0, 100.0)
    low, high = 10.0 * (low // 10), -10.0 * (-high // 10)
    while high - low < 20:
        low, high = max(0.0, low - 10), min(100.0, high + 10)
    return low, high
