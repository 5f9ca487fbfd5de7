"""All ways to name the options of one question, compiled once per list of options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_lowercase

from lmms_audio_tasks._options.forms import word_forms
from lmms_audio_tasks._options.text import LETTER, SLOTS, fold, words

OUTER = " \n\"`'*_.!,;"  # marks that may surround a whole answer

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """What the options alone determine; options are meant by their index."""

    letters: str
    texts: list[Words]
    joined: list[str]  # texts with single blanks
    exact: dict[str, tuple[int, str]]  # whole answers without outer marks -> (option, how)
    longest: int  # length of the longest of those
    starts: dict[str, list[tuple[list[str], int, str]]]  # first word -> (words, option, how), longest first
    whole: dict[Words, int]  # forms that count only as the whole answer
    tiny: frozenset[int]  # options of one or two letters ("it", "en"), whose text needs company
    clashes: frozenset[str]  # letters that are also the text of another option
    stops: frozenset[int]  # options whose text ends in a full stop of its own
    letter_pattern: re.Pattern[str] | None


@lru_cache(maxsize=SLOTS + 1)
def _letter_pattern(letters: str) -> re.Pattern[str] | None:
    return re.compile(rf"(?<!{LETTER})[{letters}](?!{LETTER})") if letters else None


def _exact_answers(letter: str, text: str) -> Iterable[tuple[str, str]]:
    dresses = [f"({letter})", f"{letter})", f"[{letter}]"]
    for dress in [letter, *dresses, f"option {letter}", f"answer: {letter}", f"answer: ({letter})"]:
        yield dress, "letter"
    if text:
        yield text, "text"
        for dress in [*dresses, f"{letter}.", f"{letter}:", f"{letter} -", f"answer: ({letter})"]:
            yield f"{dress} {text}", "letter+text"


def _unique(pairs: Iterable[tuple[str, int, str]]) -> dict[str, tuple[int, str]]:
    """Keep what names one option only."""
    found: dict[str, tuple[int, str]] = {}
    shared: set[str] = set()
    for key, index, how in pairs:
        if found.setdefault(key, (index, how))[0] != index:
            shared.add(key)
    return {key: value for key, value in found.items() if key not in shared}


def _forms(texts: Sequence[Words]) -> tuple[dict[Words, tuple[int, str]], dict[Words, int]]:
    """Word sequences that name one option: (anywhere, only as the whole answer). An option's own text always wins."""
    anywhere: dict[Words, tuple[int, str]] = {}
    claims: dict[Words, set[tuple[int, bool]]] = {}
    for index, text in enumerate(texts):
        if not text:
            continue
        anywhere.setdefault(text, (index, "text"))
        sure, whole = word_forms(text)
        for form in sure:
            claims.setdefault(form, set()).add((index, True))
        for form in whole:
            claims.setdefault(form, set()).add((index, False))
    alone: dict[Words, int] = {}
    for form, by in claims.items():
        index = next(iter(by))[0]
        if form in anywhere or any(other != index for other, _ in by):
            continue
        if any(sure for _, sure in by):
            anywhere[form] = (index, "form")
        else:
            alone[form] = index
    return anywhere, alone


def build_lexicon(letters: Sequence[str], option_texts: Sequence[str]) -> Lexicon:
    """Compile options given by their letters and texts, in any case or quotes."""
    folded = [" ".join(fold(text).split()) for text in option_texts]
    names = "".join((fold(letter) + "?")[0] for letter in letters)
    texts = [tuple(words(text)) for text in folded]
    anywhere, alone = _forms(texts)
    for index, text in enumerate(texts):  # "mezzosoprano" for "Mezzo-soprano"
        if len(text) == 2 and "-" in folded[index]:
            anywhere.setdefault(("".join(text),), (index, "form"))
    starts: dict[str, list[tuple[list[str], int, str]]] = {}
    for form, (index, how) in sorted(anywhere.items(), key=lambda item: -len(item[0])):
        starts.setdefault(form[0], []).append((list(form), index, how))
    exact = _unique(
        (key, index, how)
        for index, (letter, text) in enumerate(zip(names, folded, strict=True))
        for key, how in _exact_answers(letter, text.strip(OUTER))
    )
    single = {index: text[0] for index, text in enumerate(texts) if len(text) == 1}
    return Lexicon(
        letters=names,
        texts=texts,
        joined=[" ".join(text) for text in texts],
        exact=exact,
        longest=max(map(len, exact), default=0),
        starts=starts,
        whole=alone,
        tiny=frozenset(i for i, word in single.items() if len(word) <= 2 and word.isascii() and not word.isdigit()),
        clashes=frozenset(word for i, word in single.items() if word in names and names.index(word) != i),
        stops=frozenset(index for index, text in enumerate(folded) if text.endswith((".", "!", "?"))),
        letter_pattern=_letter_pattern("".join(sorted(set(names) & set(ascii_lowercase)))),
    )
