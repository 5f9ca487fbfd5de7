"""Episodes as the log holds them: read back, listed, and folded out with the graph, the path taken and the transcript.

A log may have been made or changed by anybody, so that whatever is shown is checked here before.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, get_args

from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.have_bench import graph_svg, transcript
from lmms_audio_tasks.have_bench.episode import ENDS, Episode
from lmms_audio_tasks.have_bench.rules import EdgeWord
from lmms_audio_tasks.have_bench.task_graph import SCENARIOS, Graph
from lmms_audio_tasks.records import Record
from lmms_audio_tasks.report.document import SYSTEM, Column, Fold, Row, Table, decimal
from lmms_audio_tasks.report.have_bench.shared import (
    LEVEL,
    LEVEL_TASKS,
    LEVEL_TITLES,
    PLAYED,
    SUBTASK,
    keys_of,
)
from lmms_audio_tasks.report.load import Item, TaskLog
from lmms_audio_tasks.report.systems import System

END_TITLES = {
    "goal": "Goal",
    "stuck": "Stuck",
    "turn_limit": "Turn limit",
    "judge_error": "No verdict",
    "model_error": "Model failed",
}
HTML_EPISODES = 300
"""How many episodes the page shows of each system: all of the published number, which is 263."""
_ID = re.compile(r'(\bid="|="url\(#)')


class Played(NamedTuple):
    """An episode, and the record made of it."""

    record: Record
    graph: Graph
    episode: Episode
    completion: float

    @property
    def judged(self) -> bool:
        """Whether it was judged to its end."""
        return self.record.verdict in ("correct", "wrong")


def read(log: TaskLog) -> list[Played]:
    """The episodes of a log.

    Raises:
        DataError: one is not what the interaction tasks write.
    """
    return [_read(log.file, item) for item in log.items.values()]


def _read(file: Path, item: Item) -> Played:
    try:
        graph, episode = Graph.from_dict(item.more["graph"]), Episode.from_dict(item.more["trace"])
        fault = next(_faults(graph, episode), "")
        covered = float(item.more["path_completion"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        fault, covered = f"{type(error).__name__}: {error}", 0.0
    if fault:
        raise DataError(file, "the graph and trace of an episode", fault, f"item {item.record.item_id!r}")
    return Played(item.record, graph, episode, covered)


def _faults(graph: Graph, episode: Episode) -> Iterator[str]:
    """What would break or spoil a page."""
    if graph.scenario not in SCENARIOS:
        yield f"the scenario {graph.scenario!r}"
    if episode.end not in ENDS:
        yield f"the end {episode.end!r}"
    nodes = [graph.start, *graph.goals, episode.node, *(turn.node for turn in episode.turns)]
    nodes += [end for edge in graph.edges for end in (edge.source, edge.target)]
    nodes += [turn.to for turn in episode.turns if turn.to is not None]
    yield from (f"the unknown node {node!r}" for node in nodes if node not in graph.nodes)
    verdicts = [verdict for turn in episode.turns for verdict in turn.verdicts]
    words = get_args(EdgeWord)
    yield from (f"the verdict {told.verdict!r}" for told in verdicts if told.verdict not in words)
    texts: list[Any] = [graph.id, episode.why, *(edge.criterion for edge in graph.edges)]
    texts += [told for node in graph.nodes.values() for told in (node.id, node.text, *node.images, *node.audios)]
    texts += [text for told in verdicts for text in (told.to, told.criterion, told.why)]
    texts += [turn.response for turn in episode.turns]
    yield from (f"{text!r:.60} in place of a text" for text in texts if not isinstance(text, str))
    yield from (f"the attempt {turn.attempt!r:.60}" for turn in episode.turns if type(turn.attempt) is not int)


def read_all(systems: Iterable[System]) -> dict[tuple[str, str], list[list[Played]]]:
    """The episodes of every run, by system and level; the latest run last."""
    return {
        (system.label, level): [read(log) for log in system.runs[LEVEL_TASKS[level]]]
        for system in systems
        for level in PLAYED
        if LEVEL_TASKS[level] in system.runs
    }


def by_scenario(episodes: Iterable[Played]) -> dict[str, list[Played]]:
    """The episodes of each scenario, in the paper's order."""
    found: defaultdict[str, list[Played]] = defaultdict(list)
    for played in episodes:
        found[played.graph.scenario].append(played)
    return {scenario: found[scenario] for scenario in SCENARIOS if scenario in found}


def episode_table(
    systems: Sequence[System], played: dict[tuple[str, str], list[list[Played]]], shown: int | None
) -> Table:
    """Every episode of the latest run, with its transcript behind it."""
    rows: list[Row] = []
    folds: list[Fold] = []
    several = len({level for _, level in played}) > 1
    for system in systems:
        for level in PLAYED:
            for one in (played.get((system.label, level)) or [[]])[-1]:
                rows.append(_row(system, level, one))
                whose = [system.label, *([LEVEL_TITLES[level]] if several else [])]
                folds.append(_fold(system.label, " · ".join(whose), one, len(folds)))
    columns = (
        *(SYSTEM, *((LEVEL,) if several else ()), SUBTASK, Column("Episode", "item", kind="text")),
        Column("End", "end", form=lambda row: END_TITLES[str(row.get("end"))], kind="text"),
        Column("Turns", "turns"),
        Column("Path completion", "path_completion", form=decimal("path_completion")),
        Column("Shortest path", "shortest_path"),
        Column("Path taken", "path", kind="long"),
        Column("Why it ended", "why", kind="long"),
    )
    about = (
        "Each episode of the latest run: what was shown, answered and judged at every turn is told below it, with the "
        "graph and the path taken. Path completion in %, shortest path in steps."
    )
    return Table(
        "episodes",
        "Episodes",
        about,
        tuple(rows),
        columns,
        brief=shown,
        most=HTML_EPISODES,
        folds=tuple(folds),
    )


def _row(system: System, level: str, one: Played) -> Row:
    keys = keys_of(system, level=level, subtask=one.graph.scenario, item=one.record.item_id)
    return Row(
        keys,
        {
            "end": one.episode.end,
            "why": one.episode.why,
            "turns": len(one.episode.turns),
            "path_completion": 100 * one.completion,
            "shortest_path": one.graph.shortest_path,
            "several": sum(turn.several for turn in one.episode.turns),
            "path": " → ".join(one.episode.visited),
            "transcript": transcript.markdown(one.graph, one.episode),
        },
    )


def _fold(system: str, whose: str, one: Played, number: int) -> Fold:
    end = END_TITLES[str(one.episode.end)].lower()
    turns = len(one.episode.turns)
    title = f"{whose} · {one.graph.id} ({subtask_words(one.graph.scenario)}): {end}, {turns} turn{'s' * (turns != 1)}"
    markdown: Callable[[], str] = partial(_markdown, system, one)
    return Fold(title, system, partial(_html, one, number), markdown)


def subtask_words(scenario: str) -> str:
    """A scenario in running text."""
    return scenario.replace("_", " ")


def _markdown(system: str, one: Played) -> str:
    heading, _, rest = transcript.markdown(one.graph, one.episode).partition("\n")
    return f"{heading}: {_line(system)}\n{rest}"


def _line(text: str) -> str:
    from lmms_audio_tasks.report.render_md import escape

    return escape(text)


def _html(one: Played, number: int) -> str:
    # Several pictures of one graph stand in the page; each needs arrowheads of its own.
    svg = _ID.sub(rf"\g<1>e{number}-", graph_svg.draw(one.graph, one.episode))
    return f'<div class="episode"><figure>{svg}</figure>{transcript.to_html(one.graph, one.episode)}</div>'
