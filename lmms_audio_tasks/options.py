"""Multiple-choice options: parse them from an instruction, and tell which one a response commits to.

This is the offline judge of SAKURA's rule (paper, section 3.1): a response is right only if it commits to exactly one
of the listed options and that is the golden one. Nothing here guesses: what the rules cannot settle is ``undecided``.

All matching is blind to case, accents, curly or straight quotes, and outer blanks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_lowercase
from typing import Literal, cast

from lmms_audio_tasks._options.lexicon import OUTER, Lexicon, build_lexicon
from lmms_audio_tasks._options.text import WORD, fold, strip_thinking
from lmms_audio_tasks._options.verdict import judge

Kind = Literal["one", "none", "several", "undecided"]


class OptionError(ValueError):
    """An instruction without a usable list of options, or an answer that is not one of them."""


@dataclass(frozen=True, slots=True)
class Option:
    """One choice: ``letter`` in lower case ("a"), ``text`` as it stands in the instruction, stripped."""

    letter: str
    text: str


@dataclass(frozen=True, slots=True)
class Match:
    """What a response commits to; ``option`` is set exactly when ``kind`` is "one".

    ``rule`` is a short name of how it was reached, for logs and counts: "letter", "text", "letter+text",
    "final answer", "elimination", "list", "conflict", "refusal", "echo", "empty" and the like.
    """

    kind: Kind
    option: Option | None
    rule: str


# Ways to write labels, most telling first. Each has one group: the letter.
_LETTER = "[A-Za-z\uff21-\uff3a\uff41-\uff5a]"
_STYLES = (
    re.compile(rf"(?<![^\W\u3040-\u9fff\uac00-\ud7af])[(\uff08]\s*({_LETTER})\s*[)\uff09]"),
    re.compile(rf"[\[\u3010\uff3b]\s*({_LETTER})\s*[\]\u3011\uff3d]"),
    re.compile(rf"(?m:^)[ \t]*(?:[-*][ \t]*)?(?:option[ \t]+)?({_LETTER})[).:\uff09\uff0e\uff1a][ \t]+", re.IGNORECASE),
    re.compile(rf"(?<!\S)({_LETTER})[).\uff09](?=\s)"),
)
# A letter after one of these refers to an option ("Both (a) and (b)") and does not open one.
_REFERS = re.compile(
    r"\b(?:both|and|or|nor|neither|either|see|options?|of|as|in|like|with|than|from|to|not|between),?\s*$", re.I
)
_TRAILING = re.compile(r"(?:[,;]\s*(?:or|and)|[,;]|\s+(?:or|and))\s*$", re.I)


def _labels(style: re.Pattern[str], instruction: str) -> list[tuple[str, re.Match[str]]]:
    return [(fold(match.group(1)), match) for match in style.finditer(instruction)]


def _chain(labels: Sequence[tuple[str, re.Match[str]]], first: int) -> list[int]:
    """Positions of a, b, c ... in order, from the label at ``first`` on."""
    chain: list[int] = []
    for place in range(first, len(labels)):
        if len(chain) < 26 and labels[place][0] == ascii_lowercase[len(chain)]:
            chain.append(place)
    return chain


def _check_leftovers(instruction: str, labels: Sequence[tuple[str, re.Match[str]]], chain: list[int]) -> None:
    """A repeated letter, or a gap after the last one, means that the list is broken."""
    following = ascii_lowercase[len(chain) : len(chain) + 3]
    for place in range(chain[0], len(labels)):
        letter, match = labels[place]
        if place in chain or _REFERS.search(instruction, max(0, match.start() - 24), match.start()):
            continue
        if letter in ascii_lowercase[: len(chain)]:
            raise OptionError(f"option ({letter}) occurs twice in {_shown(instruction)}")
        if letter in following and place > chain[-1]:
            raise OptionError(f"expected option ({following[0]}), found ({letter}), in {_shown(instruction)}")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 200 else f"{text[:90]} ... {text[-100:]}")


def _find_list(instruction: str) -> Iterator[re.Match[str]]:
    """Labels of the last list of options, in order."""
    for style in _STYLES:
        labels = _labels(style, instruction)
        starts = [
            place
            for place, (letter, match) in enumerate(labels)
            if letter == "a" and not _REFERS.search(instruction, max(0, match.start() - 24), match.start())
        ] or [place for place, (letter, _) in enumerate(labels) if letter == "a"][:1]
        for first in reversed(starts):
            chain = _chain(labels, first)
            if len(chain) > 1:
                _check_leftovers(instruction, labels, chain)
                return iter([labels[place][1] for place in chain])
        if style is _STYLES[0] and labels:
            letters = ", ".join(f"({letter})" for letter, _ in labels)
            raise OptionError(f"expected options (a), (b), ... in order, found {letters} in {_shown(instruction)}")
    raise OptionError(f"expected options like '(a) x (b) y', found none in {_shown(instruction)}")


def split_instruction(instruction: str) -> tuple[str, tuple[Option, ...]]:
    """Split ``Question? (a) x (b) y`` into the question text and its options.

    The last list of two or more labels a, b, c ... counts, so letters in the question do no harm. Labels may be written
    ``(a)``, ``[a]``, or ``a)``, ``a.``, ``a:`` at the start of lines, in either case and full width.

    Raises:
        OptionError: no list, letters that repeat or leave gaps, or an option without text.
    """
    labels = list(_find_list(instruction))
    ends = [label.start() for label in labels[1:]] + [len(instruction)]
    options: list[Option] = []
    for place, (label, end) in enumerate(zip(labels, ends, strict=True)):
        text = instruction[label.end() : end].strip()
        if place < len(labels) - 1:
            text = _TRAILING.sub("", text).strip()
        letter = ascii_lowercase[place]
        if not text:
            raise OptionError(f"option ({letter}) has no text in {_shown(instruction)}")
        options.append(Option(letter, text))
    return instruction[: labels[0].start()].strip(), tuple(options)


def parse_options(instruction: str) -> tuple[Option, ...]:
    """The options of an instruction; see :func:`split_instruction`."""
    return split_instruction(instruction)[1]


_ANSWER = re.compile(rf"\s*[(\[\uff08]?\s*({_LETTER})\s*(?:[)\]\uff09]|[.:](?=\s))\s*(.*?)\s*", re.DOTALL)


def _same_text(text: str) -> str:
    return " ".join(fold(text).split()).rstrip(".")


def parse_answer(answer: str, options: Sequence[Option]) -> Option:
    """The option that a golden answer such as ``" (d) angry"`` states.

    Raises:
        OptionError: not of that form, or letter and text do not belong to one and the same option.
    """
    found = _ANSWER.fullmatch(answer)
    if found is None:
        raise OptionError(f"expected an answer like '(c) Antlers', found {answer!r}")
    letter, text = fold(found.group(1)), found.group(2)
    for option in options:
        if option.letter.lower() == letter:
            if _same_text(option.text) != _same_text(text):
                raise OptionError(f"answer {answer!r}: option ({letter}) is {option.text!r}, not {text!r}")
            return option
    raise OptionError(
        f"answer {answer!r}: expected one of {', '.join(f'({o.letter})' for o in options)}, found ({letter})"
    )


@lru_cache(maxsize=8192)
def _lexicon(options: tuple[Option, ...]) -> Lexicon:
    if len(options) > len(ascii_lowercase):
        raise OptionError(f"expected at most {len(ascii_lowercase)} options, found {len(options)}")
    return build_lexicon([option.letter for option in options], [option.text for option in options])


@lru_cache(maxsize=8192)
def _bare_question(question: str) -> str:
    """The question without its options, where the caller passed the whole instruction."""
    try:
        return split_instruction(question)[0]
    except OptionError:
        return question


_LEAD = re.compile(
    r"(?:(?:so|therefore|thus),?\s+)?(?:(?:the|my)\s+)?(?:(?:final|correct|right|best)\s+)?(?:answer|option|choice)"
    r"(?:\s+(?:is|would be|should be|must be)\b\s*:?|\s*:)\s*(?:option\s+)?"
)


def _whole_answer(text: str, lexicon: Lexicon) -> tuple[int, str] | None:
    """The option that is all a response says, perhaps after "the answer is"; the quick way for most responses."""
    short = text.strip(OUTER)
    if len(short) > lexicon.longest + 40:
        return None
    short = " ".join(short.split())
    known = lexicon.exact.get(short)
    if known is None:
        lead = _LEAD.match(short)
        known = lexicon.exact.get(short[lead.end() :].strip(OUTER)) if lead else None
        return known and (known[0], "final answer")
    return known


def match_response(response: str, options: Sequence[Option], question: str | None = None) -> Match:
    """Tell which option a response commits to.

    Args:
        response: what the model said, of any length.
        options: the listed options; none at all makes every response "none".
        question: the question text (or the whole instruction), so that a response that repeats it is not read as an
            answer.

    Returns:
        ``one`` (a sure commitment), ``none`` (empty, refusal, off the list, the question repeated, unfinished
        thinking), ``several`` or ``undecided`` (a sign of an option that the rules do not settle). Never raises for a
        string.
    """
    options = tuple(options)
    lexicon = _lexicon(options)
    folded = fold(response).strip()
    text = strip_thinking(folded)
    known = _whole_answer(text, lexicon)
    if known is not None:
        return Match("one", options[known[0]], known[1])
    if not WORD.search(text):
        return Match("none", None, "unfinished thinking" if WORD.search(folded) else "empty")
    kind, index, rule = judge(text, lexicon, _bare_question(question) if question else None)
    return Match(cast(Kind, kind), None if index is None else options[index], rule)
