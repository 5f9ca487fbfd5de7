"""SAKURA's official prediction files judged by a language model as the authors do, or by it and the matcher."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_audio_tasks import __version__
from lmms_audio_tasks.judge.judgement_file import FiledJudgement, JudgementFile, write_judgements
from lmms_audio_tasks.judge.prompt import JudgeRequest
from lmms_audio_tasks.judge.rejudge import RuleVerdict, merge, needs_judge
from lmms_audio_tasks.judge.run import Judgement, JudgeOutcome, judge
from lmms_audio_tasks.judge.settings import JudgeSettings
from lmms_audio_tasks.judge.verdict import explanation
from lmms_audio_tasks.sakura.predictions import Scored, ScoredFile, score_file
from lmms_audio_tasks.sources import Source


@dataclass(frozen=True, slots=True)
class JudgedPredictions:
    """A prediction file as judged.

    Attributes:
        scored: the file with the final verdicts.
        judgements: what the language model said, by audio path; without what the matcher decided.
    """

    scored: ScoredFile
    judgements: Mapping[str, Judgement]
    settings: JudgeSettings
    outcome: JudgeOutcome

    @property
    def unjudged(self) -> int:
        """How many responses have no usable verdict."""
        return self.outcome.unjudged

    def to_dict(self) -> dict[str, Any]:
        """As `ScoredFile.to_dict`, with the judge, its settings and what it took; unjudged counts as not correct."""
        outcome = self.outcome
        asked = {name: getattr(outcome, name) for name in ("calls", "cached", "prompt_tokens", "completion_tokens")}
        judge_told = {"judge": self.settings.mode, "judge_settings": self.settings.public()}
        return {**self.scored.to_dict(), **judge_told, **asked, "cost": outcome.cost}

    def to_text(self) -> str:
        """The same for people."""
        lines = [self.scored.to_text(), f"judge     {self.settings.mode}"]
        if self.settings.mode != "rule":
            lines[-1] += f", {self.settings.model}"
            lines.append(self.outcome.summary())
        return "\n".join(lines)

    def write_judgements(self, path: Path) -> None:
        """Write the official judgement file.

        Without a usable verdict `Judgement` is `unjudged` and the explanation holds the judge's reply; items on which
        the model failed are left out. In hybrid mode the judge's name says that the matcher decided the rest.

        Raises:
            DataError: it cannot be written.
        """
        settings = self.settings
        if settings.mode == "rule":
            self.scored.write_judgements(path)
            return
        matcher = f"lmms-audio-tasks {__version__} option matcher, and where it is undecided "
        results = {
            key: _filed(item, self.judgements.get(key))
            for key, item in self.scored.items.items()
            if item.verdict != "error"
        }
        name = settings.model if settings.mode == "llm" else matcher + settings.model
        write_judgements(path, JudgementFile(name, settings.temperature, settings.top_p, settings.max_tokens, results))


def judge_file(
    path: Path, settings: JudgeSettings, progress: bool = True, source: Source | None = None
) -> JudgedPredictions:
    """Judge an official prediction file according to `settings.mode`.

    Args:
        source: not needed: such a file holds questions and answers. Taken because every benchmark's is called alike.

    Raises:
        DataError: the file does not have the official form.
        AudioTasksError: see `judge.run.judge`.
    """
    scored = score_file(path, source)
    keys = [key for key, item in scored.items.items() if needs_judge(item.verdict, settings.mode)]
    requests = [
        JudgeRequest(item.instruction, item.label, item.response) for item in map(scored.items.get, keys) if item
    ]
    outcome = judge(requests, settings, progress) if requests else JudgeOutcome([])
    judgements = dict(zip(keys, outcome.judgements, strict=True))
    items = {
        key: _judged(item, judgements[key], settings.model) if key in judgements else item
        for key, item in scored.items.items()
    }
    return JudgedPredictions(ScoredFile(scored.attribute, scored.hop, items), judgements, settings, outcome)


def _judged(item: Scored, judgement: Judgement, model: str) -> Scored:
    rule = RuleVerdict(item.verdict, item.reason, item.chosen)
    merged = merge(rule, judgement, item.label, model)
    return Scored(item.instruction, item.response, item.label, merged.verdict, merged.reason, merged.chosen)


def _filed(item: Scored, judgement: Judgement | None) -> FiledJudgement:
    texts = (item.instruction, item.response, item.label)
    if judgement is None:
        chosen = item.chosen or "no option"
        told = f"verdict: {item.verdict}; rule: {item.reason}; chosen: {chosen}"
        return FiledJudgement("correct" if item.verdict == "correct" else "incorrect", told, *texts)
    if judgement.verdict in ("correct", "incorrect"):
        told = "empty response" if judgement.how == "empty" else explanation(judgement.text)
        return FiledJudgement(judgement.verdict, told, *texts)
    return FiledJudgement("unjudged", judgement.text or judgement.problem, *texts)
