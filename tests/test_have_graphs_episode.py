"""Episodes: the rules by hand, and on random graphs that each ends, honestly and the same way each time."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_audio_tasks.have_bench.episode import ENDS, VERDICTS, EdgeVerdict, Episode, begin, completion, step
from lmms_audio_tasks.have_bench.rules import EdgeWord
from lmms_audio_tasks.have_bench.task_graph import Edge, Graph, Node
from lmms_audio_tasks.records import error_response

WORDS: dict[str, EdgeWord] = {"+": "accepted", "-": "rejected", "?": "unjudged"}


def make(*edges: str, start: str = "a", goals: Sequence[str] = ("g",), tries: int = 2, turns: int = 6) -> Graph:
    """A graph from edges like `ab`, its nodes single letters."""
    names = dict.fromkeys([start, *(letter for edge in edges for letter in edge), *goals])
    nodes = {name: Node(name, name) for name in names}
    return Graph(
        "g1", "puzzle", nodes, tuple(Edge(e[0], e[1], f"go {e[1]}") for e in edges), start, tuple(goals), tries, turns
    )


def judged(graph: Graph, episode: Episode, words: str) -> list[EdgeVerdict]:
    edges = graph.outgoing[episode.node]
    return [EdgeVerdict(e.target, e.criterion, WORDS[w], "") for e, w in zip(edges, words, strict=True)]


def play(graph: Graph, *turns: str) -> Episode:
    """Each turn is one sign an edge: + accepted, - rejected, ? unjudged; `error` where the model failed."""
    episode = begin(graph)
    for words in turns:
        if words == "error":
            episode = step(graph, episode, error_response("out of memory"), ())
        else:
            episode = step(graph, episode, words, judged(graph, episode, words))
    return episode


LINE = make("ab", "bg", "ax", "by", "yb")  # a -> b -> g; x is a dead end, y leads back
CASES = [
    # turns, end, where, visited, completion (d(a) = 2)
    ([], None, "a", "a", 0.0),
    (["+-"], None, "b", "ab", 0.5),
    (["+-", "+-"], "goal", "g", "abg", 1.0),
    (["-+"], "stuck", "x", "ax", 0.0),
    (["--", "+-", "--", "+-"], "goal", "g", "abg", 1.0),
    (["--", "--"], "stuck", "a", "a", 0.0),
    (["+-", "--", "--"], "stuck", "b", "ab", 0.5),
    # Several accepted: the first in the file.
    (["++"], None, "b", "ab", 0.5),
    # No verdict before the accepted edge: it might have been the one. After it: nothing changes.
    (["?+"], "judge_error", "a", "a", 0.0),
    (["+?"], None, "b", "ab", 0.5),
    (["-?"], "judge_error", "a", "a", 0.0),
    (["+-", "??"], "judge_error", "b", "ab", 0.5),
    (["error"], "model_error", "a", "a", 0.0),
    (["+-", "error"], "model_error", "b", "ab", 0.5),
    # Tries are counted anew at each visit; six turns are the most.
    (["+-", "--", "-+", "+", "--", "-+"], "turn_limit", "y", "abyby", 0.5),
    # The last turn may still reach the goal, or use up the tries.
    (["+-", "-+", "+", "-+", "+", "+-"], "goal", "g", "abybybg", 1.0),
    (["+-", "-+", "+", "-+", "-", "-"], "stuck", "y", "abyby", 0.5),
]


@pytest.mark.parametrize(("turns", "end", "node", "visited", "share"), CASES)
def test_the_rules_of_an_episode(turns: list[str], end: str | None, node: str, visited: str, share: float) -> None:
    episode = play(LINE, *turns)
    assert (episode.end, episode.node, "".join(episode.visited)) == (end, node, visited)
    assert completion(LINE, episode) == share
    assert len(episode.turns) == len(turns)
    assert bool(episode.why) == (end is not None)


def test_attempts_and_several_are_told() -> None:
    episode = play(LINE, "--", "++", "+-")
    assert [turn.attempt for turn in episode.turns] == [1, 2, 1]
    assert [turn.several for turn in episode.turns] == [False, True, False]
    assert [turn.to for turn in episode.turns] == [None, "b", "g"]


def test_a_loop_shows_the_node_anew() -> None:
    loop = make("aa", "ag", tries=2, turns=5)
    episode = play(loop, "--", "+-", "--", "+-", "-+")
    assert (episode.end, [turn.attempt for turn in episode.turns]) == ("goal", [1, 2, 1, 2, 1])


def test_a_goal_with_edges_ends_and_any_goal_counts() -> None:
    graph = make("ab", "bg", "ga", "ah", goals=("g", "h"))
    assert graph.shortest_path == 1
    assert play(graph, "-+").end == "goal"
    assert play(graph, "+-", "+").end == "goal"
    assert completion(graph, play(graph, "+-")) == 0.0  # b is no nearer than a


def test_a_trap_covers_nothing() -> None:
    graph = make("ab", "bg", "at", "tt")
    episode = play(graph, "-+", "+", "+")
    assert (episode.node, completion(graph, episode)) == ("t", 0.0)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="has ended"):
        step(LINE, play(LINE, "-+"), "on", ())
    with pytest.raises(ValueError, match="verdicts on the edges from 'a'"):
        step(LINE, begin(LINE), "on", [EdgeVerdict("g", "", "accepted", "")])


def test_every_end_has_a_verdict() -> None:
    assert {end: VERDICTS[end] for end in ENDS} == {
        "goal": "correct",
        "stuck": "wrong",
        "turn_limit": "wrong",
        "judge_error": "unjudged",
        "model_error": "error",
    }


def test_a_trace_survives_json_and_keys_of_the_hosts() -> None:
    episode = play(LINE, "--", "+-", "?-")
    fields = json.loads(json.dumps({**episode.to_dict(), "agentic_trace_mode": "full"}))
    assert Episode.from_dict(fields) == episode


@st.composite
def graphs(draw: st.DrawFn, most: int = 30) -> Graph:
    """Any graph: cycles, loops, doubled edges, dead ends, several goals; a way to a goal is not promised."""
    count = draw(st.integers(2, most))
    node = st.integers(0, count - 1)
    ends = draw(st.lists(st.tuples(node, node), min_size=1, max_size=3 * count))
    goals = draw(st.lists(node, min_size=1, max_size=3, unique=True))
    names = [f"n{number}" for number in range(count)]
    return Graph(
        "random",
        "puzzle",
        {name: Node(name, name) for name in names},
        tuple(Edge(names[one], names[other], f"go {names[other]}") for one, other in ends),
        names[0],
        tuple(names[goal] for goal in goals),
        draw(st.integers(1, 4)),
        draw(st.integers(1, 30)),
    )


def answers(graph: Graph, seed: int, unjudged: float = 0.05, failing: float = 0.02) -> Iterator[Episode]:
    """The states of one random play, the last of them ended."""
    rng = random.Random(seed)
    episode = begin(graph)
    yield episode
    while episode.end is None:
        if rng.random() < failing:
            episode = step(graph, episode, error_response("failed"), ())
        else:
            words = ["unjudged" if rng.random() < unjudged else rng.choice(["accepted", "rejected"]) for _ in range(99)]
            edges = graph.outgoing[episode.node]
            verdicts = [EdgeVerdict(e.target, e.criterion, w, "") for e, w in zip(edges, words, strict=False)]  # type: ignore[arg-type]
            episode = step(graph, episode, f"answer {rng.random()}", verdicts)
        yield episode


def check(graph: Graph, seed: int) -> None:
    states = list(answers(graph, seed))
    episode = states[-1]
    assert len(states) == len(episode.turns) + 1 <= graph.turns + 1
    assert episode.end in ENDS
    # Only judged steps lead on, each along an accepted edge with nothing but rejected ones before it.
    place = graph.start
    for turn in episode.turns:
        assert turn.node == place
        if turn.to is not None:
            open_ = [verdict for verdict in turn.verdicts if verdict.verdict != "rejected"]
            assert (open_[0].verdict, open_[0].to) == ("accepted", turn.to)
            assert turn.to in {edge.target for edge in graph.outgoing[place]}
            place = turn.to
    assert place == episode.node
    # Success is exactly a judged path to a goal, found as soon as it is there.
    assert (episode.end == "goal") == (place in graph.goals)
    assert not set(episode.visited[:-1]) & set(graph.goals)
    share = completion(graph, episode)
    assert 0 <= share <= 1
    assert (share == 1) == (episode.end == "goal")
    attempts = [turn.attempt for turn in episode.turns]
    assert all(1 <= attempt <= graph.tries for attempt in attempts)
    # The same seed, the same trace; and a trace says all that is needed to go on.
    assert list(answers(graph, seed)) == states
    assert Episode.from_dict(json.loads(json.dumps(episode.to_dict()))) == episode


@given(graphs(), st.integers(0, 2**32))
@settings(max_examples=300, deadline=None)
def test_every_episode_ends_and_success_is_a_judged_path(graph: Graph, seed: int) -> None:
    check(graph, seed)


@pytest.mark.parametrize("seed", range(8))
def test_a_thousand_nodes(seed: int) -> None:
    rng = random.Random(seed)
    names = [f"n{number}" for number in range(1000)]
    edges = [Edge(rng.choice(names), rng.choice(names), "go") for _ in range(3000)]
    way = [Edge(one, other, "on") for one, other in itertools.pairwise(names)]
    nodes = {name: Node(name, name) for name in names}
    graph = Graph("big", "navigation", nodes, (*way, *edges), names[0], (names[-1], names[500]), 3, 1000)
    assert graph.shortest_path is not None
    for play_seed in range(5):
        check(graph, play_seed)


@given(graphs())
@settings(max_examples=150, deadline=None)
def test_distances_are_shortest_paths(graph: Graph) -> None:
    """Against a plain search from each node."""
    for name in graph.nodes:
        reached, front, steps = {name}, {name}, 0
        while front and not front & set(graph.goals):
            front = {edge.target for node in front for edge in graph.outgoing[node]} - reached
            reached |= front
            steps += 1
        assert graph.distances.get(name) == (steps if front else None)
