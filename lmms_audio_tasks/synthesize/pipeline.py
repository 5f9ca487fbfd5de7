"""From tasks to a data set, step after step; each step says what it left out and why."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lmms_audio_tasks.c3t.data import natural
from lmms_audio_tasks.errors import AudioTasksError, DataError
from lmms_audio_tasks.files import write_whole
from lmms_audio_tasks.synthesize import intelligibility, make, quality, speakability, tasks_input, voices, writer
from lmms_audio_tasks.synthesize.assemble import write_set
from lmms_audio_tasks.synthesize.cells import Cell, Options, planned
from lmms_audio_tasks.synthesize.normalise import Normaliser
from lmms_audio_tasks.synthesize.report import Filtered, Summary
from lmms_audio_tasks.synthesize.settings import Settings
from lmms_audio_tasks.synthesize.tasks_input import Prompt
from lmms_audio_tasks.synthesize.tts import Engine
from lmms_audio_tasks.synthesize.workfiles import WorkFiles

HEARD = "intelligibility.jsonl"

# --- which prompts ---


def filtered(paths: Sequence[Path], language: str, settings: Settings, limit: int | None) -> Filtered:
    """Read the tasks and tell the prompts that can be spoken from those that cannot.

    Raises:
        AudioTasksError: a package is missing.
    """
    prompts, faults = tasks_input.read(paths)
    normaliser = Normaliser(language, settings.normalise)
    kept: list[tuple[Prompt, str]] = []
    dropped: list[tuple[Prompt, dict[str, str]]] = []
    for prompt in prompts:
        spoken, reasons = speakability.examine(prompt.text, language, settings.speakability, normaliser)
        if reasons:
            dropped.append((prompt, reasons))
        else:
            kept.append((prompt, spoken))
    kept.sort(key=lambda item: (item[0].task, natural(item[0].instance_id)))
    asked = tuple(_first(kept, limit))
    return Filtered(asked, tuple(dropped), tuple(faults), len(kept) - len(asked))


def _first(kept: Iterable[tuple[Prompt, str]], limit: int | None) -> Iterator[tuple[Prompt, str]]:
    counts: dict[str, int] = {}
    for prompt, spoken in kept:
        counts[prompt.task] = counts.get(prompt.task, 0) + 1
        if limit is None or counts[prompt.task] <= limit:
            yield prompt, spoken


# --- the whole way ---


def synthesize(options: Options, progress: Any) -> Summary:
    """Make the data set that `options` wants, or go on with one that a run left unfinished.

    Args:
        progress: called with a title and a total, gives a context manager whose value has `update(count)`.

    Raises:
        AudioTasksError: nothing can be made, or not any further: no prompt to say, no engine, a disk that is full.
    """
    writer.require_writable(options.output)
    folder = options.output / "c3t"
    writer.check_replaceable(folder)
    table = voices.read(options.voices)
    plan = voices.Plan.of(table, options.seed, options.splits)
    engine = options.engine.load()
    quality.require()
    # Loaded before an hour of speech is made, not after.
    recogniser = _recogniser(options)
    with _alone(options.output):
        found = filtered(options.tasks, options.engine.language, options.settings, options.limit)
        summary = Summary(options.output, found)
        files = WorkFiles(options.output / "work")
        _write_filter(options.output, found)
        writer.removed(options.output / HEARD)  # an earlier run's, which may not be about this set
        if not found.kept:
            first = [*map(str, found.faults), f"{options.output / 'dropped.jsonl'} says why"][0]
            raise AudioTasksError(f"no prompt is left to say: {first}")
        cells = planned(plan, table, engine, options, summary)
        _make(cells, files, table, engine, options, summary, progress)
        cells = [cell for cell in cells if cell.made is not None]
        if recogniser is not None:
            cells = _understood(cells, files, recogniser, options, summary, progress)
        _write_problems(options.output, summary)
        if not cells:
            first = summary.problems[0].told
            raise AudioTasksError(f"no recording could be made: {first} ({options.output / 'problems.jsonl'} has all)")
        write_set(folder, cells, files, table, engine, options, summary)
        return summary


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder, so that two runs do not write into one another.

    Raises:
        AudioTasksError: another run holds it.
        DataError: it cannot be written.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(folder / "work" / ".lock")
    try:
        (folder / "work").mkdir(exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise AudioTasksError(f"another run is writing into {folder}") from None
    except OSError as error:
        raise DataError(folder / "work", "a folder that can be written", error.strerror or str(error)) from error
    try:
        yield
    finally:
        lock.release()


def _recogniser(options: Options) -> Any:
    if not options.asr:
        return None
    from lmms_audio_tasks.synthesize import transcribe

    intelligibility.require()
    return transcribe.prepare(options.asr, options.engine.language, options.device)


# --- speech ---


def _make(
    cells: Sequence[Cell],
    files: WorkFiles,
    table: voices.Table,
    engine: Engine,
    options: Options,
    summary: Summary,
    progress: Any,
) -> None:
    """Give every cell its recording, where one can be made that is good enough."""
    jobs = {
        cell.key: make.Job(cell.key, cell.spoken, cell.words, cell.voice, table.reference(cell.voice)) for cell in cells
    }
    there = files.finished(jobs)
    todo = [make.resumed(job, there.get(key), engine, options.settings) for key, job in jobs.items()]
    with progress("Speaking", len(jobs)) as bar:
        bar.update(sum(job is None for job in todo))
        left = [job for job in todo if job is not None]
        new = make.make(left, files, options.engine, engine, options.settings, options.processes, bar.update)
    summary.reused = sum(job is None for job in todo)
    summary.newly_made = sum(outcome.made is not None for outcome in new.values())
    for cell in cells:
        outcome = new.get(cell.key)
        made = outcome.made if outcome else there[cell.key]
        if made is None:
            summary.note(cell.problem("failed", outcome.failure if outcome else ""))
            continue
        wrong = quality.verdict(made.measures, cell.words, options.settings.quality)
        if wrong:
            summary.note(cell.problem("rejected", wrong))
        else:
            cell.made = made


def _understood(
    cells: Sequence[Cell], files: WorkFiles, recogniser: Any, options: Options, summary: Summary, progress: Any
) -> list[Cell]:
    """Compare what a recogniser hears with what was to be said; returns the cells that stay."""
    from lmms_audio_tasks.synthesize import transcribe

    limits = options.settings.intelligibility
    recordings = {cell.made.sha256: files.path(cell.key) for cell in cells if cell.made}
    with progress("Listening", len(recordings)) as bar:
        texts = transcribe.transcripts(recogniser, recordings, bar.update)
    normaliser = Normaliser(options.engine.language, options.settings.normalise)
    kept, all_heard = [], []
    for cell in cells:
        text = texts[cell.made.sha256] if cell.made else None
        if not isinstance(text, str):
            summary.note(cell.problem("not transcribed", text.message if text else "no transcript"))
            kept.append(cell)
            continue
        heard = intelligibility.heard(cell.sample_id, cell.groups, cell.spoken, text, normaliser)
        all_heard.append(heard)
        if limits["drop"] and heard.wer > limits["max_clip_wer"]:
            told = f"word error rate {heard.wer:.2f}, more than {limits['max_clip_wer']}"
            summary.note(cell.problem("rejected", told))
        else:
            kept.append(cell)
    summary.understood = intelligibility.table(all_heard, limits["max_voice_wer"])
    summary.wer = intelligibility.overall(all_heard)
    lines = (json.dumps(one.to_dict(), ensure_ascii=False) for one in all_heard)
    write_whole(options.output / HEARD, "".join(f"{line}\n" for line in lines))
    return kept


# --- files ---


def _write_filter(folder: Path, found: Filtered) -> None:
    spoken = ({"task_name": p.task, "instance_id": p.instance_id, "spoken": text} for p, text in found.kept)
    dropped = (
        {"task_name": p.task, "instance_id": p.instance_id, "reasons": reasons, "file": p.file, "row": p.row}
        for p, reasons in found.dropped
    )
    for name, lines in (("spoken.jsonl", spoken), ("dropped.jsonl", dropped)):
        write_whole(folder / name, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def _write_problems(folder: Path, summary: Summary) -> None:
    lines = (json.dumps(problem.to_dict(), ensure_ascii=False) for problem in summary.problems)
    write_whole(folder / "problems.jsonl", "".join(f"{line}\n" for line in lines))
