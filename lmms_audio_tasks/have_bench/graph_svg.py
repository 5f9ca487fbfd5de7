"""A task graph as an SVG picture, with the path that an episode took. Plain text out, no library needed.

Readable up to some `MOST` nodes. Of a larger graph the nodes on the path and those next to it are drawn, and a line
says how many are left out.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lmms_audio_tasks.have_bench.episode import Episode
from lmms_audio_tasks.have_bench.graph_layout import GAP_X, HEIGHT, WIDTH, Layout, Point, lay_out
from lmms_audio_tasks.have_bench.task_graph import Graph

MOST = 60
"""Nodes that one picture shows."""
MOST_LABELS = 24
"""Beyond so many edges their criteria stand in the tooltips only."""
MARGIN = 26
INK, FAINT, TAKEN, GOAL, BAD, SEEN = "#22303c", "#9aa5ad", "#1f6fb2", "#2f8f4e", "#c2412f", "#e3effa"
_FONT = "font-family:system-ui,sans-serif"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


_Curve = tuple[Point, Point, Point, Point]


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        """Whether the two have more than an edge in common."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


@dataclass(frozen=True, slots=True)
class _Line:
    """All edges from one node to another, and the turns that took one of them."""

    source: str
    target: str
    criteria: tuple[str, ...]
    turns: tuple[int, ...]


def draw(graph: Graph, episode: Episode | None = None) -> str:
    """The picture as one `<svg>` element, which may stand in a page or alone in a file.

    Boxes are nodes; a green double frame is a goal. What the episode visited is filled, the steps it took are thick and
    bear the numbers of their turns, and the node where it ended is framed in green (a goal) or red.
    """
    nodes = _chosen(graph, episode)
    layout = lay_out(graph, nodes)
    lines = _lines(graph, nodes, episode)
    loops = 110 if any(_is_around(layout, line) for line in lines) else 48
    width, height = layout.width + 2 * MARGIN + loops, layout.height + 2 * MARGIN + 26
    mark = hashlib.sha256(graph.id.encode("utf-8", "replace")).hexdigest()[:8]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" style="{_FONT};background:#fff">',
        f"<title>{_text(f'Task graph {graph.id}')}</title>",
        _arrowheads(mark),
        f'<g transform="translate({MARGIN},{MARGIN})">',
    ]
    curves = [(line, _curve(layout, line, number)) for number, line in enumerate(_in_order(layout, lines))]
    parts += [_line(line, curve, mark) for line, curve in curves]
    parts += [_node(graph, layout, node, episode) for node in nodes]
    parts += _writing(layout, curves, len(graph.edges) <= MOST_LABELS)
    parts.append(
        f'<text x="0" y="{layout.height + 34:.0f}" font-size="12" fill="{INK}">{_caption(graph, nodes)}</text>'
    )
    return "\n".join([*parts, "</g>", "</svg>"])


def _chosen(graph: Graph, episode: Episode | None) -> list[str]:
    """The nodes to draw, in the order of the file: all, or those on the path and then those nearest to it."""
    if len(graph.nodes) <= MOST:
        return list(graph.nodes)
    first = [graph.start, *(episode.visited if episode else ())]
    kept: dict[str, None] = dict.fromkeys(first)
    todo = list(kept)
    for node in todo:
        for edge in graph.outgoing[node]:
            if edge.target not in kept:
                kept[edge.target] = None
                todo.append(edge.target)
        if len(kept) >= MOST:
            break
    # The path itself may be longer than the picture: its beginning is shown.
    shown = set(list(kept)[:MOST])
    return [node for node in graph.nodes if node in shown]


def _caption(graph: Graph, nodes: Sequence[str]) -> str:
    if len(nodes) == len(graph.nodes):
        return _text(f"{len(nodes)} nodes, {len(graph.edges)} edges")
    return _text(f"{len(nodes)} of {len(graph.nodes)} nodes: those on the path or near it; the others are left out")


def _lines(graph: Graph, nodes: Iterable[str], episode: Episode | None) -> list[_Line]:
    shown = set(nodes)
    criteria: dict[tuple[str, str], list[str]] = {}
    for edge in graph.edges:
        if edge.source in shown and edge.target in shown:
            criteria.setdefault((edge.source, edge.target), []).append(edge.criterion)
    turns: dict[tuple[str, str], list[int]] = {}
    for number, turn in enumerate(episode.turns if episode else (), start=1):
        if turn.to is not None:
            turns.setdefault((turn.node, turn.to), []).append(number)
    return [_Line(*ends, tuple(told), tuple(turns.get(ends, ()))) for ends, told in criteria.items()]


