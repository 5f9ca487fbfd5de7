"""One model of one server, asked through the openai library: what to try again, what was wrong, when to give up."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.servers.address import one_line
from lmms_audio_tasks.servers.completion import Completion, MalformedReply, read_completion

if TYPE_CHECKING:
    from openai import AsyncOpenAI

logger = logging.getLogger(__name__)

_MALFORMED_TRIES = 3


class RequestFailed(Exception):
    """One request came to nothing, with all its tries.

    Args:
        why: one line without the key.
        own_fault: whether the status tells of this request (too long, say), not of the server.
    """

    def __init__(self, why: str, own_fault: bool = False) -> None:
        self.own_fault = own_fault
        super().__init__(why)


@dataclass(frozen=True, slots=True)
class Wording:
    """How the troubles of a server are told to whoever has it asked.

    Attributes:
        stopped: the error raised where there is no use in asking on.
        server: what the server is called.
        url: its address, in which there is no secret.
        failing: what is said to fail where all requests do.
        key_refused: what is said of a server that does not take the key, with a place for the `{status}`.
        causes: whether to tell why a connection was lost, which may quote the address as it was given.
    """

    stopped: type[AudioTasksError]
    server: str
    url: str
    failing: str
    key_refused: str
    causes: bool


@cache
def _certificates() -> ssl.SSLContext:
    """The certificates to trust; reading them takes longer than all else that a client takes to make."""
    import httpx

    return httpx.create_ssl_context()


class Server:
    """One model of one server, and how it has done so far.

    Lost connections, timeouts and the statuses 408, 409, 429 and 5xx are tried again by the library, with pauses that
    double from 0.5 s to 8 s, or as long as `Retry-After` says (up to two minutes); replies that are no chat completion
    are tried again here.

    Args:
        model: the name the server knows it by.
        url: the server's address, as requests go there.
        key: "" for none.
        timeout: seconds one request may take before it is tried again.
        max_retries: how often one request is tried again.
        give_up_after: after so many requests in a row that failed with all their retries, there is no asking on.
        wording: how its troubles are told.
        own_faults: statuses that tell of one request, not of the server: they do not count towards giving up.
    """

    def __init__(
        self,
        model: str,
        url: str,
        key: str,
        *,
        timeout: float,
        max_retries: int,
        give_up_after: int,
        wording: Wording,
        own_faults: Collection[int] = (),
    ) -> None:
        self._model = model
        self._url = url
        self._key = key
        self._timeout = timeout
        self._max_retries = max_retries
        self._give_up_after = give_up_after
        self._wording = wording
        self._own_faults = own_faults
        self._failures = 0
        self._takes_max_tokens = True

    def connect(self) -> AsyncOpenAI:
        """A client for `complete`, to be used in one event loop and closed there (an async context manager)."""
        import openai

        return openai.AsyncOpenAI(
            # The library insists on a key; servers of one's own mostly take any.
            api_key=self._key or "none",
            base_url=self._url,
            timeout=self._timeout,
            max_retries=self._max_retries,
            http_client=openai.DefaultAsyncHttpxClient(verify=_certificates()),
        )

    async def complete(self, client: AsyncOpenAI, body: Mapping[str, Any]) -> Completion:
        """Ask for one completion.

        Args:
            client: what `connect` gave.
            body: the request's fields besides `model`. `max_tokens` goes out as `max_completion_tokens` once the
                server has asked for that.

        Raises:
            RequestFailed: it came to nothing.
            wording.stopped: the key or the model is refused, the quota is used up, or `give_up_after` requests in a row
                have failed with all their retries.
        """
        import openai

        try:
            completion = await self._post(client, {"model": self._model, **body})
        except openai.APIStatusError as error:
            self._stop_if_hopeless(error)
            why = f"status {error.status_code}: {_server_text(error)}"
            raise self._failed(why, error.status_code in self._own_faults) from None
        except openai.APIError as error:
            # "Connection error." alone does not tell a closed port from a name that does not exist.
            cause = f" ({error.__cause__})" if self._wording.causes and str(error.__cause__ or "") else ""
            raise self._failed(f"{error.message}{cause}") from None
        except MalformedReply as error:
            raise self._failed(f"a reply that is no chat completion: {error}") from None
        self._failures = 0
        return completion

    async def _post(self, client: AsyncOpenAI, body: Mapping[str, Any]) -> Completion:
        import openai

        for left in reversed(range(min(_MALFORMED_TRIES, self._max_retries + 1))):
            sent = body if self._takes_max_tokens else _with_max_completion_tokens(body)
            try:
                # What `chat.completions.create` sends, as plain JSON both ways: a third less processor time a request,
                # and a reply that lacks fields is no half-made object.
                return read_completion(await client.post("/chat/completions", cast_to=object, body=sent))
            except openai.BadRequestError as error:
                if "max_tokens" not in sent or "max_completion_tokens" not in _server_text(error):
                    raise
                self._use_max_completion_tokens()
                return await self._post(client, body)
            except (ValueError, MalformedReply) as error:
                if not left:
                    raise MalformedReply(error) from None
                await asyncio.sleep(0.5 * (_MALFORMED_TRIES - left))
        raise AssertionError("unreachable")

    def _use_max_completion_tokens(self) -> None:
        if self._takes_max_tokens:
            self._takes_max_tokens = False
            logger.warning("%s does not take max_tokens; sending max_completion_tokens from now on", self._model)

    def _failed(self, why: str, own_fault: bool = False) -> Exception:
        """What is to be raised where a request failed."""
        told = one_line(why, self._key)
        if own_fault:
            return RequestFailed(told, own_fault)
        self._failures += 1
        if self._failures < self._give_up_after:
            return RequestFailed(told)
        words = self._wording
        return words.stopped(
            f"{words.failing} at {words.url} failed {self._failures} requests in a row, "
            f"with {self._max_retries} retries each; the last: {told}"
        )

    def _stop_if_hopeless(self, error: Any) -> None:
        """Raise for what would fail in the same way for every request."""
        words = self._wording
        server = f"{words.server} at {words.url}"
        told = one_line(_server_text(error), self._key)
        # Gemini's server answers a wrong key with 400.
        if error.status_code == 401 or (error.status_code == 400 and "api key" in told.lower()):
            # The server's own text may quote the key.
            raise words.stopped(f"{server} {words.key_refused.format(status=error.status_code)}") from None
        if error.status_code == 403:
            raise words.stopped(f"{server} refused access (status 403): {told}") from None
        if error.status_code == 404:
            hint = "" if "/v" in words.url else "; does the address lack a /v1 at its end?"
            raise words.stopped(
                f"{server} does not know the model {self._model!r} (status 404): {told}{hint}"
            ) from None
        if error.code == "insufficient_quota":
            raise words.stopped(f"the quota at {words.url} is used up: {told}") from None


def _with_max_completion_tokens(body: Mapping[str, Any]) -> Mapping[str, Any]:
    rest = {name: value for name, value in body.items() if name != "max_tokens"}
    return {"max_completion_tokens": body["max_tokens"], **rest} if "max_tokens" in body else rest


def _server_text(error: Any) -> str:
    """The server's own message without the library's frame around it."""
    message = error.body.get("message") if isinstance(error.body, dict) else None
    return message if isinstance(message, str) else error.message
