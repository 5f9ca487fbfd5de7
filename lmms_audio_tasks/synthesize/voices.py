"""Voices and who says what: the table of voices, and the paper's sampling plans (section 7).

Accent split: for each prompt and accent a speaker is drawn, then one of the speaker's samples. Age and gender split:
for each prompt and age one male and one female speaker are drawn, then one sample of each, from the accents that have
a sample of every age. A row of the table is one sample.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypeVar

from lmms_audio_tasks.c3t import SPLITS
from lmms_audio_tasks.errors import AudioTasksError, DataError

ESPEAK_TABLE = Path(__file__).parent / "voices_espeak.csv"
GENDERS = ("female", "male")
T = TypeVar("T")
NEEDED = ("voice_id", "accent", "age", "gender")


@dataclass(frozen=True, slots=True)
class Voice:
    """One row of the table.

    Attributes:
        voice_id: unique.
        accent, age, gender: what it stands for; "" where it does not say.
        split: `accent` or `age_gender` if it serves in that split only; "" for both.
        speaker: whose voice it is; several rows may be samples of one speaker. "" for one of its own.
        engine_voice: what the synthesizer calls it.
        pitch, pace: 0 to 99 and words a minute, as espeak-ng takes them; "" for the engine's own.
        reference: recording to clone, a path as given, relative to the table's folder.
        reference_text: what is said in it.
        licence: of the voice or the reference.
        row: 1-based row in the table.
    """

    voice_id: str
    accent: str
    age: str
    gender: str
    split: str = ""
    speaker: str = ""
    engine_voice: str = ""
    pitch: str = ""
    pace: str = ""
    reference: str = ""
    reference_text: str = ""
    licence: str = ""
    row: int = 0

    def serves(self, split: str) -> bool:
        """Whether it may be drawn for a split."""
        if self.split not in ("", split):
            return False
        return bool(self.accent) if split == "accent" else bool(self.age) and self.gender in GENDERS

    def told(self) -> str:
        """What `audio_prompt` says of it: the id, and what the synthesizer made it from."""
        made = [self.engine_voice, self.pitch and f"pitch {self.pitch}", self.pace and f"{self.pace} words a minute"]
        parts = [part for part in (*made, self.reference) if part]
        return f"{self.voice_id} ({', '.join(parts)})" if parts else self.voice_id


COLUMNS = tuple(field.name for field in fields(Voice) if field.name != "row")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of voices.

    Attributes:
        path: where it lies; references are relative to its folder.
    """

    path: Path
    voices: tuple[Voice, ...]

    def reference(self, voice: Voice) -> Path:
        """Where the voice's reference recording lies."""
        return self.path.parent / voice.reference

    def fault(self, voice: Voice, expected: str, found: str) -> DataError:
        """An error about a row."""
        return DataError(self.path, expected, found, voice.row)


