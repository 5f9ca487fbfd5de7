"""Ask the judge for many verdicts at once, each kept as soon as it is there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lmms_audio_tasks.judge.cache import Entry, VerdictCache
from lmms_audio_tasks.judge.client import JudgeClient, JudgeStopped
from lmms_audio_tasks.judge.prompt import JudgeRequest, Kind, Prompt, clean, verdict_code
from lmms_audio_tasks.judge.settings import JudgeSettings
from lmms_audio_tasks.judge.verdict import parse_verdict
from lmms_audio_tasks.servers.workers import work_off

ASKED_AGAIN = "\n\n[asked again]\n\n"
"""What stands between the judge's two replies where it was asked twice."""


@dataclass(slots=True)
class Tally:
    """What was sent and used so far; `calls` are without the library's retries."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


Prompts = Mapping[Kind, Prompt]


def ask_all(
    todo: Mapping[str, JudgeRequest],
    prompts: Prompts,
    settings: JudgeSettings,
    cache: VerdictCache,
    tally: Tally,
    progress: bool,
) -> dict[str, Entry]:
    """Ask for everything in `todo` (by key) and put each verdict into `cache` when it comes. Runs its own event loop.

    Raises:
        JudgeStopped: see `JudgeClient.ask`; what was judged until then is in the cache.
        AudioTasksError: there is no key.
        DataError: the cache cannot be written.
    """
    from tqdm import tqdm

    entries: dict[str, Entry] = {}
    # `None` shows the bar on a terminal only.
    with tqdm(total=len(todo), desc="judge", unit="response", disable=None if progress else True) as bar:

        def done(key: str, entry: Entry) -> None:
            cache.put(key, entry, settings.model)
            entries[key] = entry
            bar.update()

        try:
            asyncio.run(_ask_all(todo, prompts, settings, tally, done))
        except JudgeStopped as stop:
            kept = sum(entry.verdict != "unjudged" for entry in entries.values())
            raise JudgeStopped(f"{stop}; {kept} new verdicts are kept in {cache.path}") from None
    return entries


async def _ask_all(
    todo: Mapping[str, JudgeRequest],
    prompts: Prompts,
    settings: JudgeSettings,
    tally: Tally,
    done: Callable[[str, Entry], Any],
) -> None:
    async with JudgeClient(settings) as client:

        async def ask(one: tuple[str, JudgeRequest]) -> None:
            key, request = one
            done(key, await ask_one(client, prompts[request.kind], request, tally))

        await work_off(todo.items(), settings.concurrency, ask)


async def ask_one(client: JudgeClient, prompt: Prompt, request: JudgeRequest, tally: Tally) -> Entry:
    """Ask, and once more where the reply has no verdict. A request that failed has had its retries already."""
    texts: list[str] = []
    prompt_tokens = completion_tokens = 0
    problem = ""
    for remind in (False, True):
        answer = await client.ask(prompt.messages(request, remind=remind))
        tally.calls += 1
        tally.prompt_tokens += answer.prompt_tokens
        tally.completion_tokens += answer.completion_tokens
        prompt_tokens += answer.prompt_tokens
        completion_tokens += answer.completion_tokens
        texts.append(clean(answer.text))
        verdict = parse_verdict(answer.text, request.response, verdict_code(request.response))
        if verdict is not None and not answer.problem:
            return Entry(verdict, texts[-1], "", prompt_tokens, completion_tokens)
        problem = clean(answer.problem) or "no verdict line"
        if answer.failed:
            break
    return Entry("unjudged", ASKED_AGAIN.join(texts), problem, prompt_tokens, completion_tokens)
