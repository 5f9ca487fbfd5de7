"""Files of answers, scored offline: one JSON object a line, `{"id", "response"}`, for items of either level.

The same file form serves the items asked by speech, by text and by a recogniser's transcript; only what it answers is
scored. The authors have published no form of their own.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_audio_tasks import sources
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.have_bench import ITEM_LEVELS
from lmms_audio_tasks.have_bench.data import have_folder, load_items
from lmms_audio_tasks.have_bench.items import Item
from lmms_audio_tasks.have_bench.levels import Tally, by_subtask, level_bounds, level_score
from lmms_audio_tasks.have_bench.lines import json_objects
from lmms_audio_tasks.judge.rejudge import judge_records
from lmms_audio_tasks.judge.run import JudgeOutcome
from lmms_audio_tasks.judge.settings import JudgeSettings
from lmms_audio_tasks.judge.verdict_file import write_verdicts
from lmms_audio_tasks.records import count_verdicts
from lmms_audio_tasks.strict_json import short

logger = logging.getLogger(__name__)
KEYS = {"id", "response"}
SHOWN = ("correct", "wrong", "none", "several", "undecided", "unjudged", "error")


@dataclass(frozen=True, slots=True)
class ScoredFile:
    """A file of answers as scored.

    Attributes:
        items: the items that were answered, in the order of the file.
        verdicts: one dictionary for each of them, see `rejudge.judge_records`.
        missing: for each level with an answer, how many of its items have none; they are left out of its score.
        unknown: answers whose ids the data do not have; they are left out.
        outcome: what a judge was asked, if one was.
    """

    source: sources.Source
    items: Sequence[Item]
    verdicts: Sequence[Mapping[str, Any]]
    missing: Mapping[str, int]
    unknown: int
    settings: JudgeSettings
    outcome: JudgeOutcome

    @property
    def unjudged(self) -> int:
        """How many answers have no verdict."""
        return sum(verdict["verdict"] == "unjudged" for verdict in self.verdicts)

    def subtasks(self, level: str) -> dict[str, Tally]:
        """The counts of each subtask of a level; {} where nothing of it was answered."""
        pairs = zip(self.items, self.verdicts, strict=True)
        return by_subtask((item.subtask, verdict["verdict"]) for item, verdict in pairs if item.level == level)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types: for each level with an answer its score, its bounds, the coverage and the subtasks.

        A score is None where an answer is unjudged: it then lies between `least` and `greatest`.
        """
        levels = [self._level(level, subtasks) for level in ITEM_LEVELS if (subtasks := self.subtasks(level))]
        return {
            "benchmark": "have_bench",
            "source": self.source.label,
            "demo": self.source.demo,
            "judge": self.settings.public(("multiple_choice", "open_ended")),
            "n": len(self.items),
            **count_verdicts(verdict["verdict"] for verdict in self.verdicts),
            "unknown_ids": self.unknown,
            "levels": levels,
        }

    def _level(self, level: str, subtasks: Mapping[str, Tally]) -> dict[str, Any]:
        least, greatest = level_bounds(subtasks)
        return {
            "level": level,
            "score": level_score(subtasks),
            "least": least,
            "greatest": greatest,
            "missing": self.missing[level],
            "subtasks": [
                {
                    "subtask": name,
                    "n": tally.n,
                    "correct": tally.correct,
                    "unjudged": tally.unjudged,
                    "error": tally.errors,
                    "score": tally.score,
                }
                for name, tally in subtasks.items()
            ],
        }

    def to_text(self) -> str:
        """The same for people."""
        told = self.to_dict()
        note = " (demo data: these scores say nothing about a model)" if self.source.demo else ""
        lines = [f"HAVE-Bench, {len(self.items)} answers{note}"]
        for level in told["levels"]:
            rest = f"  (items without an answer, left out: {level['missing']})" if level["missing"] else ""
            lines += ["", f"{level['level']:<32}{_share(level)}{rest}"]
            for row in level["subtasks"]:
                bounds = Tally(row["n"], row["correct"], row["unjudged"], row["error"]).bounds
                share = _share({"score": row["score"], "least": bounds[0], "greatest": bounds[1]})
                lines.append(f"  {row['subtask']:<30}{share}  {row['correct']} of {row['n'] - row['error']}")
        lines += ["", "A level's score is the plain mean over its subtasks."]
        lines += [f"{name:<10}{told[name]}" for name in SHOWN]
        if self.unknown:
            lines.append(f"answers with ids that the data do not have, left out: {self.unknown}")
        mode = self.settings.mode
        lines.append(f"judge     {mode}" + ("" if mode == "rule" else f", {self.settings.model}"))
        if mode == "rule" and self.unjudged:
            lines.append("Open answers unlike their reference need a language model: --judge hybrid or --judge llm.")
        return "\n".join(lines if mode == "rule" else [*lines, self.outcome.summary()])

    def write_judgements(self, path: Path) -> None:
        """Write the verdicts as a verdict file, which `lmms-audio-tasks agreement` reads.

        Raises:
            DataError: it cannot be written.
        """
        write_verdicts(path, self.verdicts, self.settings.public(("multiple_choice", "open_ended")))


