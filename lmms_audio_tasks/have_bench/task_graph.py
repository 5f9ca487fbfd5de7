"""A task graph: states with observations, and edges with the criterion by which an answer takes one to the next."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

Scenario = Literal["navigation", "puzzle", "music_reproduction"]
SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)

TRIES = 3
"""Tries at a node where a graph does not say."""
TURNS = 20
"""Turns an episode may take where a graph does not say."""


@dataclass(frozen=True, slots=True)
class Node:
    """A state and what is observed in it: paths of images and audio as the file gives them, and a text, maybe ""."""

    id: str
    text: str = ""
    images: tuple[str, ...] = ()
    audios: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """A step from one node to another, taken when an answer meets `criterion`."""

    source: str
    target: str
    criterion: str


@dataclass(frozen=True, eq=False)
class Graph:
    """One task.

    Attributes:
        nodes: by id, in the order of the file, which is also the order of `edges`.
        goals: the nodes that end an episode in success; at least one.
        tries: how many answers in a row may fail at one node.
        turns: how many answers an episode may have.
    """

    id: str
    scenario: Scenario
    nodes: Mapping[str, Node]
    edges: tuple[Edge, ...]
    start: str
    goals: tuple[str, ...]
    tries: int = TRIES
    turns: int = TURNS

    @cached_property
    def outgoing(self) -> Mapping[str, tuple[Edge, ...]]:
        """The edges that leave each node, in the order of the file; an empty tuple for a dead end."""
        found: dict[str, list[Edge]] = {node: [] for node in self.nodes}
        for edge in self.edges:
            found[edge.source].append(edge)
        return {node: tuple(edges) for node, edges in found.items()}

    @cached_property
    def distances(self) -> Mapping[str, int]:
        """The steps from each node to the nearest goal; nodes from which there is no way are left out."""
        incoming: dict[str, list[str]] = {}
        for edge in self.edges:
            incoming.setdefault(edge.target, []).append(edge.source)
        found = dict.fromkeys(self.goals, 0)
        todo = deque(found)
        while todo:
            node = todo.popleft()
            for before in incoming.get(node, ()):
                if before not in found:
                    found[before] = found[node] + 1
                    todo.append(before)
        return found

    @property
    def shortest_path(self) -> int | None:
        """The fewest steps from start to a goal; None where there is no way."""
        return self.distances.get(self.start)

    def to_dict(self) -> dict[str, Any]:
        """The graph in the form of a line of `graphs.jsonl`, every key present."""
        return {
            "id": self.id,
            "scenario": self.scenario,
            "nodes": [
                {"id": node.id, "text": node.text, "images": list(node.images), "audios": list(node.audios)}
                for node in self.nodes.values()
            ],
            "edges": [{"from": edge.source, "to": edge.target, "criterion": edge.criterion} for edge in self.edges],
            "start": self.start,
            "goal": list(self.goals),
            "limits": {"tries": self.tries, "turns": self.turns},
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Graph:
        """The graph that `fields`, known to be free of faults, describe; see `to_dict` and `graphs.parse`."""
        limits = fields.get("limits") or {}
        goal = fields["goal"]
        nodes = [
            Node(node["id"], node.get("text", ""), tuple(node.get("images", ())), tuple(node.get("audios", ())))
            for node in fields["nodes"]
        ]
        return cls(
            id=fields["id"],
            scenario=fields["scenario"],
            nodes={node.id: node for node in nodes},
            edges=tuple(Edge(edge["from"], edge["to"], edge["criterion"]) for edge in fields["edges"]),
            start=fields["start"],
            goals=(goal,) if isinstance(goal, str) else tuple(goal),
            tries=limits.get("tries", TRIES),
            turns=limits.get("turns", TURNS),
        )
