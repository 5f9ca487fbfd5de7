"""Where folded text names an option: by letter, by text, or by both."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lmms_audio_tasks._options import letters as near
from lmms_audio_tasks._options.forms import COMPOUNDS
from lmms_audio_tasks._options.lexicon import Lexicon
from lmms_audio_tasks._options.text import ARTICLES, LETTER, SLOT, WORD


@dataclass(frozen=True, slots=True)
class Mention:
    """One naming of option ``index`` in ``text[start:end]``.

    ``how`` is "letter", "text", "form" (a word form), "letter+text", "part" (most of a text) or "position".
    """

    start: int
    end: int
    index: int
    how: str
    doubt: bool = False  # the letter is also the text of another option


def _is_other_thing(tokens: Sequence[str], position: int) -> bool:
    """Tell "guinea pig", and "I'm afraid I cannot tell", "happy to help", "I fear that" (manners, no mood)."""
    if (*tokens[max(0, position - 1) : position], tokens[position]) in COMPOUNDS:
        return True
    word, before, after = tokens[position], tokens[max(0, position - 2) : position], tokens[position + 1 : position + 3]
    if word == "happy":
        return after in (["to", "help"], ["to", "assist"], ["to", "answer"])
    if word == "fear":
        return before[-1:] == ["i"]
    return word == "afraid" and (before[-1:] == ["im"] or before == ["i", "am"])


def _find_texts(text: str, lexicon: Lexicon) -> list[Mention]:
    """Option texts and their forms as whole words, the longest first, articles not counted."""
    starts = lexicon.starts
    tokens = WORD.findall(text)
    if starts.keys().isdisjoint(tokens):
        return []
    places = list(WORD.finditer(text))
    if not ARTICLES.isdisjoint(tokens):
        kept = [i for i, token in enumerate(tokens) if token not in ARTICLES or token in starts]
        tokens, places = [tokens[i] for i in kept], [places[i] for i in kept]
    found: list[Mention] = []
    free = 0  # tokens before this one belong to a mention already
    for position, token in enumerate(tokens):
        if token not in starts or position < free:
            continue
        for form, index, how in starts[token]:
            size = len(form)
            if tokens[position : position + size] != form:
                continue
            if size == 1 and _is_other_thing(tokens, position):
                continue
            found.append(Mention(places[position].start(), places[position + size - 1].end(), index, how))
            free = position + size
            break
    return found


# --- texts of one or two letters ------------------------------------------------------------------------------------
def _tiny_counts(text: str, mention: Mention, lexicon: Lexicon) -> bool:
    letter = near.label_before(text, mention.start)
    if letter == lexicon.letters[mention.index]:
        return True
    if letter and letter in lexicon.letters and near.is_whole_word(text, mention.end):
        return True
    return near.has_company(text, mention.start, mention.end, lexicon.letters)


def _is_pair(text: str, first: Mention, second: Mention) -> bool:
    named = {text[mention.start : mention.end] for mention in (first, second)}
    return (
        named.isdisjoint(near.EVERYDAY) and near.opens_clause(text, first.start) and near.ends_clause(text, second.end)
    )


def _keep_tiny(text: str, tiny: Sequence[Mention], lexicon: Lexicon) -> Iterator[Mention]:
    sure = [_tiny_counts(text, mention, lexicon) for mention in tiny]
    for place in range(len(tiny) - 1, 0, -1):  # "ko or ja": each leans on the other
        first, second = tiny[place - 1], tiny[place]
        between = near.JOINT.fullmatch(text, first.end, second.start)
        if between and between.group().strip() and (sure[place] or _is_pair(text, first, second)):
            sure[place - 1] = sure[place] = True
    return (mention for mention, counts in zip(tiny, sure, strict=True) if counts)


# --- letters --------------------------------------------------------------------------------------------------------
_TO_TEXT = re.compile(r"[\s.:,;)\]}>\"=→-]{0,7}(?:(?:a|an|the|which is|i\.e\.|namely)[ ]+)?[\"(\[]?")
_TO_LETTER = re.compile(r"[ :,;=\"-]{0,4}(?:(?:which is[ ]+)?(?:option|choice|answer|letter)[ ]*)?[(\[{\"]{0,2}[ ]*")
_SAME_LETTER = re.compile(r"[\s()\[\].\"]{0,5}")


def _leads_text(text: str, start: int, end: int, letter: str, named: dict[int, Mention], lexicon: Lexicon) -> bool:
    """Tell "c Claws"; before another option's text only where a letter is expected anyway."""
    gap = _TO_TEXT.match(text, end)
    following = named.get(gap.end()) if gap else None
    if following is None:
        return False
    if lexicon.letters[following.index] == letter:
        return following.index not in lexicon.tiny or near.is_expected(text, start)
    return near.starts_line_as_label(text, start, end) or (letter not in "ai" and near.is_expected(text, start))


def _strength(text: str, start: int, end: int, named: dict[int, Mention], lexicon: Lexicon) -> int:
    """2: a label, or a letter beside a text; 1: a bare letter in company; 0: no name of an option."""
    letter = text[start:end]
    if letter in "ai" and near.is_article(text, start, end):
        return 0
    if near.is_dressed(text, start, end):
        return 2
    if near.is_glued(text, start, end) and end + 1 not in named:
        return 0
    if _leads_text(text, start, end, letter, named, lexicon):
        return 2
    return int(near.has_company(text, start, end, lexicon.letters))


