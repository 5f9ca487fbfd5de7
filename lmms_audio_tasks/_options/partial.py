"""Responses that name no option outright: parts and other forms of texts, ordinals, refusals, "all", "none"."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from difflib import SequenceMatcher

from lmms_audio_tasks._options import cues
from lmms_audio_tasks._options.forms import NEAR_WORDS
from lmms_audio_tasks._options.lexicon import Lexicon
from lmms_audio_tasks._options.mentions import Mention
from lmms_audio_tasks._options.text import ARTICLES, WORD, words

_READ = 400  # words of a response searched for parts of texts
_ENOUGH, _ENOUGH_CHARS = 0.6, 12


def partial_mentions(text: str, lexicon: Lexicon) -> list[Mention]:
    """Mentions by position ("the second option"), by a form that must stand alone, or by most of an option's text."""
    if "the " in text:
        ordinals = [_ordinal(match, len(lexicon.texts)) for match in cues.ORDINAL.finditer(text)]
        if ordinals and None not in ordinals:
            return [mention for mention in ordinals if mention]
    rest_at = cues.LEAD.match(text).end()  # type: ignore[union-attr]  # matches the empty string too
    rest = text[rest_at:]
    tokens = tuple(words(rest))
    if tokens in lexicon.whole:
        return [Mention(rest_at, len(text.rstrip(" \n.!")), lexicon.whole[tokens], "form")]
    index = _cut_text(" ".join(tokens), lexicon)
    if index is not None:
        return [Mention(rest_at, len(text.rstrip(" \n.!")), index, "part")]
    return _long_part(text, lexicon)


def _ordinal(match: re.Match[str], count: int) -> Mention | None:
    name = match.group(1)
    index = count - 1 if name == "last" else cues.ORDINALS.index(name)
    return Mention(match.start(), match.end(), index, "position") if index < count else None


def _cut_text(rest: str, lexicon: Lexicon) -> int | None:
    """The option whose text begins with the whole answer, long enough to be that text cut off."""
    fits = [index for index, text in enumerate(lexicon.joined) if text.startswith(rest)]
    if len(fits) != 1 or len(rest) < 5:
        return None
    long = len(rest) >= _ENOUGH_CHARS or len(rest) >= _ENOUGH * len(lexicon.joined[fits[0]])
    return fits[0] if long else None


def _long_part(text: str, lexicon: Lexicon) -> list[Mention]:
    """A stretch of words that is most of one option's text and no other's."""
    spans = [(m.group(), m.start(), m.end()) for m in WORD.finditer(text)][:_READ]
    spans = [span for span in spans if span[0] not in ARTICLES]
    tokens = [span[0] for span in spans]
    places: dict[str, list[int]] = {}
    for place, token in enumerate(tokens):
        places.setdefault(token, []).append(place)
    found: list[Mention] = []
    for index, option in enumerate(lexicon.texts):
        start, size = _longest_common(option, tokens, places)
        if size > 1 and len(" ".join(tokens[start : start + size])) >= _ENOUGH * len(lexicon.joined[index]):
            found.append(Mention(spans[start][1], spans[start + size - 1][2], index, "part"))
    return found if len(found) == 1 else []


def _longest_common(option: Sequence[str], tokens: list[str], places: dict[str, list[int]]) -> tuple[int, int]:
    """(start in tokens, length) of the longest stretch that both share."""
    best = (0, 0)
    for first, word in enumerate(option):
        for place in places.get(word, ())[:20]:
            size = 0
            while (
                first + size < len(option)
                and place + size < len(tokens)
                and option[first + size] == tokens[place + size]
            ):
                size += 1
            if size > best[1]:
                best = (place, size)
    return best


def unnamed(text: str, lexicon: Lexicon, echoed: bool) -> tuple[str, int | None, str]:
    """Verdict on a response in which no option is named."""
    if cues.REFUSED.search(text):
        return "none", None, "refusal"
    if cues.NONE_OF_THEM.search(text):
        return "none", None, "none of the options"
    if cues.ALL_OF_THEM.search(text):
        return "several", None, "all"
    if _shares_telling_word(text, lexicon):
        return "undecided", None, "part of a text"
    if cues.NUMBERED.search(text):
        return "undecided", None, "number"
    if _holds_near_word(text, lexicon):
        return "undecided", None, "near word"
    return "none", None, "echo" if echoed else "no option"


def _shares_telling_word(text: str, lexicon: Lexicon) -> bool:
    """Whether a content word belongs to exactly one option's longer text."""
    whole = tuple(words(text))
    if sum(len(whole) < len(option) and option[: len(whole)] == whole for option in lexicon.texts) == 1:
        return True
    found = set(WORD.findall(text)[:_READ]) - cues.EXPLAINS
    for index, option in enumerate(lexicon.texts):
        if len(option) < 2:
            continue
        others = {word for i, other in enumerate(lexicon.texts) if i != index for word in other}
        if any(len(word) > 2 and word in found and word not in others for word in option):
            return True
    return False


def _holds_near_word(text: str, lexicon: Lexicon) -> bool:
    """Whether the text holds a word near in meaning to an option of one word."""
    found = set(WORD.findall(text))
    single = {option[0] for option in lexicon.texts if len(option) == 1}
    return any(not group.isdisjoint(single) and not (group - single).isdisjoint(found) for group in NEAR_WORDS)


def has_other_text(right: str, option: int, lexicon: Lexicon) -> bool:
    """Whether a label is followed by a text that is not its option's: "(a) zebra"."""
    chunk = words(re.split(r"[,;\n]", right.lstrip(" :,-"), maxsplit=1)[0])
    own = lexicon.texts[option]
    if not 0 < len(chunk) <= max(6, len(own)) or not cues.EXPLAINS.isdisjoint(chunk) or not own:
        return False
    if not any(word.isascii() for word in chunk) and lexicon.joined[option].isascii():
        return False  # "C\u3067\u3059": grammar of an unspaced script
    if any(word[:3] == other[:3] for word in chunk for other in own if len(other) > 2):
        return False
    return SequenceMatcher(None, " ".join(chunk), lexicon.joined[option]).ratio() < 0.7


_QUOTED = re.compile(r'"[^"\n]{1,600}"')


def outside_quotes(text: str, mentions: Sequence[Mention]) -> list[Mention]:
    """Mentions outside quotations that hold more than the mention."""
    spans = [(m.start(), m.end()) for m in _QUOTED.finditer(text)]
    starts = [start for start, _ in spans]

    def inside(mention: Mention) -> bool:
        place = bisect_right(starts, mention.start) - 1
        if place < 0 or mention.end > spans[place][1]:
            return False
        return spans[place][1] - spans[place][0] - (mention.end - mention.start) > 8

    return [mention for mention in mentions if not inside(mention)]
