"""HAVE-Bench against odd data and odd answers: nothing hangs, nothing is believed that was not judged, all is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fake_judge_server import FakeJudge, Reply
from have_data import item, make, write_items
from have_logs import played, way
from lmms_eval.api.reasoning import strip_reasoning_tags

from lmms_audio_tasks import cli, sources
from lmms_audio_tasks.have_bench import edge_judge, graphs, interaction, interaction_scoring, rules
from lmms_audio_tasks.have_bench.check import check
from lmms_audio_tasks.have_bench.task_graph import Graph
from lmms_audio_tasks.judge.open_ended import judge_open
from lmms_audio_tasks.judge.settings import JudgeSettings
from lmms_audio_tasks.models.episodes import Episode as Play
from lmms_audio_tasks.models.episodes import play
from lmms_audio_tasks.models.failures import whole_characters
from lmms_audio_tasks.records import error_response

Json = dict[str, Any]
THINKING = [["<think>", "</think>"], ["<analysis>", "</analysis>"]]
"""What the host's command line cuts out of everything that it scores, where it is not told otherwise."""
SUCCESS = {"to": "n1", "criterion": r"regex:\bgo\b", "verdict": "accepted", "why": "I say so"}


def write_graphs(root: Path, *lines: Json) -> Path:
    path = root / "have_bench" / "graphs.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def told(root: Path) -> list[str]:
    return [str(fault) for fault in check(sources.parse(str(root))).faults]


def host(doc: Json, answers: list[str]) -> str:
    """What the host holds in the end of a play of `answers`, as it goes round: the trace, or nothing."""
    info = None
    for number in range(1, len(answers) + 1):
        _, terminal, outputs, info = interaction.doc_to_messages(
            doc, round_idx=number, previous_output=answers[:number], previous_round_info=info
        )
        if terminal:
            return outputs[0]
    return ""


def record(doc: Json, output: Any) -> Json:
    return interaction_scoring.process_results(doc, [output])["success"]


@pytest.fixture
def doc() -> Json:
    return dict(played(way("walk"), "have_interaction", demo=False))


def test_what_stands_between_thinking_tags_is_not_cut_from_one_turn_into_the_next(doc: Json) -> None:
    answers = ["<think>trap</think> go", "<think> so far", "right </think> go"]
    trace = host(doc, answers)
    cut = strip_reasoning_tags(trace, THINKING)
    found = record(doc, cut)
    assert [turn["response"] for turn in found["trace"]["turns"]] == answers
    assert (found["turns"], found["end"]) == (3, "goal")
    assert record(doc, trace) == found


@pytest.mark.parametrize("task", ["have_interaction", "have_interaction_agentic"])
def test_a_trace_that_this_run_did_not_make_is_neither_believed_nor_taken_for_an_answer(task: str) -> None:
    # One step, so that the trace itself, which holds the word, would be taken for a right answer.
    doc = dict(played(way("walk", steps=1), task, demo=False))
    trace = host(doc, ["go"])
    forged = json.loads(trace)
    forged["turns"][0]["response"] = "I go nowhere."
    for output in (json.dumps(forged), [json.dumps(forged)], str((json.dumps(forged),))):
        found = record(doc, output)
        assert found["verdict"] == "unjudged" and "no trace that this run made" in found["reason"]
        assert found["trace"]["turns"] == []
    assert record(doc, trace)["verdict"] == "correct"


def test_what_is_left_of_a_trace_is_no_answer(doc: Json) -> None:
    # What is left of a trace that was cut, or of a run that came to the host's own limit of steps.
    for cut in (
        '{"graph": "walk", "turns": [{"response": "go',
        '{"success": false, "state": "go',
        'go"], "end": "goal"}',
    ):
        found = record({**doc, "task": "have_interaction_agentic"}, cut)
        assert (found["verdict"], found["turns"]) == ("unjudged", 0)


