"""`lmms-audio-tasks check sakura`: every fault of a folder, and figures to compare with the official data's."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lmms_audio_tasks import sources
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.options import OptionError, parse_answer, parse_options
from lmms_audio_tasks.sakura import HOPS, TRACKS
from lmms_audio_tasks.sakura.data import Item, read_track


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean, standard deviation (of the population), minimum and maximum, as in the paper's Table 1."""

    mean: float
    std: float
    min: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        """The spread of `values`; None for no values."""
        if not values:
            return None
        return cls(statistics.fmean(values), statistics.pstdev(values), min(values), max(values))


@dataclass(frozen=True, slots=True)
class TrackFigures:
    """Counts of one track: items, how often each attribute label occurs, and which letter is right how often."""

    track: str
    items: int
    labels: dict[str, int]
    single_positions: dict[str, int]
    multi_positions: dict[str, int]


@dataclass(frozen=True, slots=True)
class Report:
    """What `check` found.

    Attributes:
        audio_duration_s: over recordings, in seconds.
        instruction_length_words: over single-hop and multi-hop instructions, in words between blanks.
    """

    source: str
    demo: bool
    tracks: tuple[TrackFigures, ...]
    audio_duration_s: Spread | None
    instruction_length_words: Spread | None
    faults: tuple[DataError, ...]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON types; each fault has file, row, expected, found and its one-line message."""
        faults = [fault.to_dict() for fault in self.faults]
        spreads = {
            name: None if spread is None else asdict(spread)
            for name, spread in (
                ("audio_duration_s", self.audio_duration_s),
                ("instruction_length_words", self.instruction_length_words),
            )
        }
        figures = [asdict(track) for track in self.tracks]
        return {
            "benchmark": "sakura",
            "source": self.source,
            "demo": self.demo,
            "tracks": figures,
            **spreads,
            "faults": faults,
        }

    def to_text(self) -> str:
        """The report for people: Table 1, balance, then a line a fault."""
        title = f"SAKURA in {self.source}" + (
            " (demo data: these figures are not the benchmark's)" if self.demo else ""
        )
        lines = [title, "", f"{'':26}{'mean':>8}{'std':>8}{'min':>8}{'max':>8}"]
        lines += [
            _spread_line("audio duration (s)", self.audio_duration_s, "8.2f"),
            _spread_line("instruction length (words)", self.instruction_length_words, "8.0f"),
        ]
        for track in self.tracks:
            lines += ["", f"{track.track}: {track.items} items", f"  labels: {_counts(track.labels)}"]
            lines += [f"  right answer, {hop}: {_counts(getattr(track, f'{hop}_positions'))}" for hop in HOPS]
        lines += ["", *(f"fault: {fault}" for fault in self.faults)]
        count = len(self.faults)
        return "\n".join([*lines, "no faults" if count == 0 else "1 fault" if count == 1 else f"{count} faults"])


def _spread_line(name: str, spread: Spread | None, ends: str) -> str:
    if spread is None:
        return f"{name:26}{'no data':>8}"
    return f"{name:26}{spread.mean:8.2f}{spread.std:8.2f}{spread.min:{ends}}{spread.max:{ends}}"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


def check(source: sources.Source) -> Report:
    """Check the SAKURA folder of a local source whole; an item at fault is left out of the figures it spoils.

    Raises:
        DataError: the folder is missing. A track that is missing is a fault in the report.
    """
    folder = source.folder("sakura")
    figures: list[TrackFigures] = []
    faults: list[DataError] = []
    items: list[Item] = []
    for track in TRACKS:
        try:
            read = read_track(folder / track.capitalize())
        except DataError as fault:
            faults.append(fault)
            continue
        figures.append(_figures(track, read.items))
        faults += read.faults
        items += read.items
    return Report(
        source=source.label,
        demo=source.demo,
        tracks=tuple(figures),
        audio_duration_s=Spread.of([item.seconds for item in items]),
        instruction_length_words=Spread.of([float(words) for words in _instruction_lengths(items)]),
        faults=tuple(faults),
    )


def _instruction_lengths(items: Iterable[Item]) -> list[int]:
    return [len(item.fields[f"{hop}_instruction"].split()) for item in items for hop in HOPS]


def _figures(track: str, items: Sequence[Item]) -> TrackFigures:
    labels = Counter(item.fields["attribute_label"].strip() for item in items)
    return TrackFigures(
        track,
        len(items),
        dict(labels.most_common()),
        *(dict(sorted(_positions(items, hop).items())) for hop in HOPS),
    )


def _positions(items: Iterable[Item], hop: str) -> Counter[str]:
    letters: Counter[str] = Counter()
    for item in items:
        try:
            options = parse_options(item.fields[f"{hop}_instruction"])
            letters[parse_answer(item.fields[f"{hop}_answer"], options).letter] += 1
        except OptionError:
            continue  # already a fault of its own
    return letters
