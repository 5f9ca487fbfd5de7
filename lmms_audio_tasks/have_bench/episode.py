"""One play of a task graph: which node is reached, how the episode ends, and the trace of it. No input or output.

The rules of an episode
- At each turn the answer's verdicts on the node's outgoing edges are read in the order of the file. The first edge that
  is accepted is taken, also where others further down are accepted: the order is the author's, who can put a trap or an
  exception before the way on, or a catch-all last. It does not depend on where the goal lies, so that naming every
  direction at once gains nothing but the first.
- An edge without a verdict (the judge failed) before the first accepted one leaves the step undecided: had it been
  accepted, it would have been taken. The episode then ends as `judge_error`. After an accepted edge it changes nothing.
- Nothing accepted: the turn fails and the node is tried again, up to the graph's `tries` in a row.
- A goal ends the episode, also where it has edges, and so does a node without edges that is none (`stuck`).
- After the last turn allowed the episode ends as `turn_limit`, unless that turn ended it otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from lmms_audio_tasks.have_bench.rules import EdgeWord
from lmms_audio_tasks.have_bench.task_graph import Graph
from lmms_audio_tasks.records import Verdict, is_error

End = Literal["goal", "stuck", "turn_limit", "judge_error", "model_error"]
ENDS: tuple[End, ...] = get_args(End)

VERDICTS: Mapping[End, Verdict] = {
    "goal": "correct",
    "stuck": "wrong",
    "turn_limit": "wrong",
    "judge_error": "unjudged",
    "model_error": "error",
}
"""What a record says of an episode that ended so."""


@dataclass(frozen=True, slots=True)
class EdgeVerdict:
    """What was decided on one edge: does the answer meet its criterion, and why."""

    to: str
    criterion: str
    verdict: EdgeWord
    why: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer.

    Attributes:
        node: where it was given.
        attempt: from 1; how many answers in a row were given there.
        verdicts: on each outgoing edge, in the order of the file; empty where the model failed.
        to: the node that it led to; None where it led nowhere.
    """

    node: str
    attempt: int
    response: str
    verdicts: tuple[EdgeVerdict, ...]
    to: str | None

    @property
    def several(self) -> bool:
        """Whether more than one edge was accepted."""
        return sum(verdict.verdict == "accepted" for verdict in self.verdicts) > 1


@dataclass(frozen=True, slots=True)
class Episode:
    """The state of a play.

    Attributes:
        graph: the graph's id.
        node: where the play stands.
        failed: answers in a row that failed at `node`.
        end: how it ended; None while it goes on.
        why: the end in words; "" while it goes on.
    """

    graph: str
    node: str
    failed: int = 0
    turns: tuple[Turn, ...] = ()
    end: End | None = None
    why: str = ""

    @property
    def visited(self) -> tuple[str, ...]:
        """The nodes in the order they were reached, the start first."""
        first = self.turns[0].node if self.turns else self.node
        return first, *(turn.to for turn in self.turns if turn.to is not None)

    def to_dict(self) -> dict[str, Any]:
        """The trace as plain JSON types."""
        turns = [
            {
                "node": turn.node,
                "attempt": turn.attempt,
                "response": turn.response,
                "verdicts": [
                    {"to": one.to, "criterion": one.criterion, "verdict": one.verdict, "why": one.why}
                    for one in turn.verdicts
                ],
                "to": turn.to,
            }
            for turn in self.turns
        ]
        told = {"graph": self.graph, "node": self.node, "failed": self.failed, "turns": turns}
        return {**told, "end": self.end, "why": self.why}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Episode:
        """The trace that `to_dict` made; keys that it does not make are passed over, as the host may add some.

        Raises:
            KeyError, TypeError: `fields` is no trace.
        """
        turns = tuple(
            Turn(
                turn["node"],
                turn["attempt"],
                turn["response"],
                tuple(EdgeVerdict(v["to"], v["criterion"], v["verdict"], v["why"]) for v in turn["verdicts"]),
                turn["to"],
            )
            for turn in fields["turns"]
        )
        return cls(fields["graph"], fields["node"], fields["failed"], turns, fields["end"], fields["why"])


def begin(graph: Graph) -> Episode:
    """The play before its first answer; over at once if the start is a goal or a dead end, which `graphs` refuses."""
    return _settled(graph, Episode(graph.id, graph.start))


def step(graph: Graph, episode: Episode, response: str, verdicts: Sequence[EdgeVerdict]) -> Episode:
    """The play after one more answer.

    Args:
        episode: one that has not ended.
        response: the answer; one for which `records.is_error` holds ends the episode as `model_error`.
        verdicts: on the edges that leave `episode.node`, in their order; not looked at where the model failed.

    Raises:
        ValueError: the episode has ended, or the verdicts are not on these edges.
    """
    if episode.end is not None:
        raise ValueError(f"the episode has ended: {episode.why}")
    attempt = episode.failed + 1
    if is_error(response):
        turn = Turn(episode.node, attempt, response, (), None)
        return replace(episode, turns=(*episode.turns, turn), end="model_error", why=f"the model failed: {response}")
    if [verdict.to for verdict in verdicts] != [edge.target for edge in graph.outgoing[episode.node]]:
        raise ValueError(f"expected verdicts on the edges from {episode.node!r}, in their order")
    taken = next((verdict for verdict in verdicts if verdict.verdict != "rejected"), None)
    to = taken.to if taken is not None and taken.verdict == "accepted" else None
    turns = (*episode.turns, Turn(episode.node, attempt, response, tuple(verdicts), to))
    if taken is not None and to is None:
        why = f"no verdict on the edge to {taken.to}: {taken.why}"
        return replace(episode, turns=turns, end="judge_error", why=why)
    if to is not None:
        return _settled(graph, Episode(episode.graph, to, 0, turns))
    return _settled(graph, Episode(episode.graph, episode.node, attempt, turns))


def _settled(graph: Graph, episode: Episode) -> Episode:
    """`episode`, ended where its node or a limit ends it."""
    if episode.node in graph.goals:
        return replace(episode, end="goal", why=f"reached {episode.node}")
    if not graph.outgoing[episode.node]:
        return replace(episode, end="stuck", why=f"{episode.node} is a dead end")
    if episode.failed >= graph.tries:
        return replace(episode, end="stuck", why=f"{episode.failed} tries at {episode.node} failed")
    if len(episode.turns) >= graph.turns:
        return replace(episode, end="turn_limit", why=f"no goal after {len(episode.turns)} turns")
    return episode


def completion(graph: Graph, episode: Episode) -> float:
    """The share of the shortest path that was covered, in [0, 1]; 1 where a goal was reached.

    With d(v) the steps from v to the nearest goal: (d(start) - the least d of all nodes reached) / d(start). Nodes from
    which no goal can be reached have none, and coming back is not counted off. A start without a way to a goal gives 0,
    a start that is a goal 1.
    """
    whole = graph.shortest_path
    if not whole:
        return 0.0 if whole is None else 1.0
    nearest = min(graph.distances[node] for node in episode.visited if node in graph.distances)
    return (whole - nearest) / whole
