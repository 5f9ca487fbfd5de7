"""C3T's hooks for the host: what a model is given, how its response is scored, and the sums the host prints."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from lmms_audio_tasks import prompts, scoring
from lmms_audio_tasks.c3t.correctness import judge
from lmms_audio_tasks.c3t.fairness import Prompts, Share
from lmms_audio_tasks.c3t.outcomes import Outcomes, of_record, whole_prompts
from lmms_audio_tasks.records import Record
from lmms_audio_tasks.scoring import Proportion

logger = logging.getLogger(__name__)
Doc = Mapping[str, Any]
"""One document: what `lmms_audio_tasks.c3t.data` builds."""

INSTRUCTION_VARIABLE = "LMMS_AUDIO_TASKS_C3T_INSTRUCTION"
COUNTED = ("none", "several", "error")
"""The verdicts that stand beside accuracy in the host's table, as counts."""
COMPARED = ("task_name", "instance_id", "split", "accent", "age", "gender", "variants")
"""The groups of a record that fairness looks at."""
FAIRNESS = {"accent": ("dialect_fairness",), "age_gender": ("age_fairness", "gender_fairness"), "text": ()}
"""What a run of one split can tell beside accuracy."""


def instruction(wishes: Mapping[str, Any] | None) -> str:
    """What is written beside a spoken prompt: `LMMS_AUDIO_TASKS_C3T_INSTRUCTION`, else what the task's YAML gives the
    model, else nothing, as the spoken prompt is whole and the paper names no instruction."""
    return os.environ.get(INSTRUCTION_VARIABLE, "").strip() or (wishes or {}).get("instruction", "")


doc_to_audio = prompts.doc_to_audio
"""The spoken prompt for models of the host's simple kind, [] in the text tasks."""


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The prompt as it stands in the text tasks; in the spoken ones the instruction, which is empty by default."""
    return doc["prompt"] if doc["split"] == "text" else instruction(lmms_eval_specific_kwargs)


def doc_to_messages(doc: Doc, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """One user turn for models of the host's chat kind: the spoken prompt, and the instruction where there is one.

    Beside what `prompts.chat_audio` knows, a model may wish `recording`: a path where the data have one, else
    `{"bytes", "path"}` as it lies in the table, so that no file has to be written for each recording.
    """
    text, recording = doc_to_text(doc, lmms_eval_specific_kwargs), prompts.recording_of(doc)
    if recording is None:
        return prompts.user_turn([], text)
    (turn,) = prompts.user_turn([_chat_audio(recording, lmms_eval_specific_kwargs)], text)
    return [turn if text else {**turn, "content": turn["content"][:-1]}]


def _chat_audio(recording: Mapping[str, Any], wishes: Mapping[str, Any] | None) -> Any:
    if (wishes or {}).get("chat_audio") != "recording":
        return prompts.chat_audio(recording, wishes)
    return recording["path"] if recording.get("bytes") is None else recording


def doc_to_target(doc: Doc) -> str:
    """The target answer; several are separated by ` | `."""
    return " | ".join(doc["answers"])


def process_results(doc: Doc, results: Sequence[str]) -> dict[str, Any]:
    """Score one response; returns the host's metric values, the record among them."""
    response = results[0] if results else ""
    judged = judge(response, doc["answers"], doc["options"])
    voice = ("task_name", "instance_id", "sample_id", "split", "modality", "accent", "age", "gender", "variants")
    groups = {name: str(doc[name]) for name in voice}
    options, prompt = tuple(doc["options"]), doc["text_prompt"]
    record = Record.of(doc, "c3t", response, judged, doc_to_target(doc), groups, options, prompt)
    return metric_values(record)


def metric_values(record: Record) -> dict[str, Any]:
    """The whole record once; what fairness needs of it for each fairness metric; one flag for each count.

    From `cluster`, which names the prompt, the host takes the standard error that knows of a prompt's many voices.
    """
    values = scoring.metric_values(record)
    cluster = f"{record.groups['task_name']}/{record.groups['instance_id']}"
    lean = {"verdict": record.verdict, "groups": {name: record.groups[name] for name in COMPARED}}
    return {
        "accuracy": {**values["accuracy"], "cluster": cluster},
        **{verdict: values[verdict] for verdict in COUNTED},
        **dict.fromkeys(FAIRNESS[record.groups["split"]], lean),
    }


def accuracy(records: Sequence[Mapping[str, Any]]) -> Proportion | None:
    """Share of right responses among all that the model gave (see `scoring.accuracy`), in [0, 1]; None of none."""
    scoring.accuracy(records)  # for its warnings; its value is the same
    verdicts = [record["verdict"] for record in records]
    return _proportion(Share(verdicts.count("correct"), len(verdicts) - verdicts.count("error")))


def fairness(metric: str, records: Sequence[Mapping[str, Any]]) -> Proportion | None:
    """One fairness metric of `fairness.Measures` over one task's records, in [0, 1]; None where there is nothing.

    A prompt that `--limit` cut apart is left out, with a warning.
    """
    whole, cut = whole_prompts(records)
    if cut:
        task = records[0]["groups"]["task_name"]
        told = "1 prompt was" if cut == 1 else f"{cut} prompts were"
        logger.warning("%s: %s not asked in all voices; left out of %s", task, told, metric)
    outcomes = Outcomes.of(outcome for record in whole if (outcome := of_record(record)) is not None)
    return _proportion(getattr(Prompts.of(outcomes).measure(), metric))


def _proportion(share: Share) -> Proportion | None:
    return Proportion(share.k, share.n) if share.n else None


# One function a metric, as a YAML file can name functions only.
dialect_fairness = partial(fairness, "fairness_dialect")
age_fairness = partial(fairness, "fairness_age")
gender_fairness = partial(fairness, "fairness_gender")

pooled = scoring.pooled
"""Over all items or prompts of a group's tasks together, as the paper pools."""