def _in_order(layout: Layout, lines: list[_Line]) -> list[_Line]:
    """Lines that were taken last, so that they lie on top; among those that go around, short ones first."""
    return sorted(
        lines, key=lambda line: (bool(line.turns), abs(layout.layers[line.source] - layout.layers[line.target]))
    )


def _is_around(layout: Layout, line: _Line) -> bool:
    """Whether a line leads up over more than one layer, and so has to go around the nodes between."""
    return layout.layers[line.source] - layout.layers[line.target] > 1


def _line(line: _Line, curve: _Curve, mark: str) -> str:
    colour, width, head = (TAKEN, 3.2, "taken") if line.turns else (FAINT, 1.4, "plain")
    path = f"M{curve[0].x:.1f},{curve[0].y:.1f} C" + " ".join(f"{point.x:.1f},{point.y:.1f}" for point in curve[1:])
    told = "\n".join([f"{line.source} → {line.target}", *line.criteria])
    return (
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}" marker-end="url(#{head}-{mark})">'
        f"<title>{_text(told)}</title></path>"
    )


def _writing(layout: Layout, curves: Sequence[tuple[_Line, _Curve]], labels: bool) -> list[str]:
    """Turn numbers and criteria, each where its line leaves room; a criterion without room is in the tooltip only."""
    busy = [_Box(x - WIDTH / 2, y - HEIGHT / 2, x + WIDTH / 2, y + HEIGHT / 2) for x, y in layout.centres.values()]
    found = []
    for line, curve in curves:
        if line.turns:
            text = ",".join(map(str, line.turns))
            half = 9 + 3 * (len(text) - 1)
            place = _free(curve, (0.26, 0.36, 0.18, 0.46, 0.56, 0.66, 0.76), half, 9, busy)
            found.append(_bubble(place or _at(curve, 0.26), half, text))
    for line, curve in reversed(curves) if labels else ():
        more = f" (+{len(line.criteria) - 1})" if len(line.criteria) > 1 else ""
        text = _short(line.criteria[0].removeprefix("option:"), 24) + more
        place = _free(curve, (0.5, 0.6, 0.4, 0.7, 0.3, 0.8, 0.2), 2.9 * len(text) + 2, 7, busy)
        if place is not None:
            found.append(
                f'<text x="{place.x:.1f}" y="{place.y + 4:.1f}" font-size="10.5" text-anchor="middle" fill="{INK}" '
                f'stroke="#fff" stroke-width="3" paint-order="stroke">{_text(text)}</text>'
            )
    return found


def _free(curve: _Curve, shares: Iterable[float], half: float, tall: float, busy: list[_Box]) -> Point | None:
    """The first place on the curve where a box of that size meets none of `busy`, to which it is then added."""
    for share in shares:
        place = _at(curve, share)
        box = _Box(place.x - half, place.y - tall, place.x + half, place.y + tall)
        if not any(box.meets(other) for other in busy):
            busy.append(box)
            return place
    return None


def _curve(layout: Layout, line: _Line, number: int) -> _Curve:
    """A cubic Bézier curve from one node's frame to the other's."""
    one, other = layout.centres[line.source], layout.centres[line.target]
    down = layout.layers[line.target] - layout.layers[line.source]
    if line.source == line.target:
        right = Point(one.x + WIDTH / 2, one.y)
        return (
            Point(right.x, right.y - 8),
            Point(right.x + 44, right.y - 30),
            Point(right.x + 44, right.y + 30),
            Point(right.x, right.y + 8),
        )
    if down == 0:
        side = 1 if other.x > one.x else -1
        if abs(other.x - one.x) <= WIDTH + GAP_X + 1:
            # Neighbours: straight across the gap, the way back a little lower.
            begin, end = Point(one.x + side * WIDTH / 2, one.y + 7 * side), Point(other.x - side * WIDTH / 2, other.y)
            return begin, Point(begin.x, begin.y), Point(end.x, end.y + 7 * side), Point(end.x, end.y + 7 * side)
        dip = 26 + 8 * (number % 4)
        begin, end = Point(one.x + 20 * side, one.y + HEIGHT / 2), Point(other.x - 20 * side, other.y + HEIGHT / 2)
        return begin, Point(begin.x, begin.y + dip), Point(end.x, end.y + dip), end
    if _is_around(layout, line):
        aside = layout.width + 30 + 16 * (number % 6)
        begin, end = Point(one.x + WIDTH / 2, one.y), Point(other.x + WIDTH / 2, other.y)
        return begin, Point(aside, one.y), Point(aside, other.y), end
    # One layer down or up, the way down on the left and the way up on the right of the middle.
    shift, sign = (-12.0, 1) if down > 0 else (12.0, -1)
    begin, end = Point(one.x + shift, one.y + sign * HEIGHT / 2), Point(other.x + shift, other.y - sign * HEIGHT / 2)
    middle = (end.y - begin.y) / 2
    return begin, Point(begin.x, begin.y + middle), Point(end.x, end.y - middle), end


