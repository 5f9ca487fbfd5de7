"""What SAKURA's tables have in common: settings, columns, and the logs they are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmms_audio_tasks.report.document import Column, Form, Row, with_interval
from lmms_audio_tasks.report.load import TaskLog
from lmms_audio_tasks.report.systems import System
from lmms_audio_tasks.report.tables import Method
from lmms_audio_tasks.sakura import SPECS, TRACKS

AVERAGE = "average"
SETTINGS = (("single", "audio"), ("multi", "audio"), ("multi", "text"))
"""Hop and modality of the three kinds of task."""
SETTING_TITLES = {("single", "audio"): "Single", ("multi", "audio"): "Multi", ("multi", "text"): "Multi, text"}
TRACK = Column("Track", "track", kind="text")
_PAPER_INTERVAL = "Intervals: the paper's, 1.96 sqrt(p (100 - p) / 500) whatever n is."
_WILSON_INTERVAL = "Intervals: 95 %, Wilson's at the true n; of averages, from the tracks' Wilson limits."
_PUBLISHED = " Published rows stand as printed, with the paper's intervals (n = 500 in every cell)."


def task_name(track: str, hop: str, modality: str) -> str:
    """The task of a track and setting."""
    return next(
        spec.name
        for spec in SPECS.values()
        if (spec.track, spec.hop, "text" if spec.text else "audio") == (track, hop, modality)
    )


def explained(text: str, method: Method, with_published: bool = False) -> str:
    """What a table shows, and what its intervals are."""
    interval = _WILSON_INTERVAL if method == "wilson" else _PAPER_INTERVAL
    return f"{text} {interval}{_PUBLISHED if with_published else ''}"


def keys_of(system: System, track: str, hop: str, modality: str) -> dict[str, str]:
    """A row's keys."""
    return {"origin": system.origin, "system": system.label, "track": track, "hop": hop, "modality": modality}


def logs_of(system: System, track: str, *settings: tuple[str, str]) -> list[TaskLog | None]:
    """The system's logs of a track in each setting; None for a task that was not run."""
    return [system.logs.get(task_name(track, *setting)) for setting in settings]


def specified(system: System) -> list[tuple[tuple[str, str, str], TaskLog]]:
    """The system's logs with (track, hop, modality), in the order of the tasks."""
    return [
        ((spec.track, spec.hop, "text" if spec.text else "audio"), system.logs[name])
        for name, spec in SPECS.items()
        if name in system.logs
    ]


def by_track(settings: Sequence[tuple[str, Mapping[str, str]]], method: Method) -> list[Column]:
    """A group of columns for each track and the average, one column in it for each of (title, keys)."""
    return [
        Column(
            title,
            "accuracy",
            form=of_tracks(with_interval("accuracy", method)),
            group=track.capitalize(),
            where={"track": track, **keys},
            tip=counted,
        )
        for track in (*TRACKS, AVERAGE)
        for title, keys in settings
    ]


def of_tracks(form: Form) -> Form:
    """Says of an average how many tracks are in it, where it is not all."""

    def told(row: Row) -> str:
        groups = row.get("groups")
        missing = isinstance(groups, int) and 0 < groups < len(TRACKS)
        return form(row) + (f" ({groups} of {len(TRACKS)} tracks)" if missing else "")

    return told


def counted(row: Row) -> str:
    """What an accuracy is made of; "" for a published one."""
    return "" if row.get("n") is None else f"{row.get('correct')} of {row.get('n')}"


def asked(row: Row) -> str:
    """A row's setting in words."""
    return SETTING_TITLES.get((row.keys["hop"], row.keys["modality"]), row.keys["hop"])
