"""The file of judgements in the form in which SAKURA's authors exchange them.

`{"judge_model", "temperature", "top_p", "max_tokens", "results": {<audio path>: {"Explanation", "Judgement",
"instruction", "model_response", "label"}}}`. `Judgement` is `correct` or `incorrect`; any other text means that the
judge gave no usable verdict, and counts as not correct in the authors' own sum. This plugin writes `unjudged` then,
with the judge's reply as the explanation. An item on which the model failed is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.files import write_whole
from lmms_audio_tasks.judge.prompt import clean

JudgementWord = Literal["correct", "incorrect", "unjudged"]


@dataclass(frozen=True, slots=True)
class FiledJudgement:
    """One entry of a judgement file."""

    judgement: JudgementWord
    explanation: str
    instruction: str
    response: str
    label: str


@dataclass(frozen=True, slots=True)
class JudgementFile:
    """A judgement file: the judge, its settings (None where they do not apply) and its judgements by audio path."""

    judge_model: str
    temperature: float | None
    top_p: float | None
    max_tokens: int | None
    results: Mapping[str, FiledJudgement]

    @property
    def accuracy(self) -> float | None:
        """Correct / all entries, as the authors compute it; None where there is no entry."""
        correct = sum(entry.judgement == "correct" for entry in self.results.values())
        return correct / len(self.results) if self.results else None


def write_judgements(path: Path, file: JudgementFile) -> None:
    """Write `file`.

    Raises:
        DataError: it cannot be written.
    """
    results = {
        key: {
            "Explanation": entry.explanation,
            "Judgement": entry.judgement,
            "instruction": entry.instruction,
            "model_response": entry.response,
            "label": entry.label,
        }
        for key, entry in file.results.items()
    }
    head = {name: getattr(file, name) for name in ("judge_model", "temperature", "top_p", "max_tokens")}
    write_whole(path, clean(json.dumps({**head, "results": results}, indent=2, ensure_ascii=False)) + "\n")


def read_judgements(path: Path) -> JudgementFile:
    """Read a judgement file, this plugin's or the authors'.

    Raises:
        DataError: it cannot be read, or does not have the form above.
    """
    content = read_json(path)
    if not isinstance(content, dict) or not isinstance(content.get("results"), dict):
        raise DataError(path, "a JSON object with an object under 'results'", type(content).__name__)
    return JudgementFile(
        str(content.get("judge_model", "")),
        content.get("temperature"),
        content.get("top_p"),
        content.get("max_tokens"),
        {key: _entry(path, key, entry) for key, entry in content["results"].items()},
    )


def read_json(path: Path) -> Any:
    """The JSON in `path`.

    Raises:
        DataError: it cannot be read, or is not JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(path, "a judgement file", "no such file") from None
    except OSError as error:
        raise DataError(path, "a file that can be read", error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise DataError(path, "UTF-8", f"byte {error.start} that is not") from error
    except json.JSONDecodeError as error:
        raise DataError(path, "JSON", f"{error.msg} at line {error.lineno}, column {error.colno}") from error


def _entry(path: Path, key: str, entry: Any) -> FiledJudgement:
    where = f"results[{key!r}]"
    if not isinstance(entry, dict) or not isinstance(entry.get("Judgement"), str):
        raise DataError(path, "an object with a text under 'Judgement'", repr(entry)[:80], where)
    texts = {name: str(entry.get(name, "")) for name in ("Explanation", "instruction", "label")}
    # The authors' description says `response`, their script writes `model_response`.
    response = str(entry.get("model_response", entry.get("response", "")))
    return FiledJudgement(
        _word(entry["Judgement"]), texts["Explanation"], texts["instruction"], response, texts["label"]
    )


def _word(text: str) -> JudgementWord:
    word = text.strip().strip("\"'*`. ").casefold()
    return "correct" if word == "correct" else "incorrect" if word == "incorrect" else "unjudged"
