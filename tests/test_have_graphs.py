"""Task graphs: the file's faults line by line, distances, criteria that are rules, and the demo set."""

from __future__ import annotations

import copy
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import tone
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from lmms_audio_tasks import sources
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.have_bench import graphs, rules
from lmms_audio_tasks.have_bench.task_graph import Graph

DEMO = sources.DEMO_ROOT / "have_bench"
TOOLS = Path(__file__).resolve().parents[1] / "tools"
Json = dict[str, Any]

GOOD: Json = {
    "id": "g",
    "scenario": "puzzle",
    "nodes": [
        {
            "id": "door",
            "text": "Which? (a) left (b) right",
            "images": ["graphs/door.png"],
            "audios": ["graphs/hint.wav"],
        },
        {"id": "hall", "text": "Say a number."},
        {"id": "out"},
        {"id": "pit"},
    ],
    "edges": [
        {"from": "door", "to": "hall", "criterion": "option:a"},
        {"from": "door", "to": "pit", "criterion": "option:(b) right"},
        {"from": "hall", "to": "out", "criterion": "regex:\\b7\\b"},
        {"from": "hall", "to": "door", "criterion": "The answer goes back."},
    ],
    "start": "door",
    "goal": ["out"],
    "limits": {"tries": 2, "turns": 9},
}


def write(root: Path, *lines: Json | str) -> Path:
    """A benchmark's folder with these lines and the media of `GOOD`."""
    (root / "graphs").mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8)).save(root / "graphs" / "door.png")
    tone(root / "graphs" / "hint.wav")
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (root / "graphs.jsonl").write_text("\n".join(texts) + "\n", encoding="utf-8")
    return root


def changed(change: Callable[[Json], Any], name: str = "g") -> Json:
    graph = copy.deepcopy({**GOOD, "id": name})
    change(graph)
    return graph


def test_a_sound_file_is_read_whole(tmp_path: Path) -> None:
    found, faults = graphs.faults(write(tmp_path, GOOD, changed(lambda g: g.update(goal="out"), "h")))
    assert faults == []
    first, second = found
    assert (first.id, first.start, first.goals, first.tries, first.turns) == ("g", "door", ("out",), 2, 9)
    assert second.goals == ("out",)
    assert [edge.target for edge in first.outgoing["door"]] == ["hall", "pit"]
    assert first.outgoing["pit"] == ()
    assert first.distances == {"out": 0, "hall": 1, "door": 2}
    assert first.shortest_path == 2
    assert Graph.from_dict(first.to_dict()).to_dict() == first.to_dict()
    assert [graph.id for graph in graphs.load(tmp_path)] == ["g", "h"]


def test_limits_have_defaults(tmp_path: Path) -> None:
    (graph,), _ = graphs.faults(write(tmp_path, changed(lambda g: g.pop("limits"))))
    assert (graph.tries, graph.turns) == (3, 20)


