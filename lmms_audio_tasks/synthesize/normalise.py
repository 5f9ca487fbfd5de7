"""A prompt in writing -> the words to say: numbers, symbols and listed options spelled out.

Numbers by num2words, in the languages it has. Symbols and the wording of options are tables of the settings. What is
left may be letters, blanks and the punctuation that synthesizers read as pauses, nothing else: no markup can get
through to one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from lmms_audio_tasks.synthesize.numbers import INSTALL_HINT, Unspeakable, in_words, plain_number

__all__ = ["INSTALL_HINT", "Normaliser", "Unspeakable", "without_labels"]

_UNSEEN = "\u00ad\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
"""Marks of direction and of places where a word may be parted: nothing is said for them."""
_PLAINER = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "…": ".", "٫": ".", "٬": ","}
    | dict.fromkeys(_UNSEEN)
)
"""Quotation marks, Arabic separators of numbers, and what is not said."""
_JOINERS = "\u200c\u200d"
"""They change how letters are read, e.g. in Persian and Hindi."""
_NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:[.,]\d+)*(?:st|nd|rd|th)?(?!\w|[.,]\d)")
_IN_WORD = re.compile(r"\d+(?:[.,]\d+)*")
_SPACED = re.compile(r"(?<=\d)[\u00a0\u202f](?=\d{3}(?!\d))")
_POINT_FIRST = re.compile(r"(?<![\w.])\.(?=\d)")
_DECADE = re.compile(r"\b(\d{1,3}0)'?s\b")
_MONEY = re.compile(r"([$€£])\s?(\d[\d.,]*\d|\d)(?:(\s(?:thousand|million|billion|trillion)|k|m|bn|b|tn)\b|(?!\w))")
_MULTIPLES = {"k": " thousand", "m": " million", "bn": " billion", "b": " billion", "tn": " trillion"}
_RANGE = re.compile(r"\d+(?:[-–]\d+)+")
_MINUS = re.compile(r"(?<=[\d)])\s+[-–−]\s+(?=[\d(])")
_CLOCK = re.compile(r"\b([01]?\d|2[0-3]):([0-5]\d)\b")
_YEAR = re.compile(r"(?i)\b(in|since|by|until|before|after|of|year|from)\s+(1[1-9]\d\d|20\d\d)\b(?![.,]\d)")
_LISTED = re.compile(r"^\s*(?:\(([A-Z])\)|([A-Z])[).:])\s+(.+)$")
_DASHED = re.compile(r"^\s*[-*•]\s+(.+)$")
_INLINE = re.compile(r"\(([A-Z])\)\s*")
_EMPTY = re.compile(r"[(\[{]\s+[()\[\]{}]")
_HEADING = re.compile(r"(?i)^\s*options\s*:\s*$")
_PAUSES = re.compile(r"[()\[\]{}–—]|(?<=\s)-+(?=\s)|--+")
_SPOKEN = frozenset(".,;:!?'-¿¡،؟؛।")
_STOPS = tuple(".!?؟।")


class Normaliser:
    """Spells texts out in one language.

    Args:
        language: as num2words and the settings call it, e.g. `en`; of `en-gb` the part before the dash counts.
        tables: the section `normalise` of the settings.
    """

    def __init__(self, language: str, tables: Mapping[str, Any]) -> None:
        self.language = language
        plain = language.partition("-")[0].lower()
        self._plain = plain
        self._symbols: Mapping[str, str] = tables["symbols"].get(plain, {})
        # The longest first: °C before °.
        signs = sorted(self._symbols, key=len, reverse=True)
        self._symbol = re.compile("|".join(map(re.escape, signs)) or r"(?!)")
        self._option: str = tables["option"].get(plain, "{letter}: {text}")
        self._heading: str = tables["options_heading"].get(plain, "")
        self._range: str = tables["range"].get(plain, "")

    def spoken(self, text: str) -> str:
        """The words to say, on one line.

        Raises:
            Unspeakable: a character or number has no spoken form in the language.
            AudioTasksError: num2words is not installed, and the text has a number.
        """
        text = unicodedata.normalize("NFC", text).translate(_PLAINER)
        whole = text.splitlines()
        labelled = _are_labels([found[1] or found[2] for found in map(_LISTED.match, whole) if found])
        lines = (self._line(line, labelled) for line in whole)
        text = " ".join(line for line in lines if line)
        empty = _EMPTY.search(text)
        if empty:
            raise Unspeakable(f"brackets with nothing between them: {empty[0]!r}")
        text = self._words(self._numbers(text))
        text = _PAUSES.sub(", ", text.replace('"', ""))
        text = self._tidy("".join(self._sign(character) for character in text))
        if not any(character.isalpha() for character in text):
            raise Unspeakable("no words are left to say")
        return text

    def has_word(self, symbol: str) -> bool:
        """Whether the settings have a word for it in the language."""
        return symbol in self._symbols

    def _line(self, line: str, labelled: bool) -> str:
        """One line as a sentence of its own where it is an option; else as it stands.

        Args:
            labelled: whether letters before lines are options'.
        """
        line = line.strip()
        if _HEADING.match(line):
            return self._heading
        listed, dashed = _LISTED.match(line) if labelled else None, _DASHED.match(line)
        if listed:
            line = self._option.format(letter=listed[1] or listed[2], text=listed[3].strip())
        elif dashed:
            line = dashed[1].strip()
        if (listed or dashed) and not line.endswith(_STOPS):
            line += "."
        return _INLINE.sub(lambda found: self._option.format(letter=found[1], text=""), line)

    def _numbers(self, text: str) -> str:
        text = _POINT_FIRST.sub("0.", _SPACED.sub("", text))
        if self._plain == "en":
            text = _DECADE.sub(lambda found: _plural(self._say(found[1], "year")), text)
            text = _YEAR.sub(lambda found: f"{found[1]} {self._say(found[2], 'year')}", text)
            text = _CLOCK.sub(self._clock, text)
        if self._symbols:
            text = _MONEY.sub(self._money, text)
        text = _MINUS.sub(" − ", text)
        text = _RANGE.sub(self._between, text)
        text = _NUMBER.sub(lambda found: self._number(found[0]), text)
        return _IN_WORD.sub(lambda found: f" {self._number(found[0])} ", text)  # 10km, B2

    def _money(self, found: re.Match[str]) -> str:
        word = self._symbols.get(found[1], found[1])
        if self._plain == "en" and found[2] == "1" and not found[3]:
            word = word.removesuffix("s")
        return f"{found[2]}{_MULTIPLES.get(found[3], found[3] or '')} {word}"

    def _between(self, found: re.Match[str]) -> str:
        """3-5 as a range; 2020-01-05 with pauses."""
        parts = re.split("[-–]", found[0])
        if len(parts) > 2:
            return ", ".join(parts)
        return f" {self._range} ".join(parts) if self._range else found[0]

    def _clock(self, found: re.Match[str]) -> str:
        minutes = "" if found[2] == "00" else f" {'oh ' if found[2] < '10' else ''}{self._say(str(int(found[2])))}"
        return f"{self._say(found[1])}{minutes}"

    def _number(self, text: str) -> str:
        minus = text[0] in "-−"
        digits, form = text.lstrip("-−"), "cardinal"
        if digits[-1].isalpha():  # 21st
            digits, form, minus = digits[:-2], "ordinal", False
        plain = plain_number(digits, self._plain)
        if plain is None:  # a version or a date: part after part
            return " ".join(self._say(group) for group in re.split(r"[.,]", digits))
        return self._say(f"-{plain}" if minus else plain, form)

    def _say(self, digits: str, form: str = "cardinal") -> str:
        return in_words(digits, form, self._plain)

    def _words(self, text: str) -> str:
        return self._symbol.sub(lambda found: f" {self._symbols[found[0]]} ", text)

    def _sign(self, character: str) -> str:
        if character.isspace() or character == "_":
            return " "
        if character in _SPOKEN or character in _JOINERS or unicodedata.category(character)[0] in "LM":
            return character
        raise Unspeakable(f"no word for {character!r} (U+{ord(character):04X}) in language {self.language}")

    @staticmethod
    def _tidy(text: str) -> str:
        text = re.sub(r"\s+", " ", text)
        text = re.sub(r"\s+([.,;:!?])", r"\1", text)
        text = re.sub(r"[,;:]+(?=[.,;:!?])", "", text)
        # An ellipsis is a pause like any other.
        text = re.sub(r"([.,!?])\1+", r"\1", text)
        return text.strip(" ,;:-")


def without_labels(text: str) -> str:
    """The text without the letters before its options and the heading `Options:`, which are Latin in any language."""
    lines = (line for line in text.splitlines() if not _HEADING.match(line))
    return "\n".join(_INLINE.sub("", re.sub(r"^\s*[A-Z][).:](?=\s)", "", line)) for line in lines)


def _are_labels(letters: list[str]) -> bool:
    """Whether letters before lines are options' and no initials or speakers' names: from A on, at least two."""
    return letters[:2] == ["A", "B"]


def _plural(word: str) -> str:
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
