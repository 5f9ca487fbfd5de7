"""Whether a response is right, by string comparison alone (section 3 of the C3T paper).

A response is right if it contains a target answer and none of the other options. Comparison ignores case and looks at
whole words: `invalid` does not contain `valid`, `know` not `no`, `112` and `1,200` not `12` or `1`. Two readings the
paper leaves open: where one option is part of another (`plausible`, `not plausible`), only the longer one counts at a
place where both stand; and letters in brackets such as `(A)` are compared as they are, brackets and all. What stands in
a thinking block, closed or not, is no answer.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from lmms_audio_tasks._options.text import strip_thinking
from lmms_audio_tasks.records import Verdict, no_answer

_QUOTES = str.maketrans("‘’‚‛“”„‟", "''''\"\"\"\"")


class Judged(NamedTuple):
    """What came of one response.

    Attributes:
        verdict: `correct`: right. `wrong`: another option and only that, or, where there are no options, not the
            answer. `several`: more than one option. `none`: no option, or empty. `error`: the model failed.
        reason: the rule in words.
        chosen: the answer or option found, as the data spell it; "" where there is none or more than one.
    """

    verdict: Verdict
    reason: str
    chosen: str

    @property
    def right(self) -> bool | None:
        """The binary outcome of the paper; None where the model gave no response."""
        return None if self.verdict == "error" else self.verdict == "correct"


def judge(response: str, answers: Sequence[str], options: Sequence[str]) -> Judged:
    """Judge one response.

    Args:
        answers: the target answers, at least one.
        options: the listed options, the answers among them; empty for an open question.
    """
    if (unanswered := no_answer(response)) is not None:
        return Judged(*unanswered, "")
    targets, others = _phrases(tuple(answers), tuple(options))
    # The host takes out whole thinking blocks; of one that was cut off, or in a file of answers, it does not.
    text = strip_thinking(normalise(response)).strip()
    found = _found(text, (*targets, *others))
    right = [phrase for phrase in found if phrase in targets]
    wrong = [phrase for phrase in found if phrase in others]
    if right and not wrong:
        return Judged("correct", "contains the answer and no other option", targets[right[0]])
    if right:
        return Judged("several", "contains the answer and another option", "")
    if len(wrong) > 1:
        return Judged("several", "contains several options, the answer not among them", "")
    if wrong:
        return Judged("wrong", "contains another option", others[wrong[0]])
    if text and not options:
        return Judged("wrong", "does not contain the answer", "")
    return Judged("none", "contains no option" if text else "empty", "")


def normalise(text: str) -> str:
    """The text as it is compared: case folded, runs of blanks made one, variants of letters and quotation marks too."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    return " ".join(text.casefold().split())


@lru_cache(maxsize=8192)
def _phrases(answers: tuple[str, ...], options: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str]]:
    """The answers and the other options: normalised -> as the data spell them."""
    targets = {phrase: answer for answer in answers if (phrase := normalise(answer))}
    others = {phrase: option for option in options if (phrase := normalise(option)) and phrase not in targets}
    return targets, others


def _found(text: str, phrases: Iterable[str]) -> list[str]:
    """The phrases that stand in `text`, save where all a phrase's places lie inside places of a longer one."""
    places = {phrase: starts for phrase in phrases if phrase in text and (starts := _places(text, phrase))}
    if len(places) < 2:
        return list(places)
    return [phrase for phrase in places if not _covered(phrase, places)]


def _covered(phrase: str, places: Mapping[str, Sequence[int]]) -> bool:
    """Whether each place of `phrase` lies inside one of a longer phrase."""
    longer = sorted(
        (start, start + len(other)) for other in places if phrase in other != phrase for start in places[other]
    )
    firsts = [first for first, _ in longer]
    lasts = list(accumulate((last for _, last in longer), max))  # how far those reach that begin no later
    before = [bisect_right(firsts, start) - 1 for start in places[phrase]]
    return all(at >= 0 and start + len(phrase) <= lasts[at] for at, start in zip(before, places[phrase], strict=True))


def _places(text: str, phrase: str) -> list[int]:
    """Where `phrase` stands in `text` as whole words."""
    found, start = [], text.find(phrase)
    while start >= 0:
        end = start + len(phrase)
        if _apart(phrase[0], text[max(0, start - 2) : start][::-1]) and _apart(phrase[-1], text[end : end + 2]):
            found.append(start)
        start = text.find(phrase, start + 1)
    return found


def _apart(edge: str, beside: str) -> bool:
    """Whether a word that has `edge` at one end is over there; `beside` is what comes next, outwards, in the text."""
    if not edge.isalnum() or not beside:
        return True
    if beside[0].isalnum():
        return False
    # A comma or point between digits is part of the number.
    return not (edge.isdigit() and beside[0] in ".," and beside[1:].isdigit())
