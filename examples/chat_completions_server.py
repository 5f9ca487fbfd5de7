"""A chat completions server around any Python function, for a model whose code needs an environment of its own.

Put the model into `answer` and start this file there; it needs nothing but Python's standard library (3.8 or later):

    python chat_completions_server.py --port 8000

and beside it, where lmms-audio-tasks is:

    lmms_eval --tasks sakura --model openai_audio --model_args model=mine,base_url=http://localhost:8000/v1
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import tempfile
import threading
import wave
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def answer(turns: list, settings: dict) -> str:
    """The model's next turn: this one only tells what it was given.

    Args:
        turns: `[(role, parts), ...]`; parts are `("text", "What is it?")`, `("audio", "/tmp/.../0.wav")`, a mono WAV
            file of 16 bits, and `("image", "/tmp/.../1.png")`; the files are gone when this returns.
        settings: `max_tokens`, `temperature`, `stop`, ... as they were asked for.
    """
    _, parts = turns[-1]
    heard = []
    for kind, value in parts:
        if kind == "audio":
            with wave.open(value) as file:
                heard.append(f"{file.getnframes() / file.getframerate():.2f} s")
        elif kind == "image":
            heard.append(f"a picture of {Path(value).stat().st_size} bytes")
    text = " ".join(value for kind, value in parts if kind == "text")
    return f"I heard {' and '.join(heard) or 'nothing'} and read {text!r}."


class Handler(BaseHTTPRequestHandler):
    """Answers one request after another, however many are under way: most models take one at a time."""

    one_at_a_time = threading.Lock()

    def do_POST(self) -> None:
        """Any path; a fault of the request becomes status 400, one of the model 500, with its message.

        lmms-audio-tasks tries a request again after status 500, and not after 400.
        """
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    turns = read_turns(body.pop("messages"), Path(folder))
                except (KeyError, TypeError, ValueError) as error:
                    self.reply(400, {"error": {"message": f"{type(error).__name__}: {error}"}})
                    return
                with self.one_at_a_time:
                    text = answer(turns, body)
            message = {"role": "assistant", "content": text}
            self.reply(200, {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        except Exception as error:
            self.reply(500, {"error": {"message": f"{type(error).__name__}: {error}"}})

    def reply(self, status: int, content: dict) -> None:
        """Send `content` as JSON."""
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def read_turns(messages: list, folder: Path) -> list:
    """The turns as `answer` takes them, the recordings and images written into `folder`."""

    def write(content: str, ending: str) -> str:
        path = folder / f"{len(list(folder.iterdir()))}.{ending}"
        path.write_bytes(base64.b64decode(content))
        return str(path)

    turns = []
    for message in messages:
        parts = []
        said = message["content"]
        for part in [{"type": "text", "text": said}] if isinstance(said, str) else said:
            if part["type"] == "text":
                parts.append(("text", part["text"]))
            elif part["type"] == "input_audio":
                parts.append(("audio", write(part["input_audio"]["data"], "wav")))
            elif part["type"] == "image_url":
                head, _, content = part["image_url"]["url"].partition(";base64,")  # data:image/png;base64,...
                parts.append(("image", write(content, head.split("/")[-1])))
            else:
                raise ValueError(f"a part of type {part['type']} is not supported")
        turns.append((message["role"], parts))
    return turns


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, default=8000, help="0: any that is free")
    server = ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler)
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}/v1\n")
    sys.stdout.flush()
    server.serve_forever()
