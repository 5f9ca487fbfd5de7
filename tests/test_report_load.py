"""From log folders to systems: which runs count, what is told beside the tables, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report_logs import edit_samples, everywhere, known, right, write_run, wrong

from lmms_audio_tasks import cli
from lmms_audio_tasks.errors import AudioTasksError, DataError
from lmms_audio_tasks.judge.verdict_file import verdicts_path, write_verdicts
from lmms_audio_tasks.records import error_response
from lmms_audio_tasks.report.build import Options, build
from lmms_audio_tasks.report.document import Report
from lmms_audio_tasks.report.load import load
from lmms_audio_tasks.report.systems import choose, split_arguments
from lmms_audio_tasks.sakura import SPECS, TaskSpec

ALL = {"single": everywhere(4), "multi": everywhere(4), "text": everywhere(4)}
NONE = {"single": everywhere(0), "multi": everywhere(0), "text": everywhere(0)}
TASK = "sakura_single_animal"


def labels(report: Report) -> list[str]:
    return [system["label"] for system in report.systems]


def notes(report: Report) -> dict[str, str]:
    return {note.kind: note.text for note in report.notes}


def accuracies(report: Report) -> dict[str, Any]:
    table = report.table("accuracy")
    assert table is not None
    single = {"track": "animal", "hop": "single"}
    return {row.keys["system"]: row.get("accuracy") for row in table.rows if single.items() <= row.keys.items()}


def test_models_that_share_a_folder_are_told_apart_by_their_results(tmp_path: Path) -> None:
    write_run(tmp_path, known(ALL), model="good", date="20260101_120000", tasks=(TASK,))
    write_run(tmp_path, known(NONE), model="bad", date="20260101_120001", tasks=(TASK,))
    write_run(tmp_path, known(ALL), model="bad", model_args="seed=7", date="20260101_120002", tasks=(TASK,))
    assert accuracies(build([tmp_path])) == {"good": 100.0, "bad": 0.0, "bad (seed=7)": 100.0}


def test_the_latest_run_counts_for_each_task(tmp_path: Path) -> None:
    write_run(tmp_path, known(NONE), date="20260101_120000")
    write_run(tmp_path, known(ALL), date="20260102_120000", tasks=(TASK,))
    write_run(tmp_path, known(NONE), date="20251231_235959", tasks=(TASK,))
    report = build([tmp_path])
    assert accuracies(report) == {"known": 100.0}
    assert notes(report)["several runs"] == "its tasks come from the runs 20260101_120000, 20260102_120000"
    assert notes(report)["older runs"] == "not shown, as later ones are: 20251231_235959"


def test_a_run_can_be_named_and_all_can_be_shown(tmp_path: Path) -> None:
    write_run(tmp_path, known(NONE), date="20260101_120000", tasks=(TASK,))
    write_run(tmp_path, known(ALL), date="20260102_120000", tasks=(TASK,))
    assert accuracies(build([tmp_path], options=Options(runs=("20260101",)))) == {"known": 0.0}
    both = build([tmp_path], options=Options(all_runs=True))
    assert accuracies(both) == {"known [20260101_120000]": 0.0, "known [20260102_120000]": 100.0}
    with pytest.raises(AudioTasksError, match=r"unknown run '20260103'; did you mean 2026010"):
        build([tmp_path], options=Options(runs=("20260103",)))


def test_settings_of_speed_do_not_make_another_model(tmp_path: Path) -> None:
    first, second = ("pretrained=org/model,device=cuda:0,batch_size=8", "batch_size=1,pretrained=org/model")
    write_run(tmp_path, known(NONE), model="audio_lm", model_args=first, date="20260101_120000", tasks=(TASK,))
    write_run(tmp_path, known(ALL), model="audio_lm", model_args=second, date="20260101_120001", tasks=(TASK,))
    assert accuracies(build([tmp_path])) == {"org/model": 100.0}


def test_names(tmp_path: Path) -> None:
    write_run(tmp_path, known(ALL), model="m", model_args="a=1", date="20260101_120000", tasks=(TASK,))
    write_run(tmp_path, known(ALL), model="m", model_args="a=2", date="20260101_120001", tasks=(TASK,))

    def named(*names: tuple[str, str]) -> list[str]:
        return labels(build([tmp_path], options=Options(names=names)))

    assert named() == ["m (a=1)", "m (a=2)"]
    assert named(("m (a=1)", "One"), ("m,a=2", "Two = 2")) == ["One", "Two = 2"]
    with pytest.raises(AudioTasksError, match=r"--name m=\.\.\.: stands for several systems: m \(a=1\), m \(a=2\)"):
        named(("m", "One"))
    with pytest.raises(AudioTasksError, match=r"unknown model 'm \(a=3\)'; did you mean m \(a=2\) or m \(a=1\)"):
        named(("m (a=3)", "One"))
    with pytest.raises(AudioTasksError, match="two systems would be called 'One'"):
        named(("m,a=1", "One"), ("m,a=2", "One"))


def test_demo_data_never_stand_in_for_real_data(tmp_path: Path) -> None:
    write_run(tmp_path / "real", known(NONE), date="20260101_120000", tasks=(TASK,))
    write_run(tmp_path / "demo", known(ALL), date="20260102_120000", tasks=(TASK,), source="demo", demo=True)
    report = build([tmp_path])
    assert accuracies(report) == {"known": 0.0, "known (demo data)": 100.0}
    assert report.demo and report.heading == "SAKURA (partly demo data)"
    assert "say nothing about a model" in notes(report)["demo"]
    assert report.table("systems_compared") is None
    assert build([tmp_path / "demo"]).heading == "SAKURA (demo data)"
    assert "demo" not in notes(build([tmp_path / "real"]))


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    def script(spec: TaskSpec, number: int, doc: dict[str, Any]) -> str:
        return {0: right(doc), 1: wrong(doc), 2: "", 3: error_response("out of memory")}[number]

    write_run(tmp_path, script, tasks=(TASK, "sakura_multi_animal"), config={"limit": 4})
    told = notes(build([tmp_path]))
    assert told["not run"].startswith(
        "sakura_single_gender, sakura_single_language, sakura_single_emotion, sakura_multi"
    )
    assert told["items"] == "4 of the official 500 items in all 2 tasks"
    assert told["limit"] == "run with --limit 4"
    assert "offset" not in told
    assert told["error"].startswith("2 of 8 responses failed in the model")
    assert told["empty"] == "2 of 6 responses are empty; some models hide failures so"


def test_a_complete_run_has_nothing_to_be_told(tmp_path: Path) -> None:
    write_run(tmp_path, known(ALL), count=500)
    assert notes(build([tmp_path])) == {}


Change = Callable[[Path], Any]
MIXED: dict[str, tuple[dict[str, Any], str, str]] = {
    "source": ({"source": "/other"}, "mixed data sources", "/data (a); /other (b)"),
    "version": ({"version": 2}, "mixed task versions", "1 (a); 2 (b)"),
    "count": ({"count": 3}, "mixed questions", "a differ from b in sakura_single_animal"),
    "generation": ({"config": {"gen_kwargs": "top_p=0.5"}}, "mixed generation settings", "top_p=0.5"),
}


@pytest.mark.parametrize("case", MIXED)
def test_what_is_mixed_is_told(case: str, tmp_path: Path) -> None:
    change, kind, text = MIXED[case]
    write_run(tmp_path / "a", known(ALL), model="a", tasks=(TASK,))
    write_run(tmp_path / "b", known(ALL), model="b", tasks=(TASK,), **change)
    told = notes(build([tmp_path]))
    assert text in told[kind]
    assert [name for name in told if name.startswith("mixed")] == [kind]


def test_hub_commits_may_differ_between_tasks_but_not_between_systems(tmp_path: Path) -> None:
    tasks = (TASK, "sakura_single_gender")
    for model in ("a", "b"):
        write_run(tmp_path / model, known(ALL), model=model, tasks=tasks)
        for task in tasks:
            commit = "1" if task == TASK or model == "a" else "2"

            def from_hub(samples: list[Any], commit: str = commit, task: str = task) -> None:
                for sample in samples:
                    sample["accuracy"]["source"] = f"hub:owner/{task}@{commit}"

            edit_samples(tmp_path / model, task, from_hub)
    told = {kind: text for kind, text in notes(build([tmp_path])).items() if kind.startswith("mixed")}
    assert told == {"mixed data revisions": "a differ from b in sakura_single_gender"}


def judge_file(folder: Path, verdicts: list[dict[str, str]], task: str = TASK, **judge: Any) -> Path:
    (samples,) = folder.glob(f"*_samples_{task}.jsonl")
    path = verdicts_path(samples)
    write_verdicts(path, verdicts, judge or {"mode": "llm", "model": "judge-1"})
    return path


def verdict(number: int, verdict: str, **more: str) -> dict[str, str]:
    return {"item_id": f"animal/clip_{number}.wav", "task": TASK, "verdict": verdict, "reason": "judge:judge-1", **more}


def test_verdict_files_win_by_item(tmp_path: Path) -> None:
    write_run(tmp_path, known(NONE), tasks=(TASK,))
    judge_file(tmp_path, [verdict(n, "correct", chosen="(a) cat") for n in (3, 1)] + [verdict(0, "unjudged")])
    report = build([tmp_path])
    assert accuracies(report) == {"known": 50.0}
    told = notes(report)
    assert told["unjudged"].startswith("1 of 4 responses have no usable verdict")
    # The third item has the run's own verdict still, by the option matcher.
    assert told["several judges"] == "verdicts of llm judge-1 and rule within sakura_single_animal"
    assert report.systems[0]["settings"]["judge"] == ["llm judge-1 and rule"]


def test_two_judges_are_told(tmp_path: Path) -> None:
    for model in ("a", "b"):
        write_run(tmp_path / model, known(NONE), model=model, tasks=(TASK,))
    judge_file(tmp_path / "b", [verdict(n, "correct") for n in range(4)], mode="llm", model="m", temperature=0)
    assert notes(build([tmp_path]))["mixed judge settings"] == "rule (a); llm m (temperature 0) (b)"


def test_a_judge_within_the_run_is_told_without_a_file(tmp_path: Path) -> None:
    write_run(tmp_path, known(NONE), tasks=(TASK,))

    def by_judge(samples: list[Any]) -> None:
        for sample in samples:
            sample["accuracy"]["reason"] = "judge:judge-2"

    edit_samples(tmp_path, TASK, by_judge)
    assert build([tmp_path]).systems[0]["settings"]["judge"] == ["llm or hybrid judge-2"]


def test_verdicts_on_other_responses_are_refused(tmp_path: Path) -> None:
    write_run(tmp_path, known(NONE), tasks=(TASK,))
    judge_file(tmp_path, [verdict(0, "correct", response="something else")])
    with pytest.raises(DataError, match=r"another response to animal/clip_0\.wav; judge it again"):
        build([tmp_path])
    judge_file(tmp_path, [verdict(9, "correct")])
    with pytest.raises(DataError, match=r"one on sakura_single_animal animal/clip_9\.wav"):
        build([tmp_path])


def test_folders_within_folders_are_read_once(tmp_path: Path) -> None:
    write_run(tmp_path / "deep" / "model", known(ALL), tasks=(TASK,))
    assert len(load([tmp_path, tmp_path / "deep", tmp_path / "deep" / "model"], "sakura").logs) == 1


def test_samples_of_others_are_passed_over(tmp_path: Path) -> None:
    write_run(tmp_path, known(ALL), tasks=(TASK,))
    (tmp_path / "20260101_120000_samples_mmlu.jsonl").write_text("not even JSON", "utf-8")
    (tmp_path / "notes.json").write_text("{", "utf-8")
    report = build([tmp_path])
    assert notes(report)["ignored"] == "samples that are not of sakura were passed over: mmlu"


def test_a_run_without_samples_beside_one_with_them(tmp_path: Path) -> None:
    write_run(tmp_path, known(ALL), tasks=(TASK,))
    write_run(tmp_path, known(ALL), date="20260102_120000", tasks=(TASK,))
    (tmp_path / f"20260102_120000_samples_{TASK}.jsonl").unlink()
    told = notes(build([tmp_path]))
    assert told["no samples"] == "left out, as they were run without --log_samples: 20260102_120000_results.json"


@pytest.mark.parametrize(
    ("config", "asked", "fine"),
    [
        ({}, 4, True),
        ({}, 5, False),  # a line was lost
        ({}, 3, False),  # samples of another run
        ({"limit": 4}, 9, True),
        ({"limit": -1}, 4, True),
        ({"limit": -1}, 9, False),
        ({"limit": 0.5}, 9, True),  # the host does not tell how many that were
        ({"offset": 2}, 6, True),
        ({"offset": 2}, 7, False),
        ({"offset": 2, "limit": 4}, 9, True),
    ],
)
def test_samples_are_as_many_as_were_asked(config: dict[str, Any], asked: int, fine: bool, tmp_path: Path) -> None:
    write_run(tmp_path, known(ALL), tasks=(TASK,), count=4, config=config)
    edit_results(tmp_path, lambda told: told.update({"n-samples": {TASK: {"original": asked, "effective": asked}}}))
    if fine:
        load([tmp_path], "sakura")
    else:
        with pytest.raises(DataError, match="samples, as its results file tells; found 4: cut, or of another run"):
            load([tmp_path], "sakura")


def test_a_results_file_of_another_run_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path, known(ALL), tasks=(TASK,))
    edit_results(tmp_path, lambda told: told.update({"configs": {"art_sound_reasoning": {}}}))
    with pytest.raises(DataError, match=f"tells of {TASK}; found one of another run, of art_sound_reasoning"):
        load([tmp_path], "sakura")


def edit_results(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    (path,) = folder.rglob("*_results.json")
    told = json.loads(path.read_text("utf-8"))
    edit(told)
    path.write_text(json.dumps(told), "utf-8")


def test_samples_without_a_results_file_go_by_their_folder(tmp_path: Path) -> None:
    write_run(tmp_path / "org__model", known(ALL), tasks=(TASK,))
    (tmp_path / "org__model" / "20260101_120000_results.json").unlink()
    report = build([tmp_path])
    assert labels(report) == ["org__model"]
    assert f"20260101_120000_samples_{TASK}.jsonl" in notes(report)["no results file"]


def test_secrets_in_model_arguments_are_masked(tmp_path: Path) -> None:
    arguments = "model=gpt,api_key=sk-12345,max_new_tokens=16"
    write_run(tmp_path, known(ALL), model="openai", model_args=arguments, tasks=(TASK,))
    (system,) = build([tmp_path]).systems
    assert system["model_args"] == "model=gpt,api_key=***,max_new_tokens=16"


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [("", []), ("a=1", ["a=1"]), ("a=1,b=x,y,c=2", ["a=1", "b=x,y", "c=2"]), ("a=1, b=2", ["a=1", "b=2"])],
)
def test_arguments_are_split_where_a_name_begins(arguments: str, parts: list[str]) -> None:
    assert split_arguments(arguments) == parts


def _line(number: int, text: str) -> Change:
    def change(folder: Path) -> None:
        (path,) = folder.glob(f"*_samples_{TASK}.jsonl")
        lines = path.read_text("utf-8").splitlines()
        lines[number] = text
        path.write_text("\n".join(lines), "utf-8")

    return change


def _record(**changes: Any) -> Change:
    return lambda folder: edit_samples(folder, TASK, lambda samples: samples[1]["accuracy"].update(changes))


def _unlink(pattern: str) -> Change:
    return lambda folder: [path.unlink() for path in folder.glob(pattern)]


def _rename(folder: Path) -> None:
    (path,) = folder.glob("*_samples_*")
    path.rename(path.with_name("20260101_120000_samples_mmlu.jsonl"))


BAD: dict[str, tuple[Change, str]] = {
    "a line that is not JSON": (_line(2, '{"doc_id": 3, '), f"samples_{TASK}.jsonl, line 3: expected JSON; found "),
    "a line that is no object": (_line(0, "[1]"), f"samples_{TASK}.jsonl, line 1: expected a JSON object; found list"),
    "a line without a record": (
        _line(0, '{"doc_id": 0}'),
        "line 1: expected a record of this plugin among the metrics",
    ),
    "an item twice": (
        _record(item_id="animal/clip_0.wav"),
        "line 2: expected each item once; found 'animal/clip_0.wav'",
    ),
    "another task's record": (
        _record(task="sakura_single_gender"),
        f"line 2: expected records of {TASK}; found one of",
    ),
    "an unknown verdict": (_record(verdict="maybe"), "line 2: expected a verdict (correct, wrong, none, several, "),
    "a response that is no text": (_record(response=None), "line 2: expected response to be a text; found None"),
    "groups that are none": (_record(groups=[]), "line 2: expected groups to be an object of texts; found []"),
    "options that are none": (_record(options="(a)"), "line 2: expected options to be a list of texts; found '(a)'"),
    "an empty samples file": (
        lambda folder: next(folder.glob("*_samples_*")).write_text(""),
        "expected at least one sample; found an empty file",
    ),
    "a results file that is not JSON": (
        lambda folder: next(folder.glob("*_results.json")).write_text("{"),
        "_results.json, line 1: expected JSON; found ",
    ),
    "a results file that is no object": (
        lambda folder: next(folder.glob("*_results.json")).write_text("[]"),
        "_results.json: expected a JSON object; found list",
    ),
    "no samples": (
        _unlink("*_samples_*"),
        "_results.json: expected samples beside it; found none; run again with --log_s",
    ),
    "no logs": (
        _unlink("*"),
        "expected files *_samples_*.jsonl (lmms_eval --output_path DIR --log_samples writes them)",
    ),
    "samples of another benchmark": (
        lambda folder: [p.rename(p.with_name(p.name.replace(TASK, "c3t_snarks_text"))) for p in folder.glob("*_samp*")],
        "found only of others: c3t_snarks_text (--benchmark c3t)",
    ),
    "only others' samples": (_rename, "expected samples of sakura tasks; found only of others: mmlu"),
    "bytes that are not UTF-8": (
        lambda folder: next(folder.glob("*_samples_*")).write_bytes(b"\xff\n"),
        "expected UTF-8; found a byte that is not",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_exit_code_2(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change, message = BAD[case]
    write_run(tmp_path, known(ALL), tasks=(TASK,))
    change(tmp_path)
    assert cli.main(["report", str(tmp_path)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: ") and told.err.count("\n") == 1
    assert message in told.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["no-such-folder"],
            "expected a folder of logs (lmms_eval --output_path DIR --log_samples writes them); found no",
        ),
        (["FILE"], "found a file"),
        (["LOG", "--benchmark", "sakara"], "unknown benchmark 'sakara'; did you mean sakura?"),
        (["LOG", "--run", "1999"], "unknown run '1999'; known: 20260101_120000"),
        (["LOG", "--name", "known"], "--name needs MODEL=LABEL, not 'known'"),
        (["LOG", "--name", "other=x"], "unknown model 'other'; known: known"),
        (["LOG", "--data", "no-such-folder"], "expected a folder of benchmark data; found no such folder"),
        (["LOG", "--items", "-1"], "--items must be 0 or more, not -1"),
        (["LOG", "--embed-audio", "-1"], "--embed-audio must be a number of MB, not -1"),
        (["LOG", "-o", "no-such-folder/report.md"], "expected a file that can be written; found No such file"),
    ],
)
def test_bad_options_are_one_line_and_exit_code_2(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_run(tmp_path / "LOG", known(ALL), tasks=(TASK,))
    (tmp_path / "FILE").write_text("")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["report", *arguments]) == 2
    told = capsys.readouterr()
    assert told.err.startswith("error: ") and told.err.count("\n") == 1
    assert message in told.err


def test_choose_keeps_every_task(tmp_path: Path) -> None:
    write_run(tmp_path, known(ALL))
    (system,) = choose(load([tmp_path], "sakura").logs).systems
    assert set(system.logs) == set(SPECS)


def test_responses_with_lone_surrogates_are_no_obstacle(tmp_path: Path) -> None:
    write_run(tmp_path, known(NONE), tasks=(TASK, "sakura_multi_animal"))

    def broken(samples: list[Any]) -> None:
        samples[0]["accuracy"] |= {"response": "\ud800 cat", "verdict": "correct"}

    edit_samples(tmp_path, TASK, broken)
    for name in ("r.md", "r.csv", "r.json", "r.html"):
        assert cli.main(["report", str(tmp_path), "-o", str(tmp_path / name)]) == 0
    assert "? cat" in json.loads((tmp_path / "r.json").read_text("utf-8"))["tables"][-2]["rows"][0]["single_response"]
