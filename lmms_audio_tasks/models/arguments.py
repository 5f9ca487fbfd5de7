"""Checks of `--model_args`: the host hands values over as str, int, float or bool, and any name at all."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from typing import Any

from lmms_audio_tasks.errors import ModelError


def refuse_unknown(model: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise `ModelError` naming the nearest known argument (or all of them) if any of `given` is not known."""
    for name in given:
        if name in known:
            continue
        near = difflib.get_close_matches(name, known, n=2, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(sorted(known))}"
        raise ModelError(f"{model} has no argument {name!r}; {hint}")


def whole_number(name: str, value: Any, minimum: int = 1) -> int:
    """`value` as an int of at least `minimum`; `ModelError` otherwise, also for bools and fractions."""
    number = int(value) if isinstance(value, str) and value.strip().removeprefix("-").isdecimal() else value
    if isinstance(number, bool) or not isinstance(number, int) or number < minimum:
        raise ModelError(f"{name} must be a whole number of at least {minimum}, not {value!r}")
    return number


def flag(name: str, value: Any) -> bool:
    """`value` as a bool; `ModelError` for anything but true and false."""
    if isinstance(value, bool):
        return value
    if str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    raise ModelError(f"{name} must be true or false, not {value!r}")


def choice(name: str, value: Any, choices: Collection[str]) -> str:
    """`value` if it is one of `choices`; `ModelError` naming the nearest (or all) otherwise."""
    if value in choices:
        return value
    near = difflib.get_close_matches(str(value), choices, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"choices: {', '.join(choices)}"
    raise ModelError(f"{name}={value!r} is not known; {hint}")


def text(name: str, value: Any) -> str | None:
    """`value` as a str without blanks around it, None if it is None; `ModelError` if nothing is left of it."""
    if value is None:
        return None
    stripped = str(value).strip()
    if not stripped:
        raise ModelError(f"{name} must not be empty")
    return stripped
