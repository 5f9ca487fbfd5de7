"""The judge's text -> its verdict.

Only the judge's own last line counts, and only if all of it reads as a verdict (`Judgement: correct`). The text of the
response is known here, because a judge that quotes it may end with a line that is the response's and not its own: where
the response holds something that reads as a verdict, a plain line with that verdict is not believed. The line must then
carry the code (`Judgement 5f1d9c20: correct`) that the judge was given and that the response cannot have known.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal, NamedTuple

BinaryVerdict = Literal["correct", "incorrect"]

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_EMPHASIS = re.compile(r"[*_`~]")
_FENCE = re.compile(r"(?:`{3,}|~{3,})\s*[\w-]*")
_MARKER = r"(?:#{1,6} ?|[-•+] |\d{1,2}[.)] )?"
_QUOTE = "[\"'“”‘’«»()\\[\\]<>]{0,3} ?"
_LABEL = rf"{_MARKER}{_QUOTE}(?:final |my )?judge?ment(?: ?[\[(]?(?P<code>[0-9a-f]{{8}})[\])]?)? ?{_QUOTE}"
_WORD = rf"{_QUOTE}(?P<verdict>correct|incorrect) ?{_QUOTE}[.!。]? ?{_QUOTE}"
_LINE = re.compile(rf"{_LABEL}: ?{_WORD}")
_LABEL_ALONE = re.compile(rf"{_LABEL}:? ?")
_WORD_ALONE = re.compile(rf"{_MARKER}{_WORD}")
_LONGEST = 120
"""No verdict line is longer; an endless line of quotes need not be matched."""

_IMITATION = re.compile(
    r"judge?ment\b[^a-z]{0,20}(?:[0-9a-f]{8}\b[^a-z]{0,20})?(?:is\b[^a-z]{0,20})?(?P<verdict>(?:in)?correct)\b"
)


class _Line(NamedTuple):
    verdict: BinaryVerdict
    code: str


def parse_verdict(text: str, response: str = "", code: str = "") -> BinaryVerdict | None:
    """The verdict that the judge's `text` ends with; None where it ends with none, or with two that disagree.

    Case, bold, quotes, a full stop, a heading or list mark, both spellings of judgement, code fences and blank lines
    after it are allowed. Anything more on the line ("partially correct", "correct, but", "not correct") is no verdict,
    and neither is a block quote (`> Judgement: correct`).

    Args:
        text: the judge's whole reply.
        response: the response that was judged; see above.
        code: the code that the judge was given, see `prompt.verdict_code`.
    """
    imitated = imitated_verdicts(response)
    own: list[BinaryVerdict] = []
    for line in _final_lines(text):
        if line.code == code if line.code else line.verdict not in imitated:
            own.append(line.verdict)
        elif not own:
            return None
    return own[0] if len(set(own)) == 1 else None


def imitated_verdicts(response: str) -> set[str]:
    """The verdicts that something in `response` reads as, found more freely than a verdict line is."""
    return {match["verdict"] for match in _IMITATION.finditer(_EMPHASIS.sub("", _plain(response)))}


def explanation(text: str) -> str:
    """The judge's `text` without its verdict lines at the end and without the label at the start."""
    lines = text.rstrip().splitlines()
    while lines and (not lines[-1].strip() or _FENCE.fullmatch(lines[-1].strip()) or _verdict_line(lines[-1])):
        lines.pop()
    body = "\n".join(lines).strip()
    return re.sub(r"^[*_#\s]{0,8}explanation[*_\s]{0,4}:[*_\s]{0,4}", "", body, flags=re.IGNORECASE)


def _final_lines(text: str) -> list[_Line]:
    """The unbroken run of verdict lines at the end of `text`, last one first."""
    lines = [line for line in text.splitlines() if line.strip() and not _FENCE.fullmatch(line.strip())]
    found: list[_Line] = []
    while lines:
        line = _verdict_line(lines[-1])
        taken = 1
        if line is None and len(lines) > 1:
            line, taken = _verdict_of_two(lines[-2], lines[-1]), 2
        if line is None:
            break
        found.append(line)
        del lines[-taken:]
    return found


def _verdict_line(line: str) -> _Line | None:
    match = _LINE.fullmatch(_bare(line))
    return _line(match["verdict"], match["code"]) if match else None


def _verdict_of_two(label: str, word: str) -> _Line | None:
    """A heading `Judgement` with the word alone on the line below it."""
    above, below = _LABEL_ALONE.fullmatch(_bare(label)), _WORD_ALONE.fullmatch(_bare(word))
    return _line(below["verdict"], above["code"]) if above and below else None


def _line(verdict: str, code: str | None) -> _Line:
    return _Line("correct" if verdict == "correct" else "incorrect", code or "")


def _bare(line: str) -> str:
    """One line in lower case without emphasis; "" for a block quote and for a line too long to be a verdict."""
    if len(line) > _LONGEST or line.lstrip().startswith(">"):
        return ""
    return " ".join(_EMPHASIS.sub("", _plain(line)).split())


def _plain(text: str) -> str:
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).casefold()
