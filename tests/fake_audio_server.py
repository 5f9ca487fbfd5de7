"""An OpenAI-compatible server on 127.0.0.1 that decodes the recordings it is sent.

`with FakeAudio(answer) as server: ... server.url`; what it can be told to do is in `fake_judge_server`.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import soundfile as sf
from fake_judge_server import Answer, Call, FakeJudge, Reply

from lmms_audio_tasks.options import parse_options

Clip = tuple[np.ndarray, int]


class AudioCall(Call):
    """One request; `prompt` and `response` are its last turn's text."""

    @property
    def response(self) -> str:
        return self.prompt

    def parts(self, kind: str) -> Iterator[Any]:
        """What the parts of a kind hold, over all turns."""
        for message in self.body["messages"]:
            for part in message["content"] if isinstance(message["content"], list) else ():
                if part["type"] == kind:
                    yield part[kind]

    @property
    def files(self) -> list[bytes]:
        """The recordings as they were sent."""
        inputs = [base64.b64decode(part["data"], validate=True) for part in self.parts("input_audio")]
        return inputs + [data_uri(part["url"], "audio/wav") for part in self.parts("audio_url")]

    @property
    def clips(self) -> list[Clip]:
        """The recordings, as whoever reads WAV files hears them: int16 of shape (n,) and the rate."""
        return [decode(wav) for wav in self.files]


def data_uri(uri: str, kind: str) -> bytes:
    head, _, body = uri.partition(",")
    assert head == f"data:{kind};base64", head
    return base64.b64decode(body, validate=True)


def decode(wav: bytes) -> Clip:
    info = sf.info(io.BytesIO(wav))
    assert (info.format, info.subtype, info.channels) == ("WAV", "PCM_16", 1)
    return sf.read(io.BytesIO(wav), dtype="int16")


def text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


class FakeAudio(FakeJudge):
    """The server; `calls` are `AudioCall`s."""

    calls: list[AudioCall]  # type: ignore[assignment]

    async def _read(self, reader: asyncio.StreamReader) -> AudioCall | None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", "0"))) or b"{}")
        call = AudioCall(len(self.calls) + 1, text_of(body["messages"][-1]["content"]), body, headers)
        self.calls.append(call)
        return call


def first_option(call: Call) -> Reply:
    """Answer with the first of the prompt's options."""
    option = parse_options(call.prompt)[0]
    return Reply(f"({option.letter}) {option.text}")


def says(text: str, **more: Any) -> Answer:
    """Always the same answer."""
    return lambda call: Reply(text, **more)
