"""Word forms of options: inflection, the few families SAKURA's attributes need, and near words that settle nothing.

Only *forms* of an option's own word count as that option (SAKURA's rule: "a different word form"). Synonyms do not:
they are kept apart so that a response that holds one is undecided instead of off the list.
"""

from __future__ import annotations

from functools import lru_cache

# Words of one family stand for each other when an option consists of one of them.
FAMILIES: tuple[tuple[str, ...], ...] = (
    ("angry", "anger", "angrily", "angered"),
    ("happy", "happiness"),
    ("sad", "sadness", "saddened"),
    ("fear", "fearful", "fearfully", "fearfulness", "afraid"),
    ("disgust", "disgusted", "disgusting", "disgustedly"),
    ("surprise", "surprised"),
    ("calm", "calmness"),
    ("male", "males", "man", "men", "mans", "mens"),
    ("female", "females", "woman", "women", "womans", "womens"),
)
# Adverbs that are as often the writer's as the speaker's ("Sadly, I cannot hear it"): the whole answer only.
ADVERBS: dict[str, tuple[str, ...]] = {"happy": ("happily",), "sad": ("sadly",)}
# Endings of one word: herbivore, herbivorous; oviparous, oviparity.
_ENDINGS = (("vore", "vorous"), ("parous", "parity"), ("parous", "pary"))
_FAMILY = {word: family for family in FAMILIES for word in family}

IRREGULAR_PLURALS: tuple[tuple[str, str], ...] = (
    ("foot", "feet"),
    ("goose", "geese"),
    ("hoof", "hooves"),
    ("mouse", "mice"),
    ("ox", "oxen"),
    ("tooth", "teeth"),
    ("wolf", "wolves"),
    ("calf", "calves"),
    ("leaf", "leaves"),
    ("child", "children"),
)
_IRREGULAR = dict(IRREGULAR_PLURALS) | {plural: single for single, plural in IRREGULAR_PLURALS}

# Near in meaning to an option word, but another word: a sign of that option, left to a judge that can read.
NEAR_WORDS: tuple[frozenset[str], ...] = tuple(
    frozenset(words.split())
    for words in (
        "fear fearful afraid scared frightened terrified terror fright scary",
        "angry anger furious mad irritated annoyed rage enraged",
        "happy happiness joy joyful joyous cheerful delighted glad",
        "sad sadness unhappy sorrow sorrowful depressed melancholy melancholic grief",
        "disgust disgusted revolted repulsed revulsion repulsion",
        "male man boy guy gentleman masculine",
        "female woman girl lady feminine",
        "chinese mandarin",
        "dog puppy canine hound",
        "cat kitten kitty feline",
        "rooster cockerel cock",
        "pig hog swine",
        "sheep lamb ewe",
    )
)

# Two words that name another thing than the second one alone.
COMPOUNDS = frozenset(
    [("guinea", "pig"), ("hot", "dog"), ("prairie", "dog"), ("sea", "cow"), ("scaredy", "cat"), ("copy", "cat")]
)


def _plurals(word: str) -> set[str]:
    forms = {word + "s", _IRREGULAR.get(word, word)}
    if word.endswith(("s", "x", "z", "ch", "sh")):
        forms.add(word + "es")
    if word.endswith("y"):
        forms.add(word[:-1] + "ies")
    if word.endswith("ies"):
        forms.add(word[:-3] + "y")
    elif word.endswith(("ses", "xes", "zes", "ches", "shes")):
        forms |= {word[:-2], word[:-1]}
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        forms.add(word[:-1])
    return forms - {word}


def _stems(gerund: str) -> set[str]:
    """Possible verbs of an -ing form: ``hiding`` -> hid, hide; ``wagging`` -> wagg, wag."""
    base = gerund[:-3]
    stems = {base, base + "e"}
    if base[-1] == base[-2]:
        stems.add(base[:-1])
    return stems


@lru_cache(maxsize=4096)
def word_forms(text: tuple[str, ...]) -> tuple[frozenset[tuple[str, ...]], frozenset[tuple[str, ...]]]:
    """Other forms of an option's words: (sure ones, ones that count only as the whole answer).

    A bare verb is in the second group because it may be a noun of the same look ("crow" for "Crowing"), and so is the
    -ing form of a noun ("crowing" also tells of a rooster).
    """
    sure: set[tuple[str, ...]] = set()
    whole: set[tuple[str, ...]] = set()
    first, last, single = text[0], text[-1], len(text) == 1
    if len(last) > 2 and last.isalpha():
        sure |= {(*text[:-1], form) for form in _plurals(last)}
    if len(first) > 5 and first.endswith("ing"):
        for stem in _stems(first):
            sure.add((stem + "s", *text[1:]))
            if stem.endswith("y"):
                sure.add((stem[:-1] + "ies", *text[1:]))
            (whole if single else sure).update({(stem, *text[1:]), (stem + "ed", *text[1:])})
    elif single and len(first) > 2 and first.isalpha():
        whole.add((first.removesuffix("e") + "ing",))
    if single:
        sure |= {(word,) for word in _FAMILY.get(first, ())}
        sure |= {(first.removesuffix(end) + other,) for end, other in _ENDINGS if first.endswith(end)}
        whole |= {(word,) for word in ADVERBS.get(first, ())}
    return frozenset(sure - {text}), frozenset(whole - sure - {text})
