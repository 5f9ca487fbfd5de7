"""C3T's report against sums worked by hand, and against the simulator's plain count."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from c3t_data import simulator
from report_logs import edit_samples, write_c3t

from lmms_audio_tasks import cli
from lmms_audio_tasks.c3t.fairness import METRICS
from lmms_audio_tasks.errors import AudioTasksError, DataError
from lmms_audio_tasks.records import error_response
from lmms_audio_tasks.report import board, heat_maps, leaderboard, plots, render_html
from lmms_audio_tasks.report.build import Options, build
from lmms_audio_tasks.report.document import Report, Row, lines
from lmms_audio_tasks.stats import wilson

PUBLISHED = Path(__file__).parents[1] / "lmms_audio_tasks" / "report" / "published" / "c3t_table1.csv"
ALL = [True] * 4
NONE = [False] * 4
# Voices in turn: Ayr, Bath, Cork; sixties female and male, teens female and male.
PROMPTS: dict[str, dict[str, list[Any]]] = {
    "1": {"accent": ALL[:3], "age_gender": ALL, "text": [True]},
    "2": {"accent": [True, True, False], "age_gender": [False, False, True, True], "text": [False]},
    "3": {"accent": NONE[:3], "age_gender": NONE, "text": [False]},
}


def only(kinds: tuple[str, ...], prompts: Mapping[str, Mapping[str, Any]] = PROMPTS) -> dict[str, dict[str, Any]]:
    return {name: {kind: by_kind[kind] for kind in kinds} for name, by_kind in prompts.items()}


def report_on(folder: Path, **options: Any) -> Report:
    return build([folder], "c3t", Options(**options))


def rows(report: Report, table: str, **keys: str) -> list[Row]:
    found = report.table(table)
    assert found is not None, table
    return [row for row in found.rows if keys.items() <= row.keys.items()]


def row(report: Report, table: str, **keys: str) -> Row:
    (found,) = rows(report, table, **keys)
    return found


def figures(found: Row, *names: str) -> list[Any]:
    return [found.get(name) for name in names]


def notes(report: Report) -> dict[str, str]:
    return {note.kind: note.text for note in report.notes}


def test_table_1_by_hand(tmp_path: Path) -> None:
    report = report_on(write_c3t(tmp_path, PROMPTS))
    told = {
        # The second prompt differs by accent and by age, not by gender; the others are fair, as in writing.
        "none": [2 / 3, 2 / 3, 1, 2 / 3, 2 / 3, 1 / 3, 11 / 21],
        "ca": [1, 1, 1, 1, 1, 1, 1],
        "ca_speech": [1 / 2, 1 / 2, 1, 1 / 2, 1 / 2, 1 / 2, 11 / 14],
    }
    for constraint, expected in told.items():
        found = row(report, "table1", constraint=constraint)
        assert figures(found, *METRICS) == pytest.approx(expected), constraint
        assert figures(row(report, "table1_by_task", constraint=constraint, task="navigate"), *METRICS) == [
            *figures(found, *METRICS)
        ]
    first = row(report, "table1", constraint="none")
    assert figures(first, "fairness_age_k", "fairness_age_n", "prompts", "incomplete") == [2, 3, 3, 0]
    assert figures(first, "fairness_age_ci_low", "fairness_age_ci_high") == pytest.approx([*wilson(2, 3)])
    assert [line.cells[2].text for line in lines(report.table("table1"))] == ["none", "c.a.", "c.a. (speech)"]  # type: ignore[arg-type]


def test_groups_and_gaps_by_hand(tmp_path: Path) -> None:
    report = report_on(write_c3t(tmp_path, PROMPTS))
    accents = [(r.keys["voices"], *figures(r, "correct", "n")) for r in rows(report, "by_accent", task="all")]
    # The worst served first.
    assert accents == [("Cork", 1, 3), ("Ayr", 2, 3), ("Bath", 2, 3)]
    low, high = wilson(1, 3)
    cork = row(report, "by_accent", task="all", voices="Cork")
    assert figures(cork, "accuracy", "ci_low", "ci_high") == pytest.approx([100 / 3, 100 * low, 100 * high])
    ages = {r.keys["voices"]: figures(r, "correct", "n") for r in rows(report, "by_age", task="navigate")}
    assert ages == {"sixties": [2, 6], "teens": [4, 6]}
    assert {tuple(figures(r, "correct", "n")) for r in rows(report, "by_gender", task="all")} == {(3, 6)}
    assert len(rows(report, "by_age_gender", task="all")) == 4
    gap = row(report, "gaps", task="all", characteristic="accent")
    assert figures(gap, "worst", "best", "gap", "prompts_better", "prompts_worse", "p", "p_holm", "pairs") == [
        *("Cork", "Ayr", pytest.approx(100 / 3), 1, 0, 1.0, 1.0, 3)
    ]

    low, high = wilson(1, 3)
    assert figures(gap, "worst_ci_low", "worst_ci_high") == pytest.approx([100 * low, 100 * high])


def test_a_gap_that_is_one(tmp_path: Path) -> None:
    # Cork is wrong on eight prompts that Ayr and Bath have right: p = 2 * 0.5^8, times three pairs.
    prompts = {str(number): {"accent": [True, True, False]} for number in range(8)}
    gap = row(report_on(write_c3t(tmp_path, prompts)), "gaps", task="all", characteristic="accent")
    assert figures(gap, "p", "p_holm", "pairs_significant") == [2 * 0.5**8, 6 * 0.5**8, 2]


def test_flips_by_hand(tmp_path: Path) -> None:
    prompts = {**PROMPTS, "4": {"accent": [True, False, None], "age_gender": ALL, "text": [True]}}
    report = report_on(write_c3t(tmp_path, prompts))
    # Prompt 4 lost Cork in the run, as --limit does it: it is left out, or it would be a tie.
    flip = row(report, "flips")
    assert (flip.keys["task"], flip.keys["item"]) == ("navigate", "2")
    assert figures(flip, "majority", "right", "wrong", "accents") == ["right", 2, 1, "Cork"]
    told = {
        r.keys["voices"]: figures(r, "n", "flips_to_wrong", "share") for r in rows(report, "accent_flips", task="all")
    }
    assert told == {"Cork": [3, 1, pytest.approx(100 / 3)], "Ayr": [3, 0, 0], "Bath": [3, 0, 0]}


def test_a_prompt_cut_apart_counts_for_accuracy_only(tmp_path: Path) -> None:
    prompts = {**PROMPTS, "4": {"accent": [True, None, None]}}
    report = report_on(write_c3t(tmp_path, prompts, config={"limit": 10}))
    assert row(report, "table1", constraint="none").get("prompts") == 3
    assert figures(row(report, "accuracy", task="all", modality="accent"), "correct", "n") == [6, 10]
    told = notes(report)
    assert told["limit"] == "run with --limit 10"
    assert told["cut prompts"].endswith("are in the accuracy by kind only: c3t_navigate_accent 1")


def test_failures_are_missing_voices(tmp_path: Path) -> None:
    failed = error_response("out of memory")
    prompts = {**PROMPTS, "3": {"accent": [False, False, failed], "age_gender": NONE, "text": [failed]}}
    report = report_on(write_c3t(tmp_path, prompts))
    found = row(report, "table1", constraint="none")
    assert figures(found, "incomplete", "em_textual_n", "em_spoken_n", "robustness_n") == [1, 2, 20, 2]
    assert figures(row(report, "accuracy", task="all", modality="text"), "correct", "n", "errors") == [1, 2, 1]
    told = notes(report)
    assert told["incomplete"] == (
        "1 of 3 prompts lack a voice or their answer in writing (2 items failed in the model); "
        "they are judged on what they have"
    )
    assert told["error"].startswith("2 of 24 responses failed in the model")
    assert row(report, "verdicts", task="navigate", modality="text").get("error") == 1


def test_one_split_tells_what_it_can(tmp_path: Path) -> None:
    report = report_on(write_c3t(tmp_path, only(("accent",))))
    found = row(report, "table1", constraint="none")
    values = [None, None, None, 2 / 3, None, None, 5 / 9]
    assert figures(found, *METRICS) == [None if value is None else pytest.approx(value) for value in values]
    assert row(report, "table1", constraint="ca").get("prompts") == 0
    assert notes(report)["kinds"] == (
        "no run of age_gender (ages and genders) and text (in writing) in navigate, so no age and gender fairness, "
        "overall fairness, textual exact match and the constraint c.a., robustness there"
    )
    assert report.table("by_age") is None and report.table("by_accent") is not None


def test_kinds_are_joined_over_runs(tmp_path: Path) -> None:
    for day, kind in enumerate(("accent", "age_gender", "text"), start=1):
        write_c3t(tmp_path / kind, only((kind,)), date=f"2026010{day}_120000")
    joined = report_on(tmp_path)
    assert "kinds" not in notes(joined) and "several runs" in notes(joined)
    assert row(joined, "table1", constraint="none").get("robustness") == pytest.approx(2 / 3)


def test_two_systems_have_rows_of_their_own(tmp_path: Path) -> None:
    write_c3t(tmp_path / "a", PROMPTS, model="a")
    write_c3t(tmp_path / "b", only(("text",)), model="b")
    report = report_on(tmp_path)
    found = {r.keys["system"]: r.get("em_textual") for r in rows(report, "table1", constraint="none")}
    assert found == {"a": pytest.approx(1 / 3), "b": pytest.approx(1 / 3)}
    assert {r.keys["system"] for r in rows(report, "by_accent")} == {"a"}


def test_published_rows_are_those_of_the_paper(tmp_path: Path) -> None:
    report = report_on(write_c3t(tmp_path, PROMPTS), published=True)
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        printed = list(csv.DictReader(file))
    assert len(printed) == 8
    for told in printed:
        keys = {"origin": "published", "system": told["system"], "constraint": told["constraint"]}
        assert figures(row(report, "table1", **keys), *METRICS) == [float(told[name]) for name in METRICS]
    order = [line.cells[2].text for line in lines(report.table("table1"))]  # type: ignore[arg-type]
    assert order == ["none"] * 5 + ["c.a."] * 5 + ["c.a. (speech)"]
    assert "0.0092 above its age fairness of 0.0057" in notes(report)["published"]
    assert "published" not in notes(report_on(tmp_path))


def test_the_plain_count_of_a_simulated_system(tmp_path: Path) -> None:
    benchmark = simulator()
    prompts = benchmark.simulate(33, seed=3)
    assert benchmark.write_logs(tmp_path, prompts) == 33 * 43 - 1
    report = report_on(tmp_path)
    found = [*rows(report, "table1"), *rows(report, "table1_by_task")]
    assert len(found) == 3 * 12
    for told in found:
        expected = benchmark.brute_force(prompts, told.keys["constraint"], told.keys["task"])
        assert {name: told.get(name) for name in METRICS} == expected, told.keys
    assert notes(report)["incomplete"].startswith("1 of 33 prompts lack a voice")
    assert row(report, "accuracy", task="all", modality="accent").get("n") == 33 * 29


def test_tasks_of_the_users_own_are_not_pooled_with_the_papers(tmp_path: Path) -> None:
    write_c3t(tmp_path / "paper", PROMPTS)
    write_c3t(tmp_path / "own", only(("accent", "text")), task="custom", own_task="my_riddles")
    report = report_on(tmp_path)
    found = {r.keys["system"]: r.get("prompts") for r in rows(report, "table1", constraint="none")}
    assert found == {"known": 3, "known (own tasks)": 3}
    assert {r.keys["task"] for r in rows(report, "by_accent", system="known (own tasks)")} == {"all", "my_riddles"}
    assert "custom" not in notes(report)["not run"]
    own = report_on(tmp_path / "own")
    assert "not run" not in notes(own)
    if plots.available():
        page = render_html.render(own)
        assert "Spoken against written: known (own tasks)" in page and "Grey: the paper" not in page
        assert "known (own tasks): accent and task" in render_html.render(report)


def test_records_that_do_not_tell_their_voice_are_refused(tmp_path: Path) -> None:
    write_c3t(tmp_path, PROMPTS)

    def drop(samples: list[Any]) -> None:
        del samples[4]["accuracy"]["groups"]["accent"]

    path = edit_samples(tmp_path, "c3t_navigate_accent", drop)
    with pytest.raises(DataError, match="expected groups task_name, instance_id, split, variants, accent, ") as error:
        report_on(tmp_path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("accent", "", "accent to be a text of whole characters; found ''"),
        ("accent", "\ud800", r"accent to be a text of whole characters; found '\\ud800'"),
        ("instance_id", "\ud800", "instance_id to be a text of whole characters"),
        ("variants", "9" * 5000, "a number of variants; found .*999"),
        ("variants", "-1", "a number of variants; found .*variants '-1'"),
    ],
)
def test_records_whose_prompt_or_voice_is_none_are_refused(
    name: str, value: str, expected: str, tmp_path: Path
) -> None:
    write_c3t(tmp_path, PROMPTS)

    def change(samples: list[Any]) -> None:
        samples[4]["accuracy"]["groups"][name] = value

    path = edit_samples(tmp_path, "c3t_navigate_accent", change)
    with pytest.raises(DataError, match=expected) as error:
        report_on(tmp_path)
    assert str(path) in str(error.value)


def test_an_item_twice_is_refused(tmp_path: Path) -> None:
    write_c3t(tmp_path, PROMPTS)
    edit_samples(tmp_path, "c3t_navigate_text", lambda samples: samples.append(samples[0]))
    with pytest.raises(DataError, match="line 4: expected each item once; found 'navigate/text/1' again"):
        report_on(tmp_path)


def test_an_empty_run_is_refused(tmp_path: Path) -> None:
    write_c3t(tmp_path, PROMPTS)
    edit_samples(tmp_path, "c3t_navigate_text", lambda samples: samples.clear())
    with pytest.raises(DataError, match="expected at least one sample; found an empty file"):
        report_on(tmp_path)


def test_all_formats_at_once_and_demo_data_marked(tmp_path: Path) -> None:
    many = {str(number): {**PROMPTS["2"]} for number in range(30)}
    write_c3t(tmp_path / "log", many, demo=True)
    files = {form: tmp_path / f"report.{form}" for form in ("md", "csv", "json", "html")}
    outputs = [word for path in files.values() for word in ("-o", str(path))]
    assert cli.main(["report", str(tmp_path / "log"), "--benchmark", "c3t", "--published", *outputs]) == 0
    texts = {form: path.read_text("utf-8") for form, path in files.items()}
    assert all("known (demo data)" in text and "say nothing about a model" in text for text in texts.values())
    told = json.loads(texts["json"])
    listed = {table["name"]: table["rows"] for table in told["tables"]}
    assert list(listed) == [
        *("table1", "table1_by_task", "accuracy", "gaps", "by_accent", "by_age", "by_gender", "by_age_gender"),
        *("accent_flips", "flips", "verdicts", "systems"),
    ]
    assert len(listed["flips"]) == 30
    assert "10 more are in JSON and CSV, or with --items 0." in texts["md"]
    flat = [line for line in csv.DictReader(io.StringIO(texts["csv"])) if line["table"] == "table1"]
    wanted = {"constraint": "none", "origin": "demo", "measure": "em_spoken"}.items()
    (value,) = [line["value"] for line in flat if wanted <= line.items()]
    assert float(value) == pytest.approx(4 / 7)
    assert "| Audio Flamingo 3 " in texts["md"] and "0.8287" in texts["md"]


def test_the_page_shows_the_first_flips_only(tmp_path: Path) -> None:
    many = {str(number): {"accent": PROMPTS["2"]["accent"]} for number in range(230)}
    text = render_html.render(report_on(write_c3t(tmp_path, many)))
    section = text.split('<section id="flips">')[1].split("</section>")[0]
    assert section.count("<tr") == 200 + 2
    assert "30 more lines are in the JSON, which the button above saves." in section
    embedded = json.loads(text.split('id="report-data">')[1].split("</script>")[0])
    assert len(next(table for table in embedded["tables"] if table["name"] == "flips")["rows"]) == 230


def test_plots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    write_c3t(tmp_path / "a", PROMPTS, model="a$_$")
    write_c3t(tmp_path / "b", only(("text",)), model="b")
    text = render_html.render(report_on(tmp_path))
    assert text.count("<figure") == 3
    assert "Spoken against written: a$_$: in writing 33.3, spoken 52.4" in text
    assert "a$_$: accent and task: a$_$: from Cork 33.3 % to Bath 66.7 %" in text
    assert "a$_$: age and gender: a$_$: from sixties female 33.3 % to teens female 66.7 %" in text
    assert "Grey: the paper" in text
    # One split alone, and demo data alone.
    alone = render_html.render(report_on(write_c3t(tmp_path / "c", only(("accent",)), demo=True)))
    assert alone.count("<figure") == 1 and "Grey: the paper" not in alone
    assert render_html.render(report_on(tmp_path)) == render_html.render(report_on(tmp_path))


@pytest.mark.parametrize(
    ("values", "ends"),
    [([35.0, 41.0], (30, 50)), ([0.0], (0, 20)), ([100.0, 99.0], (80, 100)), ([], (0, 100)), ([5.0, 95.0], (0, 100))],
)
def test_the_scale_of_a_heat_map(values: list[float], ends: tuple[float, float]) -> None:
    assert heat_maps._span(values) == ends


# --- leaderboard ---


def test_the_leaderboard_joins_kinds_added_apart(tmp_path: Path) -> None:
    file = tmp_path / "board.json"
    for day, kind in enumerate(("accent", "age_gender", "text"), start=1):
        folder = write_c3t(tmp_path / kind, only((kind,)), date=f"2026010{day}_120000")
        leaderboard.add(file, [folder], "c3t")
    (table, _) = board.build(leaderboard.read(file)).tables
    own = report_on(tmp_path)
    for told in table.rows:
        expected = row(own, "table1", constraint=told.keys["constraint"])
        assert figures(told, *METRICS, "prompts") == figures(expected, *METRICS, "prompts")
    assert [line.cells[2].text for line in lines(table)] == ["none", "c.a."]
    assert lines(table)[0].cells[-1].text == "3 of 33"


def test_the_leaderboard_equals_the_report_of_a_simulated_system(tmp_path: Path) -> None:
    benchmark = simulator()
    benchmark.write_logs(tmp_path / "log", benchmark.simulate(33, seed=5))
    file = tmp_path / "board.json"
    leaderboard.add(file, [tmp_path / "log"], "c3t")
    (table, _) = board.build(leaderboard.read(file)).tables
    own = report_on(tmp_path / "log")
    for told in table.rows:
        assert figures(told, *METRICS) == figures(row(own, "table1", constraint=told.keys["constraint"]), *METRICS)


def test_the_leaderboard_ranks_by_spoken_exact_match(tmp_path: Path) -> None:
    write_c3t(tmp_path / "low", {"1": PROMPTS["2"]}, model="low")
    write_c3t(tmp_path / "high", {"1": PROMPTS["1"]}, model="high")
    write_c3t(tmp_path / "demo", {"1": PROMPTS["1"]}, model="demo", demo=True)
    file = tmp_path / "board.json"
    leaderboard.add(file, [tmp_path], "c3t", allow_demo=True)
    (table, _) = board.build(leaderboard.read(file)).tables
    assert [line.system for line in lines(table)[:3]] == ["high", "low", "demo (demo data)"]
    page = render_html.render(board.build(leaderboard.read(file)))
    assert "demo (demo data)" in page


def test_benchmarks_on_one_leaderboard_do_not_meet(tmp_path: Path) -> None:
    from report_logs import write_art

    file = tmp_path / "board.json"
    leaderboard.add(file, [write_art(tmp_path / "art", {"sound_reasoning": ["yes"]}, model="a")], "art")
    leaderboard.add(file, [write_c3t(tmp_path / "c3t", PROMPTS, model="b", metadata={"plugin_version": "9"})], "c3t")
    found = board.build(leaderboard.read(file))
    assert [table.name for table in found.tables] == ["art_accuracy", "c3t_table1", "entries"]
    assert not [note for note in found.notes if note.kind.startswith("mixed")]
    assert "<h1>Leaderboard</h1>" in render_html.render(found)


@pytest.mark.parametrize("kept", ["x", "1=3/2", "1=3/3ga", f"1=1/{10**30}", "", None, 5])
def test_prompts_that_cannot_be_read_are_refused(kept: Any, tmp_path: Path) -> None:
    file = tmp_path / "board.json"
    leaderboard.add(file, [write_c3t(tmp_path / "log", only(("accent",)))], "c3t")
    content = json.loads(file.read_text("utf-8"))
    (entry,) = content["entries"].values()
    entry["tasks"]["c3t_navigate_accent"]["kept"] = {"prompts": kept}
    file.write_text(json.dumps(content), "utf-8")
    if kept == "":  # a run of which no prompt is whole
        (table, _) = board.build(leaderboard.read(file)).tables
        assert table.rows[0].get("prompts") == 0
        return
    with pytest.raises(AudioTasksError, match="known: the leaderboard's prompts of c3t_navigate_accent cannot be read"):
        board.build(leaderboard.read(file))
