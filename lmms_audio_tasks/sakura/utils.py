"""SAKURA's hooks for the host: what a model is given, and how its response is scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lmms_audio_tasks import prompts, scoring
from lmms_audio_tasks.records import Record

Doc = Mapping[str, Any]
"""One document: what `lmms_audio_tasks.sakura.data` builds."""


doc_to_audio = prompts.doc_to_audio
"""The recording for models of the host's simple kind, [] in the `_text` tasks."""


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The instruction as it stands (after the caption line in the `_text` tasks); no system prompt, as in the paper."""
    return doc["prompt"]


def doc_to_messages(doc: Doc, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """One user turn for models of the host's chat kind: the recording, then the instruction."""
    recording = prompts.recording_of(doc)
    audios = [] if recording is None else [prompts.chat_audio(recording, lmms_eval_specific_kwargs)]
    return prompts.user_turn(audios, doc["prompt"])


def doc_to_target(doc: Doc) -> str:
    """The golden option, e.g. `(c) Claws`."""
    return doc["answer"]


def process_results(doc: Doc, results: Sequence[str]) -> dict[str, Any]:
    """Score one response by the option matcher; returns the host's metric values, the record among them."""
    response = results[0] if results else ""
    judged = scoring.judge_options(response, doc["prompt"], doc["answer"])
    groups = {key: doc[key] for key in ("track", "hop", "modality", "attribute")}
    options = scoring.option_labels(doc["prompt"])
    record = Record.of(doc, "sakura", response, judged, doc["answer"], groups, options, doc["prompt"])
    return scoring.metric_values(record)
