"""ART's hooks for the host: what a model is given, how its response is scored, and the sums the host prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lmms_audio_tasks import prompts, scoring
from lmms_audio_tasks.art.answers import judge
from lmms_audio_tasks.records import Record
from lmms_audio_tasks.scoring import Proportion

Doc = Mapping[str, Any]
"""One document: what `lmms_audio_tasks.art.data` builds."""


def doc_to_audio(doc: Doc, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> list[Any]:
    """The recording for models of the host's simple kind, also in the `_text` tasks.

    Returns:
        `[{"array": float32 of shape (n,), "sampling_rate": 16000, "path": str | None}]`, or what the model's entry in
        `lmms_eval_specific_kwargs` asks for instead (see `prompts.simple_audio`).
    """
    return [prompts.simple_audio(doc["audio"], lmms_eval_specific_kwargs)]


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The instruction to answer yes or no; the question before it in the `_text` tasks, spoken only in the others."""
    return doc["prompt"]


def doc_to_messages(doc: Doc, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """One user turn for models of the host's chat kind: the recording, then the text."""
    return prompts.user_turn([prompts.chat_audio(doc["audio"], lmms_eval_specific_kwargs)], doc["prompt"])


def doc_to_target(doc: Doc) -> str:
    """The golden answer, `yes` or `no`."""
    return doc["answer"]


def process_results(doc: Doc, results: Sequence[str]) -> dict[str, Any]:
    """Score one response by the official rule and leniently; returns the host's metric values, the record among them.

    `score` (1 or 0) is what `share` averages and the host takes a standard error from; a failed item has none.
    """
    response = results[0] if results else ""
    golden = doc["answer"]
    verdict, reason, chosen = judge(response, golden)
    groups = {"task": doc["folder"], **{key: doc[key] for key in ("modality", "template_id", "question_id")}}
    record = Record.of(doc, "art", response, (verdict, reason, chosen), golden, groups, prompt=doc["prompt"])
    scored = verdict != "error"
    return {
        "exact_match": {**record.to_dict(), **_score(scored, verdict == "correct")},
        "lenient": _score(scored, chosen == golden),
        "neither": _score(scored, not chosen),
        "yes_rate": _score(scored, chosen == "yes"),
        "error": {"counted": not scored},
    }


def _score(scored: bool, hit: bool) -> dict[str, int]:
    return {"score": int(hit)} if scored else {}


def share(values: Sequence[Mapping[str, Any]]) -> Proportion | None:
    """Mean of `score` over the items that the model answered, in [0, 1]; None where it answered none."""
    scores = [value["score"] for value in values if "score" in value]
    return Proportion(sum(scores), len(scores)) if scores else None


def exact_match(records: Sequence[Mapping[str, Any]]) -> Proportion | None:
    """Share of responses that are right by the official rule, in [0, 1]; None where the model gave none.

    Failed items are left out and warned about, as are empty responses, which count as wrong.
    """
    scoring.accuracy(records)  # for its warnings; its value is the same
    return share(records)


pooled = scoring.pooled
"""Over all items of a group's tasks together, as the official overall accuracy."""


def failed(flags: Sequence[Mapping[str, bool]]) -> int:
    """On how many items the model failed."""
    return sum(flag["counted"] for flag in flags)
