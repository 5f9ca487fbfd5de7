"""JSON files read strictly: whatever a lenient reader would pass over in silence is one line with the file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NoReturn

from lmms_audio_tasks.errors import DataError

BOM = b"\xef\xbb\xbf"
HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair: JSON can tell one, but no file in UTF-8 can hold it."""


class DoubleKey(ValueError):
    """An object with two entries of one key."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"the key {key!r} twice or more")


class NoJson(ValueError):
    """A number that Python reads and JSON does not know: NaN, Infinity."""


def strict_loads(text: str) -> Any:
    """`json.loads`, but each key of an object once, and no NaN.

    Raises:
        DoubleKey, NoJson: see there.
        ValueError: otherwise no JSON (`json.JSONDecodeError`), or a number of more digits than Python converts.
        RecursionError: JSON of very many levels.
    """
    return json.loads(text, object_pairs_hook=_each_key_once, parse_constant=_no_constant)


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # The json module keeps the last of two entries of one key, which would drop a response in silence.
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise DoubleKey(next(key for key in keys if keys.count(key) > 1))
    return found


def _no_constant(name: str) -> NoReturn:
    raise NoJson(f"{name}, which is no JSON")


def read_json(path: Path, kind: str) -> Any:
    """The value in `path`: UTF-8 without byte order mark, well-formed, each key of an object once, no NaN.

    Args:
        kind: what the file should be, for the message where it is missing or empty, e.g. `a prediction file`.

    Raises:
        DataError: it cannot be read or is not such JSON, with line and column where there is one.
    """
    data = _read(path, kind)
    if not data.strip():
        raise DataError(path, kind, "an empty file")
    if data.startswith(BOM):
        raise DataError(path, "UTF-8 without a byte order mark", "a byte order mark", "line 1")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(path, "UTF-8", f"byte 0x{data[error.start]:02x} that is not", f"line {line}") from error
    return _parse(path, text)


def _read(path: Path, kind: str) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(path, kind, "no such file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise DataError(path, "a file that can be read", getattr(error, "strerror", None) or str(error)) from error


def _parse(path: Path, text: str) -> Any:
    try:
        return strict_loads(text)
    except DoubleKey as error:
        raise DataError(path, "each key once", f"{error.key!r} twice or more") from None
    except NoJson as error:
        raise DataError(path, "JSON", str(error)) from None
    except json.JSONDecodeError as error:
        raise DataError(path, "JSON", error.msg, f"line {error.lineno}, column {error.colno}") from error
    except ValueError as error:  # a number of more digits than Python converts
        raise DataError(path, "JSON with numbers of a usual size", str(error)) from error
    except RecursionError:
        raise DataError(path, "JSON of a few levels", "deep nesting") from None


def short(value: object) -> str:
    """`value` for a message, cut to 80 characters."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