def _only_letters(text: str, letters: str) -> bool:
    """Tell "a b" and "c c c": nothing but option letters."""
    first = WORD.search(text)
    if first is None or len(first.group()) > 1:
        return False
    found = WORD.findall(text, 0, 400)
    return len(found) > 1 and all(len(word) == 1 and word in letters for word in found)


def _find_letters(text: str, texts: Sequence[Mention], lexicon: Lexicon) -> Iterator[Mention]:
    """Letters outside the option texts already found."""
    if lexicon.letter_pattern is None:
        return
    named = {mention.start: mention for mention in texts}
    taken = [mention for mention in texts if not _is_tiny(mention, lexicon)]
    only_letters = _only_letters(text, lexicon.letters)
    last: Mention | None = None
    cursor = 0
    for match in lexicon.letter_pattern.finditer(text):
        start, end = match.span()
        while cursor < len(taken) and taken[cursor].end <= start:
            cursor += 1
        if cursor < len(taken) and taken[cursor].start <= start:
            continue
        strength = int(only_letters) or _strength(text, start, end, named, lexicon)
        if not strength and last and start - last.end < 24:  # "a or maybe b"
            strength = int(bool(near.JOINT.fullmatch(text, last.end, start) and near.ends_clause(text, end)))
        if strength:
            letter = Mention(start, end, lexicon.letters.index(match.group()), "letter")
            yield from _readings(text, letter, last, lexicon) if strength == 1 else (letter,)
            last = letter


def _readings(text: str, letter: Mention, last: Mention | None, lexicon: Lexicon) -> Iterator[Mention]:
    """A bare letter that is also another option's text: both readings, unless that option's letter stands before."""
    name = text[letter.start : letter.end]
    if name not in lexicon.clashes:
        yield letter
        return
    other = next(i for i, words in enumerate(lexicon.texts) if words == (name,) and i != letter.index)
    if last and last.index == other and not text[last.end : letter.start].strip(' ([.:)]-"'):
        yield Mention(letter.start, letter.end, other, "text")
    else:
        yield replace(letter, doubt=True)
        yield Mention(letter.start, letter.end, other, "text", doubt=True)


# --- both -----------------------------------------------------------------------------------------------------------
def _merge(text: str, found: Sequence[Mention]) -> list[Mention]:
    """Join a letter and the text of the same option that stand side by side."""
    merged: list[Mention] = []
    for mention in found:
        previous = merged[-1] if merged else None
        how = _joined_how(text, previous, mention) if previous else None
        if previous and how:
            merged[-1] = Mention(previous.start, mention.end, mention.index, how)
        else:
            merged.append(mention)
    return merged


def _joined_how(text: str, one: Mention, two: Mention) -> str | None:
    if one.index != two.index or one.doubt:
        return None
    kinds = {one.how, two.how}
    if kinds == {"letter"}:
        gap, how = _SAME_LETTER, "letter"
    elif "letter" in kinds and kinds & {"text", "form"}:
        gap, how = _TO_TEXT if one.how == "letter" else _TO_LETTER, "letter+text"
    else:
        return None
    return how if gap.fullmatch(text, one.end, two.start) else None


# "B. horse" is a label and a title; "B. The horse neighs." is an answer and a sentence.
_TITLE = re.compile(rf"\.(?=[ ]+{LETTER}{{2,}}(?:[ ]{LETTER}+)?[ ]*[.!]?\s*$)")
_OWN_STOP = re.compile(
    r"[.!?](?=[\")\]]*\s*(?:[,:;)/&-]|(?:and|or|nor|but|is|are|was|would|rather|instead|because|since|not|it is|its|"
    r"fits|matches|best|seems|sounds|describes|represents|reflects)\b))"
)


def _with_stop(text: str, mention: Mention, lexicon: Lexicon) -> Mention:
    """Take in a full stop after which the sentence goes on: "B. horse", "Ms. is right"."""
    stop: re.Match[str] | None = None
    if mention.how == "letter":
        if text.startswith(".", mention.end) and near.LINE_START.search(
            text[max(0, mention.start - 8) : mention.start]
        ):
            stop = _TITLE.match(text, mention.end)
    elif mention.index in lexicon.stops:
        stop = _OWN_STOP.match(text, mention.end)
    return replace(mention, end=stop.end()) if stop else mention


def _is_tiny(mention: Mention, lexicon: Lexicon) -> bool:
    return mention.index in lexicon.tiny and mention.end - mention.start <= 2


def find_mentions(text: str, lexicon: Lexicon) -> list[Mention]:
    """All namings of options in folded, undressed text, in order of their place."""
    texts = _find_texts(text, lexicon)
    found = [mention for mention in texts if not _is_tiny(mention, lexicon)]
    found += _find_letters(text, texts, lexicon)
    if lexicon.tiny:
        # A text that is also a letter was told with the letters, where both readings are seen.
        tiny = [mention for mention in texts if _is_tiny(mention, lexicon)]
        tiny = [mention for mention in tiny if text[mention.start : mention.end] not in lexicon.clashes]
        found += _keep_tiny(text, tiny, lexicon)
    found.sort(key=lambda mention: mention.start)
    return [_with_stop(text, mention, lexicon) for mention in _merge(text, found)]


def skeleton(text: str, mentions: Sequence[Mention]) -> str:
    """The text with each mention replaced by its option's slot character."""
    parts: list[str] = []
    at = 0
    for mention in mentions:
        parts.append(text[at : max(at, mention.start)])
        parts.append(chr(SLOT + mention.index))
        at = max(at, mention.end)
    parts.append(text[at:])
    return "".join(parts)
