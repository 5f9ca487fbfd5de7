"""Paired comparisons: audio against text, and system against system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from lmms_audio_tasks.report import compare
from lmms_audio_tasks.report.document import SYSTEM, Column, Row, Table, decimal
from lmms_audio_tasks.report.sakura.shared import (
    AVERAGE,
    SETTINGS,
    TRACK,
    asked,
    keys_of,
    logs_of,
    of_tracks,
)
from lmms_audio_tasks.report.systems import System
from lmms_audio_tasks.sakura import TRACKS


def gap_table(systems: Sequence[System]) -> Table:
    """Text minus audio on the items whose single hop was right."""
    rows: list[Row] = []
    for system in systems:
        pairings = {}
        for track in TRACKS:
            text, audio, single = logs_of(system, track, ("multi", "text"), ("multi", "audio"), ("single", "audio"))
            if text is not None and audio is not None and single is not None:
                pairings[track] = compare.pair(text, audio, condition=single)
        keys = {"origin": system.origin, "system": system.label, "hop": "multi"}
        rows += _paired_rows(keys, pairings, ("text_accuracy", "audio_accuracy"))
    columns = (
        *(SYSTEM, TRACK, Column("Items", "n")),
        Column("Audio", "audio_accuracy", form=decimal("audio_accuracy"), group="Accuracy"),
        Column("Text", "text_accuracy", form=decimal("text_accuracy"), group="Accuracy"),
        *compare.paired_columns("Text − audio", "Text", "Audio", of_tracks),
    )
    about = (
        "The same multi-hop items with a caption and with the audio, where the single-hop answer was right: difference "
        "in percentage points with its 95 % interval for paired proportions (Newcombe), and McNemar's exact p, "
        "corrected over the tracks by Holm. An average's p takes the discordant items of all tracks together."
    )
    return Table("audio_text_gap", "Audio against text", about, tuple(rows), columns)


def _paired_rows(
    keys: Mapping[str, str],
    pairings: Mapping[str, compare.Pairing],
    names: tuple[str, str] = ("accuracy", "against_accuracy"),
) -> list[Row]:
    values = compare.with_holm({track: compare.paired_values(found, names) for track, found in pairings.items()})
    rows = [Row({**keys, "track": track}, told) for track, told in values.items()]
    if pairings:
        rows.append(Row({**keys, "track": AVERAGE}, compare.average_values(list(pairings.values()), names)))
    return rows


def comparison_table(systems: Sequence[System]) -> Table:
    """Every two systems on the items that both answered; demo and real data are never compared."""
    rows: list[Row] = []
    for first, second in combinations(systems, 2):
        if first.demo != second.demo:
            continue
        for setting in SETTINGS:
            pairings = {}
            for track in TRACKS:
                (a,), (b,) = logs_of(first, track, setting), logs_of(second, track, setting)
                if a is not None and b is not None:
                    pairings[track] = compare.pair(a, b)
            keys = keys_of(first, "", *setting) | {"against": second.label}
            rows += _paired_rows(keys, pairings)
    columns = (
        *(SYSTEM, Column("Against", "against", kind="text"), TRACK),
        *(Column("Asked", "hop", form=asked, kind="text"), Column("Items", "n")),
        Column("System", "accuracy", form=decimal("accuracy"), group="Accuracy"),
        Column("Against", "against_accuracy", form=decimal("against_accuracy"), group="Accuracy"),
        *compare.paired_columns("Difference", "System", "Against", of_tracks),
    )
    about = (
        "Two systems on the same items: difference in percentage points with its 95 % interval for paired proportions "
        "(Newcombe), McNemar's exact p, and Holm's correction over the tracks. Detectable: the smallest difference "
        "that so many items show with a power of 80 % at a level of 5 %, given the discordance seen."
    )
    return Table("systems_compared", "System against system", about, tuple(rows), columns)
