"""A failure on one rank of a run is told to the others, so that they stop instead of waiting for it.

The host catches what a model raises and lets that rank leave; the others then wait for it in the host's next barrier,
for hours with NCCL. A collective call inside `generate_until` is no cure: with its response cache on, or in an agentic
task, the host does not call it equally often on every rank. So the ranks leave notes in the process group's store.
"""

from __future__ import annotations

import atexit
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lmms_audio_tasks.errors import ModelError

_POLL_SECONDS = 0.1
GRACE_SECONDS = 5.0
"""How long a rank that may not come at all is waited for, when it is one turn behind."""


@contextmanager
def together(stage: str, everyone: bool) -> Iterator[None]:
    """Run the block; afterwards raise what it raised here, or else `ModelError` if it failed on another rank.

    Args:
        stage: a name for the block, the same on all ranks.
        everyone: whether each rank runs the block equally often. Then all are waited for; otherwise only those that are
            inside it when this rank leaves it, or enter it soon after. Without a process group none is waited for.
    """
    board = _Board.of(stage)
    if board is None:
        yield
        return
    turn = board.enter()
    try:
        yield
    except Exception as error:
        board.leave(turn, f"{type(error).__name__}: {error}")
        raise
    board.leave(turn, None)
    failures = board.failures_of_others(turn, everyone)
    if failures:
        raise ModelError("; ".join(f"rank {rank} failed: {message}" for rank, message in failures))


def leave_at_exit() -> None:
    """Take the process group down when this process ends, if it is one of CPU ranks; the host leaves it standing.

    Its threads may otherwise outlive the interpreter and abort the process, which the launcher takes for a failed run,
    although all results are there.
    """
    atexit.register(_leave)


def _leave() -> None:
    from torch import distributed

    # With NCCL, leaving would wait for what a rank that failed never sends.
    if distributed.is_available() and distributed.is_initialized() and distributed.get_backend() == "gloo":
        distributed.destroy_process_group()


class _Board:
    """The notes about one stage; every rank counts how often it went in and out."""

    def __init__(self, store: Any, stage: str, rank: int, world_size: int) -> None:
        self._store = store
        self._stage = stage
        self._rank = rank
        self._world_size = world_size

    @classmethod
    def of(cls, stage: str) -> _Board | None:
        """The board of this run; None where there is no process group of several ranks."""
        from torch import distributed

        if not distributed.is_available() or not distributed.is_initialized() or distributed.get_world_size() < 2:
            return None
        # torch has no public way to the store of the default group.
        store = distributed.distributed_c10d._get_default_store()
        return cls(store, stage, distributed.get_rank(), distributed.get_world_size())

    def _key(self, rank: int, *parts: str | int) -> str:
        return "/".join(map(str, ("lmms_audio_tasks", self._stage, rank, *parts)))

    def enter(self) -> int:
        return self._store.add(self._key(self._rank, "in"), 1)

    def leave(self, turn: int, failure: str | None) -> None:
        if failure is not None:
            self._store.set(self._key(self._rank, "failure", turn), failure)
        self._store.add(self._key(self._rank, "out"), 1)

    def failures_of_others(self, turn: int, everyone: bool) -> list[tuple[int, str]]:
        found = []
        for rank in range(self._world_size):
            if rank == self._rank:
                continue
            awaited = turn if everyone else self._entered(rank, turn)
            while self._store.add(self._key(rank, "out"), 0) < awaited:
                time.sleep(_POLL_SECONDS)
            failure = self._key(rank, "failure", awaited)
            if self._store.check([failure]):
                found.append((rank, self._store.get(failure).decode()))
        return found

    def _entered(self, rank: int, turn: int) -> int:
        """How often `rank` has entered; a rank with nothing to do must not leave before the others have begun."""
        deadline = time.monotonic() + GRACE_SECONDS
        while (count := self._store.add(self._key(rank, "in"), 0)) == turn - 1 and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        return count
