"""From saved samples to verdict files, and from prediction files to the official judgement file."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_judge_server import VERDICT, Call, FakeJudge, Reply

from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.judge import commands
from lmms_audio_tasks.judge.judgement_file import read_judgements
from lmms_audio_tasks.judge.logdir import judge_logdir
from lmms_audio_tasks.judge.rejudge import judge_records, judge_stopped
from lmms_audio_tasks.judge.settings import JudgeSettings
from lmms_audio_tasks.judge.verdict_file import read_verdicts, verdicts_path, write_verdicts
from lmms_audio_tasks.records import Record, error_response
from lmms_audio_tasks.registry import UnknownNameError
from lmms_audio_tasks.sakura.judging import judge_file
from lmms_audio_tasks.scoring import judge_options, metric_values, option_labels

PROMPT = "Which animal do you hear? (a) seal (b) parrot (c) donkey"
GOLDEN = "(b) parrot"
UNSURE = "Polly wants her cracker, so the bird of option two."

Settings = Callable[..., JudgeSettings]


def judged_by_word(call: Call) -> Reply:
    """A judge that goes by a word in the response, whatever the options."""
    if "hm" in call.response:
        return Reply("No idea.")
    return Reply(VERDICT.format("correct" if "parrot" in call.response or "bird" in call.response else "incorrect"))


def record(number: int, response: str, **fields: Any) -> dict[str, Any]:
    verdict, reason, chosen = judge_options(response, PROMPT, GOLDEN)
    values: dict[str, Any] = {
        "item_id": f"animal/{number}",
        "benchmark": "sakura",
        "task": "sakura_multi_animal",
        "source": "demo",
        "demo": True,
        "response": response,
        "verdict": verdict,
        "reason": reason,
        "golden": GOLDEN,
        "chosen": chosen,
        "groups": {},
        "options": option_labels(PROMPT),
        **fields,
    }
    return metric_values(Record(**values))["accuracy"]


@pytest.fixture
def server() -> Iterator[FakeJudge]:
    with FakeJudge(judged_by_word) as server:
        yield server


@pytest.fixture
def settings(server: FakeJudge, tmp_path: Path) -> Settings:
    def settings(mode: str, **options: Any) -> JudgeSettings:
        given = {"base_url": server.url, "api_key": "k", "cache": tmp_path / "judge.sqlite3", "max_retries": 0}
        return JudgeSettings(mode=mode, **{**given, **options})  # type: ignore[arg-type]

    return settings


RESPONSES = [
    "(b) parrot",
    "(c) donkey",
    "A parrot or a donkey.",
    "I cannot say.",
    "",
    error_response("out of memory"),
    "hm",
]


def test_what_the_rule_says_here() -> None:
    assert [record(0, response)["verdict"] for response in RESPONSES] == [
        "correct",
        "wrong",
        "several",
        "none",
        "none",
        "error",
        "none",
    ]


def test_rule_mode_runs_the_matcher_anew_and_asks_nobody(settings: Settings, server: FakeJudge) -> None:
    records = [record(number, response, verdict="undecided") for number, response in enumerate(RESPONSES)]
    rejudged = judge_records(records, [PROMPT] * len(records), settings("rule"))
    assert [v["verdict"] for v in rejudged.verdicts] == [record(0, response)["verdict"] for response in RESPONSES]
    assert {v["how"] for v in rejudged.verdicts} == {"rule"}
    assert server.calls == []
    assert not settings("rule").cache_file.exists()


def test_llm_mode_asks_about_everything_that_is_a_response(settings: Settings, server: FakeJudge) -> None:
    records = [record(number, response) for number, response in enumerate(RESPONSES)]
    rejudged = judge_records(records, [PROMPT] * len(records), settings("llm"), progress=False)
    told = [(v["verdict"], v["reason"], v["chosen"], v["how"]) for v in rejudged.verdicts]
    judge = "judge:gpt-4o-2024-11-20"
    assert told == [
        ("correct", judge, "(b) parrot", "llm"),
        ("wrong", judge, "(c) donkey", "llm"),
        # The judge is the word's fool and calls this correct; its word counts.
        ("correct", judge, "(b) parrot", "llm"),
        ("none", judge, "", "llm"),
        ("none", "empty response", "", "empty"),
        ("error", records[5]["reason"], "", "rule"),
        ("unjudged", judge, "", "llm"),
    ]
    assert [v["rule"] for v in rejudged.verdicts] == [r["verdict"] for r in records]
    assert sorted(server.asked()) == sorted(
        ["(b) parrot", "(c) donkey", "A parrot or a donkey.", "I cannot say.", "hm"]
    )
    assert rejudged.verdicts[6]["problem"] == "no verdict line"
    assert rejudged.verdicts[0]["explanation"] == VERDICT.format("correct")
    assert {key: rejudged.verdicts[0][key] for key in ("instruction", "golden", "response")} == {
        "instruction": PROMPT,
        "golden": GOLDEN,
        "response": "(b) parrot",
    }


def test_incorrect_where_the_rule_said_correct_is_wrong_without_a_choice(settings: Settings, server: FakeJudge) -> None:
    server.answer = lambda call: Reply(VERDICT.format("incorrect"))
    (verdict,) = judge_records([record(0, GOLDEN)], [PROMPT], settings("llm"), progress=False).verdicts
    assert (verdict["verdict"], verdict["chosen"], verdict["rule"]) == ("wrong", "", "correct")


def test_hybrid_mode_asks_about_the_undecided_only(
    settings: Settings, server: FakeJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = judge_options

    def unsure(response: str, prompt: str, golden: str) -> tuple[str, str, str]:
        return ("undecided", "unsure", "") if response in (UNSURE, "hm") else rule(response, prompt, golden)

    monkeypatch.setattr("lmms_audio_tasks.scoring.judge_options", unsure)
    responses = [UNSURE, "A parrot or a donkey.", "", "hm"]
    records = [record(number, response) for number, response in enumerate(responses)]
    rejudged = judge_records(records, [PROMPT] * 4, settings("hybrid"), progress=False)
    assert set(server.asked()) == {UNSURE, "hm"}
    assert [v["verdict"] for v in rejudged.verdicts] == ["correct", "several", "none", "unjudged"]
    assert [v["how"] for v in rejudged.verdicts] == ["llm", "rule", "rule", "llm"]
    assert [v["rule"] for v in rejudged.verdicts] == ["undecided", "several", "none", "undecided"]


def test_an_open_question_keeps_its_own_verdict_as_the_rules(settings: Settings, server: FakeJudge) -> None:
    open_record = {**record(0, "A bird."), "options": [], "verdict": "undecided", "golden": "parrot"}
    assert judge_records([open_record], ["What is it?"], settings("rule")).verdicts[0]["verdict"] == "undecided"
    (verdict,) = judge_records([open_record], ["What is it?"], settings("hybrid"), progress=False).verdicts
    assert (verdict["verdict"], verdict["chosen"]) == ("correct", "parrot")


@pytest.mark.parametrize("cache_broken", [False, True])
def test_a_stopped_judge_leaves_what_is_known(
    settings: Settings, server: FakeJudge, tmp_path: Path, cache_broken: bool
) -> None:
    records = [record(number, response) for number, response in enumerate(RESPONSES)]
    prompts = [PROMPT] * len(records)
    judge_records(records[:1], prompts[:1], settings("llm"), progress=False)
    given = settings("llm", cache=tmp_path) if cache_broken else settings("llm")
    verdicts = judge_stopped(records, prompts, given, "it is down")
    known = ["unjudged" if cache_broken else "correct", "unjudged", "unjudged", "unjudged"]
    empty = ["unjudged" if cache_broken else "none", "error", "unjudged"]
    assert [verdict["verdict"] for verdict in verdicts] == known + empty
    assert (verdicts[1]["how"], verdicts[1]["problem"]) == ("stopped", "it is down")
    assert len(server.calls) == 1


# --- a folder of samples ---


def write_samples(folder: Path, task: str, records: list[dict[str, Any]], prompt: str = PROMPT) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"20250101_120000_samples_{task}.jsonl"
    lines = [{"doc_id": i, "input": prompt, "accuracy": r, "none": {"counted": False}} for i, r in enumerate(records)]
    file.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return file


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    logs = tmp_path / "logs"
    animal = [record(number, response) for number, response in enumerate(RESPONSES)]
    write_samples(logs / "model_a", "sakura_multi_animal", animal)
    other = [record(number, "Ein Papagei, “parrot”.", task="sakura_single_animal") for number in range(3)]
    write_samples(logs / "model_b", "sakura_single_animal", other)
    (logs / "model_b" / "20250101_120000_samples_mmlu.jsonl").write_text('{"input": "x", "acc": 1.0}\n')
    return logs


def test_all_files_below_a_folder_in_one_go(logs: Path, settings: Settings, server: FakeJudge) -> None:
    judged = judge_logdir(logs, settings("llm"), progress=False)
    assert [(f.folder, f.task, f.n, f.correct, f.errors, f.unjudged, f.changed) for f in judged.files] == [
        ("logs/model_a", "sakura_multi_animal", 7, 2, 1, 1, 1),
        ("logs/model_b", "sakura_single_animal", 3, 3, 0, 0, 0),
    ]
    # 2 of the 6 that the model answered; what is unjudged stays in the denominator.
    assert judged.files[0].accuracy == pytest.approx(2 / 6)
    assert judged.passed_over == ["model_b/20250101_120000_samples_mmlu.jsonl"]
    assert judged.unjudged == 1
    # Three equal requests are one call; `hm` is asked about twice.
    assert judged.outcome.calls == 5 + 1 + 1

    file = logs / "model_a" / "20250101_120000_verdicts_sakura_multi_animal.jsonl"
    verdicts = read_verdicts(file)
    assert [v["item_id"] for v in verdicts] == [f"animal/{i}" for i in range(7)]
    assert verdicts[0]["judge"] == settings("llm").public()
    assert "api_key" not in file.read_text()
    assert not list(logs.rglob(".*"))
    assert "“parrot”" in (logs / "model_b" / "20250101_120000_verdicts_sakura_single_animal.jsonl").read_text("utf-8")

    server.answer = lambda call: Reply(VERDICT.format("incorrect"))
    again = judge_logdir(logs, settings("llm"), progress=False)
    assert (again.outcome.calls, again.unjudged) == (1, 0)
    text = again.to_text()
    assert "sakura_multi_animal   7  2        0.3333    1      0         1" in text
    assert "passed over (nothing for a judge): model_b/20250101_120000_samples_mmlu.jsonl" in text


@pytest.mark.parametrize("benchmark", ["art", "c3t"])
def test_what_its_authors_score_by_rule_is_left_alone(
    logs: Path, settings: Settings, server: FakeJudge, benchmark: str
) -> None:
    official = record(0, "(B)", benchmark=benchmark, task=f"{benchmark}_x", golden="(B)", options=["(A)", "(B)"])
    write_samples(logs / "model_a", f"{benchmark}_x", [official], prompt="Which one?")
    judged = judge_logdir(logs, settings("llm"), progress=False)
    assert [file.task for file in judged.files] == ["sakura_multi_animal", "sakura_single_animal"]
    assert f"model_a/20250101_120000_samples_{benchmark}_x.jsonl" in judged.passed_over
    assert not list(logs.rglob(f"*verdicts_{benchmark}*"))
    assert not any("Which one?" in call.prompt for call in server.calls)


def test_rule_mode_on_a_folder(logs: Path, settings: Settings, server: FakeJudge) -> None:
    judged = judge_logdir(logs, settings("rule"))
    assert [(f.correct, f.unjudged, f.changed) for f in judged.files] == [(1, 0, 0), (3, 0, 0)]
    assert judged.to_dict()["judge"] == {"mode": "rule"}
    assert "calls" not in judged.to_text()


def test_a_stopped_run_leaves_no_verdict_file(logs: Path, settings: Settings, server: FakeJudge) -> None:
    server.answer = lambda call: Reply("no", status=401)
    with pytest.raises(Exception, match="refused the key"):
        judge_logdir(logs, settings("llm"), progress=False)
    assert not list(logs.rglob("*verdicts*"))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "line 8: expected JSON"),
        ("[1]", "line 8: expected a JSON object; found list"),
        (json.dumps({"accuracy": record(0, "x")}), "line 8: expected the prompt under 'input'"),
        (json.dumps({"input": "No options?", "accuracy": record(0, "x")}), "line 8: expected a prompt with options"),
    ],
)
def test_samples_at_fault_are_told_before_anything_is_asked(
    logs: Path, settings: Settings, server: FakeJudge, line: str, told: str
) -> None:
    file = logs / "model_a" / "20250101_120000_samples_sakura_multi_animal.jsonl"
    file.write_text(file.read_text() + line + "\n")
    with pytest.raises(DataError) as fault:
        judge_logdir(logs, settings("llm"))
    assert told in str(fault.value)
    assert file.name in str(fault.value)
    assert server.calls == []


def test_folders_without_samples_of_ours(tmp_path: Path, settings: Settings) -> None:
    for folder, told in ((tmp_path / "none", "no such folder"), (tmp_path, "found none")):
        with pytest.raises(DataError, match=told):
            judge_logdir(folder, settings("rule"))
    (tmp_path / "1_samples_mmlu.jsonl").write_text('{"input": "x"}\n')
    with pytest.raises(DataError, match=r"samples of tasks that a judge scores \(.*\); found only others"):
        judge_logdir(tmp_path, settings("rule"))


# --- verdict files ---


def test_verdicts_path_changes_the_first_word_only() -> None:
    path = verdicts_path(Path("samples_runs") / "1_samples_task_samples_x.jsonl")
    assert path == Path("samples_runs") / "1_verdicts_task_samples_x.jsonl"


def test_verdict_files_are_replaced_whole_and_readable_by_others(tmp_path: Path) -> None:
    file = tmp_path / "v.jsonl"
    line = {"item_id": "i", "task": "t", "verdict": "correct", "reason": "r", "explanation": "\ud800\u2028é"}
    write_verdicts(file, [line, line], {"mode": "llm"})
    write_verdicts(file, [line], {"mode": "llm"})
    assert read_verdicts(file) == [{**line, "explanation": "?\u2028é", "judge": {"mode": "llm"}}]
    assert [entry.name for entry in tmp_path.iterdir()] == ["v.jsonl"]
    plain = tmp_path / "plain"
    plain.touch()
    assert file.stat().st_mode == plain.stat().st_mode
    with pytest.raises(DataError, match="a file that can be written"):
        write_verdicts(tmp_path / "no" / "v.jsonl", [line], {})


@pytest.mark.parametrize("line", ['{"item_id": "i"}', '{"item_id":"i","task":"t","verdict":"good","reason":"r"}', "7"])
def test_verdict_files_at_fault(tmp_path: Path, line: str) -> None:
    (tmp_path / "v.jsonl").write_text(line)
    with pytest.raises(DataError, match=r"v\.jsonl, line 1"):
        read_verdicts(tmp_path / "v.jsonl")


# --- official prediction files ---


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    results = {
        f"audio/{number}.wav": {"instruction": PROMPT, "response": response, "label": GOLDEN}
        for number, response in enumerate(RESPONSES)
    }
    file = tmp_path / "animal_multi.json"
    file.write_text(json.dumps({"attribute": "animal", "type": "multi", "results": results}))
    return file


def test_the_official_judgement_file(predictions: Path, tmp_path: Path, settings: Settings) -> None:
    judged = judge_file(predictions, settings("llm", input_price=1.0), progress=False)
    values = judged.to_dict()
    assert (values["n"], values["correct"], values["unjudged"], values["error"], values["judge"]) == (7, 2, 1, 1, "llm")
    assert values["accuracy"] == pytest.approx(2 / 6)
    # Four responses asked about once and `hm` twice, 100 prompt tokens each.
    assert (values["calls"], values["cost"]) == (6, pytest.approx(600 / 1e6))
    assert "judge: 6 calls" in judged.to_text()
    assert judged.unjudged == 1

    out = tmp_path / "judgements.json"
    judged.write_judgements(out)
    content = json.loads(out.read_text())
    assert {name: content[name] for name in ("judge_model", "temperature", "top_p", "max_tokens")} == {
        "judge_model": "gpt-4o-2024-11-20",
        "temperature": 0.0,
        "top_p": 0.9,
        "max_tokens": 1024,
    }
    assert content["results"]["audio/0.wav"] == {
        "Explanation": "the answer names one option.",
        "Judgement": "correct",
        "instruction": PROMPT,
        "model_response": "(b) parrot",
        "label": GOLDEN,
    }
    assert [entry["Judgement"] for entry in content["results"].values()] == [
        "correct",
        "incorrect",
        "correct",
        "incorrect",
        "incorrect",
        "unjudged",
    ]
    assert "audio/5.wav" not in content["results"]
    assert content["results"]["audio/6.wav"]["Explanation"].startswith("No idea.")

    read = read_judgements(out)
    assert read.judge_model == "gpt-4o-2024-11-20"
    assert read.accuracy == pytest.approx(2 / 6)
    assert read.results["audio/6.wav"].judgement == "unjudged"
    assert read.results["audio/1.wav"].response == "(c) donkey"


def test_hybrid_names_both_judges(predictions: Path, tmp_path: Path, settings: Settings, server: FakeJudge) -> None:
    judged = judge_file(predictions, settings("hybrid"), progress=False)
    judged.write_judgements(tmp_path / "j.json")
    content = json.loads((tmp_path / "j.json").read_text())
    assert content["judge_model"].endswith("option matcher, and where it is undecided gpt-4o-2024-11-20")
    assert content["results"]["audio/2.wav"]["Explanation"].startswith("verdict: several; rule:")
    assert server.calls == []


def test_rule_mode_is_the_option_matcher(predictions: Path, tmp_path: Path, settings: Settings) -> None:
    judged = judge_file(predictions, settings("rule"))
    judged.write_judgements(tmp_path / "j.json")
    content = json.loads((tmp_path / "j.json").read_text())
    assert content["temperature"] is None
    assert judged.to_dict()["judge_settings"] == {"mode": "rule"}


def test_reading_the_authors_own_judgement_files(tmp_path: Path) -> None:
    file = tmp_path / "j.json"
    texts = ["correct", "Incorrect.", '"correct"', "No extracted judgement", "partially correct"]
    results = {f"{i}.wav": {"Explanation": "e", "Judgement": text, "response": "r"} for i, text in enumerate(texts)}
    file.write_text(json.dumps({"judge_model": "m", "temperature": 0.0, "results": results}))
    read = read_judgements(file)
    assert [entry.judgement for entry in read.results.values()] == [
        "correct",
        "incorrect",
        "correct",
        "unjudged",
        "unjudged",
    ]
    assert read.accuracy == pytest.approx(2 / 5)
    assert (read.results["0.wav"].response, read.max_tokens) == ("r", None)


@pytest.mark.parametrize("content", ["[]", '{"results": []}', '{"results": {"a": {"Judgement": 1}}}', "{", None])
def test_judgement_files_at_fault(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "j.json").write_text(content)
    with pytest.raises(DataError, match=r"j\.json"):
        read_judgements(tmp_path / "j.json")


# --- the command ---


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    commands.add_parser(parser.add_subparsers(dest="command"))
    arguments = parser.parse_args(words)
    return arguments.run(arguments)


def test_judge_command(
    logs: Path, tmp_path: Path, server: FakeJudge, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-mine-0123456789")
    options = ["--judge", "llm", "--base-url", server.url, "--cache", str(tmp_path / "c"), "--judge-model", "m"]
    more = ["--api-key-env", "MY_KEY", "--concurrency", "2", "--top-p", "1", "--format", "json"]
    assert run("judge", str(logs), *options, *more) == 1
    shown = json.loads(capsys.readouterr().out)
    assert (shown["unjudged"], shown["calls"]) == (1, 7)
    assert server.calls[0].body["model"] == "m"
    assert server.calls[0].body["top_p"] == 1.0
    assert server.calls[0].headers["authorization"] == "Bearer sk-mine-0123456789"
    assert server.busiest <= 2

    server.answer = lambda call: Reply(VERDICT.format("correct"))
    assert run("judge", str(logs), *options, *more[:-2]) == 0
    assert "judge: 1 calls, 7 from the cache, 0 unjudged" in capsys.readouterr().out


def test_judge_command_takes_its_mode_from_the_environment(
    logs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LMMS_AUDIO_JUDGE", raising=False)
    assert run("judge", str(logs)) == 0
    monkeypatch.setenv("LMMS_AUDIO_JUDGE", "lllm")
    with pytest.raises(UnknownNameError, match="did you mean llm"):
        run("judge", str(logs))
    with pytest.raises(UnknownNameError, match="did you mean rule"):
        run("judge", str(logs), "--judge", "rules")


def test_a_key_variable_that_is_not_set(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_KEY", raising=False)
    with pytest.raises(Exception, match="--api-key-env names NO_KEY, which is not set"):
        run("judge", str(logs), "--api-key-env", "NO_KEY")
