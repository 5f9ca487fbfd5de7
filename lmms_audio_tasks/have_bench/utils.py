"""HAVE-Bench's hooks for the host, levels perception and reasoning: what a model is given, and how it is scored."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_audio_tasks import prompts, scoring
from lmms_audio_tasks.have_bench.levels import Tally, by_subtask, level_bounds
from lmms_audio_tasks.have_bench.levels import level_score as mean_of_subtasks
from lmms_audio_tasks.have_bench.media import load_image
from lmms_audio_tasks.judge import live
from lmms_audio_tasks.judge.open_ended import judge_open
from lmms_audio_tasks.records import Record

logger = logging.getLogger(__name__)
Doc = Mapping[str, Any]
"""One document: what `lmms_audio_tasks.have_bench.data` builds."""
GROUPS = ("level", "role", "subtask", "mode", "kind", "asr")
"""What a record can be grouped by; `asr` is who wrote the question down in the `_asr` tasks, else ""."""


def doc_to_audio(doc: Doc, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> list[Any]:
    """The media for models of the host's simple kind: the pictures, then the recordings.

    Returns:
        `PIL.Image.Image`s in RGB, then what `prompts.simple_audio` makes of each recording, by default `{"array":
        float32 of shape (n,), "sampling_rate": 16000, "path": str}`. No recordings in the `_text` and `_asr` tasks.
    """
    sounds = [prompts.simple_audio(_recording(path), lmms_eval_specific_kwargs) for path in doc["audios"]]
    return [*map(load_image, doc["images"]), *sounds]


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The question, or the line that says it is asked in the recording, with the options; see `data.prompt`."""
    return doc["prompt"]


def doc_to_messages(doc: Doc, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """One user turn for models of the host's chat kind: the pictures as paths, the recordings, then the text."""
    audios = [prompts.chat_audio(_recording(path), lmms_eval_specific_kwargs) for path in doc["audios"]]
    (turn,) = prompts.user_turn(audios, doc["prompt"])
    images = [{"type": "image", "url": path} for path in doc["images"]]
    return [{**turn, "content": [*images, *turn["content"]]}]


def _recording(path: str) -> dict[str, Any]:
    return {"bytes": None, "path": path}


def doc_to_target(doc: Doc) -> str:
    """The right option as `(b) text`, or the reference answer."""
    return doc["answer"]


def process_results(doc: Doc, results: Sequence[str]) -> dict[str, Any]:
    """Score one response by rule; returns the host's metric values, the record among them."""
    response = results[0] if results else ""
    if doc["kind"] == "mcq":
        judged = scoring.judge_options(response, doc["question"], doc["answer"])
    else:
        judged = judge_open(response, doc["answer"])
    groups = {name: doc[name] for name in GROUPS}
    options = tuple(doc["options"])
    record = Record.of(doc, "have_bench", response, judged, doc["answer"], groups, options, doc["question"])
    return metric_values(record)


def metric_values(record: Record) -> dict[str, Any]:
    """The whole record once, what the level's score needs of it, and one flag for each count.

    An answer without a verdict has no `score`, from which the host takes the standard error.
    """
    values = scoring.metric_values(record)
    if record.verdict == "unjudged":
        values["accuracy"].pop("score")
    key = [record.task, record.item_id]
    return {**values, "level_score": {"of": key, "subtask": record.groups["subtask"], "verdict": record.verdict}}


def accuracy(records: Sequence[dict[str, Any]]) -> float | None:
    """Share of right answers among all that the model gave, in [0, 1], after the judge that the user asked for.

    None where answers are unjudged (a warning then tells the bounds), or where there is none.
    """
    scoring.accuracy(live.settle(records))  # for its warnings
    tally = Tally.of(record["verdict"] for record in records)
    if tally.unjudged:
        _warn(records[0]["task"], "accuracy", tally, tally.bounds)
    return tally.score


def level_score(entries: Sequence[dict[str, Any]]) -> float | None:
    """The plain mean over the level's subtasks, in [0, 1]; None as for `accuracy`. To be asked for after it."""
    for entry in entries:
        judged = live.settled(tuple(entry["of"]))
        if judged is not None:
            entry["verdict"] = judged["verdict"]
    subtasks = by_subtask((entry["subtask"], entry["verdict"]) for entry in entries)
    whole = Tally.of(entry["verdict"] for entry in entries)
    if whole.unjudged:
        _warn(entries[0]["of"][0], "level_score", whole, level_bounds(subtasks))
    return mean_of_subtasks(subtasks)


def _warn(task: str, metric: str, tally: Tally, bounds: tuple[float, float]) -> None:
    logger.warning(
        "%s: no %s, as %d of %d answers are unjudged; it lies between %.4f and %.4f "
        "(--audio_judge hybrid, or `lmms-audio-tasks judge`, asks a language model)",
        task,
        metric,
        tally.unjudged,
        tally.answered,
        *bounds,
    )
