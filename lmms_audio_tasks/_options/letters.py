"""Company of a letter: when does a lone "c", "a" or "en" name an option?

The article "a", the pronoun "I", and texts of two letters ("it", "de") are told from names by what stands beside them:
brackets, "option c", "the answer is c", a line of their own. Case is never looked at.
"""

from __future__ import annotations

import re

from lmms_audio_tasks._options.text import CJK, LETTER
from lmms_audio_tasks._options.text import any_of as _any

BEFORE, AFTER = 48, 32  # characters looked at on each side


# What may stand before a bare letter that names an option ...
_CUE_WORDS = _any(
    "is, was, are, be, its, thats, that, this, say, says, said, choose, chose, pick, picked, picks, select",
    "selected, selecting, choosing, guess, with, answer, answers, answered, response, conclusion, conclude, think",
    "believe, vote, mark, marked, so, thus, therefore, hence, then, maybe, probably, perhaps, possibly, likely",
    "definitely, certainly, clearly, surely, either, both, neither, nor, between, not, than, of, out, exclude",
    "excluding, eliminate, eliminated, eliminating, reject, rejecting, except, besides, discard, hmm, ok, okay",
    "well, yes, no, wait, actually, or, and, but, for, to, as, code, on, ruling, rule, sure, lautet, es, est, ist",
    "e, respuesta, reponse, antwort, risposta, resposta, ответ",
)
_CUE = re.compile(rf"(?:\b{_CUE_WORDS}\b|[:=>→,(\[\"✓✗]|[ ]-|(?:answer|option|choice)-|[{CJK}])[ ]*$")
# ... and what may follow it.
_END_WORDS = _any(
    "because, since, as, due, based, given, for, and, or, nor, but, not, rather, instead, is, are, was, would, if",
    "i think, i guess, i believe, in my, it, though, with, please, over, vs, versus, to be, from, obviously",
    "definitely, maybe, probably, of course, seems, fits, matches, wait, no",
)
_END = re.compile(rf"[\"')\]}}.,:;!?]|\s*(?:$|[\n,;:!?=/&+.✓✗→]|-[ ]|-+>|-$|{_END_WORDS}\b|[{CJK}])")
_FULL_STOP = re.compile(r"[ ]*[\"')\]}]*[ ]*(?:$|[\n.!?])")
# What makes a letter the subject of a sentence: "c is correct".
_VERDICT_WORDS = _any(
    "is, was, are, would, must, should, could, can, cannot, cant, isnt, seems, sounds, looks, fits, matches, best",
    "does, doesnt, it is, because, as in, appears, has to, makes, works, maybe, probably, definitely, obviously",
    "i think, i guess, i believe, for sure, please, wins, describes, represents, reflects, corresponds, clearly",
    "certainly, most likely",
)
_VERDICT = re.compile(rf"[ ]+{_VERDICT_WORDS}\b")
_BOUNDARY_WORDS = _any(
    "so, that, think, believe, and, or, but, while, because, thus, therefore, since, say, means, only, however",
    "then, hence, guess, not, either, both, neither, nor, whereas, conclude, though, although, if, yes, no",
)
_BOUNDARY = re.compile(rf"(?:^|[\n.,;:!?()\"✓✗-]|\b{_BOUNDARY_WORDS})\s*$")
# An article before a noun, which most letters "a" in prose are.
_JOINING = _any("as well as, plus, wait, also, then, and, or, nor")
_ARTICLE_USE = re.compile(rf"[ ](?!(?:{_END_WORDS}|{_VERDICT_WORDS}|{_JOINING})\b)[^\W\d_]{{2,}}")

_KEYWORD = re.compile(
    r"\b(?:options?|choices?|letters?|alternatives?|opcion|opzione|opcao|auswahl|variante|вариант|optie)"
    r"[ ]*[:#(\[\"-]*[ ]*$|(?:选项|選項|選択肢|보기|선택지)[ ]*[:(]*[ ]*$"
)
_OPEN = re.compile(rf"(?<!{LETTER})[(\[{{<][ ]*$")
_CLOSE = re.compile(r"[ ]*[.:]?[ ]*[)\]}>]")
_GLUED_LEFT = re.compile(r"[^\W_][.@&-]$|°$")  # "a.m", "3-d", "R&b"
_GLUED_RIGHT = re.compile(r"[@&.-][^\W_]|\+\+|#")  # "b-flat", "c++"
LINE_START = re.compile(r"(?:^|\n)[\s>\"(\[✓✗-]*$")
LINE_MARK = re.compile(rf"[.:)\],;!?\"{CJK}]|[ ]*(?:$|\n|[-:=](?:[ ]|$)|=>|->|→|[✓✗])")
_LAST_WORD = re.compile(r"[.!?:;]\s+$")
_INITIAL = re.compile(rf"(?<!{LETTER})[a-z]\.[ ]*$")
_TO_END = re.compile(r"[ ]*[.!]?[ ]*(?:$|\n)")
_NEXT_LETTER = re.compile(
    r"[)\].\"]?\s*(?:[,/&+|]|or|and|nor|as well as|plus|vs\.?|ou|oder|und|et|[和或与與かと]|또는)\s*"
    rf"(?:or[ ]|and[ ]|option[ ]|choice[ ])?[(\[]?([a-z])(?!{LETTER})"
)
# Between two names of a list.
JOINT = re.compile(
    r"[)\].\"]?\s*(?:[,/&+|]|\b(?:or|and|nor|vs|also|maybe|perhaps|possibly|even|as well as|plus|then)\b|\s){1,12}"
    r"[(\[\"]?\s*"
)
_LABEL = re.compile(rf"(?:[(\[{{][ ]*([a-z])[ ]*[)\]}}]|(?<!{LETTER})([a-z])(?:[.:)]|[ ]+-|(?=[ ])))[\s\"'(\[:-]*$")
# English words of two letters: "it is the correct language" does not answer "it".
EVERYDAY = frozenset(re.findall("..", "itisnosohewemeusanasatbebydotogoifinmyofokonorupam"))


