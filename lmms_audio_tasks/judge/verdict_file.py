"""The file of verdicts beside a samples file: with several ranks the log holds copies that no judge can change later.

One JSON object a line: the fields of `rejudge.judge_records` and `judge`, the settings (`JudgeSettings.public`).
Whoever reads a samples file lets these verdicts win, by `(task, item_id)`.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import DataError
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


def read_lines(path: Path) -> Iterable[tuple[int, dict[str, Any]]]:
    """The JSON objects of a JSONL file with their line numbers; blank lines are passed over.

    Raises:
        DataError: the file cannot be read, or a line is not a JSON object.
    """
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                value = json.loads(line)
                if not isinstance(value, dict):
                    raise DataError(path, "a JSON object", type(value).__name__, f"line {number}")
                yield number, value
    except FileNotFoundError:
        raise DataError(path, "a JSONL file", "no such file") from None
    except json.JSONDecodeError as error:
        raise DataError(path, "JSON", error.msg, f"line {number}") from error
    except UnicodeDecodeError as error:
        raise DataError(path, "UTF-8", f"a byte that is not ({error.reason})") from error
    except OSError as error:
        raise DataError(path, "a file that can be read", error.strerror or str(error)) from error


def write_whole(path: Path, text: str) -> None:
    """Write `text` beside `path` and put it in its place when it is safely on disk.

    Raises:
        DataError: it cannot be written.
    """
    partial = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            partial = Path(file.name)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # Temporary files are for their owner only; results are for whoever may read the folder.
        partial.chmod(0o666 & ~_umask())
        partial.replace(path)
    except OSError as error:
        if partial is not None:
            partial.unlink(missing_ok=True)
        raise DataError(path, "a file that can be written", error.strerror or str(error)) from error


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
