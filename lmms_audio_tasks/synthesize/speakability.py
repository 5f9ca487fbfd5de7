"""Which prompts can plausibly be spoken (section 4 of the paper), by thresholds of the settings.

The paper drops what is too long or too rich in mathematical expressions and in symbols, and says that exam questions
with few-shot examples are not what people say; it gives no thresholds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lmms_audio_tasks.synthesize.normalise import Normaliser, Unspeakable, without_labels

REASONS = {
    "words": "too many words",
    "seconds": "too long to say",
    "markup": "markup",
    "code": "program code",
    "table": "a table",
    "url": "an address",
    "examples": "solved examples before the question",
    "emoji": "emoji",
    "script": "another writing than the language's",
    "formula": "too many formulas",
    "symbols": "too many symbols",
    "digits": "too many digits",
    "unspeakable": "something without a spoken form",
}
"""Why prompts are dropped, in the order in which they are looked for."""

_URL = re.compile(r"(?i)\b(?:https?://|www\.)\S+|\b[\w.+-]+@[\w-]+\.\w+")
_TAG = re.compile(r"</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>|<[?!][^<>]*>|&(?:#\d+|[a-z]+);|\[\[|\]\]")
_CODE = re.compile(
    r"^\s*(?:```|(?:def|class|import|from|return|for|while|if|elif|else|function|var|let|const|public|#include)\b.*"
    r"[:;{(]\s*$|[\w.\[\]]+\s*(?:=|\+=|->)\s*[\w.\[\](\"']+.*[;)\]]?\s*$|.*[;{}]\s*$)"
)
_FORMULA = re.compile(
    r"\\[A-Za-z]+|[\^_={}|√∑∫∞≈∈∀∃→⇒∧∨¬]|\w\(\w(?:,\s*\w)*\)$|^[A-Za-z]?\d+[A-Za-z]\w*[+\-*/]|^\$.*\$$"
)
_EXAMPLE = re.compile(r"(?ims)^\s*(?:Q|Question)\s*:.*?^\s*(?:A|Answer)\s*:\s*\S")
_USUAL = frozenset(".,;:!?'\"()-–—‘’“”„«»…¿¡،؟؛")
_CHARACTERS_A_WORD = 15
_MOST_CHARACTERS = 10_000
"""Longer texts are dropped and not looked into: on hostile ones the patterns take time that grows with the square of
the length."""


def examine(text: str, language: str, limits: Mapping[str, Any], normaliser: Normaliser) -> tuple[str, dict[str, str]]:
    """What is said for `text`, and why it cannot be spoken: each reason of `REASONS` that holds, with what was found.

    Args:
        text: the prompt in writing, not blank.
        limits: the section `speakability` of the settings.

    Returns:
        the words and {}, or "" and the reasons.
    """
    found = dict(_reasons(text, language, limits, normaliser))
    if not found:
        try:
            return normaliser.spoken(text), {}
        except Unspeakable as error:
            found["unspeakable"] = str(error)
    return "", {reason: found[reason] for reason in REASONS if reason in found}


def _reasons(text: str, language: str, limits: Mapping[str, Any], normaliser: Normaliser) -> Iterator[tuple[str, str]]:
    words = text.split()
    # No fewer than one in so many characters: what is written without blanks takes its time, too.
    count = max(len(words), len(text) // _CHARACTERS_A_WORD)
    seconds = estimated_seconds(count, limits)
    if count > limits["max_words"]:
        yield "words", f"{count} words, more than {limits['max_words']}"
    if seconds > limits["max_seconds"]:
        yield "seconds", f"about {seconds:.0f} s, more than {limits['max_seconds']}"
    if len(text) > _MOST_CHARACTERS:
        if count <= limits["max_words"]:
            yield "words", f"{len(text)} characters, more than {_MOST_CHARACTERS}"
        return
    lines = [line for line in text.splitlines() if line.strip()]
    counted = (
        ("markup", _TAG.findall(text), "max_markup_tags"),
        ("code", [line for line in lines if _is_code(line)], "max_code_lines"),
        ("table", [line for line in lines if line.count("|") > 1 or line.count("\t") > 1], "max_table_lines"),
        ("url", _URL.findall(text), "max_urls"),
        ("examples", _EXAMPLE.findall(text), "max_examples"),
        ("emoji", [sign for sign in text if _is_emoji(sign) and not normaliser.has_word(sign)], "max_emoji"),
    )
    for reason, there, limit in counted:
        if len(there) > limits[limit]:
            yield reason, f"{len(there)}: {_quote(there[0])}"
    formulas = [word for word in words if _FORMULA.search(word.rstrip(".,;:?!"))]
    yield from _share("formula", formulas, len(words), limits["max_formula_share"])
    signs = [character for character in text if not character.isspace()]
    yield from _share("symbols", [sign for sign in signs if _is_symbol(sign)], len(signs), limits["max_symbol_share"])
    yield from _share("digits", [sign for sign in signs if sign.isdigit()], len(signs), limits["max_digit_share"])
    foreign = list(_foreign(without_labels(text), limits["scripts"].get(language.partition("-")[0].lower())))
    if foreign:
        yield "script", f"{foreign[0][1].lower()} letters such as {foreign[0][0]!r}, in language {language}"


def estimated_seconds(words: int, limits: Mapping[str, Any]) -> float:
    """How long so many words take to say, in seconds."""
    return words * 60 / limits["words_per_minute"]


def _share(reason: str, found: list[str], total: int, limit: float) -> Iterator[tuple[str, str]]:
    if total and len(found) / total > limit:
        yield reason, f"a share of {len(found) / total:.2f}, more than {limit}: {_quote(found[0])}"


def _is_code(line: str) -> bool:
    return bool(_CODE.match(line)) and not line.rstrip().endswith(("?", "."))


def _is_symbol(character: str) -> bool:
    kind = unicodedata.category(character)
    return kind[0] not in "LMN" and kind != "Cf" and character not in _USUAL


def _is_emoji(character: str) -> bool:
    """Pictographs and other symbols without a usual reading; `°` and `©` are symbols, but no emoji."""
    return unicodedata.category(character) in ("So", "Sk", "Co", "Cn") and ord(character) > 0x2100


def _foreign(text: str, scripts: Iterable[str] | None) -> Iterator[tuple[str, str]]:
    """Letters of other writings than `scripts`, with the writing; none where any is allowed."""
    if scripts is None:
        return
    allowed = tuple(scripts)
    for character in text:
        if character.isalpha():
            writing = unicodedata.name(character, "UNKNOWN").split()[0]
            if writing not in allowed and not (writing in ("FEMININE", "MASCULINE", "MICRO") and "LATIN" in allowed):
                yield character, writing


def _quote(text: str) -> str:
    plain = " ".join(text.split())
    return repr(plain if len(plain) <= 30 else f"{plain[:27]}...")
