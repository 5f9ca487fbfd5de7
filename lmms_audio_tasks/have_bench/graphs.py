"""`graphs.jsonl`: one task graph a line, read strictly; each fault is told with its line.

`schema/graphs.schema.json` has the form of a line. What a schema cannot say is checked here: the ends of the edges, a
way from start to the goal within the limit, criteria that are rules, that every node asks something, and the media.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.have_bench import GRAPHS_FILE, rules
from lmms_audio_tasks.have_bench.lines import json_objects, schema_faults
from lmms_audio_tasks.have_bench.media import Kind, Media
from lmms_audio_tasks.have_bench.task_graph import Graph, Node

_Fault = Callable[[str, str], DataError]
"""Makes a fault out of what was expected and found; it knows the file and the line."""


def load(root: Path) -> tuple[Graph, ...]:
    """The graphs in `root`, the benchmark's folder that holds `graphs.jsonl`, in the order of the file.

    Of media only the headers are read. The file is read again when it has changed.

    Raises:
        DataError: the first fault, with the number of others.
    """
    path = root / GRAPHS_FILE
    stat = path.stat() if path.is_file() else None
    graphs, found = _read_once(root, stat and (stat.st_size, stat.st_mtime_ns))
    # Media may come and go while the file stays: they are looked at each time.
    found = found or tuple(_all_media_faults(path, graphs, Media(root, decode=False)))
    if not found:
        return tuple(graphs.values())
    first, others = found[0], len(found) - 1
    more = f" (and {others} more: `lmms-audio-tasks check have_bench` lists all)" if others else ""
    raise DataError(first.file, first.expected, f"{first.found}{more}", first.row)


def faults(root: Path, media: Media | None = None) -> tuple[list[Graph], list[DataError]]:
    """Every graph without a fault in its own line, and every fault of the file, line by line.

    Args:
        root: the benchmark's folder, the one that holds `graphs.jsonl`.
        media: how media are looked at; None for decoding each to its end.
    """
    path = root / GRAPHS_FILE
    graphs, found = _read(root)
    bad = list(_all_media_faults(path, graphs, media or Media(root, decode=True)))
    rows = {fault.row for fault in bad}
    sound = [graph for number, graph in graphs.items() if f"line {number}" not in rows]
    return sound, sorted([*found, *bad], key=lambda fault: int(str(fault.row or "line 0").split()[-1]))


@lru_cache(maxsize=8)
def _read_once(root: Path, _stamp: object) -> tuple[Mapping[int, Graph], tuple[DataError, ...]]:
    graphs, found = _read(root)
    return graphs, tuple(found)


def _read(root: Path) -> tuple[dict[int, Graph], list[DataError]]:
    """The graphs whose lines are free of faults, by line, and the faults; media are not looked at."""
    path = root / GRAPHS_FILE
    graphs: dict[int, Graph] = {}
    found: list[DataError] = []
    ids: dict[str, int] = {}
    for number, value in json_objects(path):
        if isinstance(value, DataError):
            found.append(value)
            continue
        at = partial(_at, path, number)
        graph, wrong = parse(value, at, schema_faults(path, number, value, "graphs"))
        name = value.get("id")
        if isinstance(name, str) and ids.setdefault(name, number) != number:
            wrong.append(at("each id once", f"{name!r} again, first in line {ids[name]}"))
        found += wrong
        if graph is not None and not wrong:
            graphs[number] = graph
    return graphs, found


def _at(path: Path, line: int, expected: str, found: str) -> DataError:
    return DataError(path, expected, found, f"line {line}")


def parse(fields: Mapping[str, Any], at: _Fault, form_faults: list[DataError]) -> tuple[Graph | None, list[DataError]]:
    """The graph of one line, None where it has faults, and these.

    Args:
        form_faults: what the schema finds wrong; then nothing else is looked at.
    """
    if form_faults:
        return None, form_faults
    graph = Graph.from_dict(fields)
    found = [*_doubles(fields, at), *_lost_ends(graph, at)] or [*_way_faults(graph, at), *_step_faults(graph, at)]
    return (None if found else graph), found


def _doubles(fields: Mapping[str, Any], at: _Fault) -> Iterator[DataError]:
    ids = [node["id"] for node in fields["nodes"]]
    if len(set(ids)) < len(ids):
        yield at("each node's id once", f"{next(one for one in ids if ids.count(one) > 1)!r} twice or more")


def _lost_ends(graph: Graph, at: _Fault) -> Iterator[DataError]:
    places = [("start", graph.start), *(("goal", goal) for goal in graph.goals)]
    for number, edge in enumerate(graph.edges):
        places += [(f"edges[{number}].from", edge.source), (f"edges[{number}].to", edge.target)]
    for place, node in places:
        if node not in graph.nodes:
            near = difflib.get_close_matches(node, graph.nodes, n=1, cutoff=0.6)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            yield at(f"{place} to be the id of a node", f"{node!r}{hint}")


def _way_faults(graph: Graph, at: _Fault) -> Iterator[DataError]:
    steps = graph.shortest_path
    if graph.start in graph.goals:
        yield at("a start that is not a goal", f"{graph.start!r}, which is both")
    elif steps is None:
        yield at("a way from start to a goal", f"none from {graph.start!r} to {' or '.join(map(repr, graph.goals))}")
    elif steps > graph.turns:
        yield at(f"limits.turns to be at least {steps}, the length of the shortest path", f"{graph.turns}")


def _step_faults(graph: Graph, at: _Fault) -> Iterator[DataError]:
    for node in graph.nodes.values():
        left = graph.outgoing[node.id] and node.id not in graph.goals
        if left and not (node.text.strip() or node.images or node.audios):
            yield at(f"node {node.id!r} to have text, images or audios", "nothing that a model could observe")
    first: dict[tuple[str, str], int] = {}
    for number, edge in enumerate(graph.edges):
        told = graph.nodes[edge.source].text
        before = first.setdefault((edge.source, rules.same_for(edge.criterion, told)), number)
        if before != number:
            yield at(
                f"edges[{number}].criterion to be one of its own among the edges from {edge.source!r}, as the "
                "first that is met is taken",
                f"that of edges[{before}]",
            )
        wrong = rules.fault(edge.criterion, told)
        if wrong:
            yield at(f"edges[{number}].criterion to be {wrong[0]}", wrong[1])


def media_of(node: Node) -> Iterator[tuple[Kind, str]]:
    """A node's files, pictures first."""
    yield from (("image", name) for name in node.images)
    yield from (("audio", name) for name in node.audios)


def _all_media_faults(path: Path, graphs: Mapping[int, Graph], media: Media) -> Iterator[DataError]:
    files = [
        (number, node.id, file)
        for number, graph in graphs.items()
        for node in graph.nodes.values()
        for file in media_of(node)
    ]
    media.look(file for _, _, file in files)
    told = {"image": "a picture", "audio": "a recording"}
    for number, node, (kind, name) in files:
        if problem := media.problem(kind, name):
            yield _at(path, number, f"{told[kind]} that can be decoded at node {node!r}", problem)
