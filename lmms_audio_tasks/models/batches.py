"""Work in batches in which one bad item costs only itself."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeVar

from lmms_audio_tasks.models.failures import Failure

logger = logging.getLogger(__name__)
T = TypeVar("T")
Results: TypeAlias = Sequence[str | Failure]
Work: TypeAlias = Callable[[Sequence[T]], Results]


def in_batches(items: Sequence[T], size: int, work: Work[T]) -> Iterator[tuple[Sequence[T], Results]]:
    """`in_halves` on up to `size` items at a time."""
    for start in range(0, len(items), size):
        yield from in_halves(items[start : start + size], work)


def in_halves(batch: Sequence[T], work: Work[T]) -> Iterator[tuple[Sequence[T], Results]]:
    """Call `work` on a batch; yields it, or its parts, with the results as soon as they are there.

    Where `work` raises, the batch is tried again in halves, down to single items: what is short of memory then fits,
    and only an item that fails alone becomes a `Failure`.
    """
    try:
        results = work(batch)
    except Exception as error:
        failure = Failure.of(error)
    else:
        yield batch, results
        return
    # Out of the handler, where the traceback would hold the failed call's tensors.
    free_memory()
    if len(batch) == 1:
        yield batch, [failure]
        return
    logger.warning("a batch of %d failed and is tried again in halves: %s", len(batch), failure.message)
    middle = len(batch) // 2
    yield from in_halves(batch[:middle], work)
    yield from in_halves(batch[middle:], work)


def free_memory() -> None:
    """Hand back to the GPU what torch keeps for later; nothing without one."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()
