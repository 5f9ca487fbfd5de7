"""The file of verdicts beside a samples file: with several ranks the log holds copies that no judge can change later.

One JSON object a line: the fields of `rejudge.judge_records` and `judge`, the settings (`JudgeSettings.public`).
Whoever reads a samples file lets these verdicts win, by `(task, item_id)`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.files import read_lines, write_whole
from lmms_audio_tasks.judge.prompt import clean
from lmms_audio_tasks.records import VERDICTS

_NEEDED = ("item_id", "task", "verdict", "reason")


def verdicts_path(samples: Path) -> Path:
    """`..._verdicts_<task>.jsonl` beside `..._samples_<task>.jsonl`."""
    return samples.with_name(samples.name.replace("samples_", "verdicts_", 1))


def write_verdicts(path: Path, verdicts: Sequence[Mapping[str, Any]], judge: Mapping[str, Any]) -> None:
    """Write the verdicts of one samples file in one step, so that no reader sees a part.

    Raises:
        DataError: the file cannot be written.
    """
    lines = "".join(json.dumps({**verdict, "judge": dict(judge)}, ensure_ascii=False) + "\n" for verdict in verdicts)
    write_whole(path, clean(lines))


def read_verdicts(path: Path) -> list[dict[str, Any]]:
    """Read a verdict file; [] where it is empty.

    Raises:
        DataError: the file is missing, or a line is not a verdict.
    """
    verdicts = []
    for number, value in read_lines(path):
        missing = [name for name in _NEEDED if not isinstance(value.get(name), str)]
        if missing:
            raise DataError(path, f"{', '.join(missing)} to be a text", "none or something else", f"line {number}")
        if value["verdict"] not in VERDICTS:
            raise DataError(path, f"a verdict ({', '.join(VERDICTS)})", repr(value["verdict"]), f"line {number}")
        verdicts.append(value)
    return verdicts