FAULTS: list[tuple[str, Callable[[Json], Any], str, str]] = [
    ("unknown key", lambda g: g.update(gaol="out"), "only the keys", "'gaol'"),
    ("unknown key in a node", lambda g: g["nodes"][0].update(image="x.png"), "only the keys", "'image'"),
    ("unknown key in an edge", lambda g: g["edges"][0].update(weight=1), "in edges[0]", "'weight'"),
    ("unknown limit", lambda g: g["limits"].update(steps=1), "only the keys tries, turns", "'steps'"),
    ("key missing", lambda g: g.pop("start"), "the key start", "keys id"),
    ("edge without criterion", lambda g: g["edges"][1].pop("criterion"), "the key criterion in edges[1]", "keys from"),
    ("blank criterion", lambda g: g["edges"][1].update(criterion=" "), "edges[1].criterion to be a text", "' '"),
    ("unknown scenario", lambda g: g.update(scenario="maze"), '"navigation" or "puzzle" or', "'maze'"),
    ("no edges", lambda g: g.update(edges=[]), "edges to be a list of at least 1", "[]"),
    ("nodes no list", lambda g: g.update(nodes={}), "nodes to be a list", "{}"),
    ("no goal", lambda g: g.update(goal=[]), "goal to be a list of at least 1", "[]"),
    ("tries no number", lambda g: g["limits"].update(tries="2"), "limits.tries to be a whole number", "'2'"),
    ("no turns", lambda g: g["limits"].update(turns=0), "limits.turns to be at least 1", "0"),
    ("node twice", lambda g: g["nodes"].append({"id": "hall"}), "each node's id once", "'hall'"),
    ("edge to nowhere", lambda g: g["edges"][0].update(to="hal"), "edges[0].to to be the id", "did you mean 'hall'?"),
    ("edge from nowhere", lambda g: g["edges"][3].update({"from": "x"}), "edges[3].from", "'x'"),
    ("start nowhere", lambda g: g.update(start="dor"), "start to be the id of a node", "did you mean 'door'?"),
    ("goal nowhere", lambda g: g.update(goal=["out", "y"]), "goal to be the id of a node", "'y'"),
    ("start is goal", lambda g: g.update(start="out"), "a start that is not a goal", "'out'"),
    ("goal out of reach", lambda g: g["edges"].pop(2), "a way from start to a goal", "none from 'door' to 'out'"),
    ("too few turns", lambda g: g["limits"].update(turns=1), "at least 2, the length of the shortest path", "1"),
    ("nothing to observe", lambda g: g["nodes"][1].pop("text"), "node 'hall' to have text", "nothing"),
    ("bad pattern", lambda g: g["edges"][2].update(criterion="regex:(7"), "edges[2].criterion", "(7"),
    ("empty pattern", lambda g: g["edges"][2].update(criterion="regex: "), "a regular expression", "nothing"),
    ("pattern meets all", lambda g: g["edges"][2].update(criterion="regex:7*"), "a regular", "empty answer"),
    ("option not there", lambda g: g["edges"][0].update(criterion="option:c"), "one of the options", "'c'"),
    ("option of another text", lambda g: g["edges"][0].update(criterion="option:(a) up"), "one of the options", "'up'"),
    ("no options", lambda g: g["edges"][3].update(criterion="option:a"), "one of the options", "Say a number."),
    ("mistyped prefix", lambda g: g["edges"][2].update(criterion="Regexp: 7"), "begins with regex:", "Regexp: 7"),
    (
        "image missing",
        lambda g: g["nodes"][1].update(images=["graphs/no.png"]),
        "a picture that can be",
        "'graphs/no.png'",
    ),
    ("no image", lambda g: g["nodes"][1].update(images=["graphs/hint.wav"]), "a picture that can be", "hint.wav"),
    ("audio missing", lambda g: g["nodes"][1].update(audios=["no.wav"]), "a recording that can be decoded", "no.wav"),
    ("path leads out", lambda g: g["nodes"][1].update(audios=["../x.wav"]), "without ..", "'../x.wav'"),
]


@pytest.mark.parametrize(("name", "change", "expected", "found"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_each_fault_is_told_with_its_line(
    tmp_path: Path, name: str, change: Callable[[Json], Any], expected: str, found: str
) -> None:
    root = write(tmp_path, {**GOOD, "id": "fine"}, "", changed(change))
    sound, faults = graphs.faults(root)
    assert [graph.id for graph in sound] == ["fine"]
    (fault,) = faults
    assert (fault.row, fault.file) == ("line 3", str(root / "graphs.jsonl"))
    assert expected in fault.expected, str(fault)
    assert found in fault.found, str(fault)
    with pytest.raises(DataError, match="line 3"):
        graphs.load(root)


def test_all_faults_are_told_and_load_says_how_many(tmp_path: Path) -> None:
    root = write(tmp_path, GOOD, GOOD, "{", changed(lambda g: g.update(start="x", goal="y"), "h"), "[]")
    found, faults = graphs.faults(root)
    assert [graph.id for graph in found] == ["g"]
    assert [fault.row for fault in faults] == ["line 2", "line 3", "line 4", "line 4", "line 5"]
    assert "first in line 1" in faults[0].found
    with pytest.raises(DataError, match="and 4 more"):
        graphs.load(root)


@pytest.mark.parametrize("content", [None, ""])
def test_a_file_without_graphs_is_a_fault(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "graphs.jsonl").write_text(content)
    found, faults = graphs.faults(tmp_path)
    assert (found, len(faults)) == ([], 1)


def test_load_sees_media_that_went_missing(tmp_path: Path) -> None:
    root = write(tmp_path, GOOD)
    assert graphs.load(root)
    (root / "graphs" / "hint.wav").unlink()
    with pytest.raises(DataError, match=r"hint\.wav"):
        graphs.load(root)


OPTIONS = "Which way? (a) north (b) east (c) south"
RULES = [
    ("option:b", OPTIONS, "(b) east", "accepted"),
    ("option:b", OPTIONS, "I walk east.", "accepted"),
    ("option:(b) east", OPTIONS, "The answer is B", "accepted"),
    ("option:b", OPTIONS, "(a) north", "rejected"),
    ("option:b", OPTIONS, "north, east, south", "rejected"),
    ("option:b", OPTIONS, "I would rather not say.", "rejected"),
    ("option:b", OPTIONS, "<think>(a) or (c)?</think> (b)", "accepted"),
    ("regex:\\b132\\b", "Code?", "It is 132.", "accepted"),
    ("regex:\\b132\\b", "Code?", "It is 1320.", "rejected"),
    ("regex:^the mill$", "Where?", "  The\n MILL ", "accepted"),
    ("regex:mill", "Where?", "<THINK>the mill?</THINK>the bridge", "rejected"),
    ("regex:straße", "Wo?", "die STRASSE", "rejected"),
]


@pytest.mark.parametrize(("criterion", "text", "response", "verdict"), RULES)
def test_rules_decide(criterion: str, text: str, response: str, verdict: str) -> None:
    assert rules.is_rule(criterion)
    assert rules.fault(criterion, text) is None
    ruling = rules.decide(criterion, text, response)
    assert ruling.verdict == verdict
    assert ruling.why


def test_a_pattern_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "SECONDS", 0.05)
    # Doubles with every letter: 60 of them would take longer than the universe.
    ruling = rules.decide("regex:^(?:(?:a|b|ab)+)+c$", "", "ab" * 60 + "cd")
    assert ruling.verdict == "unjudged"
    assert "took longer" in ruling.why


TEXTS = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(OPTIONS.split()), max_size=12).map(" ".join))


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_any_answer_is_decided_and_meets_one_option_at_most(response: str) -> None:
    rulings = [rules.decide(f"option:{letter}", OPTIONS, response) for letter in "abc"]
    rulings.append(rules.decide("regex:\\bnorth\\b", OPTIONS, response))
    assert all(ruling.verdict in ("accepted", "rejected") and ruling.why for ruling in rulings)
    assert sum(ruling.verdict == "accepted" for ruling in rulings[:3]) <= 1


