"""The interaction tasks through the host's evaluator, in this process: forms, kinds of models, judges and scores."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import tone
from fake_judge_server import VERDICT, Call, FakeJudge, Reply
from lmms_eval.api.model import lmms
from lmms_eval.evaluator import simple_evaluate
from lmms_eval.tasks import TaskManager
from PIL import Image

from lmms_audio_tasks import sources
from lmms_audio_tasks.have_bench import dialogue, interaction, interaction_data, interaction_scoring
from lmms_audio_tasks.have_bench.edge_judge import judge_edges
from lmms_audio_tasks.have_bench.episode import Episode
from lmms_audio_tasks.have_bench.task_graph import Graph
from lmms_audio_tasks.judge.settings import JudgeSettings
from lmms_audio_tasks.models.replay import Replay
from lmms_audio_tasks.records import error_response, is_error

YAMLS = Path(__file__).resolve().parents[1] / "task_yamls" / "have_bench"
PLAYERS = sources.DEMO_ROOT / "have_bench" / "players"
FORMS = tuple(interaction_data.SPECS)
Json = dict[str, Any]


def evaluate(model: Any, task: str, **options: Any) -> tuple[Json, list[Json]]:
    """The host's row of the task, without the standard errors, and its samples."""
    manager = TaskManager("ERROR", include_path=[str(YAMLS)], include_defaults=False)
    found = simple_evaluate(
        model=model, model_args="", tasks=[task], task_manager=manager, log_samples=True, bootstrap_iters=0, **options
    )
    row = {key.removesuffix(",none"): value for key, value in found["results"][task].items() if "stderr" not in key}
    return row, found["samples"][task]


def player(tmp_path: Path, *lines: Json) -> Replay:
    path = tmp_path / "player.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return Replay(responses=path, device="cpu")


def trace(sample: Json) -> list[tuple[str, str | None]]:
    return [(turn["node"], turn["to"]) for turn in sample["success"]["trace"]["turns"]]


# By hand. solve: the shortest path each time. refuse: three tries at the start each time. skip_learning: as solve on
# the map; at the menu straight to the code, then three tries at the locked box, never nearer than the menu; the melody
# with two wrong parameters taken back (2 turns each) and one wrong number.
SCORES = {
    "solve": {"success": 1.0, "level_score": 1.0, "path_completion": 1.0, "turns": 11 / 3, "stuck": 0},
    "refuse": {"success": 0.0, "level_score": 0.0, "path_completion": 0.0, "turns": 3.0, "stuck": 3},
    "skip_learning": {"success": 2 / 3, "level_score": 2 / 3, "path_completion": 2 / 3, "turns": 17 / 3, "stuck": 1},
}


@pytest.mark.parametrize("task", FORMS)
@pytest.mark.parametrize("name", SCORES)
def test_scripted_players_get_the_scores_known_by_hand(name: str, task: str, use_data: Callable[[Any], None]) -> None:
    use_data("demo")
    row, samples = evaluate(Replay(responses=PLAYERS / f"{name}.jsonl", device="cpu"), task)
    expected = {**SCORES[name], "turn_limit": 0, "unjudged": 0, "error": 0}
    assert row.pop("alias") == f"{task} (demo data)"
    assert {key: row[key] for key in expected} == pytest.approx(expected)
    walk, code, melody = samples
    if name == "solve":
        way = ["station", "fountain", "market", "mill", "lighthouse"]
        assert trace(walk) == list(itertools.pairwise(way))
    if name == "skip_learning":
        assert trace(code) == [("menu", "locked"), *[("locked", None)] * 3]
        assert (code["success"]["verdict"], code["success"]["end"]) == ("wrong", "stuck")
        assert len(trace(melody)) == 9


