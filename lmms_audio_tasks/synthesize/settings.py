"""The thresholds in force: `settings.yaml` beside this module, and what a file of the user's overrides of it."""

from __future__ import annotations

import difflib
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import DataError

DEFAULTS = Path(__file__).parent / "settings.yaml"
_OPEN = ("speakability.scripts", "normalise.")
"""Tables whose keys are languages and symbols, which a user may add to."""
_DECIBELS = ("speech.loudness_lufs", "speech.peak_dbfs", "speech.silence_dbfs")
_QUIETEST = -100
"""What is quieter than this is nothing in 16 bits."""
_MOST = {"run.timeout_seconds": 1_000_000, "speech.margin_seconds": 10}
"""Beyond these a clock or the memory overflows."""
_POSITIVE = (
    "speakability.max_words",
    "speakability.max_seconds",
    "speakability.words_per_minute",
    "quality.max_seconds",
    "run.timeout_seconds",
    "run.shard_megabytes",
)


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings by section; the keys are those of `settings.yaml`.

    Attributes:
        speakability, normalise, speech, quality, intelligibility, run: one section each.
    """

    speakability: dict[str, Any]
    normalise: dict[str, Any]
    speech: dict[str, Any]
    quality: dict[str, Any]
    intelligibility: dict[str, Any]
    run: dict[str, Any]

    @property
    def digest(self) -> str:
        """SHA-256 of all settings, 64 hex digits."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """The sections as plain JSON types."""
        return {name: getattr(self, name) for name in self.__slots__}


def load(path: Path | None = None) -> Settings:
    """The settings of `settings.yaml`, overridden by those that `path` has.

    Raises:
        DataError: the file cannot be read, or has a key or value that is none.
    """
    sections = _read(DEFAULTS)
    if path is not None:
        _override(sections, _read(path), path, "")
        _check_words(sections["normalise"], sections["speakability"]["scripts"], path)
    return Settings(**sections)


def _read(path: Path) -> dict[str, Any]:
    import yaml

    try:
        text = path.read_text("utf-8")
        twice = _key_twice(yaml.compose(text, yaml.SafeLoader))
        if twice:
            raise DataError(path, "each key once", f"{twice[0]!r} again", f"line {twice[1]}")
        value = yaml.safe_load(text)
    except FileNotFoundError:
        raise DataError(path, "a settings file", "no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(path, "a settings file in UTF-8 that can be read", str(error)) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise DataError(path, "YAML", " ".join(str(error).split())) from error
    if not isinstance(value, dict) or not value:
        raise DataError(path, "sections of settings, such as speakability:", _kind(value) if value else "an empty file")
    return value


def _key_twice(root: Any) -> tuple[str, int] | None:
    """The first key that stands twice in a mapping, with the second one's line: YAML keeps the last in silence."""
    todo, seen = [root], set()
    while todo:
        node = todo.pop()
        if id(node) in seen or not isinstance(getattr(node, "value", None), list):
            continue  # an alias may lead back to where it stands
        seen.add(id(node))
        if node.id == "sequence":
            todo += node.value
            continue
        names = [key.value for key, _ in node.value]
        for place, (key, value) in enumerate(node.value):
            if isinstance(key.value, str) and key.value in names[:place]:
                return key.value, key.start_mark.line + 1
            todo.append(value)
    return None


def _override(known: dict[str, Any], given: dict[Any, Any], path: Path, where: str) -> None:
    """Put the values of `given` into `known`, each checked against the kind of the value it replaces."""
    for key, value in given.items():
        name = f"{where}{key}"
        if key not in known:
            if not name.startswith(_OPEN) or name.count(".") < 2 or not isinstance(key, str):
                near = difflib.get_close_matches(str(key), map(str, known), n=1, cutoff=0.4)
                hint = f"; did you mean {near[0]}?" if near else f"; known: {', '.join(map(str, known))}"
                raise DataError(path, "a setting that is known", f"{name}{hint}", name)
            like = next(iter(known.values()), "")  # as what stands beside it
            if not isinstance(value, type(like)):
                raise DataError(path, _kind(like), repr(value), name)
            known[key] = value
        elif isinstance(known[key], dict):
            if not isinstance(value, dict):
                raise DataError(path, "a table of settings", _kind(value), name)
            _override(known[key], value, path, f"{name}.")
        else:
            known[key] = _value(known[key], value, path, name)


def _check_words(normalise: dict[str, Any], scripts: dict[str, list[Any]], path: Path) -> None:
    """Refuse what would only be noticed when a prompt is spelled out."""
    for language, template in normalise["option"].items():
        rest = template.replace("{letter}", "", 1).replace("{text}", "", 1)
        if len(rest) != len(template) - len("{letter}{text}") or "{" in rest or "}" in rest:
            raise DataError(path, "a text with {letter} and {text}", repr(template), f"normalise.option.{language}")
    for language, names in scripts.items():
        if not all(isinstance(name, str) and name == name.upper() for name in names):
            raise DataError(path, "writings as LATIN or GREEK", repr(names), f"speakability.scripts.{language}")
    for language, symbols in normalise["symbols"].items():
        for symbol, word in symbols.items():
            if not isinstance(symbol, str) or not symbol or not isinstance(word, str):
                raise DataError(path, "symbol: word", f"{symbol!r}: {word!r}", f"normalise.symbols.{language}")


def _value(before: Any, value: Any, path: Path, name: str) -> Any:
    if isinstance(before, bool) or isinstance(value, bool):
        sound, expected = isinstance(before, bool) and isinstance(value, bool), "true or false"
        if not isinstance(before, bool):
            expected = "a number"
    elif isinstance(before, int | float):
        sound, expected = _number(value, name)
    else:
        sound, expected = isinstance(value, type(before)), _kind(before)
    if not sound:
        raise DataError(path, expected, repr(value), name)
    return value


def _number(value: Any, name: str) -> tuple[bool, str]:
    if not isinstance(value, int | float) or value != value or abs(value) == float("inf"):
        return False, "a number"
    if name == "speech.rate":
        return value in range(8000, 192001), "a whole number of 8000 to 192000"
    if name in _DECIBELS:
        return _QUIETEST <= value <= 0, f"a number of {_QUIETEST} to 0"
    if value > _MOST.get(name, value):
        return False, f"a number of at most {_MOST[name]}"
    if name in _POSITIVE:
        return value > 0, "a number above 0"
    return value >= 0, "a number of at least 0"


def _kind(value: Any) -> str:
    names = {str: "a text", list: "a list", dict: "a table", type(None): "nothing", bool: "true or false"}
    return names.get(type(value), type(value).__name__)
