"""Files that are read line by line or written whole: JSONL objects, and text that no reader ever sees half of."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import DataError


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
    except ValueError as error:  # a number of more digits than Python converts
        raise DataError(path, "JSON with numbers of a usual size", str(error), f"line {number}") from error
    except RecursionError:
        raise DataError(path, "JSON of a few levels", "deep nesting", f"line {number}") from None
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
