"""Where the nodes of a small graph go on a page: layers by distance from the start, and few crossings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lmms_audio_tasks.have_bench.task_graph import Graph

WIDTH, HEIGHT = 150, 46
"""Of a node's box, in pixels."""
GAP_X, GAP_Y = 40, 92
_SWEEPS = 6


class Point(NamedTuple):
    """A place on the page, in pixels from its upper left."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Layout:
    """The centre of each node, its layer from 0, and the size of the page without margins."""

    centres: Mapping[str, Point]
    layers: Mapping[str, int]
    width: float
    height: float


def lay_out(graph: Graph, nodes: Collection[str]) -> Layout:
    """Lay `nodes` out, which hold the start; those that cannot be reached within them come last.

    Layers by breadth-first distance make every edge lead one layer down at most. Within a layer nodes are sorted by the
    mean place of their neighbours, down and up in turn (Sugiyama, Tagawa and Toda 1981).
    """
    layers = _layers(graph, nodes)
    rows = [[node for node in nodes if layers[node] == number] for number in range(max(layers.values()) + 1)]
    near = _neighbours(graph, nodes)
    for sweep in range(_SWEEPS):
        order = range(1, len(rows)) if sweep % 2 == 0 else range(len(rows) - 2, -1, -1)
        for number in order:
            _sort(rows[number], rows[number + (-1 if sweep % 2 == 0 else 1)], near)
    width = max(len(row) for row in rows) * (WIDTH + GAP_X) - GAP_X
    centres = {}
    for number, row in enumerate(rows):
        left = (width - len(row) * (WIDTH + GAP_X) + GAP_X) / 2
        for place, node in enumerate(row):
            centres[node] = Point(left + place * (WIDTH + GAP_X) + WIDTH / 2, number * (HEIGHT + GAP_Y) + HEIGHT / 2)
    return Layout(centres, layers, width, len(rows) * (HEIGHT + GAP_Y) - GAP_Y)


def _layers(graph: Graph, nodes: Collection[str]) -> dict[str, int]:
    found = {graph.start: 0}
    todo = [graph.start]
    for node in todo:
        for edge in graph.outgoing[node]:
            if edge.target in nodes and edge.target not in found:
                found[edge.target] = found[node] + 1
                todo.append(edge.target)
    last = max(found.values()) + 1
    return {node: found.get(node, last) for node in nodes}


def _neighbours(graph: Graph, nodes: Collection[str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {node: set() for node in nodes}
    for edge in graph.edges:
        if edge.source in found and edge.target in found:
            found[edge.source].add(edge.target)
            found[edge.target].add(edge.source)
    return found


def _sort(row: list[str], beside: Sequence[str], near: Mapping[str, set[str]]) -> None:
    # Relative places, as rows are of unlike length.
    places = {node: (place + 0.5) / len(beside) for place, node in enumerate(beside)}
    own = {node: (place + 0.5) / len(row) for place, node in enumerate(row)}

    def mean(node: str) -> float:
        seen = [places[other] for other in near[node] if other in places]
        return sum(seen) / len(seen) if seen else own[node]

    row.sort(key=mean)