def test_the_record_holds_all_that_happened(use_data: Callable[[Any], None]) -> None:
    use_data("demo")
    _, (walk, *_) = evaluate(Replay(responses=PLAYERS / "solve.jsonl", device="cpu"), "have_interaction")
    record = walk["success"]
    assert record["item_id"] == "demo_town_walk"
    assert record["groups"] == {"level": "interaction", "subtask": "navigation"}
    assert (record["verdict"], record["score"], record["end"]) == ("correct", 1, "goal")
    assert (record["golden"], record["chosen"], record["response"]) == ("lighthouse", "lighthouse", "(b) east")
    assert (record["turns"], record["shortest_path"], record["path_completion"], record["several"]) == (4, 4, 1.0, 0)
    assert record["prompt"].startswith("This is a map")
    assert record["demo"] is True
    graph, episode = Graph.from_dict(record["graph"]), Episode.from_dict(record["trace"])
    assert episode.turns[0].verdicts[0].why == "chooses (a) north"
    assert len(episode.turns[0].verdicts) == len(graph.outgoing["station"])
    assert json.loads(json.dumps(record)) == record


def test_two_forms_give_one_trace(use_data: Callable[[Any], None]) -> None:
    use_data("demo")
    traces = []
    for task in FORMS:
        _, samples = evaluate(Replay(responses=PLAYERS / "skip_learning.jsonl", device="cpu"), task)
        traces.append([sample["success"]["trace"] for sample in samples])
    assert traces[0] == traces[1]


class Vllm(lmms):
    """Goes round as the host's `vllm` does, and returns the bare answers."""

    is_simple = False

    def __init__(self, answers: Callable[[Sequence[Json]], str]) -> None:
        super().__init__()
        self.answers = answers
        self.seen: list[Sequence[Json]] = []
        self.device = "cpu"

    def generate_until_multi_round(self, requests: Sequence[Any]) -> list[list[str]]:
        results = []
        for request in requests:
            _, doc_to_messages, _, doc_id, task, split = request.arguments
            doc = self.task_dict[task][split][doc_id]
            outputs: list[str] = []
            info, round_idx = None, 0
            while True:
                if round_idx == 0:
                    messages = doc_to_messages(doc)
                else:
                    payload = doc_to_messages(
                        doc, round_idx=round_idx, previous_output=list(outputs), previous_round_info=info
                    )
                    messages, terminal, _, info = payload
                    if terminal:
                        break
                self.seen.append(messages)
                outputs.append(self.answers(messages))
                round_idx += 1
            results.append(outputs)
        return results

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        raise NotImplementedError

    def loglikelihood(self, requests: Sequence[Any]) -> list[tuple[float, bool]]:
        raise NotImplementedError


class Llava(Vllm):
    """Goes round as the host's `llava_onevision` does: one user turn, and the outputs as a tuple."""

    is_simple = True

    def generate_until_multi_round(self, requests: Sequence[Any]) -> list[Any]:
        results = []
        for request in requests:
            context, _, doc_to_visual, doc_to_text, doc_id, task, split = request.arguments
            doc = self.task_dict[task][split][doc_id]
            visuals, outputs, info, round_idx = doc_to_visual(doc), [], None, 0
            while True:
                if round_idx:
                    visuals, context, terminal, outputs, info = doc_to_text(
                        doc, previous_output=outputs, round_idx=round_idx, previous_round_info=info
                    )
                    if terminal:
                        break
                self.seen.append([context, visuals])  # type: ignore[list-item]
                outputs = [*outputs, self.answers([context])]
                round_idx += 1
            results.append(tuple(outputs))
        return results


def from_the_end(messages: Sequence[Any]) -> str:
    """Plays `solve` from what is asked last."""
    told = messages[-1] if isinstance(messages[-1], str) else messages[-1]["content"][-1]["text"]
    asked = told.rpartition("your turn")[2]
    for sign, answer in {"tempo": "(b)", "line": "(c)", "How many": "5", "built": "(a)", "digits": "132"}.items():
        if sign in asked:
            return answer
    if "Hear it again" in asked or "open the box" in asked:
        return "(b)"
    count = (
        sum(one["role"] == "user" for one in messages) if isinstance(messages[-1], dict) else told.count("answered") + 1
    )
    return ["(a)", "(b)", "(a)", "(b)"][count - 1]


