"""Work in batches in which one bad item costs only itself."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from lmms_audio_tasks.models.failures import Failure

logger = logging.getLogger(__name__)
T = TypeVar("T")


def in_batches(
    items: Sequence[T], size: int, work: Callable[[Sequence[T]], Sequence[str]]
) -> Iterator[tuple[Sequence[T], Sequence[str | Failure]]]:
    """Call `work` on up to `size` items at a time; yields each batch with its results as soon as they are there.

    A batch on which `work` raises is tried again in halves, down to single items: what is short of memory then fits,
    and only an item that fails alone becomes a `Failure`.
    """
    for start in range(0, len(items), size):
        yield from _halving(items[start : start + size], work)


def _halving(
    batch: Sequence[T], work: Callable[[Sequence[T]], Sequence[str]]
) -> Iterator[tuple[Sequence[T], Sequence[str | Failure]]]:
    try:
        results = work(batch)
    except Exception as error:
        failure = Failure.of(error)
    else:
        yield batch, results
        return
    # Out of the handler, where the traceback would hold the failed call's tensors.
    _free_memory()
    if len(batch) == 1:
        yield batch, [failure]
        return
    logger.warning("a batch of %d failed and is tried again in halves: %s", len(batch), failure.message)
    middle = len(batch) // 2
    yield from _halving(batch[:middle], work)
    yield from _halving(batch[middle:], work)


def _free_memory() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()
