"""Numbers in writing -> words, by num2words: which separators a language uses, and what num2words gets wrong.

Of some numbers num2words leaves out the sign or the fraction in silence: of -0.5 in English, of 3.5 in Italian. What is
said then would be another number, so a sign is put before the words here, and words that lack the fraction are refused.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import Any

from lmms_audio_tasks.errors import AudioTasksError

INSTALL_HINT = 'pip install "lmms-audio-tasks[synthesize]"'
_POINT = frozenset(
    ("am", "ar", "bn", "cy", "en", "fa", "ga", "he", "hi", "ja", "kn", "ko", "mt", "ta", "te", "th", "zh")
)
"""Languages that write 1,234.5; all others write 1.234,5."""
_SPELLED_FROM = 25
"""Numbers of so many digits are said digit by digit."""


class Unspeakable(AudioTasksError):
    """A text with something that has no spoken form in the language."""


def plain_number(text: str, language: str) -> str | None:
    """`1,234.5` as the language writes it -> `1234.5`; None where it is no number, but a version or a date.

    Args:
        text: digits with points and commas between them, without a sign.
    """
    thousands, decimal = (",", ".") if language in _POINT else (".", ",")
    for group, point, groups in ((thousands, decimal, "+"), (decimal, thousands, "{2,}")):
        # With one group of three the other way round it is a fraction: 1.234 in English.
        both = rf"[1-9]\d?\d?(?:[{group}]\d\d\d?)*[{group}]\d{{3}}[{point}]\d+"
        if re.fullmatch(rf"[1-9]\d?\d?(?:[{group}]\d{{3}}){groups}|{both}", text):
            return text.replace(group, "").replace(point, ".")
    if re.fullmatch(rf"[1-9]\d?(?:[{thousands}]\d\d)+[{thousands}]\d{{3}}", text):  # 12,34,567
        return text.replace(thousands, "")
    if re.fullmatch(r"\d+(?:[.,]\d+)?", text):
        return text.replace(",", ".")
    return None


@lru_cache(maxsize=65536)
def in_words(digits: str, form: str, language: str) -> str:
    """The words for a number.

    Args:
        digits: as `plain_number` gives them; a minus may stand before them.
        form: `cardinal`, `ordinal` or `year`.

    Raises:
        Unspeakable: the language has no words for it.
        AudioTasksError: num2words is not installed.
    """
    if digits.startswith("-"):
        return f"{_minus(language)} {in_words(digits[1:], form, language)}"
    whole, _, fraction = digits.partition(".")
    zeros = form == "cardinal" and not fraction and len(digits) > 1 and digits[0] == "0"  # 007
    if not fraction and (zeros or len(digits) >= _SPELLED_FROM):
        return " ".join(in_words(digit, "cardinal", language) for digit in digits)
    if not fraction:
        return _asked(int(digits), form, language)
    if language == "en" and form == "cardinal":  # num2words would say 3.10 as 3.1
        return f"{in_words(whole, form, language)} point {' '.join(in_words(d, form, language) for d in fraction)}"
    return _with_fraction(whole, fraction, form, language)


def _with_fraction(whole: str, fraction: str, form: str, language: str) -> str:
    """The words for a decimal number, which must differ from those for other numbers."""
    wrong = {""}
    if fraction.strip("0"):
        wrong.add(_asked(int(whole), form, language))
    if fraction.lstrip("0") not in ("", fraction):
        wrong.add(_asked(Decimal(f"{whole}.{fraction.lstrip('0')}"), form, language))
    for number in (Decimal(f"{whole}.{fraction}"), float(f"{whole}.{fraction}")):
        words = _asked(number, form, language)
        if words not in wrong:
            return words
    raise Unspeakable(f"no words for the number {whole}.{fraction} in language {language}: num2words has wrong ones")


def _minus(language: str) -> str:
    """What stands before the words for a number below zero."""
    below, above = _asked(-5, "cardinal", language), _asked(5, "cardinal", language)
    word = below.removesuffix(above).strip()
    if not word.isalpha() or not below.endswith(above):
        raise Unspeakable(f"no words for numbers below zero in language {language}")
    return word


def _asked(number: int | float | Decimal, form: str, language: str) -> str:
    try:
        from num2words import num2words
    except ImportError:
        raise AudioTasksError(f"num2words is not installed, which spells numbers out: {INSTALL_HINT}") from None
    try:
        words: Any = num2words(number, lang=language, to=form)
    # What its languages raise of what they cannot say.
    except (NotImplementedError, ArithmeticError, TypeError, ValueError, LookupError) as error:
        told = str(error) or "num2words has none"
        raise Unspeakable(f"no words for the number {number} in language {language}: {told}") from error
    # Neither is said: "thirty-four", "one thousand, two hundred".
    return str(words).replace("-", " ").replace(",", "") if language == "en" else str(words)
