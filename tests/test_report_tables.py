"""The report's numbers against sums worked by hand."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from report_logs import documents, edit_samples, everywhere, known, right, write_run, wrong

from lmms_audio_tasks import sources
from lmms_audio_tasks.models.chance import draw
from lmms_audio_tasks.options import parse_options
from lmms_audio_tasks.report.build import Options, build
from lmms_audio_tasks.report.document import Report, Row, lines
from lmms_audio_tasks.report.tables import accuracy, average
from lmms_audio_tasks.sakura import SPECS, TRACKS, TaskSpec
from lmms_audio_tasks.sakura.data import local_dataset

PUBLISHED = Path(__file__).parents[1] / "lmms_audio_tasks" / "report" / "published"
SCRIPT = {
    "single": everywhere(3),
    "multi": {"gender": 2, "language": 1, "emotion": 0, "animal": 4},
    "text": everywhere(3),
}


def rows(report: Report, table: str, **keys: str) -> list[Row]:
    found = report.table(table)
    assert found is not None, table
    return [row for row in found.rows if all(row.keys.get(name) == value for name, value in keys.items())]


def row(report: Report, table: str, **keys: str) -> Row:
    (only,) = rows(report, table, **keys)
    return only


def figures(report: Report, table: str, measure: str = "accuracy", **keys: str) -> dict[str, Any]:
    return {found.keys["track"]: found.get(measure) for found in rows(report, table, **keys)}


@pytest.fixture
def report(tmp_path: Path) -> Report:
    write_run(tmp_path / "known", known(SCRIPT))
    return build([tmp_path])


def test_table_2_by_hand(report: Report) -> None:
    assert figures(report, "accuracy", hop="single") == {**dict.fromkeys(TRACKS, 75.0), "average": 75.0}
    expected = {"gender": 50.0, "language": 25.0, "emotion": 0.0, "animal": 100.0, "average": 43.75}
    assert figures(report, "accuracy", hop="multi") == expected
    # Wilson at 3 of 4, z^2 = 3.8415: centre (0.75 + 0.4802) / 1.9604 = 0.6275,
    # half-width 1.96 sqrt(0.75 * 0.25 / 4 + 3.8415 / 64) / 1.9604 = 0.3269.
    three = row(report, "accuracy", hop="single", track="gender").values
    assert (three["n"], three["correct"]) == (4, 3)
    assert [three["ci_low"], three["ci_high"]] == pytest.approx([30.06, 95.44], abs=0.01)
    assert three["half_width"] == pytest.approx(32.69, abs=0.01)
    # The average of four such tracks: its limits are 75 - 44.94 / 2 and 75 + 20.44 / 2, as sqrt(4 x^2) / 4 = x / 2.
    mean = row(report, "accuracy", hop="single", track="average").values
    assert (mean["n"], mean["correct"], mean["groups"]) == (16, 12, 4)
    assert [mean["ci_low"], mean["ci_high"]] == pytest.approx([75 - 44.94 / 2, 75 + 20.44 / 2], abs=0.01)


def test_table_3_by_hand(report: Report) -> None:
    # The single hop is right on the first three items; of these two, one, none and three multi-hop answers are right.
    audio = {"gender": 200 / 3, "language": 100 / 3, "emotion": 0.0, "animal": 100.0, "average": 50.0}
    assert figures(report, "given_single", modality="audio") == pytest.approx(audio)
    assert figures(report, "given_single", modality="text") == {**dict.fromkeys(TRACKS, 100.0), "average": 100.0}
    gender = row(report, "given_single", modality="audio", track="gender").values
    assert (gender["n"], gender["correct"], gender["left_out"]) == (3, 2, 0)
    # Wilson at 3 of 3: the lower limit is 3 / (3 + 3.8415).
    animal = row(report, "given_single", modality="audio", track="animal").values
    assert (animal["ci_low"], animal["ci_high"]) == (pytest.approx(100 * 3 / 6.8415, abs=0.01), 100.0)


def test_audio_text_gap_by_hand(report: Report) -> None:
    # Text is right on all three items, audio on two, one, none, three: so many items are right by text alone.
    assert figures(report, "audio_text_gap", "difference") == pytest.approx(
        {"gender": 100 / 3, "language": 200 / 3, "emotion": 100.0, "animal": 0.0, "average": 50.0}
    )
    told = {track: found.values for track in TRACKS for found in rows(report, "audio_text_gap", track=track)}
    assert [told[track]["only_first"] for track in TRACKS] == [1, 2, 3, 0]
    assert [told[track]["only_second"] for track in TRACKS] == [0, 0, 0, 0]
    # McNemar, two-sided: 2 * 0.5^k for k items that all speak for one side, at most 1.
    assert [told[track]["p"] for track in TRACKS] == [1.0, 0.5, 0.25, 1.0]
    # Holm over four tracks: 4 * 0.25, then 3 * 0.5 and so on, all at most 1.
    assert [told[track]["p_holm"] for track in TRACKS] == [1.0, 1.0, 1.0, 1.0]
    mean = row(report, "audio_text_gap", track="average").values
    assert (mean["n"], mean["only_first"], mean["only_second"], mean["p"]) == (12, 6, 0, 2 * 0.5**6)
    assert (mean["text_accuracy"], mean["audio_accuracy"]) == pytest.approx((100.0, 50.0))
    assert 0 < mean["ci_low"] < 50 < mean["ci_high"] < 100  # type: ignore[operator]


def test_system_against_system_by_hand(tmp_path: Path) -> None:
    # Strong is right on items 0 to 7 of 10, weak on 0 and 1: six items are right by strong alone.
    counts = {name: {"single": everywhere(n), "multi": everywhere(n), "text": everywhere(n)} for name, n in STRENGTH}
    for name in counts:
        write_run(tmp_path / name, known(counts[name]), model=name, count=10)
    report = build([tmp_path])
    keys = {"system": "strong", "against": "weak", "hop": "multi", "modality": "audio"}
    values = row(report, "systems_compared", track="animal", **keys).values
    assert (values["accuracy"], values["against_accuracy"], values["difference"]) == pytest.approx((80, 20, 60))
    assert (values["n"], values["only_first"], values["only_second"], values["p"]) == (10, 6, 0, 2 * 0.5**6)
    assert values["p_holm"] == 4 * 2 * 0.5**6  # the same in all four tracks
    mean = row(report, "systems_compared", track="average", **keys).values
    assert (mean["n"], mean["only_first"], mean["p"]) == (40, 24, 2 * 0.5**24)
    # Connor's formula at n = 40 and a discordant rate of 0.6:
    # sqrt(0.6) (1.96 sqrt(40) + 0.8416 sqrt(40 - 3.8415 + 0.7083)) / 40.7083 = 0.7746 * 17.506 / 40.7083 = 0.3331.
    assert mean["smallest_detectable"] == pytest.approx(33.31, abs=0.01)
    assert {found.keys["hop"] for found in rows(report, "systems_compared")} == {"single", "multi"}
    assert len(rows(report, "systems_compared")) == 3 * 5


STRENGTH = (("strong", 8), ("weak", 2))


def test_only_items_with_the_same_question_are_compared(tmp_path: Path) -> None:
    write_run(tmp_path / "a", known(SCRIPT), model="a", tasks=("sakura_multi_animal",))
    write_run(tmp_path / "b", known(SCRIPT), model="b", tasks=("sakura_multi_animal",))

    def other_options(samples: list[Any]) -> None:
        samples[0]["accuracy"]["options"].reverse()

    edit_samples(tmp_path / "b", "sakura_multi_animal", other_options)
    values = row(build([tmp_path]), "systems_compared", track="animal").values
    assert (values["n"], values["left_out"]) == (3, 1)


def test_errors_leave_the_denominator_and_nothing_else_does(tmp_path: Path) -> None:
    write_run(tmp_path, lambda spec, number, doc: right(doc), count=6, tasks=("sakura_single_animal",))

    def set_verdicts(samples: list[Any]) -> None:
        for sample, verdict in zip(
            samples, ("correct", "error", "unjudged", "undecided", "none", "several"), strict=True
        ):
            sample["accuracy"] |= {"verdict": verdict, "chosen": ""}

    edit_samples(tmp_path, "sakura_single_animal", set_verdicts)
    report = build([tmp_path])
    values = row(report, "accuracy", track="animal").values
    assert (values["n"], values["correct"], values["accuracy"]) == (5, 1, 20.0)
    kinds = row(report, "verdicts", track="animal").values
    assert [kinds[name] for name in ("n", "correct", "wrong", "error", "unjudged")] == [6, 1, 0, 1, 1]
    assert kinds["none_share"] == 20.0
    told = {note.kind: note.text for note in report.notes}
    assert told["unjudged"].startswith("1 of 6 responses have no usable verdict")
    assert told["error"].startswith("1 of 6 responses failed in the model")


def test_no_response_at_all_is_no_accuracy(tmp_path: Path) -> None:
    write_run(tmp_path, lambda *_: "[lmms_audio_tasks error] out of memory", tasks=("sakura_single_animal",))
    values = row(build([tmp_path]), "accuracy", track="animal").values
    assert (values["n"], values["accuracy"], values["ci_low"]) == (0, None, None)
    mean = row(build([tmp_path]), "accuracy", track="average").values
    assert (mean["groups"], mean["accuracy"]) == (0, None)


def test_an_average_over_fewer_tracks_says_so(tmp_path: Path) -> None:
    write_run(tmp_path, known(SCRIPT), tasks=("sakura_multi_gender", "sakura_multi_animal"))
    report = build([tmp_path])
    assert row(report, "accuracy", track="average").values["accuracy"] == 75.0  # of 50 and 100
    (line,) = lines(report.table("accuracy"))  # type: ignore[arg-type]
    assert line.cells[-1].text.endswith("(2 of 4 tracks)")


def test_label_letters_and_confusion_by_hand(report: Report) -> None:
    # Clips 0 to 3 are cat, cow, dog, hen, whose options are (a) to (d); the fourth is answered with (a).
    by_label = {
        found.keys["label"]: found.get("accuracy") for found in rows(report, "by_label", track="animal", hop="single")
    }
    assert by_label == {"cat": 100.0, "cow": 100.0, "dog": 100.0, "hen": 0.0}
    letters = {found.keys["letter"]: found.values for found in rows(report, "letters", track="animal", hop="single")}
    assert {letter: values["chosen_share"] for letter, values in letters.items()} == {"a": 50, "b": 25, "c": 25, "d": 0}
    assert {values["gold_share"] for values in letters.values()} == {25.0}
    assert letters["a"]["bias"] == 25.0  # one of four answers would have to move
    confusion = {(r.keys["label"], r.keys["chosen"]): r.get("share") for r in rows(report, "confusion_animal")}
    assert {pair for pair, share in confusion.items() if share} == {(x, x) for x in ("cat", "cow", "dog")} | {
        ("hen", "cat")
    }


def test_confusion_counts_what_is_no_label(tmp_path: Path) -> None:
    answers = {0: "(a) cat", 1: "I refuse to answer.", 2: "(a) cat"}
    write_run(tmp_path, lambda spec, n, doc: answers[n], count=3, tasks=("sakura_single_animal",))

    def tiger(samples: list[Any]) -> None:
        samples[2]["accuracy"]["chosen"] = "(e) tiger"

    edit_samples(tmp_path, "sakura_single_animal", tiger)
    found = {(r.keys["label"], r.keys["chosen"]): r.get("count") for r in rows(build([tmp_path]), "confusion_animal")}
    assert {pair for pair, count in found.items() if count} == {("cat", "cat"), ("cow", "no option"), ("dog", "other")}


def test_hard_items_are_those_with_single_right_and_multi_wrong(report: Report) -> None:
    items = [found.keys["item"] for found in rows(report, "single_right_multi_wrong")]
    assert items == [
        *("gender/clip_2.wav", "language/clip_1.wav", "language/clip_2.wav"),
        *("emotion/clip_0.wav", "emotion/clip_1.wav", "emotion/clip_2.wav"),
    ]
    first = rows(report, "single_right_multi_wrong")[0]
    assert (first.keys["label"], first.get("golden"), first.get("multi_response")) == (
        "female",
        "(a) female",
        "(b) male",
    )
    assert (first.get("single_response"), first.get("audio")) == ("(a) female", None)
    assert str(first.get("question")).startswith("Question 2, multi?")


def test_hard_items_find_their_recordings(make_sakura, tmp_path: Path) -> None:
    data = make_sakura(4)
    write_run(tmp_path / "log", known(SCRIPT), source=str(data))
    found = rows(build([tmp_path / "log"]), "single_right_multi_wrong")
    assert {Path(str(r.get("audio"))).parent for r in found} == {
        data / "sakura" / track / "audio" for track in ("Gender", "Language", "Emotion")
    }
    moved = data.rename(tmp_path / "elsewhere")
    assert {r.get("audio") for r in rows(build([tmp_path / "log"]), "single_right_multi_wrong")} == {None}
    again = build([tmp_path / "log"], options=Options(data=sources.parse(str(moved))))
    assert None not in {r.get("audio") for r in rows(again, "single_right_multi_wrong")}


def test_an_item_id_from_a_log_cannot_lead_out_of_the_data(make_sakura, tmp_path: Path) -> None:
    data = make_sakura(4)
    secret = data / "sakura" / "Animal" / "metadata.csv"
    assert secret.is_file()
    write_run(tmp_path / "log", known({**SCRIPT, "multi": everywhere(0)}), source=str(data))
    for task in ("sakura_single_animal", "sakura_multi_animal"):

        def escape(samples: list[Any]) -> None:
            samples[0]["accuracy"]["item_id"] = "animal/../metadata.csv"

        edit_samples(tmp_path / "log", task, escape)
    found = row(build([tmp_path / "log"]), "single_right_multi_wrong", item="animal/../metadata.csv")
    assert found.get("audio") is None


def test_published_rows_equal_the_csv(tmp_path: Path) -> None:
    write_run(tmp_path, known(SCRIPT))
    report = build([tmp_path], options=Options(published=True))
    for name, table, second in (("sakura_table2", "accuracy", "hop"), ("sakura_table3", "given_single", "modality")):
        with (PUBLISHED / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            printed = list(csv.DictReader(file))
        shown = {line.cells[0].text: line for line in lines(report.table(table)) if line.origin == "published"}  # type: ignore[arg-type]
        columns = report.table(table).columns  # type: ignore[union-attr]
        cells = 0
        for entry in printed:
            wanted = {"track": entry["track"], second: entry[second]}
            (at,) = [n for n, c in enumerate(columns) if c.where and wanted.items() <= {**c.where}.items()]
            text = f"{entry['accuracy']} ± {entry['ci95']}" if entry["ci95"] else entry["accuracy"]
            assert shown[entry["system"]].cells[at].text == text
            cells += 1
            if "size_b" in entry:
                assert shown[entry["system"]].cells[2].text == entry["size_b"]
        assert cells == sum(
            bool(cell.text) for line in shown.values() for cell in line.cells[3 if second == "hop" else 2 :]
        )


def test_the_shipped_figures_are_the_published_ones() -> None:
    original = Path(__file__).resolve().parents[1].parent / "shared" / "published"
    if not original.is_dir():
        pytest.skip("the published tables are not beside this checkout")
    for number in (1, 2, 3):
        name = f"sakura_table{number}.csv"
        assert (PUBLISHED / name).read_bytes() == (original / name).read_bytes()


def test_table_1(make_sakura, tmp_path: Path) -> None:
    write_run(tmp_path / "log", known(SCRIPT))
    data = sources.parse(str(make_sakura(4)))
    report = build([tmp_path / "log"], options=Options(data=data, published=True))
    own = row(report, "data", origin="data", quantity="audio_duration_s").values
    assert (own["avg"], own["std"], own["min"], own["max"]) == pytest.approx((0.5, 0.0, 0.5, 0.5))
    words = row(report, "data", origin="data", quantity="instruction_length_words").values
    # "What do you hear in clip 0?" and "What goes with what you hear in clip 0?", then a letter and a word an option.
    assert (words["min"], words["max"]) == (7 + 4, 9 + 8)
    shown = [[cell.text for cell in line.cells] for line in lines(report.table("data"))]  # type: ignore[arg-type]
    assert shown[2:] == [
        ["published", "audio duration (s)", "4.79", "2.23", "0.22", "20.78"],
        ["published", "instruction length (words)", "31.32", "12.57", "8", "66"],
    ]


@pytest.mark.parametrize(("correct", "n", "half"), [(262, 500, 4.378), (3, 4, 3.796), (0, 24, 0.0)])
def test_the_paper_interval_takes_500_items_whatever_n_is(correct: int, n: int, half: float) -> None:
    # 1.96 sqrt(52.4 * 47.6 / 500) = 1.96 * 2.2335 = 4.378; 1.96 sqrt(75 * 25 / 500) = 3.796.
    values = accuracy(correct, n, "paper")
    assert values["half_width"] == pytest.approx(half, abs=0.001)
    assert average([(correct, n)], "paper")["half_width"] == values["half_width"]


def _mixed(spec: TaskSpec, number: int, doc: Mapping[str, Any]) -> str:
    """Right in sentences, then wrong, then both, then nothing."""
    forms = (f"The answer is {doc['answer']}.", wrong(dict(doc)), "Either (a) or (b).", "I cannot hear anything.")
    return forms[number % 4]


def _chance(spec: TaskSpec, number: int, doc: Mapping[str, Any]) -> str:
    options = parse_options(doc["prompt"])
    option = options[draw(f"0\n{spec.name}\n{number}", len(options))]
    return f"({option.letter}) {option.text}"


def _first_half(spec: TaskSpec, number: int, doc: Mapping[str, Any]) -> str:
    """Every third item right in the single hop, every second in the multi hop, all with a caption."""
    good = spec.text or number % (3 if spec.hop == "single" else 2) == 0
    return doc["answer"] if good else "I do not know."


def test_three_models_on_the_real_slice_by_counting_answers(real_data: Path, tmp_path: Path) -> None:
    """Tables 2 and 3 against a count that knows nothing of verdicts: a response is right if it is the golden option."""
    source = sources.parse(str(real_data))

    def docs(spec: TaskSpec) -> list[dict[str, Any]]:
        data = local_dataset(source, spec)
        return [dict(doc) for doc in data.select_columns([c for c in data.column_names if c != "audio"])]

    scripts = {"chance": _chance, "half": _first_half, "mixed": _mixed}
    for name, script in scripts.items():
        write_run(tmp_path / name, script, model=name, docs=docs, source=str(real_data))
    report = build([tmp_path])
    for name, script in scripts.items():
        answers = {
            spec.name: {
                doc["item_id"]: doc["answer"] in script(spec, number, doc) for number, doc in enumerate(docs(spec))
            }
            for spec in SPECS.values()
        }
        singles, multis, conditional = [], [], {"audio": [], "text": []}
        for track in TRACKS:
            single, multi = answers[f"sakura_single_{track}"], answers[f"sakura_multi_{track}"]
            text = answers[f"sakura_multi_{track}_text"]
            singles.append(100 * sum(single.values()) / len(single))
            multis.append(100 * sum(multi.values()) / len(multi))
            heard = [item for item, good in single.items() if good]
            conditional["audio"].append(100 * sum(multi[item] for item in heard) / len(heard))
            conditional["text"].append(100 * sum(text[item] for item in heard) / len(heard))
        for hop, expected in (("single", singles), ("multi", multis)):
            found = figures(report, "accuracy", system=name, hop=hop)
            assert list(found.values()) == pytest.approx([*expected, sum(expected) / 4])
        for modality, expected in conditional.items():
            found = figures(report, "given_single", system=name, modality=modality)
            assert list(found.values()) == pytest.approx([*expected, sum(expected) / 4])
    mixed = row(report, "verdicts", system="mixed", track="animal", hop="single").values
    assert [mixed[kind] for kind in ("n", "correct", "wrong", "none", "several")] == [24, 6, 6, 6, 6]


def test_the_scripts_say_what_they_should() -> None:
    doc = documents(SPECS["sakura_single_animal"], 4)[3]
    assert (right(doc), wrong(doc)) == ("(d) hen", "(a) cat")
