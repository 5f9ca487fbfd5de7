"""An episode as a transcript and as a picture: everything told, nothing of the data taken for markup."""

from __future__ import annotations

import json
import random
from xml.etree import ElementTree

import pytest

from lmms_audio_tasks import sources
from lmms_audio_tasks.have_bench import graph_svg, graphs, transcript
from lmms_audio_tasks.have_bench.edge_judge import judge_edges
from lmms_audio_tasks.have_bench.episode import EdgeVerdict, Episode, begin, step
from lmms_audio_tasks.have_bench.graph_layout import HEIGHT, WIDTH, lay_out
from lmms_audio_tasks.have_bench.task_graph import Edge, Graph, Node
from lmms_audio_tasks.records import error_response

SVG = "{http://www.w3.org/2000/svg}"
NASTY = '<script>alert("&")</script> \x00\x0b\ud800 ``` # * |'


def demo(name: str, *answers: str) -> tuple[Graph, Episode]:
    graph = next(graph for graph in graphs.load(sources.DEMO_ROOT / "have_bench") if graph.id == name)
    episode = begin(graph)
    for answer in answers:
        episode = step(graph, episode, answer, judge_edges(graph, episode.node, answer))
    return graph, episode


def nasty() -> tuple[Graph, Episode]:
    nodes = {name: Node(name, NASTY) for name in (NASTY, "b")}
    graph = Graph(NASTY, "puzzle", nodes, (Edge(NASTY, "b", NASTY), Edge("b", NASTY, NASTY)), NASTY, ("b",))
    return graph, step(graph, begin(graph), NASTY, [EdgeVerdict("b", NASTY, "accepted", NASTY)])


def tree(nodes: int, seed: int = 0) -> Graph:
    rng = random.Random(seed)
    names = [f"n{number}" for number in range(nodes)]
    down = [Edge(names[rng.randrange(max(0, i - 8), i)], names[i], "on") for i in range(1, nodes)]
    back = [Edge(rng.choice(names), rng.choice(names), "back") for _ in range(nodes // 2)]
    return Graph("t", "puzzle", {n: Node(n, n) for n in names}, (*down, *back), names[0], (names[-1],))


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_the_picture_shows_the_path() -> None:
    graph, episode = demo("demo_town_walk", "up", "(a) north", "(b) east", "(d) west", "(b) east", "(c) south")
    root = ElementTree.fromstring(graph_svg.draw(graph, episode))
    told = texts(graph_svg.draw(graph, episode))
    assert {"station", "fountain", "market", "lighthouse"} <= set(told)
    assert "start, 1 failed" in told
    assert "dead end, ended here" in told
    # Turn 1 failed; 2 to the fountain, 3 and 5 to the market, 4 back, 6 to the closed bridge.
    assert {"2", "3,5", "4", "6"} <= set(told)
    taken = [path for path in root.iter(f"{SVG}path") if path.get("stroke") == graph_svg.TAKEN]
    assert {path[0].text.split("\n")[0] for path in taken if path[0].text} == {
        "station → fountain",
        "fountain → market",
        "market → fountain",
        "market → bridge",
    }
    assert "8 nodes, 13 edges" in told


def test_a_graph_alone_has_no_path() -> None:
    graph, _ = demo("demo_lamp_code")
    svg = graph_svg.draw(graph)
    assert f'stroke="{graph_svg.TAKEN}"' not in svg
    assert "ended here" not in svg


@pytest.mark.parametrize("nodes", [2, 12, 60])
def test_boxes_do_not_overlap(nodes: int) -> None:
    graph = tree(nodes)
    layout = lay_out(graph, list(graph.nodes))
    places = list(layout.centres.values())
    assert len(places) == nodes
    for number, one in enumerate(places):
        assert WIDTH / 2 <= one.x <= layout.width - WIDTH / 2
        assert HEIGHT / 2 <= one.y <= layout.height - HEIGHT / 2
        for other in places[:number]:
            assert abs(one.x - other.x) >= WIDTH or abs(one.y - other.y) >= HEIGHT


def test_a_large_graph_says_what_it_leaves_out() -> None:
    graph = tree(1000)
    svg = graph_svg.draw(graph, begin(graph))
    assert "60 of 1000 nodes" in svg
    assert "n0" in texts(svg)
    assert len(svg) < 100_000


def test_unreachable_nodes_are_drawn_too() -> None:
    nodes = {name: Node(name, name) for name in ("a", "b", "lost", "found")}
    graph = Graph("u", "puzzle", nodes, (Edge("a", "b", "x"), Edge("lost", "found", "y")), "a", ("b",))
    assert {"lost", "found"} <= set(texts(graph_svg.draw(graph)))


def test_nothing_is_markup_in_the_picture() -> None:
    svg = graph_svg.draw(*nasty())
    root = ElementTree.fromstring(svg)
    assert not list(root.iter(f"{SVG}script"))
    titles = [title.text or "" for title in root.iter(f"{SVG}title")]
    assert any('<script>alert("&")</script>' in title for title in titles)
    assert not {"\x00", "\x0b", "\ud800"} & set(svg)


def test_the_transcript_tells_everything() -> None:
    graph, episode = demo("demo_lamp_code", "(b) Learn the rule", "(b) Enter the code", "213", "132")
    told = transcript.markdown(graph, episode)
    assert told.startswith("### demo\\_lamp\\_code (puzzle)\n\ngoal reached after 4 turns, 100% of the shortest path")
    for part in (
        "**Turn 1** at menu",
        "Shown: picture graphs/rule.png, recording graphs/rule.ogg",
        "- rejected, to open: regex:",
        "**Turn 4** at code, try 2",
        "That did not lead on",
        "Leads nowhere.",
        "Goes on to open.",
    ):
        assert part in told, part
    assert told.count("**Turn") == 4


def test_a_failed_model_and_a_play_without_turns_have_transcripts() -> None:
    graph, episode = demo("demo_lamp_code")
    assert "not over after 0 turns, 0% of the shortest path (3 steps)" in transcript.markdown(graph, episode)
    broken = step(graph, episode, error_response("no memory"), ())
    assert "the model failed after 1 turn, 0%" in transcript.markdown(graph, broken)
    assert "no memory" in transcript.to_html(graph, broken)


def test_nothing_is_markup_in_the_transcript() -> None:
    told = transcript.to_html(*nasty())
    assert "<script>" not in told
    page = told.replace("\x00", "").replace("\x0b", "")
    assert ElementTree.fromstring(page).tag == "section"
    markdown = transcript.markdown(*nasty())
    assert markdown.encode() and told.encode()  # lone surrogates would make a report unwritable
    inside = False
    for line in markdown.splitlines():
        if line.startswith("````"):
            inside = not inside
        elif not inside:
            assert "<script>" not in line.replace("\\<", "")
    assert not inside


def test_a_trace_out_of_a_log_is_drawn() -> None:
    graph, episode = demo("demo_five_tones", "fast", "(b) line B")
    log = json.loads(json.dumps({"graph": graph.to_dict(), "trace": episode.to_dict()}))
    again = Graph.from_dict(log["graph"]), Episode.from_dict(log["trace"])
    assert graph_svg.draw(*again) == graph_svg.draw(graph, episode)
    assert transcript.markdown(*again) == transcript.markdown(graph, episode)
