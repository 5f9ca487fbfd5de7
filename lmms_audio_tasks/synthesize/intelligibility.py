"""Whether voices are understood: word error rates of transcripts against what was to be said, by voice and by group.

A voice that a recogniser does not understand makes any model look unfair to whom it stands for. All words of a group's
recordings are counted together: substitutions, deletions and insertions over the words that were to be said. As a
recogniser may go round in circles on a single recording, and insert more words than all others have, groups have a
second rate too, in which a recording counts at most as many errors as it has words; voices are flagged by that one.
"""

from __future__ import annotations

import importlib.util
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.synthesize.normalise import INSTALL_HINT, Normaliser, Unspeakable

CHARACTERISTICS = ("voice", "accent", "age", "gender")


@dataclass(frozen=True, slots=True)
class Heard:
    """One recording as the recogniser heard it.

    Attributes:
        groups: by characteristic, e.g. `{"voice": "espeak-en-us", "accent": "America"}`; the voice is always there.
        words: that were to be said.
        errors: substitutions, deletions and insertions.
    """

    sample_id: str
    groups: dict[str, str]
    transcript: str
    words: int
    errors: int

    @property
    def wer(self) -> float:
        """Word error rate, of at least 0; above 1 where much was inserted."""
        return self.errors / self.words

    def to_dict(self) -> dict[str, Any]:
        """A line of `intelligibility.jsonl`."""
        counts = {"words": self.words, "errors": self.errors, "wer": round(self.wer, 4)}
        return {"sample_id": self.sample_id, **self.groups, "transcript": self.transcript, **counts}


def require() -> None:
    """Raise `AudioTasksError` where the package that counts word errors is not installed."""
    if importlib.util.find_spec("jiwer") is None:
        raise AudioTasksError(f"jiwer is not installed, which counts word errors: {INSTALL_HINT}")


def heard(sample_id: str, groups: dict[str, str], said: str, transcript: str, normaliser: Normaliser) -> Heard:
    """Compare a transcript with the words that were to be said, both without case and punctuation, numbers spelled out.

    Args:
        said: as `Normaliser.spoken` gives it.
    """
    import jiwer

    try:
        spelled = normaliser.spoken(transcript)
    except Unspeakable:
        spelled = transcript
    reference = plain_words(said)
    counts = jiwer.process_words(" ".join(reference), " ".join(plain_words(spelled)))
    errors = counts.substitutions + counts.deletions + counts.insertions
    return Heard(sample_id, groups, transcript, len(reference), errors)


def plain_words(text: str) -> list[str]:
    """The words without case, accents on them kept; apostrophes join, all other punctuation parts."""
    text = unicodedata.normalize("NFC", text).casefold().replace("'", "").replace("’", "")
    # Not `\w`, which leaves out the vowel signs of Hindi and would part words there.
    return "".join(sign if unicodedata.category(sign)[0] in "LMN" else _joined_or_parted(sign) for sign in text).split()


def _joined_or_parted(sign: str) -> str:
    """Marks that are not seen part no word; all else that is no letter does."""
    return "" if unicodedata.category(sign) == "Cf" else " "


def table(all_heard: Iterable[Heard], limit: float) -> list[dict[str, Any]]:
    """A row for each voice and each group of voices, worst first within a characteristic.

    Args:
        limit: rows whose capped rate is above it are flagged.
    """
    counts: dict[tuple[str, str], list[int]] = {}
    for one in all_heard:
        for characteristic, name in one.groups.items():
            row = counts.setdefault((characteristic, name), [0, 0, 0, 0])
            for place, number in enumerate((1, one.words, one.errors, min(one.errors, one.words))):
                row[place] += number
    rows = [
        {
            "characteristic": characteristic,
            "group": name,
            "recordings": recordings,
            "words": words,
            "errors": errors,
            "wer": round(errors / words, 4),
            "wer_capped": round(capped / words, 4),
            "flagged": capped / words > limit,
        }
        for (characteristic, name), (recordings, words, errors, capped) in counts.items()
    ]
    return sorted(
        rows, key=lambda row: (CHARACTERISTICS.index(row["characteristic"]), -row["wer_capped"], row["group"])
    )


def overall(all_heard: Sequence[Heard]) -> tuple[float, float] | None:
    """Word error rate of all recordings together, and the capped one; None of none."""
    words = sum(one.words for one in all_heard)
    if not words:
        return None
    return sum(one.errors for one in all_heard) / words, sum(min(one.errors, one.words) for one in all_heard) / words
