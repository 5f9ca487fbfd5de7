"""HAVE-Bench's report against sums worked by hand."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from have_logs import way, write_have
from report_logs import edit_samples

from lmms_audio_tasks import cli
from lmms_audio_tasks.errors import AudioTasksError, DataError
from lmms_audio_tasks.judge.verdict_file import verdicts_path, write_verdicts
from lmms_audio_tasks.report import board, leaderboard, plots, render_html, render_json, render_md
from lmms_audio_tasks.report.build import Options, build
from lmms_audio_tasks.report.document import Report, Row, lines
from lmms_audio_tasks.stats import mean_interval, wilson

PERCEPTION = {"recognition": "++-", "matching": "+--0"}
GO = ("go", "go")


def report_on(*folders: Path, **options: Any) -> Report:
    return build(folders, "have_bench", Options(**options))


def row(report: Report, table: str, **keys: str) -> Row:
    found = report.table(table)
    assert found is not None, table
    (only,) = [row for row in found.rows if all(row.keys.get(name) == value for name, value in keys.items())]
    return only


def figures(found: Row, *names: str) -> list[Any]:
    return [found.get(name) for name in names]


def noted(report: Report, kind: str) -> list[str]:
    return [note.text for note in report.notes if note.kind == kind]


def cell(report: Report, table: str, title: str, line: int = 0, group: str = "") -> str:
    found = report.table(table)
    assert found is not None
    (at,) = [n for n, column in enumerate(found.columns) if (column.title, column.group) == (title, group)]
    return lines(found)[line].cells[at].text


# --- levels ---


def test_a_level_is_the_mean_over_its_subtasks(tmp_path: Path) -> None:
    report = report_on(write_have(tmp_path, {"perception": PERCEPTION}, roles={"matching": "AaC"}))
    # 2 of 3 and 1 of 4: not 3 of 7.
    found = row(report, "table1", level="perception")
    names = ("score", "n", "answered", "correct", "failed", "unjudged", "coverage", "runs", "sd")
    mean = 50 * (2 / 3 + 1 / 4)
    assert figures(found, *names) == pytest.approx([mean, 7, 7, 3, 0, 0, 100, 1, None])
    _, (low, high) = mean_interval([(2 / 3, wilson(2, 3)), (1 / 4, wilson(1, 4))], floor=0.0)
    assert figures(found, "ci_low", "ci_high") == pytest.approx([100 * low, 100 * high])
    own = row(report, "subtasks", subtask="recognition")
    low, high = wilson(2, 3)
    assert figures(own, "score", "n", "ci_low", "ci_high") == pytest.approx([200 / 3, 3, 100 * low, 100 * high])
    assert [row(report, "subtasks", subtask=name).get("role") for name in PERCEPTION] == ["AaI", "AaC"]
    assert figures(row(report, "verdicts", task="have_perception"), "correct", "wrong", "none") == [3, 3, 1]


def test_a_subtask_of_both_roles_is_told_as_one_of_both(tmp_path: Path) -> None:
    folder = write_have(tmp_path, {"perception": PERCEPTION})
    (file,) = folder.rglob("*_samples_have_perception.jsonl")
    first, *others = file.read_text("utf-8").splitlines()
    file.write_text("\n".join([first.replace('"role": "AaI"', '"role": "AaC"'), *others, ""]), "utf-8")
    report = report_on(folder)
    assert [row(report, "subtasks", subtask=name).get("role") for name in PERCEPTION] == ["AaI, AaC", "AaI"]


def test_what_the_model_failed_on_is_in_no_score(tmp_path: Path) -> None:
    report = report_on(write_have(tmp_path, {"perception": {"recognition": "++-!", "matching": "!!"}}))
    own = row(report, "subtasks", subtask="recognition")
    assert figures(own, "score", "n", "answered", "failed", "coverage") == pytest.approx([200 / 3, 4, 3, 1, 75])
    # A subtask without an answer has no score, and so its level has none.
    assert figures(row(report, "subtasks", subtask="matching"), "score", "failed", "ci_low") == [None, 2, None]
    assert row(report, "table1", level="perception").get("score") is None
    assert cell(report, "table1", "Score", group="Perception") == "– (3 failed)"


def test_unjudged_answers_leave_the_score_open(tmp_path: Path) -> None:
    report = report_on(write_have(tmp_path, {"reasoning": {"math": "+-==?", "talk": "++"}}))
    found = row(report, "table1", level="reasoning")
    # 3 or 4 of 5 in one, 2 of 2 in the other.
    assert figures(found, "score", "least", "greatest", "unjudged") == pytest.approx([None, 80, 90, 1])
    assert found.get("coverage") == pytest.approx(600 / 7)
    assert cell(report, "table1", "Score", group="Reasoning") == "80.0–90.0 (1 unjudged)"
    assert cell(report, "subtasks", "Score") == "60.0–80.0 (1 unjudged)"
    (told,) = noted(report, "unjudged")
    assert "told by their bounds alone" in told and "denominator" not in told


def test_verdicts_of_a_later_judge_count(tmp_path: Path) -> None:
    write_have(tmp_path, {"reasoning": {"math": "+-??"}})
    (samples,) = tmp_path.glob("*_samples_*")
    verdicts = [
        {"item_id": f"reasoning/math/{n}", "task": "have_reasoning", "verdict": verdict, "reason": "judge:m"}
        for n, verdict in ((2, "correct"), (3, "wrong"))
    ]
    write_verdicts(verdicts_path(samples), verdicts, {"mode": "llm", "model": "m"})
    report = report_on(tmp_path)
    assert figures(row(report, "table1", level="reasoning"), "score", "unjudged", "correct") == [50, 0, 2]
    assert "llm m" in str(row(report, "systems").get("judge"))


def test_published_rows_stand_beside_ones_own(tmp_path: Path) -> None:
    report = report_on(write_have(tmp_path, {"perception": PERCEPTION}), published=True)
    assert row(report, "table1", system="Gemini2.5-Flash", level="interaction").get("score") == 30.4
    assert row(report, "table2", system="Ming-Lite-Omni", modality="text", subtask="math").get("score") == 49.0
    assert {r.keys["origin"] for r in report.table("levels").rows} == {"run"}  # type: ignore[union-attr]
    # 7 systems; one of them has no interaction.
    assert len(lines(report.table("table1"))) == 8  # type: ignore[arg-type]
    shown = [cell(report, "table1", "Score", line=at, group="Interaction") for at in range(1, 8)]
    assert "30.4" in shown and shown.count("") == 1
    assert not [r for r in report_on(tmp_path).table("table1").rows if r.keys["origin"] != "run"]  # type: ignore[union-attr]


# --- several runs ---


def three_runs(folder: Path, **told: Any) -> Path:
    for day, marks in ((1, "++++"), (2, "++--"), (3, "+++-")):
        write_have(folder, {"perception": {"recognition": marks}}, date=f"2026010{day}_120000", **told)
    return folder


def test_three_runs_give_their_mean_and_spread(tmp_path: Path) -> None:
    report = report_on(three_runs(tmp_path))
    found = row(report, "table1", level="perception")
    # 100, 50 and 75: the deviations from 75 are 25, -25 and 0, so that the variance is 1250 / 2.
    names = ("score", "runs", "sd", "lowest", "highest", "n", "answered", "correct")
    assert figures(found, *names) == pytest.approx([75, 3, 25, 50, 100, 4, 12, 9])
    assert cell(report, "table1", "Runs", group="Perception") == "3 runs, sd 25.0 (50.0 to 100.0)"
    by_run = [row(report, "runs", run=f"2026010{day}_120000").get("score") for day in (1, 2, 3)]
    assert by_run == [100, 50, 75]
    assert found.get("ci_low") < 75 < found.get("ci_high")  # type: ignore[operator]
    # Items are the clusters: 12 answers to 4 items say less than 12 answers to 12 items.
    low, high = wilson(9, 12)
    assert found.get("ci_low") < 100 * low and found.get("ci_high") > 100 * high  # type: ignore[operator]
    assert row(report, "systems").get("runs") == "20260101_120000, 20260102_120000, 20260103_120000"
    assert "means over 3 runs" in noted(report, "runs")[0] and not noted(report, "older runs")


def test_one_run_is_called_one_run(tmp_path: Path) -> None:
    folder = three_runs(tmp_path)
    one = report_on(folder, runs=("20260102",))
    assert cell(one, "table1", "Runs", group="Perception") == "1 run" and noted(one, "1 run")
    assert one.table("runs") is None
    apart = report_on(folder, all_runs=True)
    assert [cell(apart, "table1", "Runs", line=at, group="Perception") for at in range(3)] == ["1 run"] * 3


def test_seeds_do_not_make_another_system(tmp_path: Path) -> None:
    for seed, marks in ((1, "++"), (2, "--")):
        args = f"pretrained=x,seed={seed}"
        date = f"2026010{seed}_120000"
        write_have(tmp_path, {"perception": {"recognition": marks}}, model_args=args, date=date)
    found = row(report_on(tmp_path), "table1", level="perception")
    assert figures(found, "score", "runs", "system") == [50, 2, "x"]


def test_runs_of_other_settings_are_left_out_and_told(tmp_path: Path) -> None:
    write_have(tmp_path, {"perception": {"recognition": "+-"}}, date="20260101_120000", version=1)
    write_have(tmp_path, {"perception": {"recognition": "+- +"}}, date="20260102_120000", version=2)
    write_have(tmp_path, {"perception": {"recognition": "++"}}, date="20260103_120000", version=2)
    report = report_on(tmp_path)
    assert figures(row(report, "table1", level="perception"), "score", "runs") == [100, 1]
    told = noted(report, "other run")
    assert "20260101_120000" in told[0] and "other task version" in told[0]
    assert "20260102_120000" in told[1] and "other questions" in told[1]


def test_a_copied_log_is_no_second_run(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write_have(tmp_path / folder, {"perception": PERCEPTION})
    assert row(report_on(tmp_path), "table1", level="perception").get("runs") == 1


def test_runs_that_say_the_same_show_no_spread(tmp_path: Path) -> None:
    for day in (1, 2):
        write_have(tmp_path, {"perception": PERCEPTION}, date=f"2026010{day}_120000")
    report = report_on(tmp_path)
    assert row(report, "table1", level="perception").get("sd") == 0
    assert "spread tells nothing" in noted(report, "same responses")[0]


def test_one_unjudged_answer_leaves_the_mean_of_the_runs_open(tmp_path: Path) -> None:
    for day, marks in ((1, "=="), (2, "=?")):
        write_have(tmp_path, {"reasoning": {"math": marks}}, date=f"2026010{day}_120000")
    found = row(report_on(tmp_path), "table1", level="reasoning")
    assert figures(found, "score", "sd", "least", "greatest", "runs") == [None, None, 75, 100, 2]


def test_the_hosts_repeats_are_told_not_counted(tmp_path: Path) -> None:
    write_have(tmp_path, {"perception": PERCEPTION})
    (path,) = tmp_path.glob("*_results.json")
    results = json.loads(path.read_text("utf-8"))
    results["configs"]["have_perception"]["repeats"] = 3
    path.write_text(json.dumps(results), "utf-8")
    report = report_on(tmp_path)
    assert row(report, "table1", level="perception").get("runs") == 1
    assert "the first response to each item alone" in noted(report, "--repeats")[0]


# --- Table 2 ---


def twins(folder: Path) -> Path:
    """Items 0 to 3 of math and 0, 1 of charts; charts are perception, math is reasoning."""
    items = {
        "perception": {"charts": "+-", "matching": "++"},
        "perception_text": {"charts": "++"},
        "perception_asr": {"charts": "--"},
        "reasoning": {"math": "+--!"},
        "reasoning_text": {"math": "+++-"},
        "reasoning_asr": {"math": "-+ +"},
    }
    return write_have(folder, items, roles={"matching": "AaC"})


def test_the_ways_of_asking_are_scored_on_the_same_items(tmp_path: Path) -> None:
    report = report_on(twins(tmp_path))
    names = ("score", "n", "correct")
    # Of math, item 2 was not asked by ASR+TI and item 3 failed by speech: 0 and 1 are left.
    assert figures(row(report, "table2", modality="speech", subtask="math"), *names) == [50, 2, 1]
    assert figures(row(report, "table2", modality="text", subtask="math"), *names) == [100, 2, 2]
    assert figures(row(report, "table2", modality="asr", subtask="math"), *names) == [50, 2, 1]
    averages = [row(report, "table2", modality=mode, subtask="average") for mode in ("speech", "text", "asr")]
    assert [figures(found, "score", "n", "dropped") for found in averages] == [[50, 4, 2], [100, 4, 2], [25, 4, 2]]
    # What is asked with a written question is none of Table 2's business.
    assert not [r for r in report.table("table2").rows if r.keys["subtask"] == "matching"]  # type: ignore[union-attr]
    assert noted(report, "dropped items") == [
        "2 dropped from Table 2, for lack of a verdict in one of the ways of asking"
    ]
    assert noted(report, "recogniser") == ["the transcripts of ASR+TI are by listener"]
    low, high = wilson(1, 2)
    speech = row(report, "table2", modality="speech", subtask="math")
    assert figures(speech, "ci_low", "ci_high") == pytest.approx([100 * low, 100 * high])


def test_writing_against_speech_by_hand(tmp_path: Path) -> None:
    items = {
        "perception": {"charts": "------", "signs": "++"},
        "perception_text": {"charts": "++++++", "signs": "--"},
        "perception_asr": {"charts": "+-----", "signs": "++"},
    }
    report = report_on(write_have(tmp_path, items))
    names = ("n", "speech_score", "written_score", "difference", "only_first", "only_second", "p", "p_holm")
    # Four tests: 2 * 0.5^6 times 4, then 2 * 0.5^2 times 3 is above 1.
    charts = [6, 0, 100, 100, 6, 0, 2 * 0.5**6, 8 * 0.5**6]
    assert figures(row(report, "query_modes", modality="text", subtask="charts"), *names) == pytest.approx(charts)
    signs = [2, 100, 0, -100, 0, 2, 0.5, 1.0]
    assert figures(row(report, "query_modes", modality="text", subtask="signs"), *names) == pytest.approx(signs)
    heard = [6, 0, 100 / 6, 100 / 6, 1, 0, 1.0, 1.0]
    assert figures(row(report, "query_modes", modality="asr", subtask="charts"), *names) == pytest.approx(heard)
    # The plain mean of +100 and -100; 6 against 2 discordant items: 2 * (1 + 8 + 28) / 256.
    mean = [8, 50, 50, 0, 6, 2, 74 / 256]
    assert figures(row(report, "query_modes", modality="text", subtask="average"), *names[:-1]) == pytest.approx(mean)


def test_without_twins_speech_stands_alone(tmp_path: Path) -> None:
    report = report_on(write_have(tmp_path, {"perception": PERCEPTION}))
    assert {r.keys["modality"] for r in report.table("table2").rows} == {"speech"}  # type: ignore[union-attr]
    assert report.table("query_modes") is None and not noted(report, "dropped items")
    # The tasks in writing are no part of Table 1, so nobody misses them.
    assert noted(report, "not run") == ["have_reasoning, have_interaction"]


def test_twins_of_one_level_leave_the_other_out(tmp_path: Path) -> None:
    items = {"perception": {"charts": "+-"}, "perception_text": {"charts": "++"}, "reasoning": {"math": "+"}}
    report = report_on(write_have(tmp_path, items))
    assert {r.keys["subtask"] for r in report.table("table2").rows} == {"charts", "average"}  # type: ignore[union-attr]
    assert noted(report, "Table 2") == ["reasoning left out, as not asked in all of SI, TI"]


def test_twins_alone_are_scored_too(tmp_path: Path) -> None:
    report = report_on(write_have(tmp_path, {"perception_text": {"charts": "+-"}}))
    assert row(report, "table2", modality="text", subtask="charts").get("score") == 50
    assert report.table("table1") is None and report.table("query_modes") is None


def test_unjudged_answers_are_dropped_from_table_2(tmp_path: Path) -> None:
    items = {"perception": {"charts": "=?"}, "perception_text": {"charts": "=="}}
    report = report_on(write_have(tmp_path, items))
    assert figures(row(report, "table2", modality="text", subtask="average"), "score", "n", "dropped") == [100, 1, 1]


def test_another_question_under_one_name_is_dropped(tmp_path: Path) -> None:
    items = {"perception": {"charts": "++"}, "perception_text": {"charts": "+="}}
    report = report_on(write_have(tmp_path, items))
    assert figures(row(report, "table2", modality="text", subtask="average"), "n", "dropped") == [1, 1]


# --- interaction ---

PLAYS = [
    (way("walk"), GO),
    (way("stop"), ("go", "no", "no")),
    (way("fall", steps=3), ("trap",)),
    (way("code", "puzzle"), ("hm", "go", "go")),
    (way("talk", "puzzle", words=True), GO),
]


def test_interaction_by_hand(tmp_path: Path) -> None:
    report = report_on(write_have(tmp_path, episodes={"interaction": PLAYS}))
    names = ("n", "score", "path_completion", "turns", "turns_to_goal", "goal", "stuck", "turn_limit", "judge_error")
    # Three walks: all of two steps, half of two, none of three; 2, 3 and 1 turns.
    walks = [3, 100 / 3, 50, 2, 2, 1, 2, 0, 0]
    assert figures(row(report, "interaction", subtask="navigation"), *names) == pytest.approx(walks)
    # What has no verdict is neither success nor failure, and its turns are not counted.
    puzzles = [2, None, 100, 3, 3, 1, 0, 0, 1]
    assert figures(row(report, "interaction", subtask="puzzle"), *names) == pytest.approx(puzzles)
    everything = row(report, "interaction", subtask="average")
    assert figures(everything, *names) == pytest.approx([5, None, 250 / 4, 9 / 4, 2.5, 2, 2, 0, 1])
    assert figures(everything, "least", "greatest") == pytest.approx([50 * (1 / 3 + 1 / 2), 50 * (1 / 3 + 1)])
    assert row(report, "table1", level="interaction").get("least") == everything.get("least")


def test_only_interaction_makes_a_report(tmp_path: Path) -> None:
    report = report_on(write_have(tmp_path, episodes={"interaction": PLAYS[:4]}))
    # 1 of 3 and 1 of 1.
    assert row(report, "table1", level="interaction").get("score") == pytest.approx(200 / 3)
    names = [table.name for table in report.tables]
    assert names == ["table1", "levels", "interaction", "verdicts", "episodes", "systems"]
    assert cell(report, "table1", "Score", group="Perception") == ""


def test_the_agentic_form_is_never_mixed_in(tmp_path: Path) -> None:
    episodes = {"interaction": PLAYS[:1], "interaction_agentic": [(way("walk"), ("trap",))]}
    report = report_on(write_have(tmp_path, episodes=episodes), published=True)
    assert row(report, "table1", level="interaction", system="known").get("score") == 100
    assert row(report, "table1", level="interaction_agentic").get("score") == 0
    groups = [column.group for column in report.table("table1").columns]  # type: ignore[union-attr]
    assert groups[-2:] == ["Interaction, agentic"] * 2 and "Interaction" in groups
    assert [r.get("end") for r in report.table("episodes").rows] == ["goal", "stuck"]  # type: ignore[union-attr]
    alone = report_on(write_have(tmp_path / "alone", episodes={"interaction_agentic": PLAYS[:1]}))
    assert [r.keys["level"] for r in alone.table("table1").rows] == ["interaction_agentic"]  # type: ignore[union-attr]
    assert "have_interaction" in noted(alone, "not run")[0]


def test_several_runs_of_an_episode(tmp_path: Path) -> None:
    for day, answers in ((1, GO), (2, ("trap",)), (3, GO)):
        write_have(tmp_path, episodes={"interaction": [(way("walk"), answers)]}, date=f"2026010{day}_120000")
    report = report_on(tmp_path)
    found = row(report, "interaction", subtask="navigation")
    assert figures(found, "score", "runs", "n", "goal", "stuck") == pytest.approx([200 / 3, 3, 1, 2, 1])
    # The latest run's episodes are told.
    assert [r.get("end") for r in report.table("episodes").rows] == ["goal"]  # type: ignore[union-attr]


def test_an_episode_is_told_in_every_format(tmp_path: Path) -> None:
    report = report_on(write_have(tmp_path, episodes={"interaction": PLAYS[:3]}), shown_items=1)
    told = row(report, "episodes", item="walk")
    assert figures(told, "path", "end", "turns", "shortest_path") == ["n0 → n1 → n2", "goal", 2, 2]
    text = render_md.render(report)
    assert "### walk (navigation): known" in text and "### stop" not in text and "2 more are in" in text
    assert "You are at 1." in text and "Goes on to n2." in text
    rows = render_json.to_dict(report)["tables"][4]["rows"]
    assert [found["item"] for found in rows] == ["walk", "stop", "fall"]
    assert all("**Turn 1** at n0" in found["transcript"] for found in rows)
    page = render_html.render(report)
    assert page.count('<details class="fold">') == 3 and page.count('<section class="episode">') == 3
    assert page.count("Task graph walk") == 1


def test_pictures_of_one_graph_do_not_share_arrowheads(tmp_path: Path) -> None:
    episodes = {"interaction": PLAYS[:1], "interaction_agentic": PLAYS[:1]}
    page = render_html.render(report_on(write_have(tmp_path, episodes=episodes)))
    ids = [part.split('"')[0] for part in page.split('<marker id="')[1:]]
    assert len(ids) == 4 == len(set(ids))
    assert all(f'url(#{name})"' in page for name in ids if "taken" in name)


def test_what_was_said_is_escaped(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=y> | `x`"
    graph = way(f"walk{evil[:20]}", steps=1)
    graph["nodes"][0]["text"] = evil
    graph["edges"][0]["criterion"] = "regex:(?:<script>|go)"
    write_have(
        tmp_path,
        {"perception": {"<script>alert(2)</script>": "+-"}},
        {"interaction": [(graph, (evil,))]},
    )

    def lone_surrogate(found: list[Any]) -> None:
        found[0]["success"]["trace"]["turns"][0]["response"] += "\ud800"

    edit_samples(tmp_path, "have_interaction", lone_surrogate)
    report = report_on(tmp_path)
    page = render_html.render(report)
    assert page.count("<script") == 2 + page.count('<script type="application/json" id="clips">')
    assert "<img" not in page and "onerror=y&gt;" in page
    outside = "".join(part for number, part in enumerate(render_md.render(report).split("```")) if number % 2 == 0)
    assert not re.search(r"(?<!\\)<(script|img)", outside)
    for form in ("md", "csv", "json", "html"):
        out = tmp_path / f"report.{form}"
        assert cli.main(["report", str(tmp_path), "--benchmark", "have_bench", "-o", str(out)]) == 0
        assert "alert(2)" in out.read_text("utf-8")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda found: found.pop("graph"), "KeyError: 'graph'"),
        (lambda found: found["graph"].update(scenario="<b>"), "the scenario '<b>'"),
        (lambda found: found["graph"].update(start="nowhere"), "the unknown node 'nowhere'"),
        (lambda found: found["trace"].update(end="<b>"), "the end '<b>'"),
        (lambda found: found["trace"]["turns"][0]["verdicts"][0].update(verdict='"><b>'), "the verdict"),
        (lambda found: found["trace"]["turns"][0].update(node="nowhere"), "the unknown node 'nowhere'"),
        (lambda found: found["trace"]["turns"][0].update(attempt="2"), "the attempt '2'"),
        (lambda found: found["trace"]["turns"][0].update(response=3), "3 in place of a text"),
        (lambda found: found.update(trace=None), "TypeError"),
    ],
)
def test_a_trace_at_fault_is_refused(tmp_path: Path, change: Any, told: str) -> None:
    write_have(tmp_path, episodes={"interaction": PLAYS[:2]})
    edit_samples(tmp_path, "have_interaction", lambda found: change(found[1]["success"]))
    with pytest.raises(DataError) as caught:
        report_on(tmp_path)
    assert "item 'stop'" in str(caught.value) and told in str(caught.value)


def test_the_judge_of_the_steps_is_the_runs(tmp_path: Path) -> None:
    judge = {"mode": "llm", "model": "m", "prompts": {"criterion": "c1"}}
    items, episodes = {"perception": PERCEPTION}, {"interaction": PLAYS[:1]}
    write_have(tmp_path, items, episodes, metadata={"judge": judge})
    told = str(row(report_on(tmp_path), "systems").get("judge"))
    assert "llm m" in told and "rule" in told


def test_an_episode_stays_what_it_was_when_the_log_is_judged(tmp_path: Path) -> None:
    write_have(tmp_path, episodes={"interaction": PLAYS[:1]})
    (samples,) = tmp_path.glob("*_samples_*")
    verdict = {"item_id": "walk", "task": "have_interaction", "verdict": "wrong", "reason": "judge:m"}
    write_verdicts(verdicts_path(samples), [verdict], {"mode": "llm", "model": "m"})
    report = report_on(tmp_path)
    assert row(report, "table1", level="interaction").get("score") == 100
    assert row(report, "systems").get("judge") == "rule"


# --- formats and plots ---


def everything(folder: Path, **told: Any) -> Path:
    items = {
        "perception": {"charts": "+-", "matching": "+-"},
        "perception_text": {"charts": "++"},
        "reasoning": {"math": "+-"},
        "reasoning_text": {"math": "-+"},
    }
    return write_have(folder, items, {"interaction": PLAYS[:4]}, roles={"matching": "AaC"}, **told)


def test_every_format_carries_every_row(tmp_path: Path) -> None:
    folder = everything(tmp_path / "logs", demo=True)
    outputs = [tmp_path / f"report.{form}" for form in ("md", "csv", "json", "html")]
    words = [word for output in outputs for word in ("-o", str(output))]
    assert cli.main(["report", str(folder), "--benchmark", "have_bench", "--published", *words]) == 0
    texts = [output.read_text("utf-8") for output in outputs]
    assert all("Gemini2.5-Flash" in text and "say nothing about a model" in text for text in texts)
    told = json.loads(texts[2])
    assert told["benchmark"] == "have_bench" and told["demo"] is True
    named = {table["name"]: len(table["rows"]) for table in told["tables"]}
    wanted = {"table1", "levels", "subtasks", "table2", "query_modes", "interaction", "verdicts", "episodes", "systems"}
    assert set(named) == wanted
    rows = list(csv.DictReader(io.StringIO(texts[1])))
    transcripts = [found for found in rows if (found["table"], found["measure"]) == ("episodes", "transcript")]
    assert len(transcripts) == named["episodes"] == 4
    scores = [found for found in rows if (found["table"], found["measure"]) == ("levels", "score")]
    assert [(found["level"], found["value"]) for found in scores][:2] == [("perception", "50.0"), ("reasoning", "50.0")]


@pytest.mark.skipif(not plots.available(), reason="matplotlib is not installed")
def test_the_plots_tell_what_they_show(tmp_path: Path) -> None:
    report = report_on(everything(tmp_path / "a", model="a"), everything(tmp_path / "b", model="b"), published=True)
    page = render_html.render(report)
    assert "a: 50.0, 50.0, 66.7; b: 50.0, 50.0, 66.7" in page and "Grey: the paper" in page
    assert "a: SI 50.0, TI 75.0; b: SI 50.0, TI 75.0" in page
    assert "a, Navigation: 1 of 3 reached the goal; a, Puzzle: 1 of 1 reached the goal" in page
    assert page == render_html.render(report)
    alone = render_html.render(report_on(tmp_path / "a"))
    assert "Math: SI 50.0, TI 50.0; Charts: SI 50.0, TI 100.0; Average: SI 50.0, TI 75.0" in alone


@pytest.mark.skipif(not plots.available(), reason="matplotlib is not installed")
def test_a_plot_without_data_is_left_out(tmp_path: Path) -> None:
    page = render_html.render(report_on(write_have(tmp_path / "failed", {"reasoning": {"math": "!!"}})))
    assert "From perception to interaction" not in page and "Why episodes ended" not in page
    page = render_html.render(report_on(write_have(tmp_path / "open", {"reasoning": {"math": "=?"}})))
    assert "From perception to interaction" in page and "between its ends the score lies" in page


@pytest.mark.parametrize("words", [["--interval", "paper"], ["--data", "demo"]])
def test_options_that_would_do_nothing_are_refused(tmp_path: Path, words: list[str]) -> None:
    write_have(tmp_path, {"perception": PERCEPTION})
    assert cli.main(["report", str(tmp_path), "--benchmark", "have_bench", *words]) == 2


# --- leaderboard ---


def test_the_leaderboard_ranks_by_level(tmp_path: Path) -> None:
    everything(tmp_path / "a", model="a")
    write_have(tmp_path / "b", {"perception": {"charts": "++"}}, model="b")
    file = tmp_path / "board.json"
    told = leaderboard.add(file, [tmp_path / "b", tmp_path / "a"], "have_bench")
    assert [line.split(":")[0] for line in told] == ["added", "added"]
    before = file.read_text("utf-8")
    leaderboard.add(file, [tmp_path / "a"], "have_bench")
    assert file.read_text("utf-8") == before
    report = board.build(leaderboard.read(file))
    table = report.table("table1")
    assert table is not None and [line.cells[0].text for line in lines(table)] == ["a", "b"]
    # Charts and matching: 1 of 2 each; walks and code: 1 of 3 and 1 of 1.
    scores = [row(report, "table1", system="a", level=level).get("score") for level in ("perception", "interaction")]
    assert scores == pytest.approx([50, 200 / 3])
    assert "50.0" in render_md.render(report) and "HAVE-Bench: scores by level" in render_html.render(report)


def test_the_leaderboard_keeps_every_run(tmp_path: Path) -> None:
    file = tmp_path / "board.json"
    three_runs(tmp_path / "all")
    leaderboard.add(file, [tmp_path / "all"], "have_bench")
    whole = json.loads(file.read_text("utf-8"))
    found = row(board.build(leaderboard.read(file)), "table1", level="perception")
    assert figures(found, "score", "runs", "sd", "lowest", "highest", "ci_low") == [75, 3, 25, 50, 100, None]
    # Added one after the other, in any order, they make the same entry.
    for day in (2, 3, 1):
        leaderboard.add(tmp_path / "single.json", [tmp_path / "all"], "have_bench", runs=[f"2026010{day}"])
    assert json.loads((tmp_path / "single.json").read_text("utf-8")) == whole


def test_a_leaderboard_with_other_counts_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "board.json"
    leaderboard.add(file, [write_have(tmp_path / "a", {"perception": PERCEPTION})], "have_bench")
    entries = leaderboard.read(file)
    for broken in ({}, {"runs": {}}, {"runs": {"d": {"subtasks": {"x": {"right": 1}}}}}, {"runs": {"d": 3}}):
        for entry in entries.values():
            entry["tasks"]["have_perception"]["kept"] = broken
        with pytest.raises(AudioTasksError, match="not verdicts by subtask"):
            board.build(entries)


def test_levels_judged_by_one_judge_make_one_entry(tmp_path: Path) -> None:
    """The prompts that a judge used differ with the kinds of question; it is one judge for all that."""
    write_have(tmp_path, {"perception": {"charts": "+?"}, "reasoning": {"math": "+?"}})
    for task, prompts in (
        ("perception", {"prompt": "m1", "prompts": {"open_ended": "o1"}}),
        ("reasoning", {"prompt": "m1"}),
    ):
        (samples,) = tmp_path.glob(f"*_samples_have_{task}.jsonl")
        subtask = "charts" if task == "perception" else "math"
        verdicts = [
            {"item_id": f"{task}/{subtask}/{n}", "task": f"have_{task}", "verdict": "correct", "reason": "judge:m"}
            for n in (0, 1)
        ]
        write_verdicts(verdicts_path(samples), verdicts, {"mode": "llm", "model": "m", **prompts})
    assert not noted(report_on(tmp_path), "mixed judge settings")
    file = tmp_path / "board.json"
    leaderboard.add(file, [tmp_path], "have_bench")
    (entry,) = leaderboard.read(file).values()
    (judge,) = entry["fingerprint"]["judge"]
    assert judge == {"mode": "llm", "model": "m", "prompt": "m1", "prompts": {"open_ended": "o1"}}
