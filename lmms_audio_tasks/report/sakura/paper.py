"""The paper's tables: the data (1), accuracy (2), multi-hop given single-hop right (3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmms_audio_tasks import registry, sources
from lmms_audio_tasks.report import compare
from lmms_audio_tasks.report import tables as common
from lmms_audio_tasks.report.document import FROM, SYSTEM, Column, Form, Row, Table, Value, decimal
from lmms_audio_tasks.report.published import number, published
from lmms_audio_tasks.report.sakura.shared import (
    AVERAGE,
    SETTINGS,
    by_track,
    explained,
    keys_of,
    logs_of,
    task_name,
)
from lmms_audio_tasks.report.systems import System
from lmms_audio_tasks.report.tables import Method, Tally
from lmms_audio_tasks.sakura import HOPS, TRACKS

_QUANTITIES = {"audio_duration_s": "audio duration (s)", "instruction_length_words": "instruction length (words)"}


def data_table(data: sources.Source, with_published: bool = False) -> Table:
    """Table 1: durations and instruction lengths of the data in a folder.

    Raises:
        DataError: there is no SAKURA folder.
    """
    checked = registry.benchmark("sakura").module("check").check(data)
    rows = []
    for quantity in _QUANTITIES:
        spread = getattr(checked, quantity)
        if spread is not None:
            keys = {"origin": "demo" if data.demo else "data", "quantity": quantity}
            ends = (spread.min, spread.max)
            low, high = map(int, ends) if quantity == "instruction_length_words" else ends
            rows.append(Row(keys, {"avg": spread.mean, "std": spread.std, "min": low, "max": high}))
    for printed in published("sakura_table1") if with_published else ():
        values: dict[str, Value] = {name: number(printed[name]) for name in ("avg", "std", "min", "max")}
        rows.append(Row({"origin": "published", "quantity": printed["quantity"]}, values))
    items = sum(track.items for track in checked.tracks)
    about = f"{items} recordings in {data.label}; standard deviation of the population."
    if checked.faults:
        about += f" {len(checked.faults)} faults in the data: see `lmms-audio-tasks check sakura --data {data.label}`."
    spreads = [Column(title, title.lower(), form=_two_places(title.lower())) for title in ("Avg", "Std", "Min", "Max")]
    quantity_column = Column("Quantity", "quantity", form=_quantity, kind="text")
    return Table("data", "Table 1: the data", about, tuple(rows), (FROM, quantity_column, *spreads))


def _quantity(row: Row) -> str:
    return _QUANTITIES.get(row.keys["quantity"], row.keys["quantity"])


def _two_places(field: str) -> Form:
    def form(row: Row) -> str:
        value = row.get(field)
        return str(value) if isinstance(value, int) else decimal(field, 2)(row)

    return form


def system_rows(system: System, method: Method) -> list[Row]:
    """A system's rows of Table 2."""
    tallies = {task: Tally.of(log.records) for task, log in system.logs.items()}
    return accuracy_rows(system.label, system.origin, tallies, method)


def accuracy_rows(
    label: str,
    origin: str,
    tallies: Mapping[str, Tally],
    method: Method,
    settings: Sequence[tuple[str, str]] = SETTINGS[:2],
) -> list[Row]:
    """Accuracy by track and setting, and the average over the tracks that have a value; no row for a task not run."""
    rows = []
    for hop, modality in settings:
        keys = {"origin": origin, "system": label, "hop": hop, "modality": modality}
        groups = []
        for track in TRACKS:
            tally = tallies.get(task_name(track, hop, modality))
            if tally is not None:
                groups.append((tally.correct, tally.scored))
                rows.append(Row({**keys, "track": track}, common.accuracy(*groups[-1], method)))
        if groups:
            rows.append(Row({**keys, "track": AVERAGE}, common.average(groups, method)))
    return rows


def accuracy_table(own: Sequence[Row], method: Method, with_published: bool = False) -> Table:
    """Table 2 of rows that `accuracy_rows` made, published ones below."""
    rows = [*own]
    for printed in published("sakura_table2") if with_published else ():
        keys = {"origin": "published", "system": printed["system"], "hop": printed["hop"], "modality": "audio"}
        more: dict[str, Value] = {"size_b": number(printed["size_b"]), "group": printed["group"]}
        rows.append(Row({**keys, "track": printed["track"]}, {**_printed(printed), **more}))
    by_hop = [(hop.capitalize(), {"hop": hop, "modality": "audio"}) for hop in HOPS]
    sizes = (Column("Size (B)", "size_b", form=_size),) if with_published else ()
    columns = (SYSTEM, FROM, *sizes, *by_track(by_hop, method))
    about = explained("Accuracy in %, single-hop and multi-hop.", method, with_published)
    return Table("accuracy", "Table 2: accuracy", about, tuple(rows), columns, lines_by=("origin", "system"))


def _printed(printed: Mapping[str, str]) -> dict[str, Value]:
    return {"accuracy": number(printed["accuracy"]), "half_width": number(printed["ci95"])}


def _size(row: Row) -> str:
    value = row.get("size_b")
    return "" if value is None else str(value)


def caption_table(systems: Sequence[System], method: Method) -> Table:
    """Accuracy with a caption in place of the audio, over all items."""
    rows = []
    for system in systems:
        tallies = {task: Tally.of(log.records) for task, log in system.logs.items()}
        rows += accuracy_rows(system.label, system.origin, tallies, method, SETTINGS[2:])
    columns = (SYSTEM, FROM, *by_track([("Multi, text", {"modality": "text"})], method))
    about = explained("Multi-hop accuracy in % with a caption in place of the audio, over all items.", method)
    return Table("caption", "Text in place of audio", about, tuple(rows), columns, lines_by=("origin", "system"))


def given_single_table(systems: Sequence[System], method: Method, with_published: bool = False) -> Table:
    """Table 3: multi-hop accuracy over the items whose single-hop answer was right, audio and text."""
    rows = [row for system in systems for row in _given_rows(system, method)]
    for printed in published("sakura_table3") if with_published else ():
        keys = {"origin": "published", "system": printed["system"], "hop": "multi", "modality": printed["modality"]}
        rows.append(Row({**keys, "track": printed["track"]}, _printed(printed)))
    by_modality = [(title, {"modality": modality}) for title, modality in (("Audio", "audio"), ("Text", "text"))]
    columns = (SYSTEM, FROM, *by_track(by_modality, method))
    about = explained(
        "Multi-hop accuracy in % over the items whose single-hop question was answered right, "
        "with the audio and with a caption in its place.",
        method,
        with_published,
    )
    return Table(
        "given_single",
        "Table 3: multi-hop given single-hop right",
        about,
        tuple(rows),
        columns,
        lines_by=("origin", "system"),
    )


def _given_rows(system: System, method: Method) -> list[Row]:
    rows = []
    for modality in ("audio", "text"):
        groups = []
        for track in TRACKS:
            multi, single = logs_of(system, track, ("multi", modality), ("single", "audio"))
            if multi is None or single is None:
                continue
            found = compare.given(multi, single)
            groups.append((found.k, found.n))
            left_out = found.only_multi + found.only_single
            keys = keys_of(system, track, "multi", modality)
            rows.append(Row(keys, {**common.accuracy(*groups[-1], method), "left_out": left_out}))
        if groups:
            rows.append(Row(keys_of(system, AVERAGE, "multi", modality), common.average(groups, method)))
    return rows
