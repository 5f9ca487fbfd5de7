"""Recordings from texts and voices: in processes, a bounded number under way, each on disk as soon as it is done."""

from __future__ import annotations

import hashlib
import json
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import AudioTasksError, DataError
from lmms_audio_tasks.synthesize import quality
from lmms_audio_tasks.synthesize.settings import Settings
from lmms_audio_tasks.synthesize.tts import Choice, Engine, SpeechError
from lmms_audio_tasks.synthesize.voices import Voice
from lmms_audio_tasks.synthesize.workfiles import Made, WorkFiles, write_part

logger = logging.getLogger(__name__)
_WINDOW = 4
"""Recordings under way for each process: enough to keep it busy, little enough to hold in memory."""
_BREAKS = 3
"""So many worker processes may die one after the other, with nothing made in between, before it is given up."""
_DIED = "its process, or one beside it, died: killed, or out of memory"


@dataclass(frozen=True, slots=True)
class Job:
    """One recording to make.

    Attributes:
        key: SHA-256 of all that its bytes depend on.
        words: how many are said.
        reference: the voice's recording to clone; a path without a file where it has none.
        attempt: which try it is, from 0.
    """

    key: str
    text: str
    words: int
    voice: Voice
    reference: Path
    attempt: int = 0

    @property
    def seed(self) -> int:
        """What an engine that draws has to draw from, below 2**32; another one at each try."""
        return int.from_bytes(hashlib.sha256(f"{self.key} {self.attempt}".encode()).digest()[:4], "big")


