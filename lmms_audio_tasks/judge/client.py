"""The judge's server: what it is asked, and what is wrong with what it says."""

from __future__ import annotations

from dataclasses import dataclass

from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.judge.settings import JudgeSettings, clean_url
from lmms_audio_tasks.servers.completion import Completion
from lmms_audio_tasks.servers.server import RequestFailed, Server, Wording


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


class JudgeClient:
    """The judge's `Server` and a client for it. Use it as an async context manager.

    Raises:
        AudioTasksError: no key, and the server is OpenAI's.
    """

    def __init__(self, settings: JudgeSettings) -> None:
        settings.require_key()
        self._fields = {
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "max_tokens": settings.max_tokens,
        }
        self._server = Server(
            settings.model,
            settings.base_url,
            settings.api_key,
            timeout=settings.timeout,
            max_retries=settings.max_retries,
            give_up_after=settings.give_up_after,
            wording=Wording(
                stopped=JudgeStopped,
                server="the judge",
                url=clean_url(settings.base_url),
                failing="the judge",
                key_refused="refused the key (status {status}): set OPENAI_API_KEY",
                # The base URL may hold a password.
                causes=False,
            ),
        )
        self._client = self._server.connect()

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
            reply = await self._server.complete(self._client, {"messages": messages, **self._fields})
        except RequestFailed as error:
            return Answer("", f"request failed: {error}")
        return Answer(reply.text or reply.refusal, _problem(reply), reply.prompt_tokens, reply.completion_tokens)


def _problem(reply: Completion) -> str:
    if reply.cut:
        return "truncated"
    if reply.refusal:
        return "refused"
    if reply.filtered:
        return "filtered"
    return "" if reply.text.strip() else "empty"
