"""A model behind an OpenAI-compatible server: many conversations at once, each answer handed on as soon as it is there.

The requests run in an event loop in a thread of its own, so that callers are plain generators.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.chat_body import Usage, answer_text, body_fields
from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.models.generation import Generation
from lmms_audio_tasks.servers.address import (
    OPENAI_URL,
    checked_key,
    key_from_environment,
    url_from_environment,
    url_parts,
)
from lmms_audio_tasks.servers.server import RequestFailed, Server, Wording
from lmms_audio_tasks.servers.workers import work_off

if TYPE_CHECKING:
    from openai import AsyncOpenAI

logger = logging.getLogger(__name__)

_ITEMS_OWN_FAULT = (400, 413, 415, 422)
"""Statuses that tell of one request (too long, say), not of the server."""

Messages = Sequence[Mapping[str, Any]]
Conversation = Messages | Callable[[], Messages | Failure]
"""Messages as the server takes them, or what makes them: called in a thread just before they are sent, so that no more
recordings are in memory than requests are under way."""


class ChatServer:
    """One model of one server; what is tried again, and when, see `servers.server.Server`.

    Args:
        model: the name the server knows it by.
        base_url: None for the environment variable `OPENAI_BASE_URL`, else OpenAI's own.
        api_key: None for `OPENAI_API_KEY`. It is in no log, error or repr.
        concurrency: how many requests are under way at once.
        timeout: seconds the server may stay silent on one request before it is tried again.
        max_retries: how often one request is tried again.
        give_up_after: after so many requests in a row that failed with all their retries, the run stops.
        max_new_tokens: overrides the tasks'.
        extra_body: further fields of every request; they win over all others.

    Attributes:
        url: the server's address, in which there is no secret.
        usage: what was asked and used so far.

    Raises:
        ModelError: a value that cannot work, or no key for OpenAI's own server.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        concurrency: int = 16,
        timeout: float = 120.0,
        max_retries: int = 8,
        give_up_after: int = 10,
        max_new_tokens: int | None = None,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        if not timeout > 0:
            raise ModelError(f"timeout must be above 0 seconds, not {timeout!r}")
        self.model = model
        self.url = _checked_url(base_url or url_from_environment())
        key = checked_key(key_from_environment() if api_key is None else api_key, "the server's key", ModelError)
        if not key and self.url == OPENAI_URL:
            raise ModelError("OpenAI's server needs a key: set OPENAI_API_KEY, or base_url= for another server")
        self.concurrency = concurrency
        self.usage = Usage()
        self._max_new_tokens = max_new_tokens
        self._extra_body = dict(extra_body or {})
        self._server = Server(
            model,
            self.url,
            key,
            timeout=timeout,
            max_retries=max_retries,
            give_up_after=give_up_after,
            wording=Wording(
                stopped=ModelError,
                server="the server",
                url=self.url,
                failing=model,
                key_refused=f"{'refused the key' if key else 'wants a key'} (status {{status}}); it is read from "
                "OPENAI_API_KEY, or from what api_key_env= names",
                causes=True,
            ),
            own_faults=_ITEMS_OWN_FAULT,
        )

    def ask_all(
        self, conversations: Sequence[Conversation], generations: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[int, str | Failure]]:
        """Yield each conversation's number and the model's answer, in the order in which they come.

        A refusal is an answer, which begins with `records.REFUSED`. Leaving the generator early cancels what is under
        way. No worker sends its next request before its last answer has been taken and the one after it asked for: with
        a caller that writes each answer down first, a killed run loses `concurrency` answers at the most.

        Args:
            conversations: what to ask.
            generations: for each, the task's generation arguments (see `chat_body.body_fields`), and `seed` where the
                server is to be given one.

        Raises:
            ModelError: an unknown generation argument, before anything is asked; or the server cannot answer at all:
                the key or the model is refused, the quota is used up, or `give_up_after` requests in a row have failed
                with all their retries. All answers that came before have been yielded.
        """
        settings = [body_fields(generation, self._max_new_tokens) for generation in generations]
        if len(settings) != len(conversations):
            raise ValueError(f"{len(conversations)} conversations, but {len(settings)} generation arguments")
        answers: queue.SimpleQueue[_Answer | BaseException | None] = queue.SimpleQueue()
        run = _Run(lambda: self._work_off(list(zip(conversations, settings, strict=True)), answers.put), answers.put)
        before = self.usage.refusals, self.usage.nothing_said, self.usage.at_the_limit
        try:
            while (found := answers.get()) is not None:
                if isinstance(found, BaseException):
                    raise found
                yield found.number, found.text
                run.call(found.taken.set)
        finally:
            run.stop()
            self._tell(*before)

    def _tell(self, refusals: int, nothing_said: int, at_the_limit: int) -> None:
        usage = self.usage
        names = ", ".join(usage.models)
        logger.info("%s at %s: %s%s", self.model, self.url, usage, f"; answered as {names}" if names else "")
        if usage.refusals > refusals:
            logger.warning("%s refused %d answers; they count as answers", self.model, usage.refusals - refusals)
        if usage.nothing_said > nothing_said:
            logger.warning(
                "%s gave %d empty answers, %d of them because max_new_tokens was used up before any text",
                self.model,
                usage.nothing_said - nothing_said,
                usage.at_the_limit - at_the_limit,
            )

    async def _work_off(self, todo: Sequence[tuple[Conversation, Generation]], done: Callable[[Any], None]) -> None:
        async with self._server.connect() as client:

            async def ask(one: tuple[int, tuple[Conversation, Generation]]) -> None:
                number, (conversation, generation) = one
                answer = _Answer(number, await self._answer(client, conversation, generation), asyncio.Event())
                done(answer)
                await answer.taken.wait()

            await work_off(list(enumerate(todo)), self.concurrency, ask)

    async def _answer(self, client: AsyncOpenAI, conversation: Conversation, generation: Generation) -> str | Failure:
        try:
            messages = await asyncio.to_thread(conversation) if callable(conversation) else conversation
        except Exception as error:
            return Failure.of(error)
        if isinstance(messages, Failure):
            return messages
        try:
            body = {"messages": messages, **generation.keywords, **self._extra_body}
            reply = await self._server.complete(client, body)
        except RequestFailed as error:
            return Failure(str(error) if error.own_fault else f"request failed: {error}")
        self.usage.add(reply)
        return generation.cut(answer_text(reply))


