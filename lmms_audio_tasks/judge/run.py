"""Judge many responses at once: what is known comes from the cache, the rest is asked, each thing once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from lmms_audio_tasks.judge.asking import Prompts, Tally, ask_all
from lmms_audio_tasks.judge.cache import Entry, VerdictCache, request_key
from lmms_audio_tasks.judge.prompt import JudgeRequest, load_prompts
from lmms_audio_tasks.judge.settings import JudgeSettings
from lmms_audio_tasks.records import is_error

logger = logging.getLogger(__name__)

JudgeVerdict = Literal["correct", "incorrect", "unjudged", "error"]
How = Literal["llm", "cache", "empty", "error", "stopped"]
_Asker = Callable[[Mapping[str, JudgeRequest], Prompts, VerdictCache, Tally], dict[str, Entry]]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one response.

    Attributes:
        verdict: `correct` or `incorrect`; `unjudged` where the judge gave no usable verdict; `error` where the model
            had failed, so that there is no response to judge.
        text: the judge's reply as it came, "" where it was not asked.
        how: `llm` (asked in this run), `cache` (in an earlier one), `empty` (an empty response commits to nothing, so
            it is incorrect without a call), `error`, or `stopped` (not asked, as the judge had stopped).
        problem: why it is `unjudged`, "" otherwise.
    """

    verdict: JudgeVerdict
    text: str
    how: How
    problem: str = ""


@dataclass(frozen=True, slots=True)
class JudgeOutcome:
    """All verdicts of a run, in the order of the requests, and what they took.

    Attributes:
        calls: requests sent in this run, without the library's retries.
        cached: how many of the judgements came out of the cache.
        cost: of this run's calls, in the currency of the prices; None where no prices are set.
    """

    judgements: list[Judgement] = field(repr=False)
    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None

    @property
    def unjudged(self) -> int:
        """How many responses have no usable verdict."""
        return sum(judgement.verdict == "unjudged" for judgement in self.judgements)

    def summary(self) -> str:
        """One line for people."""
        tokens = f"{self.prompt_tokens} + {self.completion_tokens} tokens"
        cost = "" if self.cost is None else f", cost about {self.cost:.4f}"
        return f"judge: {self.calls} calls, {self.cached} from the cache, {self.unjudged} unjudged, {tokens}{cost}"


def judge(requests: Sequence[JudgeRequest], settings: JudgeSettings, progress: bool = True) -> JudgeOutcome:
    """Judge `requests` with the language model; `settings.mode` is not looked at.

    Blocks until done; may be called from several threads at once, each with a client of its own (`shared.SharedJudge`
    is one client for many threads). Each verdict is in the cache as soon as it is there, so that a run that ends early,
    in whatever way, is gone on with by starting it again: only what has no verdict is asked. No requests: an empty
    outcome.

    Args:
        progress: whether to show a progress bar where standard error is a terminal.

    Raises:
        JudgeStopped: the server cannot judge, see `JudgeClient.ask`.
        DataError: the prompt file or the cache cannot be used.
        AudioTasksError: there is something to ask but no key.
    """

    def ask(todo: Mapping[str, JudgeRequest], prompts: Prompts, cache: VerdictCache, tally: Tally) -> dict[str, Entry]:
        warn_of_undelimited(prompts, settings)
        return ask_all(todo, prompts, settings, cache, tally, progress)

    outcome = _outside_any_loop(lambda: _judge(requests, settings, ask, "llm"))
    if outcome.unjudged:
        logger.warning(
            "%d of %d responses are unjudged; they count as not correct, and the next run asks for them again",
            outcome.unjudged,
            len(requests),
        )
    return outcome


def judge_from_cache(requests: Sequence[JudgeRequest], settings: JudgeSettings, problem: str) -> JudgeOutcome:
    """What is known about `requests` without asking; the rest is `unjudged`, with `problem` as the reason.

    Raises:
        DataError: the prompt file or the cache cannot be used.
    """

    def ask(todo: Mapping[str, JudgeRequest], *_: object) -> dict[str, Entry]:
        return dict.fromkeys(todo, Entry("unjudged", "", problem, 0, 0))

    return _judge(requests, settings, ask, "stopped")


def warn_of_undelimited(prompts: Prompts, settings: JudgeSettings) -> None:
    """Say where a template of the user's does not mark the response's ends."""
    for kind, prompt in prompts.items():
        if not prompt.delimits:
            logger.warning("%s, %s: no {fence}: the judge is not told where a response ends", settings.prompt, kind)


def _outside_any_loop(work: Callable[[], _T]) -> _T:
    """Do `work`, which starts an event loop, in a thread of its own where this thread runs one already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def _judge(requests: Sequence[JudgeRequest], settings: JudgeSettings, ask: _Asker, asked: How) -> JudgeOutcome:
    prompts = load_prompts(settings.prompt, sorted({request.kind for request in requests}))
    versions = {kind: prompt.version for kind, prompt in prompts.items()}
    judgements = {number: told for number, request in enumerate(requests) if (told := without_asking(request))}
    keys = {
        number: request_key(request, versions[request.kind], settings)
        for number, request in enumerate(requests)
        if number not in judgements
    }
    tally = Tally()
    with VerdictCache(settings.cache_file) as cache:
        known = {key: entry for key in dict.fromkeys(keys.values()) if (entry := cache.get(key)) is not None}
        # Equal requests have one key, so that each is asked once.
        todo = {key: requests[number] for number, key in keys.items() if key not in known}
        new = ask(todo, prompts, cache, tally) if todo else {}
    for number, key in keys.items():
        entry = known.get(key) or new[key]
        judgements[number] = Judgement(entry.verdict, entry.text, "cache" if key in known else asked, entry.problem)
    return JudgeOutcome(
        [judgements[number] for number in range(len(requests))],
        tally.calls,
        sum(key in known for key in keys.values()),
        tally.prompt_tokens,
        tally.completion_tokens,
        _cost(tally, settings),
    )


def without_asking(request: JudgeRequest) -> Judgement | None:
    """The judgement on what is no response to be judged; None where the judge has to be asked."""
    if is_error(request.response):
        return Judgement("error", "", "error")
    if not request.response.strip():
        return Judgement("incorrect", "", "empty")
    return None


def _cost(tally: Tally, settings: JudgeSettings) -> float | None:
    if settings.input_price is None and settings.output_price is None:
        return None
    prompts = tally.prompt_tokens * (settings.input_price or 0)
    return (prompts + tally.completion_tokens * (settings.output_price or 0)) / 1e6
