"""`--model audio_lm`: any model of transformers that hears audio and writes text, by its processor's chat template."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

from lmms_audio_tasks import audio
from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.arguments import choice, flag, text, whole_number
from lmms_audio_tasks.models.base import AudioTasksModel, Item
from lmms_audio_tasks.models.batches import in_halves
from lmms_audio_tasks.models.chat import ChatModel
from lmms_audio_tasks.models.conversations import Message, messages, open_image
from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.models.generation import Generation
from lmms_audio_tasks.models.jobs import Job, Ready, ahead, schedule
from lmms_audio_tasks.models.loading import Wanted, load
from lmms_audio_tasks.models.prefetch import Decoder, Fetch, noted
from lmms_audio_tasks.models.ranks import together
from lmms_audio_tasks.models.weights import fingerprint
from lmms_audio_tasks.models.windows import CHOICES, Samples, Windows, limit_of

logger = logging.getLogger(__name__)
DTYPES = ("auto", "float32", "float16", "bfloat16")
AUTO_BATCH = {"cuda": 64, "cpu": 8}
"""What `batch_size=auto` begins with, by the type of device."""


class AudioLM(AudioTasksModel):
    """Answers whole conversations: any number of recordings, images and turns; questions in text alone, too.

    Greedy answers in float32 are those of batch size 1, whatever the batch size and the number of processes.

    Args:
        pretrained: a folder or hub id of a model of transformers.
        revision: of a hub id.
        dtype: `auto` is float32 on the CPU, elsewhere the checkpoint's own.
        batch_size: conversations answered at a time; `auto` begins with 64 on a GPU and 8 on a CPU. Where memory does
            not suffice, the batch and all after it are halved.
        max_new_tokens: of an answer; None leaves it to the task.
        long_audio: what becomes of recordings longer than the model hears: `error`, `chunk` (pieces, as several
            recordings in one turn) or `truncate`. Models that read windows one after another hear what they can.
        system_prompt: comes first in conversations without a system turn.
        attn_implementation: as transformers takes it.
        trust_remote_code: whether code that comes with the model may run.
        threads: of the CPU for torch; None leaves its default, one a core.
        cache_dir, resume: where answers are kept, and whether.
        device: None for what accelerate picks.
        device_map: `auto` spreads a model too large for one GPU over all of them; for a single process.
        max_batch_size: taken because the host passes it; without effect.
    """

    def __init__(
        self,
        pretrained: Any = None,
        revision: Any = None,
        dtype: Any = "auto",
        batch_size: Any = 1,
        max_new_tokens: Any = None,
        long_audio: Any = "error",
        system_prompt: Any = None,
        attn_implementation: Any = None,
        trust_remote_code: Any = False,
        threads: Any = None,
        cache_dir: Any = None,
        resume: Any = True,
        device: Any = None,
        device_map: Any = None,
        max_batch_size: Any = None,
        **unknown: Any,
    ) -> None:
        import torch

        super().__init__(device, unknown, resume, cache_dir)
        name = text("pretrained", pretrained)
        if name is None:
            raise ModelError("audio_lm needs pretrained=<folder or hub id>")
        self._max_new_tokens = None if max_new_tokens is None else whole_number("max_new_tokens", max_new_tokens)
        self._batch_size = (
            AUTO_BATCH.get(self._device.type, AUTO_BATCH["cpu"])
            if batch_size == "auto"
            else whole_number("batch_size", batch_size)
        )
        long_audio = choice("long_audio", long_audio, CHOICES)
        self._system_prompt = text("system_prompt", system_prompt)
        dtype = choice("dtype", dtype, DTYPES)
        device_map = None if device_map is None else choice("device_map", device_map, ("auto",))
        if device_map and self._world_size > 1:
            raise ModelError("device_map=auto spreads one process over all GPUs; start one process, or leave it out")
        if threads is not None:
            torch.set_num_threads(whole_number("threads", threads))
        self._wanted = Wanted(
            name=name,
            revision=text("revision", revision),
            dtype="float32" if dtype == "auto" and self._device.type == "cpu" else dtype,
            device=str(self._device),
            device_map=device_map,
            attention=text("attn_implementation", attn_implementation),
            trust_remote_code=flag("trust_remote_code", trust_remote_code),
        )
        with together("load", everyone=True):
            loaded = load(self._wanted)
            self._loaded: ChatModel | None = ChatModel(loaded)
            if self._system_prompt is not None:
                self._loaded.check_system(self._system_prompt)
            self._windows = Windows(limit_of(loaded.processor, loaded.family), self._chat.rate, long_audio)
            self._decoder = Decoder(self._chat.rate)
            # Asked for, so that it stands in every log; without it such recordings fail, and say so.
            level = logging.INFO if long_audio == "error" else logging.WARNING
            logger.log(level, "%s: %s", name, self._windows.describe())
            self._equal_lengths = self._batch_size > 1 and self._must_be_equal(loaded.family.leaks)

    def clean(self) -> None:
        """Let go of the model, as the host asks once all requests are answered; a later request loads it again."""
        self._loaded = None
        self._decoder = Decoder(self._windows.rate)
        super().clean()

    def identity(self) -> Mapping[str, Any] | None:
        """Model, weights and all settings that change an answer; None for weights that cannot be told apart."""
        weights = fingerprint(self._wanted.name, self._wanted.revision)
        if weights is None:
            return None
        return {
            "model": self._wanted.name,
            "weights": weights,
            "dtype": self._chat.dtype,
            "attention": self._wanted.attention,
            "trust_remote_code": self._wanted.trust_remote_code,
            "long_audio": self._windows.choice if self._windows.limit else None,
            "max_new_tokens": self._max_new_tokens,
            "system_prompt": self._system_prompt,
        }

    def answer(self, items: Sequence[Item]) -> Iterator[tuple[int, str | Failure]]:
        """Each item's answer as its batch is done, longest prompts first; failures to plan come before all."""
        recordings: dict[str, Fetch] = {}
        lengths: dict[str, int] = {}
        planned = [self._plan(index, item, recordings, lengths) for index, item in enumerate(items)]
        jobs = [job for job in planned if isinstance(job, Job)]
        with self._bar(len(jobs)) as bar:
            for index, failure in enumerate(planned):
                if isinstance(failure, Failure):
                    yield index, failure
            for index, answer in self._run(jobs, recordings):
                yield index, answer
                bar.update()
        self._windows.report()

    @property
    def _chat(self) -> ChatModel:
        if self._loaded is None:
            self._loaded = ChatModel(load(self._wanted))
        return self._loaded

    def _must_be_equal(self, leaks: bool | None) -> bool:
        if leaks is None:
            leaks = self._chat.leaks()
        if leaks:
            logger.warning("the model hears its neighbours' padding: only recordings of equal length share a batch")
        return leaks

    def _plan(self, index: int, item: Item, recordings: dict[str, Fetch], known: dict[str, int]) -> Job | Failure:
        prompt = item.prompt()
        if isinstance(prompt, Failure):
            return prompt
        try:
            kept = noted(prompt, item, recordings)
            for key, source in zip(kept.audios, prompt.audios, strict=True):
                if key not in known:
                    known[key] = _samples(source, self._chat.rate)
            lengths = tuple(known[key] for key in kept.audios)
            how = Generation.of(item.generation, self._max_new_tokens)
            if prompt.images and not self._chat.takes_images:
                raise ModelError("the prompt has an image, but the model takes none")
        except Exception as error:
            return Failure.of(error)
        # A token stands for 640 samples or more in most models, and for about 4 characters.
        return Job(index, kept, how, lengths, sum(lengths) + 160 * len(prompt.text))

    def _run(self, jobs: Sequence[Job], recordings: Mapping[str, Fetch]) -> Iterator[tuple[int, str | Failure]]:
        with ThreadPoolExecutor(1) as preparing:

            def prepare(batch: Sequence[Job]) -> Future[Ready]:
                keys = {key for job in batch for key in job.prompt.audios}
                clips = {key: self._decoder.clip(key, recordings[key]) for key in keys}
                return preparing.submit(self._ready, batch, clips)

            for batch, first in ahead(self._parts(schedule(jobs, self._batch_size, self._equal_lengths)), prepare):
                # Popped, so that a batch which failed is prepared again, part by part, and its inputs are let go.
                futures = [first]
                work = lambda part: self._answer(part, futures.pop() if futures else prepare(part))  # noqa: B023, E731
                for done, answers in in_halves(batch, work):
                    yield from zip((job.index for job in done), answers, strict=True)

    def _parts(self, batches: Iterable[Sequence[Job]]) -> Iterator[Sequence[Job]]:
        """The batches, in parts where the batch size was lowered in the meantime."""
        for batch in batches:
            start = 0
            while start < len(batch):
                part = batch[start : start + self._batch_size]
                yield part
                start += len(part)

    def _ready(self, batch: Sequence[Job], clips: Mapping[str, Future[Samples]]) -> Ready:
        """Make the inputs of a batch; a recording that cannot be had fails its own jobs only."""
        failures: dict[int, Failure] = {}
        groups: dict[tuple[int, ...], list[tuple[Job, list[Message]]]] = {}
        for job in batch:
            given: list[int] = []

            def pieces(key: str) -> list[Samples]:
                found = self._windows.apply(key, clips[key].result())
                given.extend(map(len, found))  # noqa: B023
                return found

            try:
                conversation = messages(
                    job.prompt, pieces, lambda fetch: open_image(fetch()), self._chat.encode_at, self._system_prompt
                )
            except Exception as error:
                failures[job.index] = Failure.of(error)
                continue
            # By what is there, not by what the file's header had promised.
            groups.setdefault(tuple(given) if self._equal_lengths else (), []).append((job, conversation))
        made = [
            ([job for job, _ in group], self._chat.prepare([conversation for _, conversation in group]))
            for group in groups.values()
        ]
        return Ready(made, failures)

    def _answer(self, batch: Sequence[Job], prepared: Future[Ready]) -> list[str | Failure]:
        import torch

        ready = prepared.result()
        found: dict[int, str | Failure] = dict(ready.failures)
        try:
            for jobs, inputs in ready.groups:
                answers = self._chat.generate(inputs, jobs[0].how)
                found.update(zip((job.index for job in jobs), answers, strict=True))
        except torch.OutOfMemoryError:
            if 1 < len(batch) <= self._batch_size:
                self._batch_size = len(batch) // 2
                logger.warning("out of memory: from here on the batch size is %d", self._batch_size)
            raise
        return [found[job.index] for job in batch]

    def _bar(self, total: int) -> AbstractContextManager[Any]:
        from tqdm import tqdm

        return tqdm(total=total, desc="Answering", disable=self._rank != 0)


def _samples(source: Any, rate: int) -> int:
    """How many samples a recording has at `rate`, by its header."""
    found = audio.probe(source)
    return -(-found.frames * rate // found.rate)