@pytest.mark.parametrize("kind", [Vllm, Llava])
def test_models_of_the_host_that_go_round_are_scored(kind: type[Vllm], use_data: Callable[[Any], None]) -> None:
    use_data("demo")
    model = kind(from_the_end)
    row, _ = evaluate(model, "have_interaction")
    assert (row["success"], row["turns"], row["unjudged"]) == (1.0, pytest.approx(11 / 3), 0)
    if kind is Llava:
        _, visuals = model.seen[3]
        assert [type(one).__name__ for one in visuals] == ["Image", "dict", "Image", "Image", "Image"]
        assert isinstance(visuals[1]["array"], np.ndarray)  # type: ignore[index]


class OneRound(Vllm):
    """Answers one round whatever the task, as the host's `dummy` does."""

    def generate_until_multi_round(self, requests: Sequence[Any]) -> list[Any]:
        return ["(a)"] * len(requests)


def test_a_model_that_answers_one_round_is_not_scored(use_data: Callable[[Any], None]) -> None:
    use_data("demo")
    row, samples = evaluate(OneRound(from_the_end), "have_interaction")
    assert (row["success"], row["unjudged"], row["stuck"]) == (None, 3, 0)
    assert "have_interaction_agentic" in samples[0]["success"]["reason"]


class NoRounds(Vllm):
    def generate_until_multi_round(self, requests: Sequence[Any]) -> list[Any]:
        raise NotImplementedError("TODO")

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        return ["I would rather not."] * len(requests)


def test_a_model_without_rounds_stops_the_run_and_can_play_the_agentic_form(use_data: Callable[[Any], None]) -> None:
    use_data("demo")
    with pytest.raises(NotImplementedError):
        evaluate(NoRounds(from_the_end), "have_interaction")
    row, _ = evaluate(NoRounds(from_the_end), "have_interaction_agentic")
    assert (row["success"], row["stuck"]) == (0.0, 3)


def test_fewer_steps_of_the_hosts_than_turns_are_a_turn_limit(use_data: Callable[[Any], None]) -> None:
    use_data("demo")
    model = Replay(responses=PLAYERS / "solve.jsonl", device="cpu")
    _, samples = evaluate(model, "have_interaction_agentic", gen_kwargs="max_agentic_steps=2")
    assert [sample["success"]["end"] for sample in samples] == ["turn_limit"] * 3
    assert "host stopped after 2 turns" in samples[0]["success"]["reason"]
    assert [sample["success"]["path_completion"] for sample in samples] == pytest.approx([1 / 2, 2 / 3, 1 / 2])


@pytest.mark.parametrize("task", FORMS)
def test_a_model_that_fails_half_way_is_an_error(
    task: str, tmp_path: Path, use_data: Callable[[Any], None], caplog: pytest.LogCaptureFixture
) -> None:
    use_data("demo")
    lines = [json.loads(line) for line in (PLAYERS / "solve.jsonl").read_text("utf-8").splitlines()]
    lines[0]["responses"] = lines[0]["responses"][:2]
    with caplog.at_level(logging.WARNING):
        row, samples = evaluate(player(tmp_path, *lines), task)
    assert (row["success"], row["error"], row["path_completion"]) == (1.0, 1, 1.0)
    record = samples[0]["success"]
    assert (record["verdict"], record["end"]) == ("error", "model_error")
    assert is_error(record["response"])
    assert "score" not in record
    assert trace(samples[0]) == [("station", "fountain"), ("fountain", "market"), ("market", None)]
    assert "failed in 1 of 3 episodes" in caplog.text


@pytest.mark.parametrize("task", FORMS)
def test_repeats_play_again_but_only_the_first_play_is_scored(task: str, use_data: Callable[[Any], None]) -> None:
    """What the host does with `--repeats`: three runs are three runs of the command."""
    use_data("demo")
    model = NoRounds(from_the_end) if "agentic" in task else Vllm(from_the_end)
    row, samples = evaluate(model, task, repeats=3)
    assert len(samples) == 3
    assert row["turns"] == (3.0 if "agentic" in task else pytest.approx(11 / 3))
    assert len(model.seen) == (0 if "agentic" in task else 3 * 11)
    assert not [key for key in row if "consensus" in key or "expected" in key]


