"""A model behind an OpenAI-compatible server: many conversations at once, each answer handed on as soon as it is there.

The requests run in an event loop in a thread of its own, so that callers are plain generators.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.chat_body import MalformedReply, Reply, Usage, body_fields, read_completion
from lmms_audio_tasks.models.chat_secrets import checked_key, checked_url, one_line
from lmms_audio_tasks.models.failures import Failure

logger = logging.getLogger(__name__)

OPENAI_URL = "https://api.openai.com/v1"
_MALFORMED_TRIES = 3
_ITEMS_OWN_FAULT = (400, 413, 415, 422)
"""Statuses that tell of one request (too long, say), not of the server."""

Messages = Sequence[Mapping[str, Any]]
Conversation = Messages | Callable[[], Messages | Failure]
"""Messages as the server takes them, or what makes them: called in a thread just before they are sent, so that no more
recordings are in memory than requests are under way."""


class ChatServer:
    """One model of one server.

    Lost connections, timeouts and the statuses 408, 409, 429 and 5xx are tried again by the openai library, with pauses
    that double from 0.5 s to 8 s, or as long as `Retry-After` says (up to two minutes); replies that are no chat
    completion are tried again here.

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
        self.url = checked_url(base_url or os.environ.get("OPENAI_BASE_URL", "").strip() or OPENAI_URL)
        self._key = checked_key(os.environ.get("OPENAI_API_KEY", "") if api_key is None else api_key)
        if not self._key and self.url == OPENAI_URL:
            raise ModelError("OpenAI's server needs a key: set OPENAI_API_KEY, or base_url= for another server")
        self.concurrency = concurrency
        self.usage = Usage()
        self._timeout = timeout
        self._max_retries = max_retries
        self._give_up_after = give_up_after
        self._max_new_tokens = max_new_tokens
        self._extra_body = dict(extra_body or {})
        self._limit_field = "max_tokens"
        self._failures = 0

    def ask_all(
        self, conversations: Sequence[Conversation], generations: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[int, str | Failure]]:
        """Yield each conversation's number and the model's answer, in the order in which they come.

        A refusal is an answer, which begins with `chat_body.REFUSED`. Leaving the generator early cancels what is under
        way.

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
        answers: queue.SimpleQueue[tuple[int, str | Failure] | BaseException | None] = queue.SimpleQueue()
        run = _Run(lambda: self._work_off(list(zip(conversations, settings, strict=True)), answers.put), answers.put)
        before = self.usage.refusals, self.usage.nothing_said, self.usage.at_the_limit
        try:
            while (found := answers.get()) is not None:
                if isinstance(found, BaseException):
                    raise found
                yield found
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

    async def _work_off(self, todo: Sequence[tuple[Conversation, Any]], done: Callable[[Any], None]) -> None:
        """As many workers as there may be requests under way share one list."""
        import openai

        rest = iter(enumerate(todo))
        async with openai.AsyncOpenAI(
            # The library insists on a key; servers of one's own mostly take any.
            api_key=self._key or "none",
            base_url=self.url,
            timeout=self._timeout,
            max_retries=self._max_retries,
        ) as client:

            async def work() -> None:
                for index, (conversation, generation) in rest:
                    done((index, await self._answer(client, conversation, generation)))

            workers = [asyncio.create_task(work()) for _ in range(min(self.concurrency, len(todo)))]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)

    async def _answer(self, client: Any, conversation: Conversation, generation: Any) -> str | Failure:
        import openai

        try:
            messages = await asyncio.to_thread(conversation) if callable(conversation) else conversation
        except Exception as error:
            return Failure.of(error)
        if isinstance(messages, Failure):
            return messages
        try:
            reply = await self._completion(client, messages, generation.keywords)
        except openai.APIStatusError as error:
            self._stop_if_hopeless(error)
            why = f"status {error.status_code}: {one_line(_server_text(error), self._key)}"
            return Failure(why) if error.status_code in _ITEMS_OWN_FAULT else self._failed(why)
        except openai.APIError as error:
            # "Connection error." alone does not tell a closed port from a name that does not exist.
            cause = f" ({error.__cause__})" if str(error.__cause__ or "") else ""
            return self._failed(f"{error.message}{cause}")
        except MalformedReply as error:
            return self._failed(f"a reply that is no chat completion: {error}")
        self._failures = 0
        self.usage.add(reply)
        return generation.cut(reply.text)

    async def _completion(self, client: Any, messages: Messages, fields: dict[str, Any]) -> Reply:
        import openai

        limit = fields.pop("max_tokens")
        for left in reversed(range(min(_MALFORMED_TRIES, self._max_retries + 1))):
            limit_field = self._limit_field
            body = {"model": self.model, "messages": messages, **fields, limit_field: limit, **self._extra_body}
            try:
                # Plain JSON both ways, so that a reply that lacks fields is no half-made object.
                return read_completion(await client.post("/chat/completions", cast_to=object, body=body))
            except openai.BadRequestError as error:
                if limit_field != "max_tokens" or "max_completion_tokens" not in _server_text(error):
                    raise
                self._use_max_completion_tokens()
                return await self._completion(client, messages, {**fields, "max_tokens": limit})
            except (ValueError, MalformedReply) as error:
                if not left:
                    raise MalformedReply(error) from None
                await asyncio.sleep(0.5 * (_MALFORMED_TRIES - left))
        raise AssertionError("unreachable")

    def _use_max_completion_tokens(self) -> None:
        if self._limit_field == "max_tokens":
            self._limit_field = "max_completion_tokens"
            logger.warning("%s does not take max_tokens; sending max_completion_tokens from now on", self.model)

    def _failed(self, why: str) -> Failure:
        told = one_line(why, self._key)
        self._failures += 1
        if self._failures >= self._give_up_after:
            raise ModelError(
                f"{self.model} at {self.url} failed {self._failures} requests in a row, "
                f"with {self._max_retries} retries each; the last: {told}"
            )
        return Failure(f"request failed: {told}")

    def _stop_if_hopeless(self, error: Any) -> None:
        """Raise for what would fail in the same way for every request."""
        told = one_line(_server_text(error), self._key)
        # Gemini's server answers a wrong key with 400.
        if error.status_code == 401 or (error.status_code == 400 and "api key" in told.lower()):
            # The server's own text may quote the key.
            raise ModelError(
                f"the server at {self.url} {'refused the key' if self._key else 'wants a key'} (status "
                f"{error.status_code}); it is read from OPENAI_API_KEY, or from what api_key_env= names"
            ) from None
        if error.status_code == 403:
            raise ModelError(f"the server at {self.url} refused access (status 403): {told}") from None
        if error.status_code == 404:
            raise ModelError(
                f"the server at {self.url} does not know the model {self.model!r} (status 404): {told}"
            ) from None
        if error.code == "insufficient_quota":
            raise ModelError(f"the quota at {self.url} is used up: {told}") from None


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

    def stop(self) -> None:
        """Cancel what is not done, and wait for it."""
        if self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # the loop may close in between
                self._loop.call_soon_threadsafe(self._task.cancel)
            self._thread.join()


def _server_text(error: Any) -> str:
    """The server's own message without the library's frame around it."""
    message = error.body.get("message") if isinstance(error.body, dict) else None
    return message if isinstance(message, str) else error.message
