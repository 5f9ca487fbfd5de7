"""Judging within a run: all of a task's responses in one concurrent batch, when the host sums its metrics up.

Not inside `process_results`: that would be one call after another. With several ranks the host sums up on rank 0 alone,
so everything is judged once; what rank 0 then saves are copies of the records, which is why the new verdicts are kept
here until they have been written (`apply`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.judge.prompt import KINDS, MULTIPLE_CHOICE
from lmms_audio_tasks.judge.settings import JudgeSettings

logger = logging.getLogger(__name__)

Key = tuple[str, str]
_settled: dict[Key, dict[str, Any]] = {}
"""The verdicts of this process's latest run, by task and item."""


def check() -> None:
    """Raise `AudioTasksError` where the judge that the environment asks for cannot work, before a model is loaded."""
    settings = JudgeSettings.from_environment()
    settings.public(KINDS)  # reads the prompt files
    if settings.mode != "rule":
        settings.require_key()


def settle(records: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """Judge the records of one task as `LMMS_AUDIO_JUDGE` says; in rule mode they are left as they are.

    The records are changed in place: with one process they are the very objects that the host saves. Where the judge
    cannot go on, what it has not judged is `unjudged` and the run goes on, so that no response is lost.
    """
    settings = JudgeSettings.from_environment()
    for record in records:
        _settled.pop(key(record), None)
    if settings.mode == "rule" or not records:
        return records
    from lmms_audio_tasks.judge.rejudge import judge_records, judge_stopped

    prompts = [record["prompt"] for record in records]
    try:
        verdicts = judge_records(records, prompts, settings).verdicts
    except AudioTasksError as error:
        logger.error("%s: %s", records[0]["task"], error)
        verdicts = judge_stopped(records, prompts, settings, str(error))
    for record, verdict in zip(records, verdicts, strict=True):
        update(record, verdict)
        _settled[key(record)] = verdict
    return records


def update(record: dict[str, Any], verdict: Mapping[str, Any]) -> None:
    """Put a verdict into a record, its `score` included."""
    record.update({name: verdict[name] for name in ("verdict", "reason", "chosen")})
    from lmms_audio_tasks.judge.rejudge import unjudged_is_apart

    if verdict["verdict"] == "unjudged" and unjudged_is_apart(record):
        record.pop("score", None)
    elif verdict["verdict"] != "error":
        record["score"] = int(verdict["verdict"] == "correct")


def apply(samples: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Bring the host's samples in line with the verdicts of this run; returns those verdicts.

    Args:
        samples: as the host is about to save them, each with the record under `accuracy`.
    """
    found = []
    for sample in samples:
        record = sample.get("accuracy")
        if not isinstance(record, dict) or "item_id" not in record:
            continue
        verdict = settled(key(record))
        if verdict is None:
            continue
        update(record, verdict)
        for flag in sample.values():
            if isinstance(flag, dict) and "counted" in flag:
                flag["counted"] = flag["verdict"] == verdict["verdict"]
            elif isinstance(flag, dict) and "of" in flag:
                flag["verdict"] = verdict["verdict"]
        found.append(verdict)
    return found


def save(samples: Path, verdicts: Sequence[Mapping[str, Any]]) -> None:
    """Write the verdicts beside the samples file; a failure is told and costs the file only."""
    from lmms_audio_tasks.judge.verdict_file import verdicts_path, write_verdicts

    try:
        kinds = {verdict.get("kind", MULTIPLE_CHOICE) for verdict in verdicts}
        write_verdicts(verdicts_path(samples), verdicts, JudgeSettings.from_environment().public(kinds))
    except AudioTasksError as error:
        logger.error("the verdicts are not saved: %s", error)


def settled(item: Key) -> dict[str, Any] | None:
    """The judge's verdict on an item of this process's latest run; None where the rule's stands."""
    return _settled.get(item)


def key(record: Mapping[str, Any]) -> Key:
    """Task and item: what tells one answer from every other one of a run."""
    return record["task"], record["item_id"]
