"""Judge what the host has saved: all samples files below a folder, in one batch, without the model that answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.files import read_lines
from lmms_audio_tasks.judge.prompt import MULTIPLE_CHOICE, Kind
from lmms_audio_tasks.judge.rejudge import judge_records, kind_of, unjudged_is_apart
from lmms_audio_tasks.judge.run import JudgeOutcome
from lmms_audio_tasks.judge.settings import JudgeSettings
from lmms_audio_tasks.judge.verdict_file import verdicts_path, write_verdicts
from lmms_audio_tasks.options import OptionError, parse_answer, split_instruction
from lmms_audio_tasks.registry import benchmarks

_RECORD_FIELDS = ("item_id", "task", "response", "verdict", "reason", "golden", "chosen", "options")


@dataclass(frozen=True, slots=True)
class JudgedFile:
    """One samples file as judged.

    Attributes:
        folder: the model's folder, from the name of the folder that was judged on.
        accuracy: correct / (n - errors); unjudged items count as not correct, as in SAKURA's own sum. None where the
            model failed on every item, and where items are unjudged that count apart (`rejudge.unjudged_is_apart`).
        changed: how many verdicts differ from the rules' in being correct or not.
    """

    folder: str
    file: str
    task: str
    n: int
    correct: int
    errors: int
    unjudged: int
    changed: int
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class JudgedLogdir:
    """All samples files below a folder as judged.

    Attributes:
        passed_over: samples files left alone: of others' tasks, or of benchmarks that their authors score by rule.
    """

    files: list[JudgedFile]
    judge: dict[str, Any]
    outcome: JudgeOutcome
    passed_over: list[str]

    @property
    def unjudged(self) -> int:
        """How many responses still have no verdict."""
        return sum(file.unjudged for file in self.files)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        outcome = self.outcome
        asked = {name: getattr(outcome, name) for name in ("calls", "cached", "prompt_tokens", "completion_tokens")}
        return {
            "judge": self.judge,
            "files": [asdict(file) for file in self.files],
            "unjudged": self.unjudged,
            **asked,
            "cost": outcome.cost,
            "passed_over": self.passed_over,
        }

    def to_text(self) -> str:
        """A table with a line for each file, and what it took."""
        rows: list[tuple[str, ...]] = [("model", "task", "n", "correct", "accuracy", "error", "unjudged", "changed")]
        for file in self.files:
            accuracy = "-" if file.accuracy is None else f"{file.accuracy:.4f}"
            counts = (file.errors, file.unjudged, file.changed)
            rows.append((file.folder, file.task, str(file.n), str(file.correct), accuracy, *map(str, counts)))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines += [f"passed over (nothing for a judge): {name}" for name in self.passed_over]
        if self.judge["mode"] != "rule":
            lines.append(self.outcome.summary())
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Samples:
    """The records of one samples file, and the prompt of each."""

    path: Path
    records: list[dict[str, Any]]
    prompts: list[str]


def judge_logdir(logdir: Path, settings: JudgeSettings, progress: bool = True) -> JudgedLogdir:
    """Judge every `*_samples_*.jsonl` below `logdir` and write a verdict file beside each with records for a judge.

    Verdict files are written when everything has been judged; a run that is stopped leaves them as they were and is
    gone on with from the cache.

    Raises:
        DataError: no samples with such records, or a file at fault.
        AudioTasksError: see `run.judge`.
    """
    paths = sorted(logdir.rglob("*_samples_*.jsonl")) if logdir.is_dir() else []
    if not paths:
        raise DataError(
            logdir,
            "a folder with *_samples_*.jsonl files (lmms_eval --log_samples --output_path makes them)",
            "none" if logdir.is_dir() else "no such folder",
        )
    read = [read_samples(path) for path in paths]
    ours = [samples for samples in read if samples.records]
    passed_over = [str(samples.path.relative_to(logdir)) for samples in read if not samples.records]
    if not ours:
        raise DataError(
            logdir, "samples of tasks that a judge scores (SAKURA, HAVE-Bench)", f"only others, e.g. {passed_over[0]}"
        )
    records = [record for samples in ours for record in samples.records]
    prompts = [prompt for samples in ours for prompt in samples.prompts]
    rejudged = judge_records(records, prompts, settings, progress)
    files, start = [], 0
    for samples in ours:
        verdicts = rejudged.verdicts[start : start + len(samples.records)]
        start += len(samples.records)
        write_verdicts(verdicts_path(samples.path), verdicts, settings.public(_kinds(samples.records)))
        files.append(_summed(samples, verdicts, logdir))
    return JudgedLogdir(files, settings.public(_kinds(records)), rejudged.outcome, passed_over)


def _kinds(records: Sequence[Mapping[str, Any]]) -> set[Kind]:
    """What a judge may be asked about among the records."""
    return {kind for record in records if (kind := kind_of(record)) is not None} or {MULTIPLE_CHOICE}


def read_samples(path: Path) -> Samples:
    """The records in the host's samples file, and the questions; both empty where it is not of a task that is judged.

    A question is the record's `prompt`, as what the model read may be without it (the recording asks); in logs of
    versions that had none in the record, what the model read.

    Raises:
        DataError: a line is not JSON, has no prompt, or has a prompt without the options that its record lists.
    """
    records, prompts = [], []
    for number, sample in read_lines(path):
        record = _record(sample)
        if record is None:
            continue
        prompt = record.get("prompt") or sample.get("input")
        if not isinstance(prompt, str) or not prompt:
            raise DataError(path, "the prompt under 'input'", repr(prompt)[:80], f"line {number}")
        _check_options(path, number, record, prompt)
        records.append(record)
        prompts.append(prompt)
    return Samples(path, records, prompts)


def _record(sample: Mapping[str, Any]) -> dict[str, Any] | None:
    """The record among a sample's metrics, whatever the metric is called; None where it is not for a judge to score."""
    for value in sample.values():
        if isinstance(value, dict) and all(name in value for name in _RECORD_FIELDS):
            return None if value.get("benchmark") in _scored_by_rule() else value
    return None


@cache
def _scored_by_rule() -> frozenset[str]:
    """The benchmarks that their authors score by rule; a judge's verdicts would take the place of the official ones."""
    return frozenset(name for name, benchmark in benchmarks().items() if not benchmark.judged)


def _check_options(path: Path, number: int, record: Mapping[str, Any], prompt: str) -> None:
    """A prompt that does not fit the record is told here with its file and line, before anything is asked."""
    if not record["options"]:
        return
    try:
        parse_answer(record["golden"], split_instruction(prompt)[1])
    except OptionError as error:
        expected = "a prompt with options, and a golden answer among them"
        raise DataError(path, expected, str(error), f"line {number}") from error


def _summed(samples: Samples, verdicts: Sequence[Mapping[str, Any]], logdir: Path) -> JudgedFile:
    final = [verdict["verdict"] for verdict in verdicts]
    errors, correct, unjudged = final.count("error"), final.count("correct"), final.count("unjudged")
    unknown = unjudged > 0 and any(map(unjudged_is_apart, samples.records))
    changed = sum((verdict["verdict"] == "correct") != (verdict["rule"] == "correct") for verdict in verdicts)
    return JudgedFile(
        folder=str(samples.path.parent.relative_to(logdir.parent)),
        file=samples.path.name,
        task=", ".join(sorted({record["task"] for record in samples.records})),
        n=len(final),
        correct=correct,
        errors=errors,
        unjudged=unjudged,
        changed=changed,
        accuracy=correct / (len(final) - errors) if len(final) > errors and not unknown else None,
    )
