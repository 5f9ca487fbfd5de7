"""SAKURA's official prediction and judgement files: reading, offline scoring, writing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_audio_tasks import __version__
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.files import write_whole
from lmms_audio_tasks.judge.prompt import clean
from lmms_audio_tasks.options import OptionError
from lmms_audio_tasks.records import Verdict, count_verdicts
from lmms_audio_tasks.scoring import judge_options
from lmms_audio_tasks.sources import Source
from lmms_audio_tasks.stats import wilson
from lmms_audio_tasks.strict_json import read_json, short

_FIELDS = ("instruction", "response", "label")


@dataclass(frozen=True, slots=True)
class Scored:
    """One item of a prediction file with its verdict; `reason` is the rule that reached it."""

    instruction: str
    response: str
    label: str
    verdict: Verdict
    reason: str
    chosen: str


@dataclass(frozen=True, slots=True)
class ScoredFile:
    """A prediction file as scored.

    Attributes:
        attribute: as the file names it, e.g. `animal`.
        hop: `single` or `multi`.
        items: by the file's own key, the audio path.
    """

    attribute: str
    hop: str
    items: Mapping[str, Scored]

    def to_dict(self) -> dict[str, Any]:
        """Accuracy, its 95 % Wilson interval, and every count.

        `accuracy` is correct / (n - error): an item on which the model failed is no response. Undecided and unjudged
        items stay in the denominator, as in the authors' own sum.
        """
        counts = count_verdicts(item.verdict for item in self.items.values())
        scored = len(self.items) - counts["error"]
        interval = wilson(counts["correct"], scored) if scored else None
        return {
            "benchmark": "sakura",
            "attribute": self.attribute,
            "type": self.hop,
            "judge": "rule",
            "n": len(self.items),
            "accuracy": counts["correct"] / scored if scored else None,
            "ci95_low": interval.low if interval else None,
            "ci95_high": interval.high if interval else None,
            **counts,
        }

    def to_text(self) -> str:
        """The same for people, one line a figure."""
        values = self.to_dict()
        accuracy = "no item could be scored"
        if values["accuracy"] is not None:
            interval = f"{values['ci95_low']:.4f} to {values['ci95_high']:.4f}"
            accuracy = f"{values['accuracy']:.4f}  (95 % Wilson interval {interval})"
        shown = ("correct", "wrong", "none", "several", "undecided", "unjudged", "error")
        lines = [f"SAKURA {self.attribute}, {self.hop}-hop", f"accuracy  {accuracy}", f"n         {values['n']}"]
        return "\n".join([*lines, *(f"{name:<10}{values[name]}" for name in shown)])

    def write_judgements(self, path: Path) -> None:
        """Write the official judgement file; the judge is named as what it is, a rule, without sampling settings.

        Raises:
            DataError: the file cannot be written.
        """
        results = {
            key: {
                "Explanation": f"verdict: {item.verdict}; rule: {item.reason}; chosen: {item.chosen or 'no option'}",
                "Judgement": "correct" if item.verdict == "correct" else "incorrect",
                "instruction": item.instruction,
                "model_response": item.response,
                "label": item.label,
            }
            for key, item in self.items.items()
            if item.verdict != "error"
        }
        judge = {"judge_model": f"lmms-audio-tasks {__version__} option matcher", "temperature": None, "top_p": None}
        content = {**judge, "max_tokens": None, "results": results}
        # A response may hold half a surrogate pair, which no file can.
        write_whole(path, clean(json.dumps(content, indent=2, ensure_ascii=False)) + "\n")


def score_file(path: Path, source: Source | None = None) -> ScoredFile:
    """Score an official prediction file by the option matcher; the file carries its questions, so no `source` is read.

    Raises:
        DataError: the file is missing, is not JSON, or does not have the official form, with the entry at fault.
    """
    content = read_predictions(path)
    items = {key: _score(path, key, entry) for key, entry in content["results"].items()}
    return ScoredFile(content["attribute"], content["type"], items)


def read_predictions(path: Path) -> dict[str, Any]:
    """Read and check `{"attribute", "type", "results": {audio path: {"instruction", "response", "label"}}}`.

    Raises:
        DataError: see `score_file`.
    """
    content = read_json(path, "a prediction file")
    if not isinstance(content, dict):
        raise DataError(path, "a JSON object with attribute, type and results", type(content).__name__)
    for name in ("attribute", "type", "results"):
        if name not in content:
            raise DataError(path, f"a key {name!r}", f"keys {', '.join(map(repr, content)) or 'none'}")
    if not isinstance(content["attribute"], str) or not content["attribute"]:
        raise DataError(path, "attribute to be a text", repr(content["attribute"]))
    if content["type"] not in ("single", "multi"):
        raise DataError(path, "type to be 'single' or 'multi'", repr(content["type"]))
    if not isinstance(content["results"], dict) or not content["results"]:
        raise DataError(path, "results to be an object with at least one entry", short(content["results"]))
    return content


def _score(path: Path, key: str, entry: object) -> Scored:
    where = f"results[{key!r}]"
    if not isinstance(entry, dict):
        raise DataError(path, "an object with instruction, response and label", short(entry), where)
    for name in _FIELDS:
        if not isinstance(entry.get(name), str):
            raise DataError(path, f"{name} to be a text", short(entry[name]) if name in entry else "no such key", where)
    instruction, response, label = (entry[name] for name in _FIELDS)
    try:
        verdict, reason, chosen = judge_options(response, instruction, label)
    except OptionError as error:
        raise DataError(
            path, "an instruction with options and a label that is one of them", str(error), where
        ) from error
    return Scored(instruction, response, label, verdict, reason, chosen)
