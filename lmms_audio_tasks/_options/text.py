"""From a raw model response to plain folded text: Unicode, thinking blocks, JSON, tags, LaTeX, Markdown, roles, echoes.

Everything below works on *folded* text (see :func:`fold`): no case, no accents, one kind of quote, no apostrophes
inside words (``don't`` becomes ``dont``), no invisible characters. Every step is linear in the length of its input.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# Stand-ins for "this is an option" in the judged text; real text never holds them after folding.
SLOT = 0xE000
SLOTS = 26

# Scripts written without blanks between words: each character counts as a word of its own.
CJK = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
LETTER = rf"[^\W_{CJK}]"
WORD = re.compile(rf"{LETTER}+|[{CJK}]")
ARTICLES = frozenset(("a", "an", "the"))


def any_of(*rows: str) -> str:
    """One group of alternatives for a pattern, from rows of phrases (patterns allowed) between commas."""
    phrases = [phrase.strip() for row in rows for phrase in row.split(",") if phrase.strip()]
    return f"(?:{'|'.join(phrases)})"


# A response longer than this is a loop or a dump: its head and its tail are judged.
_HEAD, _TAIL = 4_000, 10_000


def _table() -> dict[int, str | None]:
    table: dict[int, str | None] = {}
    for code in [*range(0x20), *range(0x7F, 0xA0), *range(SLOT, SLOT + SLOTS)]:
        table[code] = " "
    for char in "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029":
        table[ord(char)] = "\n"
    invisible = [0xAD, 0x61C, 0x180E, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F)]
    for code in [*invisible, *range(0x2060, 0x2070), *range(0xFE00, 0xFE10)]:
        table[code] = None
    groups = {
        "'": "\u2018\u2019\u201a\u201b\u2032\u02bc\u02b9\xb4\u275b\u275c\u2039\u203a\uff07",
        '"': "\u201c\u201d\u201e\u201f\u2033\u275d\u275e\u301d\u301e\u301f\xab\xbb\u300a\u300b\u300c\u300d\u300e\u300f",
        "-": "\u2010\u2011\u2012\u2013\u2212",
        " - ": "\u2014\u2015\u2022\u25e6\u25aa\u25cf\u2023\u2219",
        "[": "\u3010\u3014\u3016\u27e8",
        "]": "\u3011\u3015\u3017\u27e9",
        ". ": "\u3002\u0964\u06d4",
        ", ": "\u3001\u060c",
        "? ": "\u061f",
        " \u2713 ": "\u2705\u2714\u2611\U0001f5f8",
        " \u2717 ": "\u274c\u2718\u2716\u2715\u274e\u2612\U0001f6ab",
        " \u2192 ": "\u21d2\u27a1\u279c\u2794\u27f9\u27f6",
        "i": "\u0131",
        "\u03b9": "\u0345",  # the one combining mark that has a capital letter
    }
    for to, chars in groups.items():
        table.update(dict.fromkeys(map(ord, chars), to))
    return table


_TABLE = _table()
_ASCII_ODD = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
_MARKS = re.compile("[\u0300-\u036f]+")
_APOSTROPHE = re.compile(r"(?<=[^\W_])'(?=[^\W_])")


def fold(text: str) -> str:
    """Fold case, width, accents, quotes, dashes, control and invisible characters; newlines stay.

    Texts that differ only in case, in curly or straight quotes, or in accents fold to the same string; NFKC and
    ``casefold`` run twice because each can undo the other's closure (``'ŉ'``, ``'ß'``, ``'İ'``).
    """
    if text.isascii():
        text = text.lower()
        if _ASCII_ODD.search(text):
            text = text.translate(_TABLE)
    else:
        text = text.translate(_TABLE)
        for _ in range(2):
            text = unicodedata.normalize("NFKC", text).casefold()
        text = _MARKS.sub("", unicodedata.normalize("NFD", text))
        text = unicodedata.normalize("NFC", text).translate(_TABLE)
    if "'" in text:
        text = _APOSTROPHE.sub("", text).replace("'", '"')
    return text


def words(text: str) -> list[str]:
    """Words of folded text, articles left out unless nothing else is there."""
    found = WORD.findall(text)
    return [word for word in found if word not in ARTICLES] or found


_THINK = re.compile(
    r"<\s*(/?)\s*(?:seed:)?(?:think|thinking|thoughts?|analysis|reasoning|reason|reflection|scratchpad)\b[^<>]{0,200}>"
    r"|[\[\u25c1]\s*(/?)\s*think(?:ing)?\s*[\]\u25b7]"
    r"|<\|(begin|end)_of_thought\|>"
)
_FINAL_CHANNEL = "<|channel|>final<|message|>"


def strip_thinking(text: str) -> str:
    """Text outside thinking blocks; a closing tag without an opening one hides all before it."""
    if "<" not in text and "[" not in text and "\u25c1" not in text and "\u25b7" not in text:
        return text
    if _FINAL_CHANNEL in text:
        return text.rpartition(_FINAL_CHANNEL)[2]
    kept: list[str] = []
    start: int | None = 0  # where visible text began; None inside a block
    for tag in _THINK.finditer(text):
        closing = "/" in (tag.group(1), tag.group(2)) or tag.group(3) == "end"
        if closing:
            if start is not None:
                kept = []
            start = tag.end()
        elif start is not None and not tag.group().endswith("/>"):
            kept.append(text[start : tag.start()])
            start = None
    if start is not None:
        kept.append(text[start:])
    return "\n".join(kept)


_VALUE = r'\s*:\s*("(?:[^"\\]|\\.)*"?|\[[^\]]*\]?|[^\s,}\]{]+)'
_PAIRS = (
    re.compile(
        r'"(?:(?:final|correct|best|my|selected)[ _-]?)?(?:answer|choice|option|selection|letter|prediction|label)"'
        + _VALUE
    ),
    re.compile(r'"(?:response|result|output|text)"' + _VALUE),
)
_ESCAPE = re.compile(r"\\u([0-9a-f]{4})")
_FENCE = re.compile(r"```[a-z]*")


def _unwrap_json(text: str) -> str:
    """Put the answer fields of a JSON object (broken or cut ones too) in its place; other fields are explanation."""
    first = text.find("{")
    for pairs in _PAIRS:
        values = [match.group(1) for match in pairs.finditer(text, first)]
        if values:
            break
    else:
        return text
    last = text.rfind("}")
    after = text[last + 1 :] if last > first else ""
    answers = "".join(f"\nanswer: {_ESCAPE.sub(lambda m: chr(int(m.group(1), 16)), value)}\n" for value in values)
    answers = fold(answers.replace("\\n", " ").replace("\\", ""))
    return f"{text[:first]}{answers}{after}"


_LATEX = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mathsf|rm|bf|displaystyle)(?![a-z])")
_BOXED = re.compile(r"\\?\bf?boxed(?=[ ]*\{)|\\f?boxed(?![a-z])")
_NEWLINE = re.compile(r"\\[nr](?![a-z])")

_ANSWER_TAG = re.compile(r"<\s*(/?)\s*(?:(?:final|correct)[ _-]?)?(?:answer|ans|choice|option|selection)\b[^<>]{0,80}>")
_OTHER_TAG = re.compile(
    r"</?(?:b|i|u|em|strong|span|div|p|br|hr|li|ul|ol|h[1-6]|s|code|pre|sup|sub|font|final|output|response|result|"
    r"explanation|eos|bos|pad|unk|end|audio|sound|speech)\b[^<>]{0,80}>|<\|[^<>|]{0,40}\|>"
)
_ONLY_TAG = re.compile(r"\s*<{1,3}\s*([a-z])\s*>{1,3}\s*")

_STRUCK = re.compile(r"~~([^~\n]{1,300})~~")
_DRESSED = re.compile(r"(\*{1,3}|_{1,3}|`|\")[ ]?\(?([a-z])[).:]?[ ]?\1(?![a-z0-9])")
_BC = re.compile(r"\bb/c\b(?=[ ]+[a-z]{2})")  # "because", not two options
_MARKED = re.compile(r"[*`$|#>_~\"/]")
_MARKUP = re.compile(r"[*`$|]+|(?m:^[ ]*[#>]+)")
_CHECKBOX = re.compile(r"(?m:^[ \-]*)\[([x ]?)\](?=[ ]*\S)")

_ROLE = re.compile(r"(?m:^)[ ]*(?:(user|human)|assistant|ai|model|bot)[ ]*:")
_Q_AND_A = re.compile(r"(?m:^)[ ]*a[ ]*[:.](?=[ ]*\(?[a-z]\b(?![ ]+[a-z]))")


def _unwrap_tags(text: str) -> str:
    only = _ONLY_TAG.fullmatch(text)
    if only:
        return f"({only.group(1)})"
    text = _ANSWER_TAG.sub(lambda tag: "\n" if tag.group(1) else "\nanswer: ", text)
    return _OTHER_TAG.sub("\n", text)


def _unwrap_latex(text: str) -> str:
    text = _NEWLINE.sub("\n", text)
    text = _BOXED.sub(" answer: ", _LATEX.sub("", text))
    return text.replace("\\", " ")


def _unwrap_markdown(text: str) -> str:
    if not _MARKED.search(text):
        return text
    if "b/c" in text:
        text = _BC.sub("because", text)
    text = _STRUCK.sub(r" not \1; ", text)
    text = _DRESSED.sub(r" (\2) ", text)
    return _MARKUP.sub(" ", text).replace("_", " ")


def _drop_roles(text: str) -> str:
    """The assistant's first turn: user turns go, and so does all that follows an answered one."""
    pieces: list[str] = []
    mine, start = True, 0
    for role in [*_ROLE.finditer(text), None]:
        end = role.start() if role else len(text)
        if mine:
            pieces.append(text[start:end])
        if role is None or (role.group(1) and "".join(pieces).strip()):
            break
        mine, start = role.group(1) is None, role.end()
    return "\n".join(pieces)