def read(path: Path) -> Table:
    """Read a CSV file with the columns `NEEDED` and any others of `COLUMNS`.

    Raises:
        DataError: it cannot be read, a column is missing or unknown, or a row cannot be used: the first fault.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            header = reader.fieldnames or []
            missing = [name for name in NEEDED if name not in header]
            extra = [name for name in header if name not in COLUMNS]
            twice = [name for place, name in enumerate(header) if name in header[:place]]
            if missing or extra or twice:
                found = f"also {', '.join(map(repr, extra))}" if extra else f"{', '.join(map(repr, twice))} twice"
                found = f"no {', '.join(missing)}" if missing else found
                raise DataError(path, f"columns {', '.join(NEEDED)}, and of {', '.join(COLUMNS[4:])}", found, "header")
            voices = [_voice(path, number, fields) for number, fields in enumerate(reader, start=1)]
    except FileNotFoundError:
        raise DataError(path, "a table of voices (CSV)", "no such file") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(path, "CSV in UTF-8 that can be read", str(error)) from error
    if not voices:
        raise DataError(path, "at least one voice", "a header only")
    first: dict[str, Voice] = {}
    for voice in voices:
        before = first.setdefault(voice.voice_id, voice)
        if before is not voice:
            raise DataError(
                path, "each voice_id once", f"{voice.voice_id!r} again, first in row {before.row}", voice.row
            )
    return Table(path, tuple(voices))


def _voice(path: Path, number: int, given: Mapping[str | None, str | list[str] | None]) -> Voice:
    if None in given or None in given.values():
        raise DataError(path, "as many fields as the header has", "more" if None in given else "fewer", number)
    told = {str(name): str(value).strip() for name, value in given.items()}
    for name, value in told.items():
        if not value.isprintable():
            raise DataError(path, f"{name} to be a text on one line", repr(value), number)
    voice = Voice(**told, row=number)
    for value, expected in _faults(voice):
        raise DataError(path, expected, repr(value), number)
    return voice


def _faults(voice: Voice) -> Iterator[tuple[str, str]]:
    if not voice.voice_id:
        yield voice.voice_id, "a voice_id"
    if voice.split not in ("", *SPLITS):
        yield voice.split, "split to be accent, age_gender or empty"
    if not any(voice.serves(split) for split in SPLITS):
        yield voice.voice_id, "an accent, or an age and the gender female or male, for a split that it serves"
    if voice.pitch and not (_is_number(voice.pitch) and int(voice.pitch) <= 99):
        yield voice.pitch, "pitch to be a whole number of 0 to 99"
    if voice.pace and not (_is_number(voice.pace) and 80 <= int(voice.pace) <= 450):
        yield voice.pace, "pace to be a whole number of 80 to 450 words a minute"
    for name in ("engine_voice", "reference"):
        # Arguments of a program follow an option; one that starts with a dash could be taken for another.
        if getattr(voice, name).startswith("-"):
            yield getattr(voice, name), f"{name} not to start with a dash"


def _is_number(text: str) -> bool:
    """Whether programs read a whole number in it; they know no other digits than 0 to 9."""
    return text.isascii() and text.isdecimal()


# --- who says what ---

Labels = tuple[str, ...]
"""What tells the voices of a prompt apart in its split: `(accent,)` or `(age, gender)`."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The paper's two sampling plans over one table.

    Attributes:
        pools: by split and labels, the voices to draw from, by speaker; labels and speakers in order.
    """

    seed: int
    pools: Mapping[str, Mapping[Labels, Mapping[str, tuple[Voice, ...]]]]

    @classmethod
    def of(cls, table: Table, seed: int, splits: Sequence[str] = SPLITS) -> Plan:
        """The plan for `splits`.

        Raises:
            AudioTasksError: a split has no voices, or no accent has every age in both genders.
        """
        pools = {}
        for split in splits:
            voices = [voice for voice in table.voices if voice.serves(split)]
            if split == "age_gender":
                voices = _of_accents_with_every_age(table, voices)
            if not voices:
                raise AudioTasksError(f"{table.path}: no voice serves the split {split}; leave it out with --splits")
            pools[split] = _pools(split, voices)
        return cls(seed, pools)

    def draw(self, split: str, task: str, instance: str) -> Iterator[tuple[Labels, Voice]]:
        """The voice for each of the labels of a split, for one prompt; the same for the same seed and table."""
        for labels, speakers in self.pools[split].items():
            key = (split, task, instance, *labels)
            samples = speakers[_pick(list(speakers), self.seed, "speaker", *key)]
            yield labels, _pick(samples, self.seed, "sample", *key)


def _of_accents_with_every_age(table: Table, voices: Sequence[Voice]) -> list[Voice]:
    ages = {voice.age for voice in voices}
    wanted = {(age, gender) for age in ages for gender in GENDERS}
    there: dict[str, set[tuple[str, str]]] = {}
    for voice in voices:
        there.setdefault(voice.accent, set()).add((voice.age, voice.gender))
    # Each age by itself, as the paper has it; a gender that is missing of an age is missing of the pool as well.
    whole = {accent for accent, found in there.items() if {age for age, _ in found} == ages}
    kept = [voice for voice in voices if voice.accent in whole]
    missing = wanted - {(voice.age, voice.gender) for voice in kept}
    if voices and missing:
        lacking = ", ".join(" ".join(pair) for pair in sorted(missing))
        raise AudioTasksError(
            f"{table.path}: the age_gender split draws from accents that have every age ({', '.join(sorted(ages))}), "
            f"one woman and one man of each; there is none for: {lacking}"
        )
    return kept


def _pools(split: str, voices: Iterable[Voice]) -> dict[Labels, dict[str, tuple[Voice, ...]]]:
    found: dict[Labels, dict[str, list[Voice]]] = {}
    for voice in voices:
        labels = (voice.accent,) if split == "accent" else (voice.age, voice.gender)
        found.setdefault(labels, {}).setdefault(voice.speaker or voice.voice_id, []).append(voice)
    return {
        labels: {speaker: tuple(samples) for speaker, samples in sorted(speakers.items())}
        for labels, speakers in sorted(found.items())
    }


def _pick(items: Sequence[T], seed: int, *key: str) -> T:
    """One of `items`, evenly and always the same for the same seed and key, on any machine and in any order."""
    digest = hashlib.sha256("\x1f".join([str(seed), *key]).encode()).digest()
    return items[int.from_bytes(digest, "big") % len(items)]
