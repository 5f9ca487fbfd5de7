"""Many conversations with a real HTTP server that misbehaves in every way a server can."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from fake_audio_server import FakeAudio, says
from fake_judge_server import Answer, Call, Reply, together

from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.chat_body import REFUSED, answer_text, body_fields
from lmms_audio_tasks.models.chat_server import ChatServer
from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.scoring import judge_options
from lmms_audio_tasks.servers.completion import MalformedReply, read_completion

KEY = "sk-test-0123456789abcdef"
NO_LIMIT = json.dumps(
    {
        "error": {
            "message": "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            "type": "invalid_request_error",
            "param": "max_tokens",
            "code": "unsupported_parameter",
        }
    }
)
GREEDY = {"max_new_tokens": 8, "temperature": 0, "do_sample": False, "until": []}


def echo(call: Call) -> Reply:
    return Reply(f"re: {call.prompt}")


def ask(server: FakeAudio, texts: Sequence[str], generation: Any = None, **options: Any) -> list[str | Failure]:
    """All answers, in the order of the texts."""
    return in_order(chat(server, **options).ask_all(turns(texts), [generation or GREEDY] * len(texts)), len(texts))


def chat(server: FakeAudio, **options: Any) -> ChatServer:
    return ChatServer("m", server.url, **{"api_key": KEY, "max_retries": 2, **options})


def turns(texts: Sequence[str]) -> list[Any]:
    return [[{"role": "user", "content": text}] for text in texts]


def in_order(found: Any, count: int) -> list[str | Failure]:
    answers = dict(found)
    return [answers[number] for number in range(count)]


def failing_at_first(reply: Reply) -> Answer:
    """Answer with `reply` whatever is asked for the first time."""
    seen: set[str] = set()

    def answer(call: Call) -> Reply:
        if call.prompt in seen:
            return echo(call)
        seen.add(call.prompt)
        return reply

    return answer


# --------------------------------------------------------------------------------------------------- the plain way


def test_each_gets_its_own_answer_and_what_is_sent() -> None:
    texts = [f"text {number}" for number in range(40)]
    with FakeAudio(echo) as server:
        assert ask(server, texts) == [f"re: {text}" for text in texts]
    assert sorted(call.prompt for call in server.calls) == sorted(texts)
    call = server.calls[0]
    assert {name: value for name, value in call.body.items() if name != "messages"} == {
        "model": "m",
        "max_tokens": 8,
        "temperature": 0,
    }
    assert call.headers["authorization"] == f"Bearer {KEY}"


def test_answers_come_as_they_are_there() -> None:
    others = threading.Event()
    with FakeAudio(lambda call: Reply(call.prompt, until=others if call.prompt == "slow" else None)) as server:
        found = chat(server, timeout=60, max_retries=0).ask_all(turns(["slow", "b", "c"]), [GREEDY] * 3)
        assert {next(found), next(found)} == {(1, "b"), (2, "c")}
        others.set()
        assert list(found) == [(0, "slow")]


def test_as_many_at_once_as_allowed_and_no_more() -> None:
    texts = [str(number) for number in range(40)]
    with FakeAudio(together(8, echo), latency=0.05) as server:
        found = ask(server, texts, concurrency=8, timeout=60, max_retries=0)
    assert found == [f"re: {text}" for text in texts]
    assert server.busiest == 8


def test_conversations_are_made_only_when_they_are_sent() -> None:
    made: list[int] = []

    def make(number: int) -> Callable[[], Any]:
        return lambda: (made.append(number), turns([str(number)])[0])[1]

    with FakeAudio(echo, latency=0.05) as server:
        found = chat(server, concurrency=2).ask_all([make(number) for number in range(20)], [GREEDY] * 20)
        next(found)
        assert len(made) <= 2
        assert len(list(found)) == 19
    assert sorted(made) == list(range(20))


def test_nothing_is_sent_while_answers_wait_to_be_taken() -> None:
    """What a killed run loses is bounded by this: a caller writes an answer down before it asks for the next."""
    with FakeAudio(echo) as server:
        found = chat(server, concurrency=3).ask_all(turns([str(number) for number in range(20)]), [GREEDY] * 20)
        for taken in range(1, 15):
            next(found)
            until = time.monotonic() + 60
            while len(server.answered) < taken + 2 and time.monotonic() < until:
                time.sleep(0.005)
            time.sleep(0.03)  # for a request too many to come in
            # Two wait in the queue; the one just taken is not known to be safe before the next is asked for.
            assert len(server.calls) == taken + 2
        found.close()


def test_a_conversation_that_cannot_be_made_costs_itself_alone() -> None:
    def broken() -> Any:
        raise OSError("gone.wav")

    with FakeAudio(echo) as server:
        found = chat(server, give_up_after=1).ask_all(
            [broken, lambda: Failure("no such"), *turns(["c"])], [GREEDY, GREEDY, GREEDY]
        )
        assert in_order(found, 3) == [Failure("OSError: gone.wav"), Failure("no such"), "re: c"]
    assert len(server.calls) == 1


def test_leaving_early_cancels_the_rest() -> None:
    with FakeAudio(echo, latency=0.05) as server:
        found = chat(server, concurrency=2).ask_all(turns([str(number) for number in range(100)]), [GREEDY] * 100)
        next(found)
        found.close()
        assert len(server.calls) <= 2


def test_within_a_running_event_loop() -> None:
    async def inside() -> list[str | Failure]:
        return ask(server, ["a"])

    with FakeAudio(echo) as server:
        assert asyncio.run(inside()) == ["re: a"]


def test_nothing_to_ask() -> None:
    with FakeAudio(echo) as server:
        assert ask(server, []) == []
    assert server.calls == []


def test_usage_is_counted() -> None:
    with FakeAudio(echo) as server:
        model = chat(server)
        list(model.ask_all(turns(["a", "b"]), [GREEDY] * 2))
        list(model.ask_all(turns(["c"]), [GREEDY]))
    # The server tells 100 and 10 tokens a request.
    assert str(model.usage) == "3 answers, 300 + 30 tokens"
    assert model.usage.models == {"m": 3}


# ------------------------------------------------------------------------------------------------ generation arguments

FIELDS = [
    ({}, {"max_tokens": 256, "temperature": 0}),
    ({"max_new_tokens": 9, "do_sample": False, "temperature": 0, "until": []}, {"max_tokens": 9, "temperature": 0}),
    ({"temperature": 0.7}, {"max_tokens": 256, "temperature": 0.7}),
    ({"do_sample": True}, {"max_tokens": 256}),
    ({"do_sample": False, "temperature": 0.7, "top_p": 0.9}, {"max_tokens": 256, "temperature": 0}),
    ({"do_sample": True, "temperature": 0, "seed": 3}, {"max_tokens": 256, "temperature": 0}),
    (
        {"temperature": 1, "top_p": 0.9, "top_k": 5, "min_p": 0.1, "seed": 3, "num_beams": 1},
        {"max_tokens": 256, "temperature": 1, "top_p": 0.9, "top_k": 5, "min_p": 0.1, "seed": 3},
    ),
    ({"top_p": None, "temperature": None, "num_beams": None}, {"max_tokens": 256, "temperature": 0}),
    ({"presence_penalty": 1}, {"max_tokens": 256, "temperature": 0, "presence_penalty": 1}),
    ({"until": "\n\n"}, {"max_tokens": 256, "temperature": 0, "stop": ["\n\n"]}),
    ({"until": ["", *"abcde"]}, {"max_tokens": 256, "temperature": 0, "stop": ["a", "b", "c", "d"]}),
]


@pytest.mark.parametrize(("given", "fields"), FIELDS)
def test_generation_arguments_as_fields(given: dict[str, Any], fields: dict[str, Any]) -> None:
    before = dict(given)
    assert body_fields(given).keywords == fields
    assert given == before, "the host's response cache keys on it"


def test_max_new_tokens_can_be_overridden() -> None:
    assert body_fields({"max_new_tokens": 9}, 5).keywords["max_tokens"] == 5


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"max_new_token": 3}, "'max_new_token' has no counterpart in chat completions; did you mean max_new_tokens"),
        ({"xyz": 3}, "known: max_new_tokens, "),
        ({"num_beams": 4}, "no beam search"),
        ({"max_new_tokens": "many"}, "max_new_tokens must be a whole number of at least 1, not 'many'"),
        ({"max_new_tokens": 0}, "max_new_tokens must be a whole number of at least 1, not 0"),
    ],
)
def test_unknown_generation_arguments_are_refused_before_anything_is_asked(given: dict[str, Any], told: str) -> None:
    with FakeAudio(echo) as server, pytest.raises(ModelError, match=told):
        ask(server, ["a"], given)
    assert server.calls == []


def test_answers_are_cut_at_every_until() -> None:
    with FakeAudio(says(" one e two")) as server:
        assert ask(server, ["a"], {"until": list("vwxyze")}) == ["on"]
    assert server.calls[0].body["stop"] == list("vwxy")


def test_max_completion_tokens_is_found_out_once(caplog: pytest.LogCaptureFixture) -> None:
    def answer(call: Call) -> Reply:
        return Reply(status=400, raw=NO_LIMIT) if "max_tokens" in call.body else echo(call)

    texts = [str(number) for number in range(20)]
    with FakeAudio(answer) as server:
        assert ask(server, texts, concurrency=4) == [f"re: {text}" for text in texts]
    assert sum("max_tokens" in call.body for call in server.calls) <= 4
    assert [call.body["max_completion_tokens"] for call in server.calls if "max_tokens" not in call.body] == [8] * 20
    assert caplog.text.count("max_completion_tokens from now on") == 1


def test_extra_fields_win() -> None:
    with FakeAudio(echo) as server:
        ask(server, ["a"], extra_body={"modalities": ["text"], "temperature": 0.5})
    assert server.calls[0].body["modalities"] == ["text"]
    assert server.calls[0].body["temperature"] == 0.5


# ---------------------------------------------------------------------------------------------- refusals and no answers

QUESTION = "Which animal is it? (a) dog (b) cat"


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (
            Reply(None, refusal="I'm sorry, I can't identify speakers."),
            f"{REFUSED} I'm sorry, I can't identify speakers.",
        ),
        (Reply("(a) do", finish_reason="content_filter"), f"{REFUSED} content filter"),
        (Reply(None, finish_reason="content_filter"), f"{REFUSED} content filter"),
    ],
)
def test_a_refusal_is_an_answer_that_chooses_nothing(reply: Reply, text: str, caplog: pytest.LogCaptureFixture) -> None:
    with FakeAudio(lambda call: reply) as server:
        model = chat(server)
        ((_, answer),) = model.ask_all(turns(["a"]), [GREEDY])
    assert answer == text
    assert judge_options(text, QUESTION, "(a) dog")[0] == "none"
    assert model.usage.refusals == 1
    assert "refused 1 answers" in caplog.text


def test_an_answer_that_used_up_its_tokens_unseen_is_empty_and_told(caplog: pytest.LogCaptureFixture) -> None:
    def answer(call: Call) -> Reply:
        return Reply(None, finish_reason="length") if call.prompt == "a" else Reply("")

    with FakeAudio(answer) as server:
        assert ask(server, ["a", "b"]) == ["", ""]
    assert "2 empty answers, 1 of them because max_new_tokens was used up" in caplog.text


def test_an_answer_cut_at_its_limit_stands() -> None:
    with FakeAudio(says("(a) do", finish_reason="length")) as server:
        assert ask(server, ["a"]) == ["(a) do"]


COMPLETIONS = [
    ({"choices": [{"message": {"content": "x"}}]}, "x"),
    ({"choices": [{"message": {"content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]}}]}, "xy"),
    ({"choices": [{"message": {"content": None}}], "usage": None}, ""),
    ({"choices": [{"message": {}}], "usage": {"prompt_tokens": "many"}}, ""),
]


@pytest.mark.parametrize(("completion", "text"), COMPLETIONS)
def test_completions_that_lack_fields(completion: Any, text: str) -> None:
    reply = read_completion(completion)
    assert (reply.text, reply.refused, reply.prompt_tokens) == (text, False, 0)


@pytest.mark.parametrize("completion", [{}, [], None, "text", {"choices": []}, {"choices": [{}]}, {"choices": [None]}])
def test_what_is_no_completion(completion: Any) -> None:
    with pytest.raises(MalformedReply):
        read_completion(completion)


@pytest.mark.parametrize("reason", ["content_filter", "SAFETY", "content_filter: PROHIBITED_CONTENT"])
@pytest.mark.parametrize("message", [{}, {"message": {"role": "assistant"}}, {"message": {"content": "half of"}}])
def test_filters_by_other_names_are_refusals_too(reason: str, message: dict[str, Any]) -> None:
    assert answer_text(read_completion({"choices": [{"finish_reason": reason, **message}]})).startswith(REFUSED)


@pytest.mark.parametrize("reason", ["abort", "error"])
def test_what_the_server_broke_off_is_no_answer(reason: str) -> None:
    broken = {"choices": [{"message": {"content": "The answer is"}, "finish_reason": reason}]}
    with pytest.raises(MalformedReply, match=f"broke it off .finish_reason {reason}"):
        read_completion(broken)


# -------------------------------------------------------------------------------------------------------------- faults


@pytest.mark.parametrize(
    "reply",
    [
        Reply("busy", status=429, headers={"retry-after": "0.01"}),
        Reply("busy", status=429),
        Reply("broken", status=500),
        Reply("away", status=503),
        Reply(drop=True),
        Reply("(a) d", finish_reason="abort"),
        Reply(cut=True),
        Reply(raw="<html>gateway</html>"),
        Reply(raw='{"error": {"message": "upstream"}}'),
        Reply(raw='{"choices": []}'),
    ],
)
def test_what_passes_is_tried_again(reply: Reply) -> None:
    with FakeAudio(failing_at_first(reply)) as server:
        assert ask(server, ["a", "b"]) == ["re: a", "re: b"]
    assert len(server.calls) == 4


def test_retry_after_is_obeyed() -> None:
    times: list[float] = []

    def answer(call: Call) -> Reply:
        times.append(asyncio.get_event_loop().time())
        return Reply("busy", status=429, headers={"retry-after": "1"}) if len(times) == 1 else echo(call)

    with FakeAudio(answer) as server:
        ask(server, ["a"])
    # Without the header the first pause is 0.5 s at most.
    assert times[1] - times[0] >= 0.99


def test_a_silent_server_is_tried_again_after_the_timeout() -> None:
    with FakeAudio(failing_at_first(Reply("late", until=threading.Event()))) as server:
        # More tries than it should take: on a busy machine any may take longer than the timeout.
        assert ask(server, ["a"], timeout=0.5, max_retries=20) == ["re: a"]
    assert len(server.calls) > 1


def test_a_request_that_fails_for_good_costs_itself_alone() -> None:
    def answer(call: Call) -> Reply:
        return Reply("broken", status=500) if call.prompt == "b" else echo(call)

    with FakeAudio(answer) as server:
        found = ask(server, ["a", "b", "c"], max_retries=1)
    assert found == ["re: a", Failure("request failed: status 500: broken"), "re: c"]


def test_a_server_that_is_not_there_is_told_with_its_reason() -> None:
    with FakeAudio(echo) as server:
        url = server.url
    model = ChatServer("m", url, "", max_retries=0, give_up_after=1)
    with pytest.raises(ModelError, match=r"failed 1 requests in a row.*the last: Connection error\. \(.+\)$"):
        list(model.ask_all(turns(["a"]), [GREEDY]))


def test_a_server_that_only_fails_is_given_up_and_all_before_is_handed_on() -> None:
    def answer(call: Call) -> Reply:
        return echo(call) if call.number <= 5 else Reply("broken", status=500)

    came = []
    with FakeAudio(answer) as server:
        model = chat(server, max_retries=0, give_up_after=3, concurrency=1)
        with pytest.raises(ModelError, match=r"m at http://127.0.0.1:\d+/v1 failed 3 requests in a row.*500: broken"):
            for index, found in model.ask_all(turns([str(number) for number in range(50)]), [GREEDY] * 50):
                came.append((index, isinstance(found, Failure)))
    assert came == [*((number, False) for number in range(5)), (5, True), (6, True)]
    assert len(server.calls) == 8


def test_failures_between_answers_do_not_add_up() -> None:
    flip = itertools.cycle([False, True])
    with FakeAudio(lambda call: Reply("x", status=500) if next(flip) else echo(call)) as server:
        found = ask(server, [str(number) for number in range(20)], max_retries=0, give_up_after=2, concurrency=1)
    assert sum(isinstance(answer, Failure) for answer in found) == 10


def test_requests_at_fault_themselves_do_not_stop_the_run() -> None:
    def answer(call: Call) -> Reply:
        return Reply("too long", status=400) if call.prompt.startswith("long") else echo(call)

    with FakeAudio(answer) as server:
        found = ask(server, [*(f"long {number}" for number in range(10)), "b"], give_up_after=2, concurrency=1)
    assert found == [*[Failure("status 400: too long")] * 10, "re: b"]
    assert len(server.calls) == 11


HOPELESS = [
    (
        Reply(f"Incorrect API key provided: {KEY}", status=401),
        "refused the key (status 401); it is read from",
    ),
    (Reply("API key not valid. Please pass a valid API key.", status=400), "refused the key (status 400)"),
    (Reply("not for you", status=403), "refused access (status 403): not for you"),
    (Reply("no such model", status=404), "does not know the model 'm' (status 404): no such model"),
    (
        Reply(status=429, raw='{"error": {"message": "pay", "code": "insufficient_quota"}}'),
        "is used up: pay",
    ),
]


@pytest.mark.parametrize(("reply", "told"), HOPELESS)
def test_what_would_fail_every_time_stops_at_once(reply: Reply, told: str) -> None:
    with FakeAudio(lambda call: reply) as server, pytest.raises(ModelError) as caught:
        ask(server, [str(number) for number in range(50)], concurrency=2, max_retries=0)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value) and KEY not in str(caught.value)
    assert len(server.calls) <= 4


def test_the_key_is_in_no_log_and_no_error(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with FakeAudio(lambda call: Reply(f"your key {KEY} or sk-proj-99999 is tired", status=500)) as server:
        (found,) = ask(server, ["a"], max_retries=0)
        assert KEY not in repr(vars(chat(server)) | {"_key": ""})
    assert found == Failure("request failed: status 500: your key *** or *** is tired")
    assert KEY not in caplog.text


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://user:secret@host/v1", "must not hold a user, password or query"),
        ("http://host/v1?key=secret", "must not hold a user, password or query"),
        ("ftp://host", "must begin with http"),
        ("http://[secret", "not a URL"),
        ("secret", "must begin with http"),
    ],
)
def test_addresses_that_cannot_work_or_hold_secrets(url: str, told: str) -> None:
    with pytest.raises(ModelError, match=told) as caught:
        ChatServer("m", url)
    assert "secret" not in str(caught.value)


def test_openais_server_needs_a_key_and_no_other_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ModelError, match="set OPENAI_API_KEY"):
        ChatServer("m")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://host:1/v1/")
    assert ChatServer("m").url == "http://host:1/v1"
    with FakeAudio(echo) as server:
        assert ask(server, ["a"], api_key="") == ["re: a"]


@pytest.mark.parametrize("key", ["two words", "schlüssel", "line\nbreak"])
def test_a_key_that_no_header_can_hold(key: str) -> None:
    with pytest.raises(ModelError, match="no HTTP header") as caught:
        ChatServer("m", "http://host/v1", key)
    assert key not in str(caught.value)
