"""What the judge and the models share to ask servers: the workers, what is told, and what both can do with a server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from fake_judge_server import VERDICT, Call, FakeJudge, Reply, right_when_it_says_so

from lmms_audio_tasks.judge.client import JudgeStopped
from lmms_audio_tasks.judge.prompt import JudgeRequest
from lmms_audio_tasks.judge.run import JudgeOutcome, judge
from lmms_audio_tasks.judge.settings import JudgeSettings
from lmms_audio_tasks.servers.address import one_line
from lmms_audio_tasks.servers.completion import MalformedReply, read_completion
from lmms_audio_tasks.servers.workers import work_off

KEY = "sk-test-0123456789abcdef"


# --- workers ---


@pytest.mark.parametrize(("count", "concurrency", "busiest"), [(10, 3, 3), (2, 8, 2), (0, 4, 0)])
def test_each_is_done_once_and_no_more_at_once_than_allowed(count: int, concurrency: int, busiest: int) -> None:
    done: list[int] = []
    busy: set[int] = set()
    most = 0

    async def do(one: int) -> None:
        nonlocal most
        busy.add(one)
        most = max(most, len(busy))
        await asyncio.sleep(0.02)
        busy.remove(one)
        done.append(one)

    asyncio.run(work_off(range(count), concurrency, do))
    assert sorted(done) == list(range(count))
    assert most == busiest


def test_the_first_error_cancels_the_rest() -> None:
    begun: list[int] = []
    cancelled: list[int] = []

    async def do(one: int) -> None:
        begun.append(one)
        if one == 1:
            raise ValueError("one")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(one)
            raise

    with pytest.raises(ValueError, match="one"):
        asyncio.run(work_off(range(100), 2, do))
    assert (begun, cancelled) == ([0, 1], [0])


# --- what is told ---


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("a\n  b", "", "a b"),
        (f"is {KEY} right?", KEY, "is *** right?"),
        ("my-own secret", "my-own secret", "***"),
        ("sk-proj-abc*** is wrong", "", "*** is wrong"),
        ("task-force sk-1", "", "task-force sk-1"),
        ("x" * 301, "", "x" * 300 + "..."),
        (ValueError("no"), "", "no"),
    ],
)
def test_one_line(text: object, key: str, line: str) -> None:
    assert one_line(text, key) == line


@pytest.mark.parametrize(
    ("message", "reason", "read"),
    [
        ({"content": "x"}, "stop", ("x", "", False, False, False)),
        ({"content": "x"}, "length", ("x", "", False, False, True)),
        ({"content": "x"}, "content_filter", ("x", "", True, True, False)),
        ({"content": None, "refusal": "no"}, "stop", ("", "no", True, False, False)),
        ({"content": None, "refusal": None}, None, ("", "", False, False, False)),
    ],
)
def test_why_a_completion_ends(message: dict[str, Any], reason: str | None, read: tuple[Any, ...]) -> None:
    found = read_completion({"choices": [{"message": message, "finish_reason": reason}]})
    assert (found.text, found.refusal, found.refused, found.filtered, found.cut) == read


@pytest.mark.parametrize("content", [3, {"text": "x"}, [{"type": "text", "text": 3}]])
def test_content_that_is_no_text_is_no_empty_answer(content: Any) -> None:
    with pytest.raises(MalformedReply, match="neither text nor"):
        read_completion({"choices": [{"message": {"content": content}}]})


# --- what models' servers need, for the judge too ---


def ask(server: FakeJudge, cache: Path, *responses: str) -> JudgeOutcome:
    settings = JudgeSettings(mode="llm", base_url=server.url, api_key=KEY, cache=cache, max_retries=0, concurrency=1)
    requests = [JudgeRequest("What sings? (a) cat (b) bird", "(b) bird", response) for response in responses]
    return judge(requests, settings, progress=False)


def test_a_judge_that_wants_max_completion_tokens_gets_them(tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        if "max_tokens" in call.body:
            return Reply("Unsupported parameter: use 'max_completion_tokens' instead.", status=400)
        return right_when_it_says_so(call)

    with FakeJudge(answer) as server:
        outcome = ask(server, tmp_path / "cache", "right 1", "no 2", "right 3")
    assert [judgement.verdict for judgement in outcome.judgements] == ["correct", "incorrect", "correct"]
    assert ["max_tokens" in call.body for call in server.calls] == [True, False, False, False]
    assert server.calls[-1].body["max_completion_tokens"] == 1024


def test_a_wrong_key_told_with_status_400_stops_the_judge_at_once(tmp_path: Path) -> None:
    with FakeJudge(lambda call: Reply("API key not valid.", status=400)) as server:
        with pytest.raises(JudgeStopped, match=r"the judge at http://.* refused the key \(status 400\): set OPENAI_AP"):
            ask(server, tmp_path / "cache", "right 1", "right 2")
        assert len(server.calls) == 1


def test_a_judge_that_speaks_in_parts(tmp_path: Path) -> None:
    parts = '{"choices": [{"message": {"content": [{"text": "It is a bird.\\n"}, {"text": "VERDICT"}]}}]}'
    raw = parts.replace("VERDICT", VERDICT.format("correct").replace("\n", "\\n"))
    with FakeJudge(lambda call: Reply(raw=raw)) as server:
        outcome = ask(server, tmp_path / "cache", "right 1")
    assert [judgement.verdict for judgement in outcome.judgements] == ["correct"]