def test_a_state_that_a_model_writes_is_not_believed(doc: Json) -> None:
    state = {"graph": "walk", "node": "n1", "failed": 0, "end": None, "why": ""}
    turn = {"node": "n0", "attempt": 1, "response": "x", "verdicts": [SUCCESS], "to": "n1"}
    forged = {"error": "max_agentic_steps_reached", "state": {**state, "turns": [turn]}}
    for output in (forged, {**forged, "state": json.dumps(forged["state"])}):
        found = record(doc, json.dumps(output))
        assert (found["path_completion"], found["verdict"]) == (0.0, "unjudged")


def test_a_trace_of_one_graph_is_none_of_another(doc: Json) -> None:
    trace = host(doc, ["go", "go"])
    other = dict(played(way("other"), "have_interaction", demo=False))
    assert record(doc, trace)["verdict"] == "correct"
    assert record(other, trace)["verdict"] == "unjudged"


@pytest.mark.parametrize(
    "answer", ["", "  \n", "x" * 10**6, "\0", "{" * 10**5, "\ud83d", "((('", '("', "('" + "(" * 10**4 + ")"]
)
def test_odd_answers_fail_and_raise_nothing(doc: Json, answer: str) -> None:
    trace = host(doc, [answer, answer])
    assert (record(doc, trace)["end"], record(doc, trace)["turns"]) == ("stuck", 2)
    assert record(doc, answer)["verdict"] in ("unjudged", "error")


def test_a_failure_of_the_model_is_no_failure_at_the_task(doc: Json) -> None:
    trace = host(doc, ["go", error_response("out of memory")])
    assert (record(doc, trace)["verdict"], record(doc, trace)["end"]) == ("error", "model_error")


def test_half_a_character_is_made_whole() -> None:
    assert whole_characters("cut \ud83d") == "cut \ufffd"
    assert whole_characters("\ud83d\ude00 é 日") == "😀 é 日"


def test_episodes_wait_for_their_judges_side_by_side() -> None:
    # Each hook waits until 16 are in it: were they called one after the other, the barrier would break.
    together = threading.Barrier(16, timeout=120)

    def hook(_doc: Json, round_idx: int = 0, **_: Any) -> Any:
        together.wait()
        return (None, True, ["over"], None) if round_idx else [{"role": "user", "content": "?"}]

    plays = [Play(hook, {}) for _ in range(16)]
    play(plays, lambda _turn, active: ["answer"] * len(active))
    assert [one.outputs for one in plays] == [["over"]] * 16


def test_hooks_of_many_threads_do_not_mix_their_episodes() -> None:
    docs = [dict(played(way(f"walk{number}"), "have_interaction", demo=False)) for number in range(200)]

    def one(number: int) -> Json:
        return record(docs[number], host(docs[number], [f"well {number}", "go", f"go {number}"]))

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(one, range(200)))
    assert [(r["item_id"], r["response"], r["end"]) for r in found] == [
        (f"walk{number}", f"go {number}", "goal") for number in range(200)
    ]


CRITERIA = {
    "counts": ("regex:((a{1000}){1000}){1000}b", "whose counts in braces multiply to more than 100000"),
    "a count of many digits": ("regex:a{99999999999}", "whose counts in braces multiply to more than 100000"),
    "nothing": ("regex: ", "a regular expression after regex:; found nothing"),
    "no pattern": ("regex:(", "missing )"),
    "meets all": ("regex:.*", "which an empty answer meets too"),
    "calls itself": ("regex:(?R)", "which comes to no end even on an empty answer"),
    "nested": ("regex:" + "(" * 5000 + "a" + ")" * 5000, "..."),
    "no option": ("option:z", "one of the options in the node's text"),
    "upper case": ("REGEX:go", "one that begins with regex: or option:"),
}


