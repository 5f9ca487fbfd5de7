"""Markdown, CSV and JSON: the same numbers in all, labels of demo data in all, nothing that breaks a table."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from report_logs import everywhere, known, right, write_run

from lmms_audio_tasks import cli
from lmms_audio_tasks.report import render_csv, render_json, render_md
from lmms_audio_tasks.report.build import Options, build
from lmms_audio_tasks.report.document import KEYS, Column, Report, Row, Table, decimal, lines, p_value, with_interval
from lmms_audio_tasks.sakura import TaskSpec

SCRIPT = {
    "single": everywhere(3),
    "multi": {"gender": 2, "language": 1, "emotion": 0, "animal": 4},
    "text": everywhere(3),
}


@pytest.fixture
def report(tmp_path: Path) -> Report:
    write_run(tmp_path / "a", known(SCRIPT), model="a")
    write_run(tmp_path / "b", known({**SCRIPT, "multi": everywhere(1)}), model="b")
    return build([tmp_path], options=Options(published=True))


def markdown_tables(text: str) -> dict[str, list[list[str]]]:
    """The cells of each table by its heading."""
    found: dict[str, list[list[str]]] = {}
    heading = ""
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("| "):
            found.setdefault(heading, []).append([cell.strip() for cell in line[1:-1].split(" | ")])
    return found


def test_all_formats_carry_the_same_numbers(report: Report) -> None:
    told = json.loads(render_json.render(report))
    flat = list(csv.DictReader(io.StringIO(render_csv.render(report))))
    by_row: dict[tuple[str, ...], dict[str, str]] = {}
    keys = [name for name in render_csv.COLUMNS if name not in ("measure", "value")]
    for line in flat:
        by_row.setdefault(tuple(line[name] for name in keys), {})[line["measure"]] = line["value"]
    compared = 0
    for table in told["tables"]:
        for row in table["rows"]:
            measures = by_row[tuple({"table": table["name"], **row}.get(name, "") for name in keys)]
            for measure, value in measures.items():
                expected = row[measure]
                assert value == ("" if expected is None else str(expected))
                compared += 1
    assert compared == len(flat) - 4 - len(told["notes"])
    shown = markdown_tables(render_md.render(report))
    accuracy = {
        (row["system"], row["track"], row["hop"]): row
        for table in told["tables"]
        if table["name"] == "accuracy"
        for row in table["rows"]
    }
    header, _, *body = shown["Table 2: accuracy"]
    assert len(body) == 2 + 12
    for cells in body:
        for title, cell in zip(header[3:], cells[3:], strict=True):
            track, hop = title.lower().split()
            row = accuracy.get((cells[0], track, hop))
            assert cell.split(" ")[0] == ("" if row is None else f"{row['accuracy']:.1f}")
            if row is not None and row["origin"] == "run":
                assert cell.endswith(f"[{row['ci_low']:.1f}, {row['ci_high']:.1f}]")


def test_json_names_its_schema(report: Report) -> None:
    told = json.loads(render_json.render(report))
    assert (told["schema"], told["version"], told["benchmark"]) == ("lmms-audio-tasks/report", 1, "sakura")
    assert (told["interval"], told["demo"]) == ("wilson", False)
    assert [table["name"] for table in told["tables"]] == [
        *(
            "accuracy",
            "given_single",
            "audio_text_gap",
            "systems_compared",
            "caption",
            "by_label",
            "verdicts",
            "letters",
        ),
        *("confusion_gender", "confusion_language", "confusion_emotion", "confusion_animal"),
        *("single_right_multi_wrong", "systems"),
    ]
    assert told["systems"][0]["settings"]["judge"] == ["rule"]


def test_keys_and_measures_never_clash(report: Report) -> None:
    for table in report.tables:
        for row in table.rows:
            assert not set(row.keys) & set(row.values)
            assert set(row.keys) <= set(render_csv.COLUMNS)


def test_the_paper_interval_prints_as_in_the_paper(tmp_path: Path) -> None:
    write_run(tmp_path, known(SCRIPT))
    report = build([tmp_path], options=Options(interval="paper"))
    body = markdown_tables(render_md.render(report))["Table 2: accuracy"][2]
    # 1.96 sqrt(75 * 25 / 500) = 3.796; 1.96 sqrt(50 * 50 / 500) = 4.383; 0 at 0 and 100.
    assert body[2:] == [
        *(
            "75.0 ± 3.8",
            "50.0 ± 4.4",
            "75.0 ± 3.8",
            "25.0 ± 3.8",
            "75.0 ± 3.8",
            "0.0 ± 0.0",
            "75.0 ± 3.8",
            "100.0 ± 0.0",
        ),
        *("75.0 ± 3.8", "43.8 ± 4.3"),
    ]


@pytest.mark.parametrize("form", ["md", "csv", "json", "html"])
def test_demo_results_are_labelled_in_every_format(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path, known(SCRIPT), source="demo", demo=True)
    assert cli.main(["report", str(tmp_path), "--format", form]) == 0
    text = capsys.readouterr().out
    assert "known (demo data)" in text and "say nothing about a model" in text
    if form == "csv":
        rows = [row for row in csv.DictReader(io.StringIO(text)) if row["system"] and row["table"] != "notes"]
        assert {(row["origin"], row["system"]) for row in rows} == {("demo", "known (demo data)")}
        assert ",".join(["report", *[""] * len(KEYS), "demo", "true"]) in text.splitlines()
    elif form == "json":
        assert json.loads(text)["demo"] is True
    else:
        assert "SAKURA (demo data)" in text


@pytest.mark.parametrize("name", ["out.md", "out.csv", "out.json", "out.html", "out.htm", "out.txt"])
def test_the_output_file_tells_the_format(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path, known(SCRIPT), tasks=("sakura_single_animal",))
    assert cli.main(["report", str(tmp_path), "-o", str(tmp_path / name)]) == 0
    assert capsys.readouterr().out == ""
    start = (tmp_path / name).read_text("utf-8").splitlines()[0]
    first = {"csv": "table,origin,", "json": "{", "html": "<!DOCTYPE html>", "htm": "<!DOCTYPE html>"}
    assert start.startswith(first.get(name.split(".")[1], "# SAKURA"))


NASTY = "(b) | **bold** `code` [link](http://example.org) <script>alert(1)</script>\n\n# heading \\| x"


def nasty(spec: TaskSpec, number: int, doc: dict[str, Any]) -> str:
    return right(doc) if spec.hop == "single" else NASTY


def test_markdown_is_not_broken_by_what_a_model_wrote(tmp_path: Path) -> None:
    write_run(tmp_path, nasty, model="a|b <i>", tasks=("sakura_single_animal", "sakura_multi_animal"))
    text = render_md.render(build([tmp_path]))
    table = [
        line
        for line in text.split("## Single-hop right, multi-hop wrong")[1].split("##")[0].splitlines()
        if line[:1] == "|"
    ]
    assert len(table) == 2 + 3  # its letter is right once
    # Unescaped bars are those between cells.
    assert {line.replace("\\\\", "").replace("\\|", "").count("|") for line in table} == {11}
    assert "<script" not in text and "<i>" not in text and "[link](" not in text.replace("\\[link\\]", "")
    assert "a\\|b &lt;i&gt;" in text
    assert text.count("\n# ") == 0


def test_csv_keeps_what_a_model_wrote(tmp_path: Path) -> None:
    write_run(tmp_path, nasty, tasks=("sakura_single_animal", "sakura_multi_animal"))
    flat = csv.DictReader(io.StringIO(render_csv.render(build([tmp_path])), newline=""))
    assert [line["value"] for line in flat if line["measure"] == "multi_response"] == [NASTY] * 3


def test_markdown_lists_so_many_hard_items_of_each_system(report: Report, tmp_path: Path) -> None:
    def listed(**options: Any) -> tuple[int, str]:
        text = render_md.render(build([tmp_path], options=Options(**options)))
        return len(markdown_tables(text)["Single-hop right, multi-hop wrong"]) - 2, text

    # a: one, two, three and none of the four tracks' items; b: two of each.
    assert listed(shown_items=None)[0] == 6 + 8
    assert listed()[0] == 14
    count, text = listed(shown_items=2)
    assert count == 4 and "10 more are in the other formats, or with --items 0." in text


def shown(row: Row, column: Column) -> str:
    table = Table("t", "T", "", (row,), (column,))
    return lines(table)[0].cells[0].text


@pytest.mark.parametrize(
    ("values", "form", "text"),
    [
        ({"x": None}, decimal("x"), "–"),
        ({}, decimal("x"), "–"),
        ({"x": 2 / 3}, decimal("x", 2), "0.67"),
        ({"x": -0.25}, decimal("x", 2, sign=True), "-0.25"),
        ({"x": 0.0004}, p_value("x"), "<0.001"),
        ({"x": 0.001}, p_value("x"), "0.001"),
        ({"x": None}, p_value("x"), "–"),
        ({"x": None, "ci_low": 0.0}, with_interval("x", "wilson"), "–"),
        ({"x": 50.0}, with_interval("x", "wilson"), "50.0"),
        (
            {"x": 50.0, "ci_low": 1.0, "ci_high": 2.0, "half_width": 9.0},
            with_interval("x", "wilson"),
            "50.0 [1.0, 2.0]",
        ),
        ({"x": 50.0, "ci_low": 1.0, "ci_high": 2.0, "half_width": 9.0}, with_interval("x", "paper"), "50.0 ± 9.0"),
        ({"x": 5.0, "ci_low": -1.0, "ci_high": 9.0}, with_interval("x", "wilson", sign=True), "+5.0 [-1.0, +9.0]"),
    ],
)
def test_how_numbers_are_shown(values: dict[str, Any], form: Any, text: str) -> None:
    assert shown(Row({}, values), Column("X", "x", form=form)) == text


def test_lines_join_rows_by_their_keys() -> None:
    rows = tuple(
        Row({"system": system, "hop": hop}, {"n": number})
        for number, (system, hop) in enumerate([("a", "single"), ("b", "single"), ("a", "multi")])
    )
    columns = (Column("System", "system"), *(Column(hop, "n", where={"hop": hop}) for hop in ("single", "multi")))
    found = lines(Table("t", "T", "", rows, columns, lines_by=("system",)))
    assert [[cell.text for cell in line.cells] for line in found] == [["a", "0", "2"], ["b", "1", ""]]
    assert lines(Table("t", "T", "", (), columns)) == []
