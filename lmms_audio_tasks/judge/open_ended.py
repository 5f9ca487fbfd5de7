"""The rule for open questions: a response is right where it is the reference itself; of any other the rule is not sure.

Nothing here guesses: "a bicycle" for "a bike" is `unjudged`, and a language model has to say.
"""

from __future__ import annotations

import re
from decimal import Decimal

from lmms_audio_tasks._options.text import WORD, fold, strip_thinking
from lmms_audio_tasks.records import Verdict, no_answer

ASK_A_JUDGE = "open answer unlike the reference: use --audio_judge hybrid or llm"

_WRAPPED = re.compile(r"""(["'`*_]{1,3})(.+)\1""", re.DOTALL)
# Only what cannot change a value: -5, .5, 5!, $5, 5% and [5] are not 5.
_END = " .,;:?"
_TWO_LETTERS = re.compile(r"[^\W\d_]{2}")
_LAYERS = 20
"""How many layers of quotes and emphasis are taken off; an answer wrapped in more is for a judge."""
# Not before short words: "a b" may be two notes.
_ARTICLE = re.compile(r"(?:an?|the) (?=[^\W\d_]{3})")
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+|(?=\.\d))(?:\.\d+)?")


def judge_open(response: str, reference: str) -> tuple[Verdict, str, str]:
    """Score one response to an open question by rule.

    Both are compared without case, accents, emphasis, quotes around the whole, runs of blanks, a full stop and a
    leading article. Where the reference is a number, a response that is that number alone is right, however it is
    written (`1,000`, `1000.0`).

    Returns:
        the verdict (`correct`, `unjudged`, `none` for an empty response or a refusal, `error`), why, and the reference
        where it was given, else "".
    """
    if (unanswered := no_answer(response)) is not None:
        return (*unanswered, "")
    given, wanted = _plain(strip_thinking(fold(response).strip())), _plain(fold(reference))
    if given and given == wanted:
        return "correct", "reference", reference
    number = _number(wanted)
    if number is not None and number == _number(given):
        return "correct", "number", reference
    return ("unjudged", ASK_A_JUDGE, "") if WORD.search(given) else ("none", "empty", "")


def _plain(folded: str) -> str:
    text = " ".join(folded.split())
    for _ in range(_LAYERS):
        bare = _without_end(text)
        wrapped = _WRAPPED.fullmatch(bare)
        bare = wrapped[2].strip() if wrapped else bare
        if bare == text:
            break
        text = bare
    return _ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text


def _without_end(text: str) -> str:
    # No pattern: one that is anchored at the end takes time with the square of a run that does not stand there.
    bare = text.rstrip(_END)
    if bare != text:
        return bare
    bare = text.rstrip("!")
    return bare if _TWO_LETTERS.fullmatch(bare[-2:]) else text


def _number(plain: str) -> Decimal | None:
    """The number that the text is; None where it is anything else, or something more."""
    return Decimal(plain.replace(",", "")) if _NUMBER.fullmatch(plain) else None
