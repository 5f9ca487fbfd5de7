"""The one record every benchmark writes for every item; scores and reports are made from records alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

Verdict = Literal["correct", "wrong", "none", "several", "undecided", "unjudged", "error"]
"""`correct` / `wrong`: one listed option was chosen, the golden one or another. `none` / `several`: the response
commits to no option, or to more than one. `undecided`: the rules are not sure. `unjudged`: a judge gave no usable
verdict. `error`: the model gave no response at all (it failed), so there is nothing to score."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

ERROR_PREFIX = "[lmms_audio_tasks error] "
# What the host writes where a response cache was filled by a failed request.
_HOST_ERROR_PREFIX = "[LMMS_EVAL_REQUEST_FAILED"
REFUSED = "[refused]"
"""What a response begins with where the server, not the model's own text, says that there is no answer."""


def error_response(message: str) -> str:
    """The response a model gives for an item it failed on; one line, never scored as an answer.

    The host turns `None` into an empty string before scoring, so a failure has to be told by a text of its own.
    """
    return ERROR_PREFIX + " ".join(str(message).split())


def is_error(response: str) -> bool:
    """Whether `response` tells of a failure instead of answering."""
    return response.startswith((ERROR_PREFIX.rstrip(), _HOST_ERROR_PREFIX))


def is_refused(response: str) -> bool:
    """Whether `response` is a server's word that there is no answer; an option that it names was not chosen."""
    return response.startswith(REFUSED)


def no_answer(response: str) -> tuple[Verdict, str] | None:
    """The verdict on a response that is none, and why: the model failed, or the server refused; None for all others."""
    if is_error(response):
        return "error", response
    return ("none", "refused") if is_refused(response) else None


@dataclass(frozen=True, slots=True)
class Record:
    """One scored item.

    Attributes:
        item_id: unique within the benchmark and the same in all tasks over one recording, so that runs can be joined.
        benchmark: e.g. `sakura`.
        task: the task's name, e.g. `sakura_multi_animal`.
        source: where the data came from: `hub`, `demo` or the user's folder.
        demo: true where the data is the shipped demo set, whose scores say nothing about a model.
        response: the model's answer as it was scored.
        verdict: see `Verdict`.
        reason: the rule or judge that reached the verdict.
        golden: the right answer.
        chosen: the option the response commits to, "" where there is none.
        groups: what reports group by, e.g. `{"track": "animal", "hop": "multi", "attribute": "cat"}`.
        options: the listed options as `(a) text`, in order; empty for open questions.
        prompt: the text the model was given, which a judge is shown.
    """

    item_id: str
    benchmark: str
    task: str
    source: str
    demo: bool
    response: str
    verdict: Verdict
    reason: str
    golden: str
    chosen: str
    groups: dict[str, str]
    options: tuple[str, ...] = ()
    prompt: str = ""

    @classmethod
    def of(
        cls,
        doc: Mapping[str, Any],
        benchmark: str,
        response: str,
        judged: tuple[Verdict, str, str],
        golden: str,
        groups: dict[str, str],
        options: tuple[str, ...] = (),
        prompt: str = "",
    ) -> Record:
        """The record of a response to `doc`, whose `item_id`, `task`, `source` and `demo` every benchmark's has.

        Args:
            judged: verdict, reason and what was chosen.
        """
        verdict, reason, chosen = judged
        place = doc["item_id"], benchmark, doc["task"], doc["source"], doc["demo"]
        return cls(*place, response, verdict, reason, golden, chosen, groups, options, prompt)

    def to_dict(self) -> dict[str, Any]:
        """The record as plain JSON types, as it stands in the samples file."""
        return {**asdict(self), "options": list(self.options)}


def count_verdicts(verdicts: Iterable[str]) -> dict[str, int]:
    """How often each verdict occurs; every verdict is a key, also at 0. Unknown verdicts raise `KeyError`."""
    counts: dict[str, int] = dict.fromkeys(VERDICTS, 0)
    for verdict in verdicts:
        counts[verdict] += 1
    return counts
