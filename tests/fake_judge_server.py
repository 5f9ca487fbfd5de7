"""A small OpenAI-compatible server on 127.0.0.1 that answers, stalls, fails and dies as it is told.

In a test: `with FakeJudge(answer) as server: ... server.url`. As a program, for the benchmark:
`python tests/fake_judge_server.py --latency 0.2` prints its URL and serves until it is ended.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

VERDICT = "Explanation: the answer names one option.\nJudgement: {}"


@dataclass(frozen=True)
class Call:
    """One request as it came: its number (from 1), the last user turn, the whole body and the headers."""

    number: int
    prompt: str
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def response(self) -> str:
        """The response to be judged, from between the fences of the shipped prompt."""
        found = re.search(r"^(=====\[ \w+ \]=====)\n(.*)\n\1$", self.prompt, re.DOTALL | re.MULTILINE)
        return found[2] if found else ""


@dataclass(frozen=True)
class Reply:
    """What to answer.

    `raw` is sent instead of a chat completion; `drop` closes the connection before a byte is sent, `cut` half-way.
    Nothing is sent before the event `until`.
    """

    text: str | None = VERDICT.format("correct")
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    finish_reason: str = "stop"
    refusal: str | None = None
    raw: str | None = None
    until: threading.Event | None = None
    delay: float = 0.0
    drop: bool = False
    cut: bool = False

    def body(self, call: Call) -> bytes:
        if self.raw is not None:
            return self.raw.encode()
        if self.status != 200:
            return json.dumps({"error": {"message": self.text, "type": "test", "code": None}}).encode()
        message = {"role": "assistant", "content": self.text, "refusal": self.refusal}
        completion = {
            "id": f"call-{call.number}",
            "object": "chat.completion",
            "created": 0,
            "model": call.body.get("model", ""),
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish_reason}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }
        return json.dumps(completion).encode()


Answer = Callable[[Call], Reply]


class FakeJudge:
    """The server, in a thread of its own.

    Attributes:
        calls: every request that came in, in order.
        answered: the responses whose judgement was sent to the last byte.
        busiest: the most requests that were under way at once.
    """

    def __init__(self, answer: Answer = lambda call: Reply(), latency: float = 0.0) -> None:
        self.answer = answer
        self.latency = latency
        self.calls: list[Call] = []
        self.answered: list[str] = []
        self.port = 0
        self.busiest = 0
        self._busy = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def asked(self) -> Counter[str]:
        """How often each response was sent here."""
        return Counter(call.response for call in self.calls)

    def __enter__(self) -> FakeJudge:
        self._thread.start()
        self.live()
        return self

    def __exit__(self, *_: object) -> None:
        self.die()
        self._await(self._give_up())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def live(self) -> None:
        """Listen; at the same port again after `die`."""
        self._await(self._listen())

    def die(self) -> None:
        """Stop listening and break every connection."""
        self._await(self._shut())

    def wait_until_alone(self) -> None:
        """Until no client is left, so that whatever those that were killed had sent has come in."""
        with socket.create_connection(("127.0.0.1", self.port)) as last:
            # It is served, and so closed, after those before it have been taken on.
            last.shutdown(socket.SHUT_WR)
            last.recv(1)
        while self._writers:
            time.sleep(0.005)

    def _await(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _shut(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._writers):
            writer.transport.abort()
        await asyncio.sleep(0.01)

    async def _give_up(self) -> None:
        """End what still waits to answer."""
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while (call := await self._read(reader)) is not None:
                self._busy += 1
                self.busiest = max(self.busiest, self._busy)
                try:
                    reply = self.answer(call)
                    while reply.until is not None and not reply.until.is_set():
                        await asyncio.sleep(0.002)
                    await asyncio.sleep(self.latency + reply.delay)
                finally:
                    self._busy -= 1
                if not await self._send(writer, call, reply):
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Call | None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", "0"))) or b"{}")
        call = Call(len(self.calls) + 1, body["messages"][-1]["content"], body, headers)
        self.calls.append(call)
        return call

    async def _send(self, writer: asyncio.StreamWriter, call: Call, reply: Reply) -> bool:
        if reply.drop:
            writer.transport.abort()
            return False
        body = reply.body(call)
        head = {"content-type": "application/json", "content-length": str(len(body)), **reply.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        writer.write(f"HTTP/1.1 {reply.status} Told\r\n{lines}\r\n".encode())
        writer.write(body[: len(body) // 2] if reply.cut else body)
        await writer.drain()
        if reply.cut:
            writer.transport.abort()
            return False
        self.answered.append(call.response)
        return True


def together(count: int, answer: Answer) -> Answer:
    """Answer nothing before `count` requests are under way at once."""
    full = threading.Event()

    def held(call: Call) -> Reply:
        if call.number == count:
            full.set()
        return replace(answer(call), until=full)

    return held


def right_when_it_says_so(call: Call) -> Reply:
    """A judge whose verdict can be foreseen: correct where the response holds the word `right`."""
    return Reply(VERDICT.format("correct" if "right" in call.response else "incorrect"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds before each answer")
    with FakeJudge(right_when_it_says_so, parser.parse_args().latency) as server:
        print(server.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