def key_of(
    text: str, voice: Voice, reference: str, identity: Mapping[str, Any], speech: Mapping[str, Any], seed: int | None
) -> str:
    """The key of a recording.

    Args:
        reference: SHA-256 of the voice's recording, "" where it has none.
        identity: the engine's.
        speech: the section `speech` of the settings.
        seed: of the run, where the engine draws; else None, so that a new seed makes nothing anew.
    """
    said = [voice.engine_voice, voice.pitch, voice.pace, reference, voice.reference_text, seed]
    if identity.get("engine") == "command":
        said.append(voice.voice_id)  # the program may be told
    told = json.dumps([text, said, dict(identity), dict(speech)], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(told.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a job: a finished recording, or why there is none."""

    made: Made | None
    failure: str = ""


def make(
    jobs: Sequence[Job],
    files: WorkFiles,
    choice: Choice,
    engine: Engine,
    settings: Settings,
    processes: int,
    progress: Callable[[int], Any],
) -> dict[str, Outcome]:
    """Make all `jobs`, trying again what failed, and with an engine that draws also what is not good enough.

    Args:
        engine: `choice`, loaded; used where `processes` is 1.
        progress: called with the number of jobs that are settled.

    Raises:
        DataError: the disk does not take a recording.
        AudioTasksError: workers die again and again.
    """
    found: dict[str, Outcome] = {}
    pending: Iterable[Job] = jobs
    retries = int(settings.run["retries"])
    for last in range(retries + 1):
        again: list[Job] = []
        # What has failed so often may have brought its process down, and others with it: now each by itself.
        alone = last == retries and last > 0
        for job, result in _results(pending, files, choice, engine, settings, 1 if alone else processes, alone):
            outcome = _kept(job, result, files)
            found[job.key] = outcome
            if last < retries and job.attempt < retries and _to_be_tried_again(outcome, job, engine, settings):
                # Nothing was drawn where the process died: the same seed again, or chance would decide on the bytes.
                again.append(job if outcome.failure == _DIED else replace(job, attempt=job.attempt + 1))
            else:
                progress(1)
        if not again:
            break
        logger.info("trying %d recordings again", len(again))
        pending = again
    return found


def resumed(job: Job, made: Made | None, engine: Engine, settings: Settings) -> Job | None:
    """The try that an earlier run left to make; None where its recording is final."""
    if made is None:
        return job
    if made.attempt < settings.run["retries"] and _to_be_tried_again(Outcome(made), job, engine, settings):
        return replace(job, attempt=made.attempt + 1)
    return None


def _to_be_tried_again(outcome: Outcome, job: Job, engine: Engine, settings: Settings) -> bool:
    if outcome.made is None:
        return True
    return engine.draws and bool(quality.verdict(outcome.made.measures, job.words, settings.quality))


def _kept(job: Job, result: tuple[bytes, dict[str, Any]] | str, files: WorkFiles) -> Outcome:
    if isinstance(result, str):
        return Outcome(None, result)
    return Outcome(files.add(job.key, *result, job.attempt))


Result = tuple[bytes, dict[str, Any]] | str
"""A FLAC file and its measures, or why there is none."""
Handed = tuple[Path, dict[str, Any]] | str
"""The same from another process, the file on disk: one that is killed while it sends more than a few kilobytes leaves
half a message, and the pool would wait for the other half for ever."""


def _results(
    jobs: Iterable[Job],
    files: WorkFiles,
    choice: Choice,
    engine: Engine,
    settings: Settings,
    processes: int,
    alone: bool,
) -> Iterator[tuple[Job, Result]]:
    """Each job with its result, in the order in which they come.

    `alone`: one at a time, but in a process of its own where a program is not one already.
    """
    if processes == 1 and not (alone and choice.name == "clone"):
        for job in jobs:
            yield job, _say(engine, job, settings.speech)
        return
    todo = iter(jobs)
    breaks = 0
    while True:
        pool = _pool(choice, settings, processes, files.folder)
        under_way: dict[Future[Handed], Job] = {}
        try:
            for job in islice(todo, 1 if alone else processes * _WINDOW):
                under_way[_submitted(pool, job)] = job
            if not under_way:
                return
            while under_way:
                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    result = _taken(future.result())
                    breaks = 0
                    yield under_way.pop(future), result
                    for job in islice(todo, 1):
                        under_way[_submitted(pool, job)] = job
        except BrokenProcessPool:
            breaks += 1
            if breaks >= _BREAKS:
                raise AudioTasksError("the synthesizer's processes die again and again: out of memory?") from None
            for job in under_way.values():
                yield job, _DIED
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _taken(handed: Handed) -> Result:
    if isinstance(handed, str):
        return handed
    path, measures = handed
    try:
        return path.read_bytes(), measures
    except OSError as error:
        raise DataError(path, "a recording that was just made", error.strerror or str(error)) from error


def _submitted(pool: ProcessPoolExecutor, job: Job) -> Future[Handed]:
    """The job under way; where a process has died since, under way to say so, as the job would be lost otherwise."""
    try:
        with _interrupts_held():
            return pool.submit(_work, job)
    except BrokenProcessPool as error:
        broken: Future[Handed] = Future()
        broken.set_exception(error)
        return broken


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C waits, and processes begun meanwhile never see it: one still at its imports would print a traceback."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- in a worker process ---

_state: dict[str, Any] = {}


def _pool(choice: Choice, settings: Settings, processes: int, folder: Path) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(processes, context, _begin, (choice, settings.speech, folder))


def _begin(choice: Choice, speech: Mapping[str, Any], folder: Path) -> None:
    # Ctrl-C reaches every process of a terminal; the one that started this one ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_parent()
    _state.update(engine=choice.load(), speech=speech, folder=folder)


def _end_with_parent() -> None:
    """Have this process end when the one that started it does: if that is killed, nobody else would end it."""
    parent = multiprocessing.parent_process()

    def wait_and_end() -> None:
        assert parent is not None
        parent.join()
        os._exit(1)

    if parent is not None:
        threading.Thread(target=wait_and_end, daemon=True).start()


def _work(job: Job) -> Handed:
    result = _say(_state["engine"], job, _state["speech"])
    return result if isinstance(result, str) else (write_part(_state["folder"], job.key, result[0]), result[1])


def _say(engine: Engine, job: Job, speech: Mapping[str, Any]) -> Result:
    try:
        samples, rate = engine.speak(job.text, job.voice, job.reference, job.seed)
        content, measures = quality.finish(samples, rate, speech)
    except SpeechError as error:
        return str(error)
    except AudioTasksError:
        raise
    except Exception as error:  # whatever else an engine may raise must not take the other recordings with it
        return " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return content, measures.to_dict()
