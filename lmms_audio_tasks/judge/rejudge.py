"""From saved records to new verdicts: which responses a judge is asked about, and what its answer makes of a record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lmms_audio_tasks import scoring
from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.judge.prompt import JudgeRequest
from lmms_audio_tasks.judge.run import Judgement, JudgeOutcome, judge, judge_from_cache
from lmms_audio_tasks.judge.settings import JudgeSettings, Mode
from lmms_audio_tasks.records import Verdict


class RuleVerdict(NamedTuple):
    """What the option matcher says."""

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

    The option matcher is always run anew: what a record says may itself be an earlier judge's word. In `rule` mode its
    verdict stands; in `hybrid` mode it does unless it is `undecided`; in `llm` mode the judge decides everything. A
    response that the judge calls incorrect keeps the matcher's kind of wrong (`wrong`, `none`, `several`) where the
    matcher called it wrong too, and is `wrong` otherwise. Errors stay errors.

    Args:
        prompts: the question of each record, as the model was given it.

    Returns:
        for each record `item_id`, `task`, `verdict`, `reason` (the rule, or `judge:<model>`), `chosen`, `explanation`
        (the judge's reply as it came), `how` (`rule`, or see `Judgement.how`), `problem`, `rule` (the matcher's
        verdict), and `instruction`, `golden`, `response`, which were judged.

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
    chosen = [number for number, rule in enumerate(rules) if needs_judge(rule.verdict, settings.mode)]
    requests = [JudgeRequest(prompts[i], records[i]["golden"], records[i]["response"]) for i in chosen]
    # Without a request nothing of the judge's, such as its cache, should be touched.
    outcome = ask(requests) if requests else JudgeOutcome([])
    judgements = dict(zip(chosen, outcome.judgements, strict=True))
    verdicts = []
    for number, (record, prompt, rule) in enumerate(zip(records, prompts, rules, strict=True)):
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
            }
        )
    return Rejudged(verdicts, outcome)


def rule_verdict(record: Mapping[str, Any], prompt: str) -> RuleVerdict:
    """The option matcher's verdict; the record's own where the question is an open one.

    Raises:
        OptionError: the prompt has no options, or the golden answer is none of them.
    """
    if not record["options"]:
        return RuleVerdict(record["verdict"], record["reason"], record["chosen"])
    return RuleVerdict(*scoring.judge_options(record["response"], prompt, record["golden"]))


def needs_judge(rule: str, mode: Mode) -> bool:
    """Whether a response with this verdict by rule goes to the language model."""
    return rule != "error" and (mode == "llm" or (mode == "hybrid" and rule == "undecided"))


def merge(rule: RuleVerdict, judgement: Judgement, golden: str, model: str) -> RuleVerdict:
    """The verdict on a response that both the matcher and the judge have seen; the judge's word counts."""
    reason = f"judge:{model}" if judgement.how != "empty" else "empty response"
    if judgement.verdict == "correct":
        return RuleVerdict("correct", reason, golden.strip())
    if judgement.verdict == "incorrect":
        agreed = rule.verdict in ("wrong", "none", "several")
        return RuleVerdict(rule.verdict if agreed else "wrong", reason, rule.chosen if agreed else "")
    return RuleVerdict(judgement.verdict, reason, "")
