"""Many requests at once, and no more than allowed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import TypeVar

RAMP = 0.0015
"""Seconds between the first requests of two workers, about what a request costs this process. Started all at once they
would stay in step, each round as long as the server takes plus the work for all of them: at 64, a tenth slower."""

_T = TypeVar("_T")


async def work_off(todo: Collection[_T], concurrency: int, do: Callable[[_T], Awaitable[None]]) -> None:
    """Do each of `todo`, `concurrency` at once at the most; the first error that `do` raises cancels the rest."""
    # As many workers as there may be requests under way share one list: a limit without a task for every item.
    rest = iter(todo)

    async def work(place: int) -> None:
        await asyncio.sleep(place * RAMP)
        for one in rest:
            await do(one)

    workers = [asyncio.create_task(work(place)) for place in range(min(concurrency, len(todo)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
