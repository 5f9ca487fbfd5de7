"""ART's report against sums worked by hand."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from report_logs import edit_samples, write_art

from lmms_audio_tasks import cli
from lmms_audio_tasks.art import FOLDERS
from lmms_audio_tasks.errors import AudioTasksError, DataError
from lmms_audio_tasks.records import error_response
from lmms_audio_tasks.report import board, leaderboard, plots, render_html
from lmms_audio_tasks.report.art import plots as art_plots
from lmms_audio_tasks.report.build import Options, build
from lmms_audio_tasks.report.document import Report, Row, lines
from lmms_audio_tasks.stats import wilson

# The answers are yes, no, yes, no.
SPOKEN = {
    "sound_reasoning": ["yes", "Yes, it is", "Yes.", error_response("out of memory")],
    "audio_arithmetics": ["yes", "no", "YES!", "I cannot tell."],
}
WRITTEN = {
    "sound_reasoning_text": ["yes", "no", "yes", "no"],
    "audio_arithmetics_text": ["no", "no", "no", "no"],
}


def report_on(folder: Path, **options: Any) -> Report:
    return build([folder], "art", Options(**options))


def row(report: Report, table: str, task: str, **keys: str) -> Row:
    found = report.table(table)
    assert found is not None, table
    wanted = {"task": task, **keys}.items()
    (only,) = [row for row in found.rows if all(row.keys.get(name) == value for name, value in wanted)]
    return only


def figures(found: Row, *names: str) -> list[Any]:
    return [found.get(name) for name in names]


def test_the_accuracy_table_by_hand(tmp_path: Path) -> None:
    report = report_on(write_art(tmp_path, SPOKEN))
    shown = ("n", "correct", "accuracy", "lenient", "neither", "yes_rate", "gold_yes_rate", "errors", "official")
    # Three responses, two of them exact; the third asserts yes where no is right.
    sound = [3, 2, 200 / 3, 200 / 3, 0, 100, 200 / 3, 1, 50]
    assert figures(row(report, "accuracy", "sound_reasoning"), *shown) == pytest.approx(sound)
    # Four responses, three of them exact; one asserts neither.
    counted = [4, 3, 75, 75, 25, 50, 50, 0, 75]
    assert figures(row(report, "accuracy", "audio_arithmetics"), *shown) == pytest.approx(counted)
    # Pooled over seven responses, and over eight items where failed ones count as wrong; no mean of the two.
    pooled = [7, 5, 500 / 7, 500 / 7, 100 / 7, 500 / 7, 400 / 7, 1, 62.5]
    assert figures(row(report, "accuracy", "all"), *shown) == pytest.approx(pooled)
    low, high = wilson(5, 7)
    assert figures(row(report, "accuracy", "all"), "ci_low", "ci_high") == pytest.approx([100 * low, 100 * high])
    assert row(report, "accuracy", "all").get("tasks") == 2


def test_what_is_said_in_more_words_is_lenient(tmp_path: Path) -> None:
    report = report_on(write_art(tmp_path, {"sound_reasoning": ["Yes, it is.", "no", "yes and no", ""]}))
    found = row(report, "accuracy", "sound_reasoning")
    assert figures(found, "accuracy", "lenient", "neither", "yes_rate") == [25, 50, 50, 25]
    kinds = row(report, "verdicts", "sound_reasoning")
    assert figures(kinds, "n", "correct", "wrong", "none", "several", "error") == [4, 1, 1, 1, 1, 0]


def test_yes_bias_by_hand(tmp_path: Path) -> None:
    report = report_on(write_art(tmp_path, SPOKEN))
    names = ("asserted", "yes_of_asserted", "gold_yes_of_asserted", "bias", "right_where_yes", "right_where_no")
    sound = [3, 100, 200 / 3, 100 / 3, 100, 0]
    assert figures(row(report, "yes_bias", "sound_reasoning"), *names) == pytest.approx(sound)
    # Of the three that say yes or no two say yes, and yes is right for two.
    counted = [3, 200 / 3, 200 / 3, 0, 100, 50]
    assert figures(row(report, "yes_bias", "audio_arithmetics"), *names) == pytest.approx(counted)
    pooled = [6, 500 / 6, 400 / 6, 100 / 6, 100, 100 / 3]
    assert figures(row(report, "yes_bias", "all"), *names) == pytest.approx(pooled)


def test_the_question_in_writing_by_hand(tmp_path: Path) -> None:
    report = report_on(write_art(tmp_path, SPOKEN | WRITTEN))
    names = ("n", "left_out", "audio_accuracy", "text_accuracy", "difference", "only_first", "only_second", "p")
    # The item on which the model failed is left out; of the three others writing wins one.
    sound = [3, 1, 200 / 3, 100, 100 / 3, 1, 0, 1.0]
    assert figures(row(report, "speech_text", "sound_reasoning"), *names) == pytest.approx(sound)
    counted = [4, 0, 75, 50, -25, 1, 2, 1.0]
    assert figures(row(report, "speech_text", "audio_arithmetics"), *names) == pytest.approx(counted)
    pooled = [7, 1, 500 / 7, 500 / 7, 0, 2, 2, 1.0]
    assert figures(row(report, "speech_text", "all"), *names) == pytest.approx(pooled)
    assert row(report, "accuracy", "all", modality="text").get("accuracy") == 75.0


def test_holm_over_the_tasks(tmp_path: Path) -> None:
    # Six items of one task, and two of the other, are right in writing alone: p is 2 * 0.5^6 and 2 * 0.5^2.
    wrong, right = ["no", "yes"] * 3, ["yes", "no"] * 3
    responses = {"sound_reasoning": wrong, "sound_reasoning_text": right}
    responses |= {"audio_arithmetics": wrong[:2] + right[2:], "audio_arithmetics_text": right}
    report = report_on(write_art(tmp_path, responses))
    assert figures(row(report, "speech_text", "sound_reasoning"), "p", "p_holm") == [2 * 0.5**6, 4 * 0.5**6]
    assert figures(row(report, "speech_text", "audio_arithmetics"), "p", "p_holm") == [0.5, 0.5]
    assert figures(row(report, "speech_text", "all"), "n", "only_first", "p") == [12, 8, 2 * 0.5**8]


def test_two_systems_are_compared_on_the_items_both_answered(tmp_path: Path) -> None:
    write_art(tmp_path / "a", SPOKEN, model="a")
    write_art(tmp_path / "b", {"audio_arithmetics": ["no", "no", "yes"]}, model="b")
    found = report_on(tmp_path).table("systems_compared")
    assert found is not None
    (only,) = found.rows
    assert (only.keys["system"], only.keys["against"], only.keys["task"]) == ("a", "b", "audio_arithmetics")
    # Of the three shared items a has all right, b two.
    names = ("n", "left_out", "accuracy", "against_accuracy", "only_first", "only_second")
    assert figures(only, *names) == pytest.approx([3, 1, 100, 200 / 3, 1, 0])


def test_a_run_of_one_task_has_no_line_for_all(tmp_path: Path) -> None:
    report = report_on(write_art(tmp_path, {"sound_reasoning": ["yes"]}, config={"limit": 1}))
    found = report.table("accuracy")
    assert found is not None and [row.keys["task"] for row in found.rows] == ["sound_reasoning"]
    told = {note.kind: note.text for note in report.notes}
    assert told["limit"] == "run with --limit 1"
    assert told["items"] == "1 of the official 1000 items in art_sound_reasoning"
    # Nobody misses the tasks that the paper does not have.
    assert "art_audio_arithmetics, " in told["not run"] and "arithmetics_text" not in told["not run"]


def test_nothing_but_failures_is_no_accuracy(tmp_path: Path) -> None:
    failed = [error_response("x")] * 2
    report = report_on(write_art(tmp_path, {"sound_reasoning": failed, "audio_arithmetics": failed}))
    found = row(report, "accuracy", "all")
    assert figures(found, "n", "accuracy", "ci_low", "yes_rate", "errors") == [0, None, None, None, 4]
    assert figures(row(report, "yes_bias", "all"), "bias", "right_where_yes") == [None, None]
    if plots.available():
        assert "<figure" not in render_html.render(report)


def test_an_item_twice_is_refused(tmp_path: Path) -> None:
    write_art(tmp_path, SPOKEN)
    edit_samples(tmp_path, "art_sound_reasoning", lambda samples: samples.append(samples[0]))
    with pytest.raises(DataError, match="line 5: expected each item once; found 'sound_reasoning_0' again"):
        report_on(tmp_path)


def test_options_that_do_nothing_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_art(tmp_path, SPOKEN)
    command = ["report", str(tmp_path), "--benchmark", "art"]
    assert cli.main([*command, "--interval", "paper"]) == 2
    assert "--interval paper is not known to ART's report" in capsys.readouterr().err
    assert cli.main([*command, "--data", "demo"]) == 2
    assert "--data adds nothing to ART's report" in capsys.readouterr().err
    assert cli.main([*command, "--published"]) == 0
    assert "no published figures of ART come with this package" in capsys.readouterr().out


def test_all_formats_at_once_and_demo_data_marked(tmp_path: Path) -> None:
    write_art(tmp_path / "log", SPOKEN | WRITTEN, demo=True)
    files = {form: tmp_path / f"report.{form}" for form in ("md", "csv", "json", "html")}
    outputs = [word for path in files.values() for word in ("-o", str(path))]
    assert cli.main(["report", str(tmp_path / "log"), "--benchmark", "art", *outputs]) == 0
    texts = {form: path.read_text("utf-8") for form, path in files.items()}
    assert all("known (demo data)" in text and "say nothing about a model" in text for text in texts.values())
    told = json.loads(texts["json"])
    names = ["accuracy", "yes_bias", "speech_text", "verdicts", "systems"]
    assert (told["benchmark"], [table["name"] for table in told["tables"]]) == ("art", names)
    flat = [line for line in csv.DictReader(io.StringIO(texts["csv"])) if line["table"] == "accuracy"]
    (value,) = [
        line["value"]
        for line in flat
        if (line["task"], line["modality"], line["measure"]) == ("all", "audio", "lenient")
    ]
    assert float(value) == pytest.approx(500 / 7)
    assert "| All tasks (2 of 9) | spoken " in texts["md"]


def test_a_file_twice_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_art(tmp_path, SPOKEN)
    words = ["report", str(tmp_path), "--benchmark", "art", "-o", str(tmp_path / "x.md"), "-o", str(tmp_path / "x.md")]
    assert cli.main(words) == 2
    assert "-o names one file twice" in capsys.readouterr().err


def test_plots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    write_art(tmp_path / "a", SPOKEN | WRITTEN, model="a")
    write_art(tmp_path / "b", {"sound_reasoning": ["yes"]}, model="b$_$")
    text = render_html.render(report_on(tmp_path))
    assert text.count("<figure") == 2
    assert (
        "Exact match by task: a, spoken, All tasks: 71.4; a, spoken and written, All tasks: 75.0; b$_$, spoken" in text
    )
    assert "How often yes is said: a, spoken, All tasks: 71.4" in text


def test_where_yes_is_right_is_not_told_by_a_system_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marked: list[Any] = []

    def dots(lines: Any, series: Any, axis: str, name: str, ticks: Any) -> str:
        marked.append(ticks)
        return "<svg/>"

    monkeypatch.setattr(plots, "dots", dots)
    write_art(tmp_path / "a", {"sound_reasoning": ["yes", error_response("x")]}, model="a")
    write_art(tmp_path / "b", {"sound_reasoning": ["yes", "yes"]}, model="b")
    art_plots.draw(report_on(tmp_path))
    assert marked == [None, ("yes is right", [50.0])]


# --- leaderboard ---


def test_the_leaderboard_ranks_by_exact_match_and_completeness(tmp_path: Path) -> None:
    whole = dict.fromkeys(FOLDERS, ("yes", "no"))
    write_art(tmp_path / "low", {**whole, "sound_reasoning": ("no", "yes")}, model="low")
    write_art(tmp_path / "high", whole, model="high")
    write_art(tmp_path / "part", {"sound_reasoning": ["yes", "no"]}, model="part")
    file = tmp_path / "board.json"
    leaderboard.add(file, [tmp_path], "art")
    (table, _) = board.build(leaderboard.read(file)).tables
    found = lines(table)
    assert [line.system for line in found] == ["high", "low", "part"]
    assert found[1].cells[2].text.startswith("88.9 [")  # 16 of 18
    assert found[2].cells[2].text.endswith("(1 of 9 tasks)")
    assert [cell.text for cell in found[1].cells[3:6]] == ["88.9", "0.0", "50.0"]


def test_tasks_that_were_run_apart_are_pooled(tmp_path: Path) -> None:
    write_art(tmp_path / "one", {"sound_reasoning": SPOKEN["sound_reasoning"]})
    write_art(tmp_path / "two", {"audio_arithmetics": SPOKEN["audio_arithmetics"]}, date="20260102_120000")
    file = tmp_path / "board.json"
    for name in ("one", "two"):
        leaderboard.add(file, [tmp_path / name], "art")
    (table, _) = board.build(leaderboard.read(file)).tables
    (pooled,) = [row for row in table.rows if row.keys["task"] == "all"]
    assert figures(pooled, "n", "correct", "lenient", "neither") == pytest.approx([7, 5, 500 / 7, 100 / 7])


def test_counts_that_are_none_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "board.json"
    leaderboard.add(file, [write_art(tmp_path / "log", SPOKEN)], "art")
    content = json.loads(file.read_text("utf-8"))
    (entry,) = content["entries"].values()
    entry["tasks"]["art_sound_reasoning"]["kept"]["yes"] = -1
    file.write_text(json.dumps(content), "utf-8")
    with pytest.raises(AudioTasksError, match="known: the leaderboard's counts of art_sound_reasoning are not "):
        board.build(leaderboard.read(file))
    entry["tasks"]["art_sound_reasoning"]["kept"] = [1]
    file.write_text(json.dumps(content), "utf-8")
    with pytest.raises(DataError, match="expected kept of art_sound_reasoning to be an object"):
        leaderboard.read(file)