WORDED: Json = {
    "id": "worded",
    "scenario": "puzzle",
    "nodes": [
        {"id": "one", "text": "Say hello.", "images": ["a.png"], "audios": ["a.wav"]},
        {"id": "two", "text": ""},
        {"id": "end"},
    ],
    "edges": [
        {"from": "one", "to": "two", "criterion": "The answer greets."},
        {"from": "one", "to": "end", "criterion": "The answer says where the exit is."},
        {"from": "two", "to": "end", "criterion": "regex:bye"},
    ],
    "start": "one",
    "goal": "end",
    "limits": {"tries": 2},
}
WORDED["nodes"][1]["audios"] = ["a.wav"]


@pytest.fixture
def worded(tmp_path: Path, use_data: Callable[[Any], None]) -> Path:
    """A data folder with one graph whose criteria are in words."""
    root = tmp_path / "data" / "have_bench"
    root.mkdir(parents=True)
    Image.new("RGB", (8, 8)).save(root / "a.png")
    tone(root / "a.wav")
    (root / "graphs.jsonl").write_text(json.dumps(WORDED) + "\n", "utf-8")
    use_data(root.parent)
    return root


def polite(call: Call) -> Reply:
    greets = "hello" in call.response
    return Reply(VERDICT.format("correct" if greets and "greets" in call.prompt.split("Examples")[-1] else "incorrect"))


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeJudge]:
    with FakeJudge(polite) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("LMMS_AUDIO_JUDGE", "llm")
        monkeypatch.setenv("LMMS_AUDIO_JUDGE_CACHE", str(tmp_path / "judge.sqlite3"))
        monkeypatch.setenv("LMMS_AUDIO_JUDGE_MAX_RETRIES", "0")
        yield server


def test_a_language_model_judges_criteria_in_words(worded: Path, server: FakeJudge, tmp_path: Path) -> None:
    model = player(tmp_path, {"id": "worded", "responses": ["What?", "hello", "bye"]})
    row, (sample,) = evaluate(model, "have_interaction")
    assert (row["success"], row["turns"]) == (1.0, 3.0)
    assert trace(sample) == [("one", None), ("one", "two"), ("two", "end")]
    # Both edges of a turn were asked about, none of those that are rules.
    assert server.asked() == {"What?": 2, "hello": 2}
    told = server.calls[0].prompt
    assert "Say hello." in told and "1 picture and 1 recording" in told
    why = sample["success"]["trace"]["turns"][1]["verdicts"][0]["why"]
    assert why.startswith("judge:gpt-4o") and "names one option" in why
    # The answers alone, as vllm gives them, are played over out of the cache.
    doc = interaction_data.documents(sources.current(), "have_interaction")[0]
    again = interaction_scoring.process_results(doc, [["What?", "hello", "bye"]])
    assert again["success"]["trace"] == sample["success"]["trace"]
    assert len(server.calls) == 4


def test_a_judge_that_fails_ends_the_episode_as_unjudged(
    worded: Path, server: FakeJudge, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer = lambda call: Reply("I cannot tell.")
    model = player(tmp_path, {"id": "worded", "response": "hello"})
    with caplog.at_level(logging.WARNING):
        row, (sample,) = evaluate(model, "have_interaction")
    assert (row["success"], row["level_score"], row["unjudged"], row["path_completion"]) == (None, None, 1, None)
    assert (sample["success"]["verdict"], sample["success"]["end"]) == ("unjudged", "judge_error")
    assert "score" not in sample["success"]
    assert "it lies between 0.0000 and 1.0000" in caplog.text


def test_episodes_share_the_limit_of_concurrent_requests(worded: Path, server: FakeJudge) -> None:
    server.latency = 0.02
    graph, limit = Graph.from_dict(WORDED), JudgeSettings.from_environment(concurrency=3)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: judge_edges(graph, "one", f"hello {n}", limit), range(12)))
    assert {verdict.verdict for verdicts in found for verdict in verdicts[:1]} == {"accepted"}
    assert len(server.calls) == 24
    assert server.busiest <= 3


def test_a_judge_that_is_gone_raises_nothing(worded: Path, server: FakeJudge) -> None:
    graph = Graph.from_dict(WORDED)
    server.die()
    verdicts = judge_edges(graph, "one", "hello")
    assert [verdict.verdict for verdict in verdicts] == ["unjudged", "unjudged"]
    assert all(verdict.why for verdict in verdicts)
    assert [v.verdict for v in judge_edges(graph, "one", " ")] == ["rejected", "rejected"]


