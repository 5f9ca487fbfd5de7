"""Criteria that need no language model: `regex:PATTERN` and `option:LETTER` (or `option:(b) text`).

Both are read against the answer proper: what a reasoning model writes between its thinking tags does not count.

`regex:` is met where the pattern is found anywhere in the answer; case and the kind and number of blanks do not
matter. `option:` is met where the option matcher (`lmms_audio_tasks.options`) says that the answer commits to that one
of the options that the node's text lists; an answer that names two, or that the matcher is not sure of, does not meet
it.

A pattern that backtracks without end must not hold up a run, and Python's own `re` cannot be interrupted. So patterns
run in the `regex` package with a time limit; an edge whose pattern takes longer is `unjudged`, which is told and
mended, and never counts as a failure of the model.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from lmms_audio_tasks._options.text import strip_thinking
from lmms_audio_tasks.options import Match, Option, OptionError, match_response, parse_answer, split_instruction
from lmms_audio_tasks.records import is_refused
from lmms_audio_tasks.strict_json import short

PREFIXES = ("regex:", "option:")
SECONDS = 2.0
"""Processor time, of the whole process, that one pattern may take on one answer; an ordinary one takes microseconds."""

REPEATS = 100_000
"""What the counts (`{n}`) of a pattern may multiply to: by them grow the time and memory it takes to get it ready."""

EdgeWord = Literal["accepted", "rejected", "unjudged"]

_NEAR_PREFIX = re.compile(r"\s*(?:re|regexp?|reg|pattern|opt|options?|choice)\s*:", re.IGNORECASE)
_NO_OPTION = {"none": "chooses no option", "several": "names several options", "undecided": "no option for sure"}
_COUNTED = re.compile(r"\{(\d*),?(\d*)\}")
_LETTER = re.compile(r"\(?\s*([A-Za-z])\s*\)?")


class Ruling(NamedTuple):
    """What a rule says of an answer, and why."""

    verdict: EdgeWord
    why: str


def is_rule(criterion: str) -> bool:
    """Whether `criterion` is decided here; all others are put to the language model judge."""
    return criterion.startswith(PREFIXES)


def fault(criterion: str, text: str) -> tuple[str, str] | None:
    """What is wrong with `criterion` at a node whose text is `text`, as (expected, found); None if nothing is."""
    if not criterion.strip():
        return "a criterion", "none"
    if not is_rule(criterion):
        if _NEAR_PREFIX.match(criterion):
            return "a criterion in words, or one that begins with regex: or option:", repr(criterion[:60])
        return None
    if criterion.startswith("regex:"):
        try:
            _pattern(criterion)
        except ValueError as error:
            return "a regular expression after regex:", str(error)
        return None
    try:
        _option(criterion, text)
    except OptionError as error:
        return "one of the options in the node's text after option:", str(error)
    return None


def same_for(criterion: str, text: str) -> str:
    """What two criteria that ask the same have in common at a node whose text is `text`: of an option its letter."""
    if criterion.startswith("option:") and fault(criterion, text) is None:
        return f"option:{_option(criterion, text).letter}"
    return criterion.strip()


def decide(criterion: str, text: str, response: str) -> Ruling:
    """Decide a rule criterion.

    Args:
        criterion: one for which `is_rule` holds and `fault` finds nothing.
        text: the node's text, which lists the options.

    Raises:
        ValueError: `criterion` is at fault (an `OptionError` is one).
    """
    if is_refused(response):
        return Ruling("rejected", "refused")
    if criterion.startswith("regex:"):
        return _by_pattern(criterion, response)
    option = _option(criterion, text)
    match = _match(text, response)
    if match.option is not None:
        return Ruling("accepted" if match.option == option else "rejected", f"chooses {_label(match.option)}")
    return Ruling("rejected", _NO_OPTION[match.kind])


def _by_pattern(criterion: str, response: str) -> Ruling:
    answer = " ".join(strip_thinking(response.lower()).split())
    try:
        found = _pattern(criterion).search(answer, timeout=SECONDS, concurrent=True)
    except TimeoutError:
        return Ruling("unjudged", f"the pattern took longer than {SECONDS:g} s; make it simpler")
    except MemoryError:  # the package's own limit of 1 GB, which a pattern that calls itself comes to
        return Ruling("unjudged", "the pattern took too much memory; make it simpler")
    if found is None:
        return Ruling("rejected", "the pattern is not in the answer")
    return Ruling("accepted", f"the pattern matches {found[0][:80]!r}")


@lru_cache(maxsize=4096)
def _pattern(criterion: str) -> Any:
    """The compiled pattern; `ValueError` telling what is wrong with it."""
    import regex

    text = criterion.removeprefix("regex:").strip()
    if not text:
        raise ValueError("nothing")
    if math.prod(max([1, *map(int, filter(None, pair))]) for pair in _COUNTED.findall(text)) > REPEATS:
        raise ValueError(f"{short(text)}, whose counts in braces multiply to more than {REPEATS}")
    try:
        pattern = regex.compile(text, regex.IGNORECASE | regex.UNICODE)
    except (regex.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{short(text)}: {error}") from error
    try:
        met = pattern.search("", timeout=SECONDS) is not None
    except (TimeoutError, MemoryError):
        raise ValueError(f"{short(text)}, which comes to no end even on an empty answer") from None
    if met:
        raise ValueError(f"{short(text)}, which an empty answer meets too")
    return pattern


@lru_cache(maxsize=4096)
def _option(criterion: str, text: str) -> Option:
    """The one of the node's options that a criterion names."""
    options = split_instruction(text)[1]
    named = criterion.removeprefix("option:").strip()
    alone = _LETTER.fullmatch(named)
    if alone is None:
        return parse_answer(named, options)
    for option in options:
        if option.letter == alone[1].lower():
            return option
    raise OptionError(f"{named!r}; the options are {', '.join(map(_label, options))}")


@lru_cache(maxsize=1024)
def _match(text: str, response: str) -> Match:
    """What an answer commits to: the same for all edges of a node."""
    question, options = split_instruction(text)
    return match_response(response, options, question)


def _label(option: Option) -> str:
    return f"({option.letter}) {option.text}"
