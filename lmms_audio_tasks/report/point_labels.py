"""Labels beside points, where they cover least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lmms_audio_tasks.report.drawing import literal, look


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


def place_labels(axes: Any, points: Sequence[Point]) -> None:
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
            literal(point.label),
            (point.x, point.y),
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=9 if own else 7.5,
            color=look(point.colour)[0] if own else "#5d636e",
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
