"""`lmms-audio-tasks check have_bench`: what a folder holds, and its faults, items and graphs together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from have_data import default_items, item, make, write_items

from lmms_audio_tasks import cli, sources
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.have_bench import KNOWN_SUBTASKS
from lmms_audio_tasks.have_bench.check import check

GRAPH = {
    "id": "walk",
    "scenario": "navigation",
    "nodes": [{"id": "a", "text": "Go on?"}, {"id": "b", "text": "There."}],
    "edges": [{"from": "a", "to": "b", "criterion": "regex:yes"}],
    "start": "a",
    "goal": ["b"],
}


def add_graphs(root: Path, *graphs: dict[str, object]) -> Path:
    text = "".join(json.dumps(graph) + "\n" for graph in graphs)
    (root / "have_bench" / "graphs.jsonl").write_text(text, "utf-8")
    return root


def source(root: Path) -> sources.Source:
    return sources.parse(str(root))


def test_what_a_folder_holds(tmp_path: Path) -> None:
    report = check(source(make(tmp_path)))
    assert not report.faults and report.absent == ("graphs.jsonl",) and not report.scenarios
    told = report.to_dict()
    assert (told["items"], told["graphs"], told["demo"]) == (7, 0, False)
    figures = {(row.pop("level"), row.pop("subtask")): row for row in told["subtasks"]}
    assert list(figures) == [("perception", "looking"), ("perception", "matching"), ("reasoning", "sums")]
    seconds = {key: row.pop("seconds") for key, row in figures.items()}
    assert list(seconds.values()) == [pytest.approx(0.4), pytest.approx(0.6), pytest.approx(0.6)]
    assert figures["perception", "looking"] == {
        "items": 2, "aai": 2, "aac": 0, "mcq": 1, "open": 1, "asr": 2, "images": 2, "audios": 2
    }  # fmt: skip
    assert figures["perception", "matching"] == {
        "items": 2, "aai": 0, "aac": 2, "mcq": 1, "open": 1, "asr": 0, "images": 3, "audios": 3
    }  # fmt: skip
    assert figures["reasoning", "sums"]["items"] == 3 and figures["reasoning", "sums"]["asr"] == 2
    text = report.to_text()
    assert "no graphs.jsonl: what it would hold cannot be run" in text
    looking = "perception looking: 2 items, 2 AaI (2 with asr), 0 AaC; 1 mcq, 1 open; 2 pictures, 2 recordings, 0.4 s"
    assert looking in text
    assert text.endswith("\nno faults")


def test_items_and_graphs_share_their_ids(tmp_path: Path) -> None:
    root = add_graphs(make(tmp_path), GRAPH, {**GRAPH, "id": "r1"})
    report = check(source(root))
    assert report.absent == () and report.scenarios == {"navigation": 2}
    (fault,) = report.faults
    assert str(fault) == (
        f"{root / 'have_bench' / 'items.jsonl'}, line 5: expected each id once over items and graphs; "
        "found 'r1' in graphs.jsonl too"
    )


def test_graphs_alone(tmp_path: Path) -> None:
    (tmp_path / "have_bench").mkdir()
    report = check(source(add_graphs(tmp_path, GRAPH)))
    assert not report.faults and report.absent == ("items.jsonl",) and report.scenarios == {"navigation": 1}
    assert "interaction navigation: 1 graph\n" in report.to_text()


def test_faults_of_both_files(tmp_path: Path) -> None:
    root = add_graphs(make(tmp_path, [*default_items(), item("x", answer="a cow")]), {**GRAPH, "start": "nowhere"})
    report = check(source(root))
    assert [Path(fault.file).name for fault in report.faults] == ["items.jsonl", "graphs.jsonl"]
    assert report.to_dict()["faults"][0]["row"] == "line 8"
    assert report.to_text().endswith("2 faults")
    assert report.to_dict()["items"] == 7, "an item at fault is not counted"


def test_neither_file(tmp_path: Path) -> None:
    (tmp_path / "have_bench" / "images").mkdir(parents=True)
    with pytest.raises(DataError, match=r"expected items.jsonl or graphs.jsonl in it; found images"):
        check(source(tmp_path))
    with pytest.raises(DataError, match="a folder `have_bench` in it"):
        check(source(tmp_path / "have_bench"))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make(tmp_path)
    assert cli.main(["check", "have_bench", "--data", str(root)]) == 0
    assert "7 items, 0 graphs" in capsys.readouterr().out
    write_items(root, [item("x", images=["images/no.png"])])
    assert cli.main(["check", "have_bench", "--data", str(root), "--format", "json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["faults"][0]["message"].endswith("found 'images/no.png': no such file")
    assert cli.main(["check", "have_bench", "--data", "hub"]) == 2


def test_the_demo_set() -> None:
    report = check(sources.parse("demo"))
    assert not report.faults and report.absent == () and report.demo
    rows = report.subtasks
    assert sum(row.items for row in rows) >= 12
    assert {(row.level, row.subtask) for row in rows} == {
        (level, name) for name, (level, _) in KNOWN_SUBTASKS.items() if level != "interaction"
    }
    for row in rows:
        role = KNOWN_SUBTASKS[row.subtask][1]
        assert (row.aai, row.aac) == ((row.items, 0) if role == "AaI" else (0, row.items))
        assert row.asr == row.aai
    assert sum(row.open for row in rows) == 5
    assert set(report.scenarios) == {"music_reproduction", "navigation", "puzzle"}


def test_the_demo_set_is_small() -> None:
    folder = sources.DEMO_ROOT / "have_bench"
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 1_500_000
    named = {name for line in (folder / "items.jsonl").read_text("utf-8").splitlines() for name in media(line)}
    there = {str(path.relative_to(folder)) for kind in ("images", "audio") for path in (folder / kind).iterdir()}
    assert named == there, "no file without an item"


def media(line: str) -> list[str]:
    fields = json.loads(line)
    return [*fields["images"], *fields["audios"]]
