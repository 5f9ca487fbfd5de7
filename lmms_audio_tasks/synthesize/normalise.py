"""A prompt in writing -> the words to say: numbers, symbols and listed options spelled out.

Numbers by num2words, in the languages it has. Symbols and the wording of options are tables of the settings. What is
left may be letters, blanks and the punctuation that synthesizers read as pauses, nothing else: no markup can get
through to one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from lmms_audio_tasks.errors import AudioTasksError

INSTALL_HINT = 'pip install "lmms-audio-tasks[synthesize]"'
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "…": "."})
_NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:[.,]\d+)*(?:st|nd|rd|th)?(?!\w)")
_MONEY = re.compile(r"([$€£])\s?((?:\d[\d.,]*\d|\d)(?:\s(?:thousand|million|billion|trillion)\b)?)")
_RANGE = re.compile(r"(?<=\d)[-–](?=\d)")
_MINUS = re.compile(r"(?<=[\d)])\s+[-–−]\s+(?=[\d(])")
_CLOCK = re.compile(r"\b([01]?\d|2[0-3]):([0-5]\d)\b")
_YEAR = re.compile(r"(?i)\b(in|since|by|until|before|after|of|year|from)\s+(1[1-9]\d\d|20\d\d)\b(?![.,]\d)")
_LISTED = re.compile(r"^\s*(?:\(([A-Z])\)|([A-Z])[).:])\s+(.+)$")
_DASHED = re.compile(r"^\s*[-*•]\s+(.+)$")
_INLINE = re.compile(r"\(([A-Z])\)\s*")
_HEADING = re.compile(r"(?i)^\s*options\s*:\s*$")
_PAUSES = re.compile(r"[()\[\]{}–—]|(?<=\s)-+(?=\s)|--+")
_SPOKEN = frozenset(".,;:!?'-¿¡،؟؛।")
_STOPS = tuple(".!?؟।")


class Unspeakable(AudioTasksError):
    """A text with something that has no spoken form in the language."""


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
        self._option: str = tables["option"].get(plain, "{letter}: {text}")
        self._heading: str = tables["options_heading"].get(plain, "")
        self._range: str = tables["range"].get(plain, "")

    def spoken(self, text: str) -> str:
        """The words to say, on one line.

        Raises:
            Unspeakable: a character or number has no spoken form in the language.
            AudioTasksError: num2words is not installed, and the text has a number.
        """
        text = unicodedata.normalize("NFC", text).translate(_QUOTES)
        lines = (self._line(line) for line in text.splitlines())
        text = " ".join(line for line in lines if line)
        text = self._words(self._numbers(text))
        text = _PAUSES.sub(", ", text.replace('"', ""))
        text = self._tidy("".join(self._sign(character) for character in text))
        if not any(character.isalpha() for character in text):
            raise Unspeakable("no words are left to say")
        return text

    def _line(self, line: str) -> str:
        """One line as a sentence of its own where it is an option; else as it stands."""
        line = line.strip()
        if _HEADING.match(line):
            return self._heading
        listed, dashed = _LISTED.match(line), _DASHED.match(line)
        if listed:
            line = self._option.format(letter=listed[1] or listed[2], text=listed[3].strip())
        elif dashed:
            line = dashed[1].strip()
        if (listed or dashed) and not line.endswith(_STOPS):
            line += "."
        return _INLINE.sub(lambda found: self._option.format(letter=found[1], text=""), line)

    def _numbers(self, text: str) -> str:
        if self._plain == "en":
            text = _YEAR.sub(lambda found: f"{found[1]} {self._say(found[2], 'year')}", text)
            text = _CLOCK.sub(self._clock, text)
        if self._symbols:
            text = _MONEY.sub(lambda found: f"{found[2]} {self._symbols.get(found[1], found[1])}", text)
        text = _MINUS.sub(" − ", text)
        if self._range:
            text = _RANGE.sub(f" {self._range} ", text)
        return _NUMBER.sub(lambda found: self._number(found[0]), text)

    def _clock(self, found: re.Match[str]) -> str:
        minutes = "" if found[2] == "00" else f" {'oh ' if found[2] < '10' else ''}{self._say(str(int(found[2])))}"
        return f"{self._say(found[1])}{minutes}"

    def _number(self, text: str) -> str:
        minus = text[0] in "-−"
        digits, form = text.lstrip("-−"), "cardinal"
        if digits[-1].isalpha():  # 21st
            digits, form, minus = digits[:-2], "ordinal", False
        groups = re.split(r"[.,]", digits)
        if len(groups) > 1 and len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:]) and "," in digits:
            digits = "".join(groups)  # 1,234,567
        elif len(groups) == 2:
            digits = ".".join(groups)
        elif len(groups) > 2:  # a version or a date: part after part
            return " ".join(self._say(group) for group in groups)
        return self._say(f"-{digits}" if minus else digits, form)

    def _say(self, digits: str, form: str = "cardinal") -> str:
        return _in_words(digits, form, self._plain)

    def _words(self, text: str) -> str:
        for symbol, word in self._symbols.items():
            text = text.replace(symbol, f" {word} ")
        return text

    def _sign(self, character: str) -> str:
        if character.isspace() or character == "_":
            return " "
        if character in _SPOKEN or unicodedata.category(character)[0] in "LM":
            return character
        if character.isdigit():  # within a word, such as B2 or 3D, or of another writing than 0 to 9
            return f" {self._say(str(unicodedata.digit(character)))} "
        raise Unspeakable(f"no word for {character!r} (U+{ord(character):04X}) in language {self.language}")

    @staticmethod
    def _tidy(text: str) -> str:
        text = re.sub(r"\s+", " ", text)
        text = re.sub(r"\s+([.,;:!?])", r"\1", text)
        text = re.sub(r"[,;:]+(?=[.,;:!?])", "", text)
        # An ellipsis is a pause like any other.
        text = re.sub(r"([.,!?])\1+", r"\1", text)
        return text.strip(" ,;:-")


@lru_cache(maxsize=65536)
def _in_words(digits: str, form: str, language: str) -> str:
    try:
        from num2words import num2words
    except ImportError:
        raise AudioTasksError(f"num2words is not installed, which spells numbers out: {INSTALL_HINT}") from None
    from decimal import Decimal

    number: Any = Decimal(digits) if "." in digits else int(digits) if len(digits) < 25 else None
    if number is None:
        return " ".join(_in_words(digit, form, language) for digit in digits if digit.isdigit())
    try:
        words = num2words(number, lang=language, to=form)
    # What its languages raise of what they cannot say.
    except (NotImplementedError, ArithmeticError, TypeError, ValueError, LookupError) as error:
        raise Unspeakable(f"no words for the number {digits} in language {language}: {error or 'unknown'}") from error
    # Neither is said: "thirty-four", "one thousand, two hundred".
    return str(words).replace("-", " ").replace(",", "") if language == "en" else str(words)
