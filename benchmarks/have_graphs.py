"""Task graphs at scale: 10,000 episodes with the rule judge, and whether each went as it was meant to.

    python benchmarks/have_graphs.py [--episodes 10000] [--nodes 40]

Draws graphs of 5 to `--nodes` nodes with cycles, traps and dead ends, their criteria options and patterns, and plays
each many times with answers in several wordings. What an answer means is known when it is drawn, so that every step and
every end is compared with a play by hand (a dictionary of steps, no judge). Then the episodes are scored from their
traces, as the host hands them over.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from dataclasses import dataclass
from string import ascii_lowercase

from lmms_audio_tasks.have_bench.edge_judge import judge_edges
from lmms_audio_tasks.have_bench.episode import Episode, begin, step
from lmms_audio_tasks.have_bench.interaction import hand_over
from lmms_audio_tasks.have_bench.interaction_scoring import process_results
from lmms_audio_tasks.have_bench.task_graph import Edge, Graph, Node
from lmms_audio_tasks.judge.settings import JudgeSettings

WAYS = ("door", "stairs", "tunnel", "bridge", "lift")
WORDINGS = ("({letter}) {text}", "({letter})", "I take the {text}.", "The answer is {letter}", "{text}")
REFUSALS = ("I do not know.", "", "Let me think about it.")


@dataclass(frozen=True)
class Drawn:
    """A graph, and what its answers mean: by node, the answers that lead on and where to."""

    graph: Graph
    steps: dict[str, dict[str, str]]


def draw_graph(number: int, most: int) -> Drawn:
    rng = random.Random(number)
    names = [f"room {n}" for n in range(rng.randint(5, most))]
    nodes, edges, steps = {}, [], {}
    for place, name in enumerate(names):
        ways = rng.sample(WAYS, rng.randint(2, 4))
        digits = rng.random() < 0.3
        options = " ".join(f"({ascii_lowercase[i]}) {way}" for i, way in enumerate(ways))
        nodes[name] = Node(name, "Which number is on the wall?" if digits else f"Where do you go? {options}")
        steps[name] = {}
        if place == len(names) - 1 or (place and rng.random() < 0.08):
            continue  # the goal, or a dead end
        for way in range(len(ways) if not digits else 1):
            target = names[place + 1] if way == 0 else rng.choice(names)
            if digits:
                edges.append(Edge(name, target, rf"regex:\b{place + 100}\b"))
                steps[name].update({str(place + 100): target, f"It is {place + 100}.": target})
            else:
                letter = ascii_lowercase[way]
                edges.append(Edge(name, target, f"option:{letter}"))
                steps[name].update({w.format(letter=letter, text=ways[way]): target for w in WORDINGS})
    graph = Graph(f"g{number}", "navigation", nodes, tuple(edges), names[0], (names[-1],), 3, 40)
    return Drawn(graph, steps)


def play(drawn: Drawn, rng: random.Random, settings: JudgeSettings) -> tuple[Episode, str]:
    """The episode, and how it ends by hand."""
    graph = drawn.graph
    episode, place, failed = begin(graph), graph.start, 0
    while episode.end is None:
        known = list(drawn.steps[place])
        answer = rng.choice(known if rng.random() < 0.8 else REFUSALS)
        episode = step(graph, episode, answer, judge_edges(graph, episode.node, answer, settings))
        target = drawn.steps[place].get(answer)
        place, failed = (place, failed + 1) if target is None else (target, 0)
        if episode.node != place:
            raise SystemExit(f"{graph.id}: {answer!r} led to {episode.node}, not {place}")
    if place in graph.goals:
        return episode, "goal"
    return episode, "stuck" if failed == graph.tries or not drawn.steps[place] else "turn_limit"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=40)
    options = parser.parse_args()
    settings = JudgeSettings()
    graphs = [draw_graph(number, options.nodes) for number in range(max(1, options.episodes // 20))]
    began, cpu = time.perf_counter(), time.process_time()
    episodes = []
    for number in range(options.episodes):
        drawn = graphs[number % len(graphs)]
        episode, by_hand = play(drawn, random.Random(number), settings)
        if episode.end != by_hand:
            raise SystemExit(f"{drawn.graph.id}: ended as {episode.end}, not {by_hand}")
        episodes.append(episode)
    played, cpu = time.perf_counter() - began, time.process_time() - cpu

    documents = {
        drawn.graph.id: {
            "item_id": drawn.graph.id,
            "task": "have_interaction",
            "scenario": drawn.graph.scenario,
            "graph": json.dumps(drawn.graph.to_dict()),
            "root": ".",
            "answer": drawn.graph.goals[0],
            "source": "drawn",
            "demo": False,
        }
        for drawn in graphs
    }
    began = time.perf_counter()
    ends = Counter(
        process_results(documents[episode.graph], [[hand_over(episode)]])["success"]["end"] for episode in episodes
    )
    scored = time.perf_counter() - began
    if ends != Counter(episode.end for episode in episodes):
        raise SystemExit("the scored ends are not those played")
    turns = sum(len(episode.turns) for episode in episodes)
    verdicts = sum(len(turn.verdicts) for episode in episodes for turn in episode.turns)
    print(f"{len(episodes)} episodes on {len(graphs)} graphs, {turns} turns, {verdicts} edges judged: {dict(ends)}")
    print(f"played in {played:.2f} s ({cpu:.2f} s of CPU time), scored in {scored:.2f} s")


if __name__ == "__main__":
    main()
