"""From saved records to new verdicts: which responses a judge is asked about, and what its answer makes of a record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lmms_audio_tasks import scoring
from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.judge.open_ended import judge_open
from lmms_audio_tasks.judge.prompt import MULTIPLE_CHOICE, JudgeRequest, Kind
from lmms_audio_tasks.judge.run import Judgement, JudgeOutcome, judge, judge_from_cache
from lmms_audio_tasks.judge.settings import JudgeSettings, Mode
from lmms_audio_tasks.records import Verdict

KIND = "kind"
"""The group of a record that says of what kind its question is, in benchmarks with more than one: `mcq` or `open`."""
TRACE = "trace"
"""What a record of an episode along a task graph has."""


def kind_of(record: Mapping[str, Any]) -> Kind | None:
    """As what a judge is asked about a record; None for an episode, whose verdicts decided what came next and so cannot
    be given afterwards."""
    if TRACE in record:
        return None
    return "open_ended" if record.get("groups", {}).get(KIND) == "open" else MULTIPLE_CHOICE


def unjudged_is_apart(record: Mapping[str, Any]) -> bool:
    """Whether an unjudged answer is neither right nor wrong, as in benchmarks with open questions and in episodes; else
    it counts as not right, as in SAKURA's own sum."""
    return TRACE in record or KIND in record.get("groups", {})


class RuleVerdict(NamedTuple):
    """What the rules say: the option matcher, or the rule for open questions."""

    verdict: Verdict
    reason: str
    chosen: str


@dataclass(frozen=True, slots=True)
class Rejudged:
    """New verdicts in the order of the records, and what asking for them took.

    Attributes:
        verdicts: one dictionary a record, see `judge_records`.
    """

    verdicts: list[dict[str, Any]]
    outcome: JudgeOutcome


def judge_records(
    records: Sequence[Mapping[str, Any]], prompts: Sequence[str], settings: JudgeSettings, progress: bool = True
) -> Rejudged:
    """Judge records (dictionaries as `records.Record.to_dict` makes them) according to `settings.mode`.

    The rules are always run anew: what a record says may itself be an earlier judge's word. In `rule` mode their
    verdict stands; in `hybrid` mode it does unless it is `undecided` or `unjudged`; in `llm` mode the judge decides
    everything. A response that the judge calls incorrect keeps the rules' kind of wrong (`wrong`, `none`, `several`)
    where they called it wrong too, and is `wrong` otherwise. Errors stay errors, and episodes what they are.

    Args:
        prompts: the question of each record, as the model was given it.

    Returns:
        for each record `item_id`, `task`, `verdict`, `reason` (the rule, or `judge:<model>`), `chosen`, `explanation`
        (the judge's reply as it came), `how` (`rule`, or see `Judgement.how`), `problem`, `rule` (the verdict by rule),
        and `instruction`, `golden`, `response`, which were judged; `kind` where it was no multiple choice question.

    Raises:
        OptionError: a prompt has no options, or the golden answer is none of them.
        AudioTasksError: see `run.judge`.
    """
    return _rejudge(records, prompts, settings, lambda requests: judge(requests, settings, progress))


def judge_stopped(
    records: Sequence[Mapping[str, Any]], prompts: Sequence[str], settings: JudgeSettings, problem: str
) -> list[dict[str, Any]]:
    """The verdicts of `judge_records` when the judge has stopped, as `problem` tells: the cached ones, else `unjudged`.

    Raises:
        OptionError: see `judge_records`.
    """

    def known(requests: Sequence[JudgeRequest]) -> JudgeOutcome:
        try:
            return judge_from_cache(requests, settings, problem)
        except AudioTasksError:
            # The cache or the prompt file may be the very thing that stopped the judge.
            return JudgeOutcome([Judgement("unjudged", "", "stopped", problem)] * len(requests))

    return _rejudge(records, prompts, settings, known).verdicts


def _rejudge(
    records: Sequence[Mapping[str, Any]],
    prompts: Sequence[str],
    settings: JudgeSettings,
    ask: Callable[[Sequence[JudgeRequest]], JudgeOutcome],
) -> Rejudged:
    rules = [rule_verdict(record, prompt) for record, prompt in zip(records, prompts, strict=True)]
    kinds = [kind_of(record) for record in records]
    requests_by_number = {
        number: JudgeRequest(prompt, record["golden"], record["response"], kind)
        for number, (record, prompt, rule, kind) in enumerate(zip(records, prompts, rules, kinds, strict=True))
        if kind is not None and needs_judge(rule.verdict, settings.mode)
    }
    chosen, requests = list(requests_by_number), list(requests_by_number.values())
    # Without a request nothing of the judge's, such as its cache, should be touched.
    outcome = ask(requests) if requests else JudgeOutcome([])
    judgements = dict(zip(chosen, outcome.judgements, strict=True))
    verdicts = []
    for number, (record, prompt, rule, kind) in enumerate(zip(records, prompts, rules, kinds, strict=True)):
        judgement = judgements.get(number)
        verdict = rule if judgement is None else merge(rule, judgement, record["golden"], settings.model)
        verdicts.append(
            {
                "item_id": record["item_id"],
                "task": record["task"],
                **verdict._asdict(),
                "explanation": judgement.text if judgement else "",
                "how": judgement.how if judgement else "rule",
                "problem": judgement.problem if judgement else "",
                "rule": rule.verdict,
                "instruction": prompt,
                "golden": record["golden"],
                "response": record["response"],
                **({KIND: kind} if kind not in (None, MULTIPLE_CHOICE) else {}),
            }
        )
    return Rejudged(verdicts, outcome)


def rule_verdict(record: Mapping[str, Any], prompt: str) -> RuleVerdict:
    """The verdict by rule; the record's own where its question has neither options nor a reference to go by.

    Raises:
        OptionError: the prompt has no options, or the golden answer is none of them.
    """
    if kind_of(record) == "open_ended":
        return RuleVerdict(*judge_open(record["response"], record["golden"]))
    if not record["options"]:
        return RuleVerdict(record["verdict"], record["reason"], record["chosen"])
    return RuleVerdict(*scoring.judge_options(record["response"], prompt, record["golden"]))


def needs_judge(rule: str, mode: Mode) -> bool:
    """Whether a response with this verdict by rule goes to the language model."""
    return rule != "error" and (mode == "llm" or (mode == "hybrid" and rule in ("undecided", "unjudged")))


def merge(rule: RuleVerdict, judgement: Judgement, golden: str, model: str) -> RuleVerdict:
    """The verdict on a response that both the matcher and the judge have seen; the judge's word counts."""
    reason = f"judge:{model}" if judgement.how != "empty" else "empty response"
    if judgement.verdict == "correct":
        return RuleVerdict("correct", reason, golden.strip())
    if judgement.verdict == "incorrect":
        agreed = rule.verdict in ("wrong", "none", "several")
        return RuleVerdict(rule.verdict if agreed else "wrong", reason, rule.chosen if agreed else "")
    return RuleVerdict(judgement.verdict, reason, "")
