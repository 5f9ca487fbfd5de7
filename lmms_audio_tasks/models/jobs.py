"""The plan of a run: which conversations share a batch, in which order, and what is made ready ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.models.generation import Generation
from lmms_audio_tasks.models.messages import Prompt

AHEAD = 2
"""So many batches are decoded, and made into features, while the model is at work on one."""


@dataclass(frozen=True, slots=True)
class Job:
    """One item, planned: light enough to keep all.

    Attributes:
        index: the item's position.
        prompt: its conversation as `prefetch.noted` has it.
        how: how to generate.
        lengths: samples of each recording at the model's rate.
        size: what its prompt costs, roughly: the samples, and a few for each character.
    """

    index: int
    prompt: Prompt
    how: Generation
    lengths: tuple[int, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Ready:
    """Jobs whose inputs are made, in groups that may be batched, and why the others fail, by index."""

    groups: Sequence[tuple[Sequence[Job], Any]]
    failures: Mapping[int, Failure]


def schedule(jobs: Sequence[Job], size: int, equal_lengths: bool) -> list[list[Job]]:
    """Batches of up to `size` jobs, the largest first.

    A batch has one way to generate, and either all or none of its jobs have recordings, and images. Like sizes lie
    together: that wastes the least padding, a lack of memory shows at once, and questions of different tasks about one
    recording come close to each other, so that it is decoded once.

    Args:
        jobs: in any order.
        size: at least 1.
        equal_lengths: whether only jobs with recordings of the same lengths may be together.
    """
    groups: dict[Any, list[Job]] = {}
    for job in sorted(jobs, key=lambda job: (-job.size, job.index)):
        kind = (job.how, bool(job.lengths), bool(job.prompt.images), job.lengths if equal_lengths else ())
        groups.setdefault(kind, []).append(job)
    batches = [group[start : start + size] for group in groups.values() for start in range(0, len(group), size)]
    return sorted(batches, key=lambda batch: (-batch[0].size, batch[0].index))


def ahead(
    batches: Iterator[Sequence[Job]], prepare: Callable[[Sequence[Job]], Future[Ready]]
) -> Iterator[tuple[Sequence[Job], Future[Ready]]]:
    """Each batch with its inputs, those of the next `AHEAD` batches being on their way."""
    waiting: deque[tuple[Sequence[Job], Future[Ready]]] = deque()
    for batch in batches:
        waiting.append((batch, prepare(batch)))
        if len(waiting) > AHEAD:
            yield waiting.popleft()
    while waiting:
        yield waiting.popleft()