class _Answer(NamedTuple):
    number: int
    text: str | Failure
    taken: asyncio.Event
    """Set, in the loop's thread, when the caller has done with it."""


class _Run:
    """A coroutine in an event loop in a thread of its own; `done` is called with what it raised, or None."""

    def __init__(self, make: Callable[[], Any], done: Callable[[BaseException | None], None]) -> None:
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] = self._loop.create_task(make())
        self._done = done
        self._thread = threading.Thread(target=self._run, name="chat server", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        outcome: BaseException | None = None
        try:
            self._loop.run_until_complete(self._task)
        except asyncio.CancelledError:
            pass
        except BaseException as error:
            outcome = error
        finally:
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()
            self._done(outcome)

    def call(self, function: Callable[[], object]) -> None:
        """Call it in the loop's thread; not at all where the loop has ended."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function)

    def stop(self) -> None:
        """Cancel what is not done, and wait for it."""
        if self._thread.is_alive():
            self.call(self._task.cancel)
            self._thread.join()


def _checked_url(url: str) -> str:
    """`url` without a slash at its end.

    Raises:
        ModelError: not an http or https URL with a host; or one that may hold a secret (user, password, query), which
            the host's results file would show. The URL itself is not quoted then.
    """
    parts = url_parts(url, "base_url", ModelError)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ModelError(
            "base_url must not hold a user, password or query: it stands in logs and results; a key goes into the "
            "environment variable OPENAI_API_KEY"
        )
    return url.rstrip("/")
