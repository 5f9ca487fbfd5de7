"""What every multiple choice benchmark does with a response, and the sums the host prints."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_audio_tasks.judge import live
from lmms_audio_tasks.options import Option, OptionError, match_response, parse_answer, split_instruction
from lmms_audio_tasks.records import Record, Verdict, no_answer

logger = logging.getLogger(__name__)


class Proportion(float):
    """A share that remembers its counts, so that a group can pool its tasks exactly, also where items failed."""

    hits: int
    total: int

    def __new__(cls, hits: int, total: int) -> Proportion:
        """`hits` of `total`, which is at least 1."""
        proportion = super().__new__(cls, hits / total)
        proportion.hits, proportion.total = hits, total
        return proportion

    def __getnewargs__(self) -> tuple[int, int]:  # type: ignore[override]
        """What a copy is made of."""
        return self.hits, self.total


def pooled(values: Sequence[Proportion | None], sizes: Sequence[int], weight_by_size: bool = True) -> Proportion | None:
    """A group's share over all items of its tasks together, in [0, 1]; None if a task has none, or there is no task."""
    found = [value for value in values if value is not None]
    if not found or len(found) < len(values):
        return None
    return Proportion(sum(value.hits for value in found), sum(value.total for value in found))


COUNTED: tuple[Verdict, ...] = ("none", "several", "undecided", "unjudged", "error")
"""The verdicts that stand beside accuracy in the host's table, as counts."""


def judge_options(response: str, prompt: str, golden: str) -> tuple[Verdict, str, str]:
    """Score one response to a multiple choice prompt by rule.

    Args:
        prompt: the question with its options inline.
        golden: the right option as the data give it, e.g. `(c) Claws`.

    Returns:
        the verdict, the rule that reached it, and the chosen option as `(c) text` ("" where there is none).

    Raises:
        OptionError: the prompt has no options, or the golden answer is none of them.
    """
    question, options = split_instruction(prompt)
    answer = parse_answer(golden, options)
    if (unanswered := no_answer(response)) is not None:
        return (*unanswered, "")
    match = match_response(response, options, question)
    if match.option is None:
        return ("undecided" if match.kind == "one" else match.kind), match.rule, ""
    return ("correct" if match.option == answer else "wrong"), match.rule, option_label(match.option)


def option_label(option: Option) -> str:
    """The option as data and reports write it: `(a) text`."""
    return f"({option.letter}) {option.text}"


def option_labels(prompt: str) -> tuple[str, ...]:
    """The options of `prompt` as `(a) text`, in order; empty where it has none."""
    try:
        return tuple(map(option_label, split_instruction(prompt)[1]))
    except OptionError:
        return ()


def metric_values(record: Record) -> dict[str, Any]:
    """What `process_results` hands to the host: the whole record once, and one flag for each count.

    A flag is an object, not a number, because the host would print a standard error of the mean beside a count.
    `score` (1 or 0) is the field from which the host takes accuracy's standard error; an error has none.
    """
    score = {} if record.verdict == "error" else {"score": int(record.verdict == "correct")}
    key = [record.task, record.item_id]
    flags: dict[str, Any] = {
        verdict: {"of": key, "verdict": verdict, "counted": record.verdict == verdict} for verdict in COUNTED
    }
    return {"accuracy": {**record.to_dict(), **score}, **flags}


def judged_accuracy(records: Sequence[dict[str, Any]]) -> float | None:
    """`accuracy` after the judge that the user asked for has had its word, on all of a task's responses at once."""
    return accuracy(live.settle(records))


def accuracy(records: Sequence[Mapping[str, Any]]) -> float | None:
    """Share of correct responses among all that the model gave, in [0, 1]; None where it gave none.

    Responses that commit to no option or to several, that are undecided or unjudged count in the denominator. An error
    is not a response: it is counted in the table's own row, warned about here, and makes `lmms_eval` exit non-zero.
    """
    verdicts = [record["verdict"] for record in records]
    errors = verdicts.count("error")
    task = records[0]["task"] if records else ""
    if errors:
        logger.warning("%s: %d of %d items failed and are not in the accuracy", task, errors, len(verdicts))
    empty = sum(not record["response"].strip() for record in records)
    if empty:
        logger.warning("%s: %d of %d responses are empty; some models hide failures so", task, empty, len(verdicts))
    return verdicts.count("correct") / (len(verdicts) - errors) if len(verdicts) > errors else None


def count(flags: Sequence[dict[str, Any]]) -> int:
    """How many items got the verdict; a judge's word, asked for by `judged_accuracy` before, wins over the rule's."""
    for flag in flags:
        judged = live.settled(tuple(flag["of"]))
        if judged is not None:
            flag["counted"] = judged["verdict"] == flag["verdict"]
    return sum(flag["counted"] for flag in flags)


def macro_mean(values: Sequence[float | None], sizes: Sequence[int], weight_by_size: bool = False) -> float | None:
    """Plain mean over a group's tasks, as the papers average over tracks; None where a task has no value."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers and len(numbers) == len(values) else None