def _sides(text: str, start: int, end: int) -> tuple[str, str]:
    return text[max(0, start - BEFORE) : start], text[end : end + AFTER]


def is_dressed(text: str, start: int, end: int) -> bool:
    """Whether the letter at ``text[start:end]`` is a label: "(c)", "option c", "c)"."""
    before, after = _sides(text, start, end)
    if _OPEN.search(before) and _CLOSE.match(after):
        return True
    inside_brackets = before.rfind("(") > before.rfind(")")
    return _KEYWORD.search(before) is not None or (after.startswith(")") and not inside_brackets)


def is_article(text: str, start: int, end: int) -> bool:
    """Whether "a" or "i" is plainly an article or pronoun: a blank or nothing before it, a noun or verb after it."""
    before, after = _sides(text, start, end)
    plain = _ARTICLE_USE.match(after) and (not before or before[-1] in " \n")
    return bool(plain and not _KEYWORD.search(before))


def is_glued(text: str, start: int, end: int) -> bool:
    """Whether the letter is part of a longer thing: "a.m.", "b-flat", "3-d"."""
    before, after = _sides(text, start, end)
    return bool((_GLUED_LEFT.search(before) and not _CUE.search(before)) or _GLUED_RIGHT.match(after))


def is_expected(text: str, start: int) -> bool:
    """Whether a name may well stand at ``start``: a new line or a cue before it."""
    before = text[max(0, start - BEFORE) : start]
    return bool(LINE_START.search(before) or _CUE.search(before))


def starts_line_as_label(text: str, start: int, end: int) -> bool:
    """Whether "c." or "c -" opens a line."""
    before, _ = _sides(text, start, end)
    mark = LINE_MARK.match(text, end)
    return bool(LINE_START.search(before) and mark and mark.group())


def ends_clause(text: str, end: int) -> bool:
    """Whether what follows lets a name end at ``end``."""
    return _END.match(text, end) is not None


def opens_clause(text: str, start: int) -> bool:
    """Whether a clause may begin at ``start``."""
    return _BOUNDARY.search(text[max(0, start - BEFORE) : start]) is not None


def has_company(text: str, start: int, end: int, letters: str) -> bool:
    """Whether an undressed letter or tiny text at ``text[start:end]`` names an option by what stands beside it."""
    word = text[start:end]
    before, after = _sides(text, start, end)
    everyday = len(word) > 1 and word in EVERYDAY
    if LINE_START.search(before):
        if LINE_MARK.match(after) and not (word == "i" and after.startswith(",")):
            return True
        if word not in ("a", "i") and after.startswith(" ("):
            return True  # "b (I am guessing)", "es (Spanish)"
    if (_OPEN.search(before) and _CLOSE.match(after)) or (before.endswith('"') and after.startswith('"')):
        return True
    if _CUE.search(before) and (_FULL_STOP if everyday else _END).match(after):
        return True
    if not everyday and _BOUNDARY.search(before):
        if word != "i" and _VERDICT.match(after):
            return True
        joint = _NEXT_LETTER.match(text, end)
        if joint and joint.group(1) in letters and joint.group(1) != "i":
            return True
    return bool(_LAST_WORD.search(before) and _TO_END.match(after) and not _INITIAL.search(before))


def label_before(text: str, start: int) -> str | None:
    """The letter of a label that stands right before ``start``: "(c) ", "c. "."""
    found = _LABEL.search(text, max(0, start - 12), start)
    return (found.group(1) or found.group(2)) if found else None


def is_whole_word(text: str, end: int) -> bool:
    """Whether a sentence or line ends at ``end``."""
    return _FULL_STOP.match(text, end) is not None
