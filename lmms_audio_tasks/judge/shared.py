"""One judge for many threads: one client, one limit on requests under way, each thing asked once.

For work that asks for a few verdicts at a time from several places at once, such as episodes along task graphs. Where
all requests are known at the start, `run.judge` is simpler.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from typing import Any, NamedTuple, TypeVar

from lmms_audio_tasks.judge.asking import Tally, ask_one
from lmms_audio_tasks.judge.cache import Entry, VerdictCache, request_key
from lmms_audio_tasks.judge.client import JudgeClient, JudgeStopped
from lmms_audio_tasks.judge.prompt import KINDS, JudgeRequest, load_prompts
from lmms_audio_tasks.judge.run import Judgement, warn_of_undelimited, without_asking
from lmms_audio_tasks.judge.settings import JudgeSettings

_T = TypeVar("_T")


class _Known(NamedTuple):
    """A verdict, and whether the cache had it."""

    entry: Entry
    cached: bool


class SharedJudge:
    """The language model as a judge, for any number of threads; a context manager.

    Nothing is opened before the first request that has to be asked or looked up. Verdicts go into the same cache as
    those of `run.judge`, each as soon as it is there. Once the server has turned out to be of no use (`JudgeStopped`),
    every later request that is not in the cache is refused at once with the same words.

    Args:
        settings: `mode` is not looked at.

    Raises:
        DataError: a prompt file cannot be used.
    """

    def __init__(self, settings: JudgeSettings) -> None:
        self._settings = settings
        self._prompts = load_prompts(settings.prompt, KINDS)
        self._versions = {kind: prompt.version for kind, prompt in self._prompts.items()}
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        # The rest is touched within the loop's thread only.
        self._cache: VerdictCache | None = None
        self._client: JudgeClient | None = None
        self._free: asyncio.Semaphore | None = None
        self._under_way: dict[str, asyncio.Task[_Known]] = {}
        self._stopped = ""
        self.tally = Tally()
        """What was sent and used so far."""

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Judgement]:
        """The judgements on `requests`, in order; blocks until all are there. See `run.judge` for what they are.

        Raises:
            JudgeStopped: the server cannot judge.
            DataError: the cache cannot be used.
            AudioTasksError: there is something to ask but no key.
        """
        told = [without_asking(request) for request in requests]
        asked = [request for request, judgement in zip(requests, told, strict=True) if judgement is None]
        found = iter(self._await(self._judge_all(asked)) if asked else ())
        return [judgement or next(found) for judgement in told]

    def __enter__(self) -> SharedJudge:
        """The judge itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections and the cache; later requests open them again."""
        with self._lock:
            if self._loop is None or self._thread is None:
                return
            asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = self._thread = None

    def _await(self, work: Coroutine[Any, Any, _T]) -> _T:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                # A daemon, so that a judge that nobody closed keeps no process alive.
                self._thread = threading.Thread(target=self._loop.run_forever, name="judge", daemon=True)
                self._thread.start()
            loop = self._loop
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    async def _judge_all(self, requests: Sequence[JudgeRequest]) -> list[Judgement]:
        found = await asyncio.gather(*map(self._one, requests), return_exceptions=True)
        for one in found:
            if isinstance(one, BaseException):
                raise one
        return [one for one in found if isinstance(one, Judgement)]

    async def _one(self, request: JudgeRequest) -> Judgement:
        key = request_key(request, self._versions[request.kind], self._settings)
        task = self._under_way.get(key)
        if task is None:
            task = self._under_way[key] = asyncio.ensure_future(self._ask(key, request))
            task.add_done_callback(lambda _: self._under_way.pop(key, None))
        entry, cached = await asyncio.shield(task)
        return Judgement(entry.verdict, entry.text, "cache" if cached else "llm", entry.problem)

    async def _ask(self, key: str, request: JudgeRequest) -> _Known:
        if self._cache is None:
            self._cache = VerdictCache(self._settings.cache_file)
        known = self._cache.get(key)
        if known is not None:
            return _Known(known, True)
        if self._free is None:
            self._free = asyncio.Semaphore(self._settings.concurrency)
        async with self._free:
            if self._stopped:
                raise JudgeStopped(self._stopped)
            if self._client is None:
                self._client = JudgeClient(self._settings)
                warn_of_undelimited(self._prompts, self._settings)
            try:
                entry = await ask_one(self._client, self._prompts[request.kind], request, self.tally)
            except JudgeStopped as stop:
                self._stopped = str(stop)
                raise
        self._cache.put(key, entry, self._settings.model)
        return _Known(entry, False)

    async def _close(self) -> None:
        for task in list(self._under_way.values()):
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)
        if self._client is not None:
            await self._client.__aexit__()
        if self._cache is not None:
            self._cache.__exit__()
        self._client = self._cache = self._free = None