def test_the_demo_set_is_sound_and_needs_no_judge() -> None:
    found, faults = graphs.faults(DEMO)
    assert faults == []
    assert {graph.scenario for graph in found} == {"navigation", "puzzle", "music_reproduction"}
    assert {graph.id: graph.shortest_path for graph in found} == {
        "demo_town_walk": 4,
        "demo_lamp_code": 3,
        "demo_five_tones": 4,
    }
    assert all(rules.is_rule(edge.criterion) for graph in found for edge in graph.edges)
    named = {file for graph in found for node in graph.nodes.values() for _, file in graphs.media_of(node)}
    there = {f"graphs/{path.name}" for path in (DEMO / "graphs").iterdir()}
    assert named == there
    assert sum((DEMO / name).stat().st_size for name in named) < 1_000_000


def test_the_demo_graphs_and_tones_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    import make_demo_have_graphs as tool

    made = [tool.town_walk(), tool.lamp_code(), tool.five_tones()]
    kept = [json.loads(line) for line in (DEMO / "graphs.jsonl").read_text("utf-8").splitlines()]
    assert made == kept
    for name, image in tool.images().items():
        with Image.open(DEMO / "graphs" / name) as old:
            assert image.size == old.size
    assert len(tool.tones(tool.ROSE_THEN_FELL, 0.25)) == 5 * 4000
    sys.modules.pop("make_demo_have_graphs")


def test_the_example_of_the_docs_is_sound_and_can_be_played(tmp_path: Path) -> None:
    docs = Path(__file__).resolve().parents[1] / "docs" / "have_interaction.md"
    blocks = re.findall(r"```json\n(.*?)```", docs.read_text("utf-8"), re.DOTALL)
    graph, player = (json.loads(block) for block in blocks)
    (tmp_path / "graphs").mkdir()
    for node in graph["nodes"]:
        for name in node.get("images", ()):
            Image.new("RGB", (8, 8)).save(tmp_path / name)
        for name in node.get("audios", ()):
            tone(tmp_path / name)
    (tmp_path / "graphs.jsonl").write_text(json.dumps(graph) + "\n", "utf-8")
    (read,) = graphs.load(tmp_path)
    assert read.shortest_path == len(player["responses"]) == 2
    on, out, back = (*read.outgoing["door"][:1], *read.outgoing["hall"])
    assert rules.decide(on.criterion, read.nodes["door"].text, player["responses"][0]).verdict == "accepted"
    assert rules.decide(out.criterion, read.nodes["hall"].text, player["responses"][1]).verdict == "accepted"
    assert not rules.is_rule(back.criterion)
