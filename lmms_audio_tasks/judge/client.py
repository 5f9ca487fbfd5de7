"""One judge server, asked through the openai library: what came back, what was wrong with it, when to give up."""

from __future__ import annotations

import asyncio
import re
import ssl
from dataclasses import dataclass
from functools import cache
from typing import Any

from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.judge.settings import JudgeSettings, clean_url

_MALFORMED_TRIES = 3
_LONGEST_TOLD = 300


class JudgeStopped(AudioTasksError):
    """The server cannot judge at all: a refused key, an unknown model, or nothing but failures."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one request came to.

    Attributes:
        text: the judge's reply, "" where there is none.
        problem: why the reply cannot count, whatever it says: `truncated`, `refused`, `filtered`, `empty`, or
            `request failed: ...`; "" where it can.
    """

    text: str
    problem: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def failed(self) -> bool:
        """Whether the server gave no reply at all."""
        return self.problem.startswith("request failed")


@cache
def _certificates() -> ssl.SSLContext:
    """The certificates to trust; reading them takes longer than all else that a client takes to make."""
    import httpx

    return httpx.create_ssl_context()


class _Malformed(Exception):
    """A reply with status 200 that is no chat completion."""


class JudgeClient:
    """An `AsyncOpenAI` client with this project's view of failures. Use it as an async context manager.

    Lost connections, timeouts and the statuses 408, 409, 429 and 5xx are tried again by the library, with its back-off
    and after what `Retry-After` says; replies that are no chat completion are tried again here.

    Raises:
        AudioTasksError: no key, and the server is OpenAI's.
    """

    def __init__(self, settings: JudgeSettings) -> None:
        import openai

        settings.require_key()
        self._openai = openai
        self._settings = settings
        self._failures = 0
        self._client = openai.AsyncOpenAI(
            # The library insists on a key; servers of one's own mostly take any.
            api_key=settings.api_key or "none",
            base_url=settings.base_url,
            timeout=settings.timeout,
            max_retries=settings.max_retries,
            http_client=openai.DefaultAsyncHttpxClient(verify=_certificates()),
        )

    async def __aenter__(self) -> JudgeClient:
        """The client itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close its connections."""
        await self._client.close()

    async def ask(self, messages: list[dict[str, str]]) -> Answer:
        """Send one request.

        Raises:
            JudgeStopped: the key or the model is refused, the quota is used up, or `give_up_after` requests in a row
                have failed with all their retries.
        """
        try:
            answer = await self._completion(messages)
        except self._openai.APIStatusError as error:
            self._stop_if_hopeless(error)
            return self._failed(f"status {error.status_code}: {_server_text(error)}")
        except self._openai.APIError as error:
            return self._failed(error.message)
        except _Malformed as error:
            return self._failed(str(error))
        self._failures = 0
        return answer

    async def _completion(self, messages: list[dict[str, str]]) -> Answer:
        settings = self._settings
        body = {
            "model": settings.model,
            "messages": messages,
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "max_tokens": settings.max_tokens,
        }
        for left in reversed(range(min(_MALFORMED_TRIES, settings.max_retries + 1))):
            try:
                # What `chat.completions.create` sends, as plain JSON both ways: a third less processor time a request,
                # and a reply that lacks fields is no half-made object.
                return _read(await self._client.post("/chat/completions", cast_to=object, body=body))
            except (ValueError, _Malformed) as error:
                if not left:
                    raise _Malformed(f"a reply that is no chat completion: {error}") from None
                await asyncio.sleep(0.5 * (_MALFORMED_TRIES - left))
        raise AssertionError("unreachable")

    def _failed(self, why: str) -> Answer:
        why = self._told(why)
        self._failures += 1
        if self._failures >= self._settings.give_up_after:
            raise JudgeStopped(
                f"the judge at {clean_url(self._settings.base_url)} failed {self._failures} requests in a row, "
                f"with {self._settings.max_retries} retries each; the last: {why}"
            )
        return Answer("", f"request failed: {why}")

    def _stop_if_hopeless(self, error: Any) -> None:
        """Raise for what would fail in the same way for every request."""
        server = clean_url(self._settings.base_url)
        told = self._told(_server_text(error))
        if error.status_code == 401:
            # The server's own text may quote the key.
            raise JudgeStopped(f"the judge at {server} refused the key (status 401): set OPENAI_API_KEY") from None
        if error.status_code == 403:
            raise JudgeStopped(f"the judge at {server} refused access (status 403): {told}") from None
        if error.status_code == 404:
            model = self._settings.model
            raise JudgeStopped(
                f"the judge at {server} does not know the model {model!r} (status 404): {told}"
            ) from None
        if error.code == "insufficient_quota":
            raise JudgeStopped(f"the quota at {server} is used up: {told}") from None

    def _told(self, text: str) -> str:
        """`text` as one short line without the key or anything that looks like one."""
        if self._settings.api_key:
            text = text.replace(self._settings.api_key, "***")
        return _one_line(re.sub(r"\bsk-[\w*.-]{4,}", "***", text))


def _one_line(text: object) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= _LONGEST_TOLD else f"{line[:_LONGEST_TOLD]}..."


def _read(completion: object) -> Answer:
    """A chat completion as an `Answer`; servers leave out fields, so nothing is taken for granted.

    Raises:
        _Malformed: there is no message in it.
    """
    choices = _field(completion, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = _field(choice, "message")
    if not isinstance(message, dict):
        # Gateways report an upstream failure with status 200 and an `error` where the choices should be.
        raise _Malformed(_field(completion, "error") or completion)
    content, refusal = message.get("content"), message.get("refusal")
    text = content if isinstance(content, str) else ""
    usage = _field(completion, "usage")
    return Answer(
        text or str(refusal or ""),
        _problem(text, refusal, _field(choice, "finish_reason")),
        _count(usage, "prompt_tokens"),
        _count(usage, "completion_tokens"),
    )


def _field(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _server_text(error: Any) -> str:
    """The server's own message without the library's frame around it."""
    message = error.body.get("message") if isinstance(error.body, dict) else None
    return message if isinstance(message, str) else error.message


def _problem(text: str, refusal: object, finish_reason: object) -> str:
    if finish_reason == "length":
        return "truncated"
    if refusal:
        return "refused"
    if finish_reason == "content_filter":
        return "filtered"
    return "" if text.strip() else "empty"


def _count(usage: object, name: str) -> int:
    value = _field(usage, name)
    return value if isinstance(value, int) and value >= 0 else 0
