"""`--model openai_audio`: an audio model behind an OpenAI-compatible server (OpenAI, Gemini, vLLM, SGLang)."""

from __future__ import annotations

import base64
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_audio_tasks import audio
from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.answers import is_sampled
from lmms_audio_tasks.models.arguments import choice, text, whole_number
from lmms_audio_tasks.models.base import AudioTasksModel, Item
from lmms_audio_tasks.models.chance import draw
from lmms_audio_tasks.models.chat_server import ChatServer
from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.models.messages import Part, Prompt
from lmms_audio_tasks.models.ranks import together
from lmms_audio_tasks.prompts import RATE

AUDIO_FORMS = ("input_audio", "audio_url")
_KEY_VARIABLE = "OPENAI_API_KEY"
_IMAGES = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}


class OpenAIAudio(AudioTasksModel):
    """Sends each conversation, its recordings as 16-bit mono WAV inside it, and takes the text that comes back.

    Args:
        model: the name the server knows the model by.
        base_url: e.g. `http://localhost:8000/v1`; None for `OPENAI_BASE_URL`, else OpenAI's own.
        api_key_env: the environment variable that holds the key. The key itself is no argument: the host writes all
            arguments into its results.
        server: a name for the server in the key of kept answers, in place of its address; for a server that moves.
        audio: how recordings are sent: `input_audio` (OpenAI's way, vLLM takes it too) or `audio_url` (a data URI;
            vLLM, SGLang).
        sample_rate: Hz.
        max_audio_seconds: a longer recording is an error of its item and is not sent; None: all are sent whole.
        max_new_tokens: overrides the tasks'.
        system_prompt: comes first in conversations without a system turn.
        extra_body: a JSON object, or a file that holds one: further fields of every request.
        concurrency, timeout, max_retries, give_up_after: see `ChatServer`; with several ranks, each has as many.
        resume, cache_dir: see `AudioTasksModel`.
        batch_size, max_batch_size, device: taken because the host passes them; without effect.

    Raises:
        ModelError: an argument that cannot work, or no key for OpenAI's own server.
    """

    def __init__(
        self,
        model: Any = None,
        base_url: Any = None,
        api_key_env: Any = _KEY_VARIABLE,
        server: Any = None,
        audio: Any = "input_audio",
        sample_rate: Any = RATE,
        max_audio_seconds: Any = None,
        max_new_tokens: Any = None,
        system_prompt: Any = None,
        extra_body: Any = None,
        concurrency: Any = 16,
        timeout: Any = 120,
        max_retries: Any = 8,
        give_up_after: Any = 10,
        resume: Any = True,
        cache_dir: Any = None,
        batch_size: Any = 1,
        max_batch_size: Any = None,
        device: Any = None,
        **unknown: Any,
    ) -> None:
        super().__init__(device, unknown, resume, cache_dir)
        name = text("model", model)
        if name is None:
            raise ModelError("openai_audio needs model=<the name the server knows the model by>")
        self._form = choice("audio", audio, AUDIO_FORMS)
        self._sample_rate = whole_number("sample_rate", sample_rate, 1000)
        self._longest = None if max_audio_seconds is None else _seconds("max_audio_seconds", max_audio_seconds)
        self._max_new_tokens = None if max_new_tokens is None else whole_number("max_new_tokens", max_new_tokens)
        self._system_prompt = text("system_prompt", system_prompt)
        self._extra_body = _json_object("extra_body", extra_body)
        with together("load", everyone=True):
            self.server = ChatServer(
                name,
                text("base_url", base_url),
                _key(text("api_key_env", api_key_env) or _KEY_VARIABLE),
                concurrency=whole_number("concurrency", concurrency),
                timeout=_seconds("timeout", timeout),
                max_retries=whole_number("max_retries", max_retries, 0),
                give_up_after=whole_number("give_up_after", give_up_after),
                max_new_tokens=self._max_new_tokens,
                extra_body=self._extra_body,
            )
        self._known_as = text("server", server) or self.server.url

    def identity(self) -> Mapping[str, Any]:
        """The model, its server, and how it is asked."""
        return {
            "model": self.server.model,
            "server": self._known_as,
            "audio": self._form,
            "sample_rate": self._sample_rate,
            "max_audio_seconds": self._longest,
            "max_new_tokens": self._max_new_tokens,
            "system_prompt": self._system_prompt,
            "extra_body": self._extra_body,
        }

    def answer(self, items: Sequence[Item]) -> Iterator[tuple[int, str | Failure]]:
        """Answers in the order in which they come; see `ChatServer.ask_all`."""
        from tqdm import tqdm

        conversations = [self._conversation(item) for item in items]
        generations = [_with_seed(item) for item in items]
        with tqdm(total=len(items), desc=self.server.model, disable=self._rank != 0) as bar:
            for found in self.server.ask_all(conversations, generations):
                yield found
                bar.set_postfix_str(str(self.server.usage), refresh=False)
                bar.update()

    def _conversation(self, item: Item) -> Callable[[], list[dict[str, Any]] | Failure]:
        def make() -> list[dict[str, Any]] | Failure:
            prompt = item.prompt()
            return prompt if isinstance(prompt, Failure) else self._messages(prompt)

        return make

    def _messages(self, prompt: Prompt) -> list[dict[str, Any]]:
        """The conversation as the server takes it.

        Raises:
            AudioError: a recording that cannot be decoded, or is longer than `max_audio_seconds`.
            ModelError: an image of an unknown format.
            OSError: an image that cannot be read.
        """
        talk = [
            {"role": turn.role, "content": _content([self._part(part) for part in turn.parts])} for turn in prompt.turns
        ]
        if self._system_prompt is not None and prompt.turns[0].role != "system":
            talk.insert(0, {"role": "system", "content": self._system_prompt})
        return talk

    def _part(self, part: Part) -> dict[str, Any]:
        if part.kind == "text":
            return {"type": "text", "text": part.value}
        if part.kind == "image":
            return {"type": "image_url", "image_url": {"url": image_uri(part.value)}}
        wav = self._wav(part.value)
        if self._form == "audio_url":
            return {"type": "audio_url", "audio_url": {"url": f"data:audio/wav;base64,{wav}"}}
        return {"type": "input_audio", "input_audio": {"data": wav, "format": "wav"}}

    def _wav(self, source: Any) -> str:
        samples, rate = audio.load(source, self._sample_rate)
        if self._longest is not None and len(samples) > self._longest * rate:
            raise ModelError(f"a recording of {len(samples) / rate:.1f} s, more than max_audio_seconds={self._longest}")
        return base64.b64encode(audio.encode_wav(samples, rate)).decode("ascii")