def _at(curve: _Curve, share: float) -> Point:
    rest = 1 - share
    weights = (rest**3, 3 * rest**2 * share, 3 * rest * share**2, share**3)
    return Point(*(sum(w * point[axis] for w, point in zip(weights, curve, strict=True)) for axis in (0, 1)))


def _bubble(place: Point, half: float, text: str) -> str:
    return (
        f'<rect x="{place.x - half:.1f}" y="{place.y - 9:.1f}" width="{2 * half}" height="18" rx="9" fill="{TAKEN}"/>'
        f'<text x="{place.x:.1f}" y="{place.y + 4:.1f}" font-size="11" font-weight="600" text-anchor="middle" '
        f'fill="#fff">{_text(text)}</text>'
    )


def _node(graph: Graph, layout: Layout, node: str, episode: Episode | None) -> str:
    centre = layout.centres[node]
    left, top = centre.x - WIDTH / 2, centre.y - HEIGHT / 2
    visited = episode is not None and node in episode.visited
    ended = episode is not None and episode.end is not None and episode.node == node
    fill = SEEN if visited else "#fff"
    frame = GOAL if node in graph.goals else BAD if ended else TAKEN if visited else INK
    parts = [
        f"<g><title>{_text(graph.nodes[node].text or node)}</title>",
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{WIDTH}" height="{HEIGHT}" rx="8" fill="{fill}" '
        f'stroke="{frame}" stroke-width="{3 if ended else 1.6}"/>',
    ]
    if node in graph.goals:
        parts.append(
            f'<rect x="{left + 4:.1f}" y="{top + 4:.1f}" width="{WIDTH - 8}" height="{HEIGHT - 8}" rx="5" fill="none" '
            f'stroke="{GOAL}" stroke-width="1.2"/>'
        )
    note = _note(graph, node, episode)
    parts.append(
        f'<text x="{centre.x:.1f}" y="{centre.y + (-1 if note else 4):.1f}" font-size="13" text-anchor="middle" '
        f'fill="{INK}">{_text(_short(node, 19))}</text>'
    )
    if note:
        parts.append(
            f'<text x="{centre.x:.1f}" y="{centre.y + 14:.1f}" font-size="10.5" text-anchor="middle" fill="{frame}">'
            f"{_text(note)}</text>"
        )
    return "".join([*parts, "</g>"])


def _note(graph: Graph, node: str, episode: Episode | None) -> str:
    """What stands below a node's name."""
    notes = ["start"] if node == graph.start else []
    notes += ["goal"] if node in graph.goals else []
    notes += ["dead end"] if not graph.outgoing[node] and node not in graph.goals else []
    failed = sum(turn.node == node and turn.to is None for turn in episode.turns) if episode else 0
    notes += [f"{failed} failed"] if failed else []
    if episode is not None and episode.end not in (None, "goal") and episode.node == node:
        notes.append("ended here")
    return ", ".join(notes)


def _arrowheads(mark: str) -> str:
    heads = [
        f'<marker id="{name}-{mark}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="{size}" markerHeight="{size}" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0 L10,5 L0,10 z" fill="{colour}"/></marker>'
        for name, colour, size in (("plain", FAINT, 9), ("taken", TAKEN, 13))
    ]
    return f"<defs>{''.join(heads)}</defs>"


def _short(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _text(text: str) -> str:
    """`text` escaped for XML, characters that XML does not allow left out."""
    return html.escape(_NOT_XML.sub("", text))