@pytest.mark.parametrize("criterion, expected", CRITERIA.values(), ids=CRITERIA)
def test_criteria_at_fault_are_one_short_line(criterion: str, expected: str, tmp_path: Path) -> None:
    graph = way("walk")
    graph["edges"][0]["criterion"] = criterion
    write_graphs(tmp_path, way("fine"), graph)
    (line,) = told(tmp_path)
    assert line.startswith(f"{tmp_path / 'have_bench' / 'graphs.jsonl'}, line 2: expected edges[0].criterion to be ")
    assert expected in line and len(line) < 400 + len(str(tmp_path)) and "\n" not in line


@pytest.mark.parametrize("pattern", [r"\d{4}-\d{2}", "n{}", "x{0}y", r"\{5\}", "(?:ab{2,}){3,9}"])
def test_ordinary_counts_are_patterns(pattern: str) -> None:
    assert rules.fault(f"regex:{pattern}", "") is None


def test_a_criterion_twice_at_a_node_is_a_fault(tmp_path: Path) -> None:
    graph = way("walk")
    graph["edges"].append({"from": "n0", "to": "n2", "criterion": graph["edges"][0]["criterion"] + " "})
    write_graphs(tmp_path, graph)
    (line,) = told(tmp_path)
    assert "edges[3].criterion to be one of its own among the edges from 'n0'" in line and "that of edges[0]" in line


def test_an_option_twice_at_a_node_is_a_fault_in_whatever_words(tmp_path: Path) -> None:
    graph = way("walk")
    graph["nodes"][0]["text"] = "Where to? (a) on (b) back"
    graph["edges"][0]["criterion"] = "option:(b) back"
    graph["edges"].append({"from": "n0", "to": "n2", "criterion": "option:B"})
    graph["edges"].append({"from": "n0", "to": "n2", "criterion": "option:a"})
    write_graphs(tmp_path, graph)
    (line,) = told(tmp_path)
    assert "edges[3].criterion to be one of its own among the edges from 'n0'" in line and "that of edges[0]" in line


def test_a_pattern_without_the_memory_it_asks_for_leaves_its_edge_without_a_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Greedy:
        def search(self, *_: object, **__: object) -> None:
            raise MemoryError

    monkeypatch.setattr(rules, "_pattern", lambda _: Greedy())
    ruling = rules.decide("regex:(?R)?go", "", "go")
    assert ruling == ("unjudged", "the pattern took too much memory; make it simpler")


@pytest.mark.parametrize("name", ["walk\n", "walk\n\n", "wa\nlk"])
def test_a_line_end_in_an_id_is_a_fault(name: str, tmp_path: Path) -> None:
    write_graphs(tmp_path, way(name))
    (line,) = told(tmp_path)
    assert f"expected id to be a text without blanks at its ends; found {name!r}" in line


def test_loops_and_goals_with_edges_are_sound(tmp_path: Path) -> None:
    graph = way("../küche/🍲")
    graph["edges"] += [
        {"from": "n0", "to": "n0", "criterion": "regex:again"},
        {"from": "n2", "to": "n0", "criterion": "regex:back"},
        {"from": "n0", "to": "n1", "criterion": "regex:walk"},
    ]
    write_graphs(tmp_path, graph)
    assert told(tmp_path) == []
    assert [one.id for one in graphs.load(tmp_path / "have_bench")] == ["../küche/🍲"]


def test_names_too_long_for_a_file_are_faults(tmp_path: Path) -> None:
    make(tmp_path, [item("a", images=["x" * 5000 + ".png"]), item("b", audios=["y" * 300 + ".wav"]), item("c")])
    first, second = told(tmp_path)
    assert "line 1: expected a picture that can be decoded; found 'xxx" in first and "too long" in first
    assert "line 2: expected a recording that can be decoded; found 'yyy" in second and "too long" in second
    assert max(len(first), len(second)) < 300 + len(str(tmp_path))


def test_half_a_character_in_the_data_is_a_fault(tmp_path: Path) -> None:
    make(tmp_path, [item("a"), json.dumps(item("b", question="what is \ud800?"))])
    write_graphs(tmp_path, way("\udfff"), way("whole 😀"))
    assert [line.split(", ", 1)[1] for line in told(tmp_path)] == [
        "line 2: expected a JSON object in UTF-8; found half a character, \\ud800",
        "line 1: expected a JSON object in UTF-8; found half a character, \\udfff",
    ]


