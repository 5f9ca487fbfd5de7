"""JSONL files read strictly: every fault of every line, by the rules of JSON and by a JSON Schema of this package."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.strict_json import BOM, short, strict_loads

SCHEMAS = Path(__file__).parent / "schema"
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "an object",
    "string": "a text",
}


def json_objects(path: Path) -> Iterator[tuple[int, dict[str, Any] | DataError]]:
    """The lines of a JSONL file with their 1-based numbers: the object, or what is wrong with the line.

    Strict: UTF-8 without byte order mark, each key of an object once, no NaN. Blank lines are passed over. Of a file
    that cannot be read, or that has no line, what is wrong is all there is (as line 0).
    """
    seen = False
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.isspace():
                    seen = True
                    try:
                        yield number, _object(line)
                    except ValueError as error:
                        yield number, DataError(path, "a JSON object in UTF-8", str(error), f"line {number}")
    except FileNotFoundError:
        yield 0, DataError(path, "a JSONL file", "no such file")
    except OSError as error:
        yield 0, DataError(path, "a file that can be read", error.strerror or str(error))
    else:
        if not seen:
            yield 0, DataError(path, "at least one line", "an empty file")


def _object(line: bytes) -> dict[str, Any]:
    """The object in one line; `ValueError` with what is there instead."""
    if line.startswith(BOM):
        raise ValueError("a byte order mark")
    try:
        value = strict_loads(line.rstrip().decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"byte 0x{line[error.start]:02x} in column {error.start + 1}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} in column {error.colno}") from None
    except RecursionError:
        raise ValueError("deep nesting") from None
    if not isinstance(value, dict):
        raise ValueError(short(value))
    if half := _half_character(value):
        raise ValueError(f"half a character, {half}")
    return value


def _half_character(value: Any) -> str:
    r"""A lone surrogate in the texts of `value`, as `\ud800`: UTF-8 has no form for it. "" where there is none."""
    found = _SURROGATE.search(json.dumps(value, ensure_ascii=False))
    return f"\\u{ord(found[0]):04x}" if found else ""


def schema_faults(path: Path, line: int, value: Any, schema: str) -> list[DataError]:
    """What the value in one line of `path` does not keep of `schema/<schema>.schema.json`; [] where it keeps all.

    One fault a place in the value. Where the schema gives the broken rule a `title`, that is what was expected.
    """
    faults: dict[str, DataError] = {}
    for error in _validator(schema).iter_errors(value):
        expected, found = _told(error)
        key = f"{error.json_path} {error.validator if error.validator == 'additionalProperties' else ''}"
        faults.setdefault(key, DataError(path, expected, found, f"line {line}"))
    return list(faults.values())


@lru_cache(maxsize=8)
def _validator(schema: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads((SCHEMAS / f"{schema}.schema.json").read_text("utf-8")))


def _told(error: Any) -> tuple[str, str]:
    """What was expected and what was found, of an error as jsonschema has it."""
    rule, wanted, value = error.validator, error.validator_value, error.instance
    where = error.json_path.removeprefix("$").removeprefix(".")
    inside = f" in {where}" if where else ""
    if rule == "required":
        missing = ", ".join(name for name in wanted if name not in value)
        return f"the key {missing}{inside}", f"keys {', '.join(value) or 'none'}"
    if rule == "additionalProperties":
        known = error.schema.get("properties", {})
        extra = ", ".join(repr(name) for name in value if name not in known)
        return f"only the keys {', '.join(known)}{inside}", f"also {extra}"
    if rule == "type":
        kinds = [wanted] if isinstance(wanted, str) else wanted
        return f"{where} to be {' or '.join(_WORDS.get(kind, kind) for kind in kinds)}", short(value)
    return f"{where} to be {error.schema.get('title') or _rule(rule, wanted)}", short(value)


def _rule(rule: str, wanted: Any) -> str:
    """A rule without a title, in words."""
    if rule == "enum":
        return " or ".join(json.dumps(one) for one in wanted)
    words = {
        "const": f"{json.dumps(wanted, default=str)}",
        "minItems": f"a list of at least {wanted}",
        "maxItems": f"a list of at most {wanted}",
        "uniqueItems": "a list with each entry once",
        "minLength": "a text that is not empty" if wanted == 1 else f"a text of at least {wanted} characters",
        "minimum": f"at least {wanted}",
        "exclusiveMinimum": f"more than {wanted}",
        "maximum": f"at most {wanted}",
        "minProperties": f"an object of at least {wanted}",
    }
    return words.get(rule, f"as the schema's {rule} has it: {short(wanted)}")
