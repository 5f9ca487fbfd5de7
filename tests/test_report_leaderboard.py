"""The leaderboard file: what an entry holds, joining, ranking, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report_logs import edit_samples, everywhere, known, write_art, write_run

from lmms_audio_tasks import cli
from lmms_audio_tasks.errors import AudioTasksError, DataError
from lmms_audio_tasks.report import board, leaderboard
from lmms_audio_tasks.report.document import lines
from lmms_audio_tasks.sakura import SPECS

SINGLE = tuple(name for name in SPECS if name.startswith("sakura_single"))
MULTI = tuple(name for name in SPECS if name.startswith("sakura_multi") and not name.endswith("_text"))


def script(count: int) -> Any:
    return known({"single": everywhere(count), "multi": everywhere(count), "text": everywhere(count)})


def add(file: Path, *logdirs: Path, **options: Any) -> list[str]:
    return [line.split(" (")[0] for line in leaderboard.add(file, logdirs, **options)]


def entries(file: Path) -> list[dict[str, Any]]:
    return list(json.loads(file.read_text("utf-8"))["entries"].values())


def test_an_entry_holds_counts_and_fingerprint(tmp_path: Path) -> None:
    metadata = {"plugin_version": "1.2.3", "host_version": "0.7.3"}
    write_run(tmp_path / "log", script(3), model="m", model_args="a=1,token=abc", metadata=metadata)
    assert add(tmp_path / "board.json", tmp_path / "log") == ["added: m"]
    content = json.loads((tmp_path / "board.json").read_text("utf-8"))
    assert (content["schema"], content["version"]) == ("lmms-audio-tasks/leaderboard", 1)
    (entry,) = content["entries"].values()
    assert entry["fingerprint"] == {
        "model": "m",
        "model_args": "a=1,token=***",
        "plugin": "1.2.3",
        "host": "0.7.3",
        "data": "folder",
        "generation": {"max_new_tokens": 512},
        "judge": [{"mode": "rule"}],
        "seeds": {"random_seed": 0},
    }
    told = entry["tasks"]["sakura_single_animal"]
    assert (told["run"], told["version"], told["revision"]) == ("20260101_120000", 1, "")
    assert told["verdicts"] | {"correct": 3, "wrong": 1} == told["verdicts"]
    assert "/data" not in (tmp_path / "board.json").read_text("utf-8")


def test_adding_twice_changes_nothing(tmp_path: Path) -> None:
    write_run(tmp_path / "log", script(3))
    file = tmp_path / "board.json"
    add(file, tmp_path / "log")
    before = file.read_bytes()
    assert add(file, tmp_path / "log") == ["unchanged: known"]
    assert file.read_bytes() == before


def test_the_same_questions_from_elsewhere_are_the_same_data(tmp_path: Path) -> None:
    write_run(tmp_path / "a", script(3), source="/home/me/data")
    write_run(tmp_path / "b", script(3), source="/mnt/data")
    file = tmp_path / "board.json"
    assert add(file, tmp_path / "a") + add(file, tmp_path / "b") == ["added: known", "unchanged: known"]


def test_other_tasks_of_a_system_join_its_entry_in_any_order(tmp_path: Path) -> None:
    write_run(tmp_path / "a", script(3), tasks=SINGLE, date="20260101_120000")
    write_run(tmp_path / "b", script(3), tasks=MULTI, date="20260102_120000")
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    assert add(first, tmp_path / "a") + add(first, tmp_path / "b") == ["added: known", "updated: known"]
    add(second, tmp_path / "b")
    add(second, tmp_path / "a")
    assert first.read_bytes() == second.read_bytes()
    (entry,) = entries(first)
    assert set(entry["tasks"]) == {*SINGLE, *MULTI}


def test_a_later_run_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    write_run(tmp_path / "old", script(1), date="20260101_120000")
    write_run(tmp_path / "new", script(4), date="20260102_120000")
    for order in (("old", "new"), ("new", "old")):
        file = tmp_path / f"{order[0]}.json"
        for name in order:
            add(file, tmp_path / name)
        (entry,) = entries(file)
        assert entry["tasks"]["sakura_single_animal"]["verdicts"]["correct"] == 4


CHANGES: dict[str, dict[str, Any]] = {
    "another model": {"model": "other"},
    "other arguments": {"model_args": "x=1"},
    "another version of the task": {"version": 2},
    "other questions": {"count": 3},
    "another seed": {"config": {"random_seed": 1}},
    "other generation settings": {"config": {"gen_kwargs": "temperature=1"}},
    "another version of the plugin": {"metadata": {"plugin_version": "9"}},
}


@pytest.mark.parametrize("case", CHANGES)
def test_what_makes_an_entry_of_its_own(case: str, tmp_path: Path) -> None:
    write_run(tmp_path / "a", script(3))
    write_run(tmp_path / "b", script(3), date="20260102_120000", **CHANGES[case])
    file = tmp_path / "board.json"
    add(file, tmp_path / "a")
    add(file, tmp_path / "b")
    assert len(entries(file)) == 2
    assert len(lines(board.build(leaderboard.read(file)).tables[0])) == 2


def test_demo_scores_are_refused_unless_allowed_and_then_marked(tmp_path: Path, capsys: Any) -> None:
    write_run(tmp_path / "demo", script(4), source="demo", demo=True)
    write_run(tmp_path / "real", script(1), model="real")
    file = tmp_path / "board.json"
    assert cli.main(["leaderboard", "add", str(tmp_path / "demo"), "-o", str(file)]) == 2
    assert "known (demo data): demo scores do not belong on a leaderboard" in capsys.readouterr().err
    assert not file.exists()
    assert cli.main(["leaderboard", "add", str(tmp_path), "-o", str(file), "--allow-demo"]) == 0
    assert cli.main(["leaderboard", "build", str(file)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("added: ") and "# Leaderboard (partly demo data)" in text
    # A demo score never stands above a real one.
    assert text.index("| real ") < text.index("| known (demo data)")


def test_the_best_multi_hop_average_comes_first_and_incomplete_ones_last(tmp_path: Path) -> None:
    for name, count in (("low", 1), ("high", 3), ("middle", 2)):
        write_run(tmp_path / name, script(count), model=name)
    write_run(tmp_path / "part", script(4), model="part", tasks=("sakura_multi_animal",))
    add(tmp_path / "board.json", tmp_path)
    report = board.build(leaderboard.read(tmp_path / "board.json"))
    found = lines(report.tables[0])
    assert [line.system for line in found] == ["high", "middle", "low", "part"]
    assert found[0].cells[-1].text.startswith("75.0 [")
    assert found[3].cells[-1].text.endswith("(1 of 4 tracks)")
    told = {(note.kind, note.system): note.text for note in report.notes}
    assert told["items", "high"] == "4 of the official 500 items in all 12 tasks"
    assert told["not run", "part"].startswith("sakura_single_gender, ")


def test_build_merges_files_and_tells_what_is_mixed(tmp_path: Path, capsys: Any) -> None:
    write_run(tmp_path / "a", script(3), model="a")
    write_run(tmp_path / "b", script(3), model="b", count=3, version=2)
    for name in ("a", "b"):
        add(tmp_path / f"{name}.json", tmp_path / name)
    assert cli.main(["leaderboard", "build", str(tmp_path / "a.json"), str(tmp_path / "b.json")]) == 0
    text = capsys.readouterr().out
    assert "**mixed task versions**: a differ from b in all 12 tasks" in text
    assert "**mixed questions**: a differ from b in all 12 tasks" in text


def test_same_labels_are_told_apart(tmp_path: Path) -> None:
    write_run(tmp_path / "a", script(3))
    write_run(tmp_path / "b", script(1), version=2)
    for name in ("a", "b"):
        add(tmp_path / "board.json", tmp_path / name)
    shown = [line.system for line in lines(board.build(leaderboard.read(tmp_path / "board.json")).tables[0])]
    assert len(set(shown)) == 2 and all(label.startswith("known #") for label in shown)


def test_one_system_in_two_benchmarks_keeps_its_label(tmp_path: Path) -> None:
    write_run(tmp_path / "a", script(3), model="m")
    write_art(tmp_path / "b", {"sound_reasoning": ["yes", "no"]}, model="m")
    assert add(tmp_path / "board.json", tmp_path / "a") == ["added: m"]
    (told,) = add(tmp_path / "board.json", tmp_path / "b", benchmark="art")
    report = board.build(leaderboard.read(tmp_path / "board.json"))
    label = told.removeprefix("added: ")
    assert [{line.system for line in lines(table)} for table in report.tables[:2]] == [{label}, {"m"}]
    made = report.tables[-1]
    assert {row.keys["benchmark"] for row in made.rows} == {"art", "sakura"}
    assert not any("#" in row.keys["system"] for row in made.rows)


def test_tasks_of_one_system_with_different_settings_are_refused(tmp_path: Path) -> None:
    write_run(tmp_path, script(3), tasks=SINGLE, date="20260101_120000")
    write_run(tmp_path, script(3), tasks=MULTI, date="20260102_120000", config={"gen_kwargs": "temperature=1"})
    file = tmp_path / "board.json"
    with pytest.raises(AudioTasksError, match=r"known: its tasks differ in generation .*name one run with --run DATE"):
        leaderboard.add(file, [tmp_path])
    assert add(file, tmp_path, runs=("20260102",)) == ["added: known"]


def test_names_are_labels_only(tmp_path: Path) -> None:
    write_run(tmp_path / "log", script(3))
    file = tmp_path / "board.json"
    add(file, tmp_path / "log")
    assert add(file, tmp_path / "log", names=[("known", "Our model")]) == ["updated: Our model"]
    (entry,) = entries(file)
    assert (entry["label"], entry["fingerprint"]["model"]) == ("Our model", "known")


def _set(*path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        at = content
        for name in path[:-1]:
            at = next(iter(at.values())) if name == "*" else at[name]
        at[path[-1]] = value

    return change


TASK = ("entries", "*", "tasks", "sakura_single_animal")
BAD: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "another schema": (
        _set("schema", value="x"),
        "expected schema 'lmms-audio-tasks/leaderboard', version 1; found schema 'x'",
    ),
    "a later version": (_set("version", value=2), "found schema 'lmms-audio-tasks/leaderboard', version 2"),
    "no entries": (_set("entries", value=[]), "expected entries to be an object; found []"),
    "an entry that is none": (
        _set("entries", "x", value=1),
        "entry 'x': expected an entry with benchmark (str); found 1",
    ),
    "no tasks": (_set("entries", "*", "tasks", value=3), "expected an entry with tasks (dict)"),
    "a task that is none": (
        _set(*TASK, value={}),
        "expected questions, revision, run, version, verdicts of sakura_single_a",
    ),
    "negative counts": (
        _set(*TASK, "verdicts", value={"correct": -1}),
        "expected counts of verdicts of sakura_single_animal",
    ),
    "unknown verdicts": (
        _set(*TASK, "verdicts", value={"perfect": 1}),
        "expected counts of verdicts of sakura_single_animal",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_at_fault_is_one_line(case: str, tmp_path: Path, capsys: Any) -> None:
    write_run(tmp_path / "log", script(3))
    file = tmp_path / "board.json"
    add(file, tmp_path / "log")
    change, message = BAD[case]
    content = json.loads(file.read_text("utf-8"))
    change(content)
    file.write_text(json.dumps(content), "utf-8")
    before = file.read_bytes()
    for command in (["build", str(file)], ["add", str(tmp_path / "log"), "-o", str(file)]):
        assert cli.main(["leaderboard", *command]) == 2
        told = capsys.readouterr().err
        assert told.startswith("error: ") and told.count("\n") == 1 and message in told
    assert file.read_bytes() == before


def test_an_unfinished_merge_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "board.json"
    file.write_text('{\n<<<<<<< HEAD\n  "entries": {}\n', "utf-8")
    with pytest.raises(DataError, match=r"board\.json, line 2: expected JSON \(an unfinished merge is not\)"):
        leaderboard.read(file)
    with pytest.raises(DataError, match="expected a leaderboard file; found No such file"):
        leaderboard.read(tmp_path / "none.json")


def test_an_empty_leaderboard_has_no_table(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "board.json"
    file.write_text(json.dumps({"schema": leaderboard.SCHEMA, "version": 1, "entries": {}}), "utf-8")
    assert cli.main(["leaderboard", "build", str(file)]) == 2
    assert capsys.readouterr().err == "error: the leaderboard has no entries\n"


def test_html(tmp_path: Path) -> None:
    write_run(tmp_path / "log", script(3), model="<script>alert(1)</script>")
    edit_samples(tmp_path / "log", "sakura_single_animal", lambda samples: None)
    add(tmp_path / "board.json", tmp_path / "log")
    assert cli.main(["leaderboard", "build", str(tmp_path / "board.json"), "-o", str(tmp_path / "board.html")]) == 0
    page = (tmp_path / "board.html").read_text("utf-8")
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page