def test_rule_mode_says_so_before_the_run(
    worded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("LMMS_AUDIO_JUDGE", raising=False)
    with caplog.at_level(logging.WARNING):
        interaction_data.validate("have_interaction")
    assert "1 of 1 graphs have criteria in words" in caplog.text
    model = player(tmp_path, {"id": "worded", "response": "hello"})
    row, (sample,) = evaluate(model, "have_interaction")
    assert row["unjudged"] == 1
    assert "--audio_judge llm" in sample["success"]["reason"]


def test_chat_models_get_the_whole_dialogue_with_all_media(worded: Path) -> None:
    doc = interaction_data.documents(sources.current(), "have_interaction")[0]
    first = interaction.doc_to_messages(doc)
    image, audio, text = first[0]["content"]
    assert image == {"type": "image", "url": str(worded / "a.png")}
    assert audio == {"type": "audio", "url": str(worded / "a.wav")}
    assert text == {"type": "text", "text": "Say hello."}
    # In rule mode the answer has no verdict, so a state is made by hand.
    state = {"graph": "worded", "node": "one", "failed": 0, "turns": [], "end": None, "why": ""}
    turn = {"node": "one", "attempt": 1, "response": "", "verdicts": [], "to": None}
    then = {"node": "one", "attempt": 2, "response": "hello", "verdicts": [], "to": "two"}
    episode = Episode.from_dict({**state, "node": "two", "turns": [turn, then]})
    messages = dialogue.messages(Graph.from_dict(WORDED), episode, str, str)
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant", "user"]
    assert messages[1]["content"] == [{"type": "text", "text": dialogue.SILENCE}]
    assert messages[2]["content"] == [{"type": "text", "text": f"{dialogue.RETRY}\nSay hello."}]
    assert messages[3]["content"][0]["text"] == "hello"
    assert messages[4]["content"] == [{"type": "audio", "url": "a.wav"}, {"type": "text", "text": dialogue.ASK}]
    text = dialogue.transcript_text(Graph.from_dict(WORDED), episode)
    assert text.splitlines() == [
        "This is what has happened so far.",
        "",
        "Step 1 (picture 1, recording 1):",
        "Say hello.",
        "You answered: (no answer)",
        "",
        "Step 2:",
        dialogue.RETRY,
        "Say hello.",
        "You answered: hello",
        "",
        "Now it is your turn (recording 2):",
        dialogue.ASK,
    ]


def test_wishes_of_models_are_met(worded: Path) -> None:
    doc = interaction_data.documents(sources.current(), "have_interaction")[0]
    (message,) = interaction.doc_to_messages(doc, {"chat_audio": "data_uri"})
    assert message["content"][1]["url"].startswith("data:audio/wav;base64,")
    assert interaction.doc_to_visual(doc, {"simple_audio": "path"})[1] == str(worded / "a.wav")


@pytest.mark.parametrize(
    "output",
    [
        "",
        [],
        "{",
        "null",
        '{"graph": "worded", "turns": 3, "end": "goal"}',
        '{"graph": "worded", "node": "end", "failed": 0, "turns": [], "end": "goal", "why": "I say so"}',
        error_response("out of memory"),
        ["hello", error_response("out of memory")],
        "('never closed",
        ("hello",),
        [None],
    ],
)
def test_odd_outputs_never_raise_and_never_succeed(output: Any, worded: Path) -> None:
    doc = interaction_data.documents(sources.current(), "have_interaction")[0]
    values = interaction_scoring.process_results(doc, [output])
    assert values["success"]["verdict"] in ("error", "unjudged", "wrong")
    assert values["success"]["reason"]
    assert values["error"]["counted"] == (values["success"]["verdict"] == "error")


def test_the_hub_has_no_graphs(use_data: Callable[[Any], None]) -> None:
    use_data("hub")
    with pytest.raises(Exception, match="HAVE-Bench"):
        interaction_data.validate("have_interaction")
