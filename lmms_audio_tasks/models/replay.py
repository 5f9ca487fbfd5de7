"""`--model replay`: answers from a file, as a scripted player, or to score answers that were made elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import DataError, ModelError
from lmms_audio_tasks.files import read_lines
from lmms_audio_tasks.models.arguments import text
from lmms_audio_tasks.models.base import AudioTasksModel, Item
from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.strict_json import short

Answers = str | tuple[str, ...]
"""One answer for every round, or one for each."""
Key = tuple[str, str]
"""Task ("" for all) and item id."""
_KNOWN = ("task", "id", "response", "responses")


class Replay(AudioTasksModel):
    """Answers each item with what a JSONL file has for it; reads no audio.

    A line has `id` (the record's `item_id`), `task` where the answer is for one task only, and `response` (the answer,
    in every round) or `responses` (one a round, in order). An item without an answer in the file fails, as does a round
    beyond the last.

    In an agentic task the host asks for each step by itself and does not say which it is, so they are counted: every
    call for a task's item gives the next of `responses`. With `--repeats` only the first play finds them.

    Args:
        responses: the file.
        batch_size, max_batch_size: taken because the host passes them; without effect.
        device: as for the other models; nothing is computed there.

    Raises:
        ModelError: no file was named.
        DataError: the file cannot be read or a line is at fault.
    """

    def __init__(
        self,
        responses: Any = None,
        batch_size: Any = 1,
        max_batch_size: Any = None,
        device: Any = None,
        **unknown: Any,
    ) -> None:
        super().__init__(device, unknown)
        path = text("responses", responses)
        if path is None:
            raise ModelError("replay needs a file of answers: --model_args responses=FILE.jsonl")
        self.path = Path(path).expanduser()
        self._answers_by_key = read_answers(self.path)
        self._asked: Counter[Key] = Counter()

    def answer(self, items: Sequence[Item]) -> Iterator[tuple[int, str | Failure]]:
        """The file's answer to each item, or a failure that says what the file lacks."""
        seen: dict[Key, int] = {}
        for index, item in enumerate(items):
            name = item.doc().get("item_id")
            if not isinstance(name, str):
                yield index, Failure(f"task {item.task} has no item ids to look answers up by")
                continue
            key = (item.task, name)
            # The same document twice in one call is a repetition (`--repeats`), not the next step.
            if key not in seen and not item.round:
                seen[key] = self._asked[key]
                self._asked[key] += 1
            yield index, self._look_up(key, item.round or seen.get(key, 0))

    def _look_up(self, key: Key, turn: int) -> str | Failure:
        task, name = key
        found = self._answers_by_key.get(key, self._answers_by_key.get(("", name)))
        if found is None:
            return Failure(f"{self.path} has no answer for {name} of {task}")
        if isinstance(found, str):
            return found
        if turn >= len(found):
            return Failure(f"{self.path} has {len(found)} answers for {name} of {task}, and none for round {turn + 1}")
        return found[turn]


def read_answers(path: Path) -> dict[Key, Answers]:
    """The answers in a JSONL file by task and item.

    Raises:
        DataError: the file cannot be read, or the first line at fault.
    """
    found: dict[Key, Answers] = {}
    for number, line in read_lines(path):
        fault = _fault(line)
        if fault:
            raise DataError(path, *fault, f"line {number}")
        key = (line.get("task", ""), line["id"])
        if key in found:
            raise DataError(path, "each id once a task", f"{line['id']!r} again", f"line {number}")
        found[key] = line["response"] if "response" in line else tuple(line["responses"])
    if not found:
        raise DataError(path, "at least one answer", "an empty file")
    return found


def _fault(line: Mapping[str, Any]) -> tuple[str, str] | None:
    extra = [key for key in line if key not in _KNOWN]
    if extra:
        return f"only {', '.join(_KNOWN)}", f"also {short(extra[0])}"
    for key in ("id", "task"):
        value = line.get(key, "" if key == "id" else "-")
        if not isinstance(value, str) or not value:
            return f"{key} to be a text", short(line.get(key))
    if ("response" in line) == ("responses" in line):
        return "either response or responses", "both" if "response" in line else "neither"
    if not isinstance(line.get("response", ""), str):
        return "response to be a text", short(line["response"])
    answers = line.get("responses", ["-"])
    if not isinstance(answers, list) or not answers or not all(isinstance(one, str) for one in answers):
        return "responses to be a list of texts", short(answers)
    return None