def _content(parts: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """A turn of text alone as plain text: some servers take no parts in the model's or the system's turns."""
    return parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "text" else parts


def _with_seed(item: Item) -> Mapping[str, Any]:
    """The item's generation arguments; where the answer is sampled, with a seed for each time it is asked."""
    if not is_sampled(item.generation) or item.generation.get("seed") is not None:
        return item.generation
    import torch

    place = f"{torch.initial_seed()}\n{item.task}\n{item.doc_id}\n{item.round}\n{item.repeat}"
    return {**item.generation, "seed": draw(place, 2**31)}


def image_uri(source: Any) -> str:
    """An image (a path, its encoded bytes or a `PIL.Image.Image`) as a data URI; files go out as they are.

    Raises:
        ModelError: bytes that are no PNG, JPEG, GIF or WEBP.
        OSError: the file cannot be read.
    """
    if isinstance(source, (str, Path)):
        source = Path(source).read_bytes()
    if not isinstance(source, bytes):
        file = io.BytesIO()
        source.save(file, "PNG")
        source = file.getvalue()
    kind = next((kind for start, kind in _IMAGES.items() if source.startswith(start)), None)
    if kind is None:
        raise ModelError("an image must be PNG, JPEG, GIF or WEBP")
    return f"data:image/{kind};base64,{base64.b64encode(source).decode('ascii')}"


def _key(variable: str) -> str:
    value = os.environ.get(variable, "")
    if not value.strip() and variable != _KEY_VARIABLE:
        raise ModelError(f"api_key_env={variable}: there is no such environment variable, or it is empty")
    return value


def _seconds(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ModelError(f"{name} must be a number of seconds above 0, not {value!r}")
    return float(value)


def _json_object(name: str, value: Any) -> dict[str, Any]:
    """`value` as a JSON object, read from the file it names where it is none itself; {} for None."""
    if value is None or isinstance(value, dict):
        return value or {}
    told = str(value).strip()
    try:
        found = json.loads(told if told.startswith("{") else Path(told).expanduser().read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{name} must be a JSON object or a file that holds one: {error}") from error
    if not isinstance(found, dict):
        raise ModelError(f"{name} must be a JSON object, not {type(found).__name__}")
    return found