def undress(text: str) -> str:
    """Undress folded text (no thinking left in it) so that an answer field reads ``answer: (c)``; markup goes."""
    if "```" in text:
        text = _FENCE.sub("\n", text)
    if "{" in text and '"' in text:
        text = _unwrap_json(text)
    if "\\" in text or "boxed" in text:
        text = _unwrap_latex(text)
    if "<" in text:
        text = _unwrap_tags(text)
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    if ":" in text:
        text = _drop_roles(text)
        text = _Q_AND_A.sub("answer:", text)
    if "]" in text:
        text = _CHECKBOX.sub(lambda box: "\u2713 " if box.group(1) == "x" else "\u2717 ", text)
    return _unwrap_markdown(text)


@lru_cache(maxsize=4096)
def question_words(question: str) -> tuple[str, ...]:
    """Words of a question, folded; empty where it is too short to be told from ordinary speech."""
    found = tuple(WORD.findall(fold(question)))
    return found if len(found) >= 4 else ()


def strip_echo(text: str, question: str | None) -> tuple[str, bool]:
    """Cut every verbatim repeat of the question out of folded text; tells whether there was one."""
    asked = question_words(question) if question else ()
    if not asked or asked[-1] not in text or not re.search(r"[\W_]{0,9}".join(asked[:4]), text):
        return text, False
    repeat = re.compile(r"(?:\bquestion[ ]*:)?[\s\"]*\b" + r"[\W_]{0,9}".join(asked) + r"\b[\"?.:!]*")
    stripped, times = repeat.subn("\n", text)
    return stripped, times > 0