def _share(row: Mapping[str, Any]) -> str:
    if row["score"] is None:
        return f"{row['least']:.4f} to {row['greatest']:.4f}, not all judged"
    return f"{row['score']:.4f}"


def score_file(path: Path, source: sources.Source | None = None) -> ScoredFile:
    """Score a file of answers by rule against the items of `source` (the source in force by default).

    Raises:
        DataError: a line that is not an answer, an id twice, no line at all, no id of the data, or data at fault.
    """
    return score(path, source or sources.current(), JudgeSettings(mode="rule"))


def score(path: Path, source: sources.Source, settings: JudgeSettings, progress: bool = True) -> ScoredFile:
    """`score_file` by whatever judge `settings` ask for.

    Raises:
        DataError: see `score_file`.
        AudioTasksError: see `judge.run.judge`.
    """
    responses = read_predictions(path)
    all_items = load_items(source)
    items = [item for item in all_items if item.id in responses]
    unknown = len(responses) - len(items)
    if not items:
        found = f"none of its {unknown} ids, e.g. {short(next(iter(responses)))}"
        raise DataError(path, f"ids of the items in {have_folder(source)}", found)
    if unknown:
        logger.warning("%s: %d of %d ids are not in the data; they are left out", path, unknown, len(responses))
    records = [_record(item, responses[item.id]) for item in items]
    judged = judge_records(records, [item.written for item in items], settings, progress)
    answered: set[str] = {item.level for item in items}
    missing = {level: sum(i.level == level and i.id not in responses for i in all_items) for level in answered}
    return ScoredFile(source, items, judged.verdicts, missing, unknown, settings, judged.outcome)


def _record(item: Item, response: str) -> dict[str, Any]:
    """What judging needs of a record; its own verdict is never looked at."""
    return {
        "item_id": item.id,
        "task": f"have_{item.level}",
        "response": response,
        "golden": item.golden,
        "options": list(item.options),
        "groups": {"kind": item.kind},
    }


def read_predictions(path: Path) -> dict[str, str]:
    """Read and check a file of answers: response by id.

    Raises:
        DataError: see `score_file`.
    """
    found: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, value in json_objects(path):
        if isinstance(value, DataError):
            raise value
        row = f"line {number}"
        if value.keys() != KEYS:
            raise DataError(path, "the keys id and response, and no others", ", ".join(value) or "none", row)
        for name in sorted(KEYS):
            if not isinstance(value[name], str):
                raise DataError(path, f"{name} to be a text", short(value[name]), row)
        before = lines.setdefault(value["id"], number)
        if before != number:
            raise DataError(path, "each id once", f"{value['id']!r} again, first in line {before}", row)
        found[value["id"]] = value["response"]
    return found
