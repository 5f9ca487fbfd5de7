"""Reading a yes/no answer: the official exact match, and a lenient reading beside it. Pure functions on texts."""

from __future__ import annotations

import re
import string
from typing import Literal

from lmms_audio_tasks._options.text import fold, strip_thinking
from lmms_audio_tasks.art import ANSWERS
from lmms_audio_tasks.records import Verdict, no_answer

Assertion = Literal["yes", "no", "both", "neither"]

_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise(text: str) -> str:
    """`text` as the official evaluation compares it: without ASCII punctuation, in lower case, stripped."""
    return text.translate(_PUNCTUATION).lower().strip()


def judge(response: str, golden: str) -> tuple[Verdict, str, str]:
    """Score one response by the official rule.

    Args:
        golden: `yes` or `no`.

    Returns:
        - the verdict: `correct` if the response is the golden answer and nothing else (see `normalise`), `wrong` if it
          is the other one or asserts one among other words, `several` if it asserts both, `none` if neither, `error`
          if the model failed. All but `correct` and `error` are wrong answers to the official rule.
        - how it was reached: `exact`, `asserted` (read only by `asserted`), `no answer`, `refused`, or the failure.
        - the answer the response asserts, `yes` or `no`, also where it is not exact; "" where there is no single one.
    """
    if (unanswered := no_answer(response)) is not None:
        return (*unanswered, "")
    if (exact := normalise(response)) in ANSWERS:
        return ("correct" if exact == golden else "wrong"), "exact", exact
    found = asserted(response)
    if found == "both":
        return "several", "no answer", ""
    if found == "neither":
        return "none", "no answer", ""
    return "wrong", "asserted", found


# What only marks words up would hide what follows a word; blanks and quotes stay.
_MARKUP = re.compile(r"[*_`#]+")
# The choice as the prompt puts it ("yes or no", "yes/no", "neither yes nor no") answers nothing.
_CHOICE = re.compile(r'\b(yes|no)\b["),\s]*(?:/|\||\b(?:or|nor)\b)[\s"(]*(?!\1\b)(?:yes|no)\b')
_WORD = re.compile(r"(?<!\w)(?<!\w-)(yes|no)(?!\w|-\w)")
_SENTENCE_END = re.compile(r"[.!?;\n]")
_PAUSE = re.compile(r'[.!?;:,\n()"]|\s-\s')
_CONDITION = re.compile(r"\b(?:if|whether|unless)\b")
# Before the word, without a pause between. Apostrophes are gone by then: "isn't" is "isnt".
_DENIED = re.compile(
    r"\b(?:not|never|cannot|neither|nor|(?:is|are|was|were|do|does|did|ca|could|would|should|wo)nt)"
    r"(?:\s+(?:a|an|the|just|simply|really|always|necessarily|say|be|answer)){0,2}\s+$"
)
_REPORTED = re.compile(r"\b(?:says|said|saying|answered|replies|replied|shouts|shouted|asks|asked|the word)\s+$")
_REJECTED = re.compile(r'"?\s+(?:is|was|would be)\s+(?:wrong|incorrect|false|not)\b')
# After "no", without a pause between: what can follow the answer. Any other word makes it "no dogs", "no difference".
_NOUN_AFTER_NO = re.compile(
    r"[ \t]+(?!(?:an?|the|this|that|these|those|its?|i|you|he|she|we|they|there|here|is|was|are|were|because|since|as|"
    r"although|though|while|but|and|so|neither|both|not|only|my|your|his|her|their|our|none|nobody|nothing)\b)\w"
)
_NUMBERED = re.compile(r"\.\s*\d")
_REACH = 300
"""How many characters before and after a word are looked at, so that no response takes long to read."""


def asserted(response: str) -> Assertion:
    """Which of the answers `yes` and `no` a response asserts: one, both, or neither; nothing is guessed.

    The words themselves count, wherever they stand outside a thinking block, in any case and markup; not synonyms such
    as `yeah` or `incorrect`. Passed over are the choice repeated (`yes or no`), a word that is denied (`not yes`,
    `"yes" is wrong`) or comes after a condition (`if it barks, yes`), a word that somebody in the recording says, and
    `no` before a noun (`no dogs`, `no. 2`).
    """
    text = _MARKUP.sub("", strip_thinking(fold(response)))
    text = _CHOICE.sub(lambda match: " " * len(match.group()), text)
    found: set[Assertion] = set()
    for match in _WORD.finditer(text):
        if match.group() not in found and _is_assertion(text, match):
            found.add("yes" if match.group() == "yes" else "no")
        if len(found) == 2:
            return "both"
    return found.pop() if found else "neither"


def _is_assertion(text: str, word: re.Match[str]) -> bool:
    before, after = text[max(0, word.start() - _REACH) : word.start()], text[word.end() : word.end() + _REACH]
    clause = _PAUSE.split(before.rstrip('" \t') + " ")[-1]
    if _CONDITION.search(_SENTENCE_END.split(before)[-1]) or _DENIED.search(clause):
        return False
    if _REPORTED.search(before.rstrip('" \t\n,:') + " ") or _REJECTED.match(after):
        return False
    return word.group() == "yes" or not _is_determiner(after)


def _is_determiner(after: str) -> bool:
    """Whether "no", followed by `after`, belongs to a noun or a number."""
    return bool(_NUMBERED.match(after) or _NOUN_AFTER_NO.match(after))