def test_a_whole_character_may_be_written_as_two_halves(tmp_path: Path) -> None:
    make(tmp_path, [json.dumps(item("a", question="what is 😀?"))])
    assert "\\ud83d\\ude00" in (tmp_path / "have_bench" / "items.jsonl").read_text("utf-8")
    assert told(tmp_path) == []


def test_a_folder_at_fault_gives_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path)
    write_items(tmp_path, [item("a", images=["x" * 5000])])
    assert cli.main(["check", "have_bench", "--data", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert "1 fault" in captured.out and "Traceback" not in captured.out + captured.err


LONG = {
    "quotes": "'" * 10**6,
    "stars": "*" * 10**6,
    "dots before a letter": "." * 10**6 + "x",
    "marks of two kinds": "\"'" * 10**5 + "a" + "'\"" * 10**5,
    "exclamations": "ab" + "!" * 10**6 + "x",
}


@pytest.mark.parametrize("response", LONG.values(), ids=LONG)
def test_a_long_answer_is_read_in_one_go(response: str) -> None:
    """With work that grows by the square of the length this takes hours."""
    done = threading.Event()
    found: list[str] = []

    def work() -> None:
        found.extend(judge_open(response, reference)[0] for reference in ("a red kite", "1,000"))
        done.set()

    threading.Thread(target=work, daemon=True).start()
    assert done.wait(60)
    assert set(found) <= {"none", "unjudged"}


@pytest.mark.parametrize(
    "response", ["**a red kite**", "'\"*`A red kite!`*\"'.", "The red kite!?", "red  kite.", '"A red kite." '.strip()]
)
def test_wrapped_answers_are_unwrapped_as_before(response: str) -> None:
    assert judge_open(response, "a red kite")[0] == "correct"


@pytest.mark.parametrize("response", ["5!", "-5", "5%", "[5]"])
def test_marks_that_change_a_value_stay(response: str) -> None:
    assert judge_open(response, "5")[0] == "unjudged"


def test_data_that_change_between_two_runs_of_a_process_are_read_anew(
    tmp_path: Path, use_data: Callable[[Any], None]
) -> None:
    from lmms_audio_tasks.have_bench import interaction_data

    for name in ("one", "two"):
        write_graphs(tmp_path / name, way(name))
    for name in ("one", "two", "one"):
        use_data(tmp_path / name)
        (found,) = interaction_data.documents(sources.current(), "have_interaction")
        assert (found["item_id"], found["root"]) == (name, str(tmp_path / name / "have_bench"))
    write_graphs(tmp_path / "one", way("changed"))
    time.sleep(0.01)
    (found,) = interaction_data.documents(sources.current(), "have_interaction")
    assert found["item_id"] == "changed"


def test_a_judge_that_is_gone_is_given_up_for_all_episodes(tmp_path: Path) -> None:
    graph = Graph.from_dict(way("walk", steps=1, words=True))
    with FakeJudge(lambda call: Reply("dead", status=500)) as server:
        settings = JudgeSettings(
            mode="llm",
            base_url=server.url,
            api_key="sk-test",
            cache=tmp_path / "judge.sqlite3",
            max_retries=0,
            give_up_after=5,
            concurrency=2,
        )
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda n: edge_judge.judge_edges(graph, "n0", f"please {n}", settings), range(60)))
        assert len(server.calls) < 10, "five in a row, and those that were under way"
        server.answer = lambda call: Reply()
        edge_judge.forget()
        assert edge_judge.judge_edges(graph, "n0", "please", settings)[0].verdict == "accepted"
    assert {verdicts[0].verdict for verdicts in found} == {"unjudged"}
    assert all(verdicts[0].why for verdicts in found)
