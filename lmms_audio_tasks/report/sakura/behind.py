"""What lies behind the accuracies: labels, kinds of error, answer position, confusions, single items."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lmms_audio_tasks import sources
from lmms_audio_tasks.records import Record
from lmms_audio_tasks.report import compare
from lmms_audio_tasks.report import tables as common
from lmms_audio_tasks.report.document import SYSTEM, Column, Row, Table, Value, decimal, with_interval
from lmms_audio_tasks.report.sakura.shared import (
    SETTING_TITLES,
    TRACK,
    asked,
    counted,
    explained,
    keys_of,
    logs_of,
    specified,
)
from lmms_audio_tasks.report.systems import System
from lmms_audio_tasks.report.tables import Method, Tally
from lmms_audio_tasks.sakura import TRACKS


def label_table(systems: Sequence[System], method: Method) -> Table:
    """Accuracy by attribute label."""
    rows = [
        row
        for system in systems
        for spec, log in specified(system)
        for row in common.group_rows(keys_of(system, *spec), log.records, "attribute", method)
    ]
    columns = [
        Column(
            title,
            "accuracy",
            form=with_interval("accuracy", method),
            where=dict(zip(("hop", "modality"), setting, strict=True)),
            tip=counted,
        )
        for setting, title in SETTING_TITLES.items()
    ]
    return Table(
        "by_label",
        "Accuracy by attribute label",
        explained("Accuracy in % over the items of one label.", method),
        tuple(sorted(rows, key=lambda row: _label_order(row, systems))),
        (SYSTEM, TRACK, Column("Label", "label", kind="text"), *columns),
        lines_by=("origin", "system", "track", "label"),
    )


def _label_order(row: Row, systems: Sequence[System]) -> tuple[int, int, str]:
    labels = [system.label for system in systems]
    return labels.index(row.keys["system"]), TRACKS.index(row.keys["track"]), row.keys["label"]


def verdict_table(systems: Sequence[System]) -> Table:
    """Errors by kind."""
    rows = [
        common.verdict_row(keys_of(system, *spec), Tally.of(log.records))
        for system in systems
        for spec, log in specified(system)
    ]
    return common.verdict_table(rows, (SYSTEM, TRACK, Column("Asked", "hop", form=asked, kind="text")))


def letter_table(systems: Sequence[System]) -> Table:
    """Answer-position bias."""
    rows = [
        row
        for system in systems
        for spec, log in specified(system)
        for row in common.letter_rows(keys_of(system, *spec), log.records)
    ]
    letters = sorted({row.keys["letter"] for row in rows})
    columns = (
        *(SYSTEM, TRACK, Column("Asked", "hop", form=asked, kind="text"), Column("Answers", "n")),
        *(
            Column(f"({letter})", "chosen_share", form=_chosen_and_right, where={"letter": letter})
            for letter in letters
        ),
        Column("Bias", "bias", form=decimal("bias")),
    )
    about = (
        "Share in % of each letter among the chosen options / among the right ones, over responses that commit to an "
        "option. Bias: the share of answers that would have to move to another letter for the two to be equal."
    )
    return Table(
        "letters",
        "Answer position",
        about,
        tuple(rows),
        columns,
        lines_by=("origin", "system", "track", "hop", "modality"),
    )


def _chosen_and_right(row: Row) -> str:
    return f"{decimal('chosen_share')(row)} / {decimal('gold_share')(row)}"


def confusion_tables(systems: Sequence[System]) -> list[Table]:
    """For each track, which label was chosen for which in the single-hop questions."""
    found = []
    for track in TRACKS:
        rows = [
            row
            for system in systems
            for spec, log in specified(system)
            if spec == (track, "single", "audio")
            for row in common.confusion_rows(keys_of(system, *spec), log.records, _label)
        ]
        chosen = list(dict.fromkeys(row.keys["chosen"] for row in rows))
        last = [name for name in (common.OTHER, common.NO_OPTION) if name in chosen]
        ordered = [*(name for name in chosen if name not in last), *last]
        shares = [Column(name, "share", form=decimal("share", 0), where={"chosen": name}, tip=_of) for name in ordered]
        found.append(
            Table(
                f"confusion_{track}",
                f"Confusion: {track}",
                "Single-hop questions: share in % of each label's items (line) for which a label was chosen (column).",
                tuple(rows),
                (SYSTEM, Column("Label", "label", kind="text"), Column("Items", "n"), *shares),
                lines_by=("origin", "system", "label"),
            )
        )
    return found


def _label(record: Record) -> str:
    return record.groups.get("attribute", "")


def _of(row: Row) -> str:
    return f"{row.get('count')} of {row.get('n')}"


def hard_items_table(systems: Sequence[System], data: sources.Source | None = None, shown: int | None = 20) -> Table:
    """The items whose single-hop answer is right and whose multi-hop answer is not."""
    rows = [row for system in systems for track in TRACKS for row in _hard_rows(system, track, data)]
    columns = (
        *(SYSTEM, TRACK, Column("Item", "item", kind="text"), Column("Label", "label", kind="text")),
        Column("Audio", "audio", kind="audio"),
        Column("Multi-hop question", "question", kind="long"),
        Column("Right answer", "golden", kind="text"),
        Column("Verdict", "verdict", kind="text"),
        Column("Multi-hop response", "multi_response", kind="long"),
        Column("Single-hop response", "single_response", kind="long"),
    )
    about = (
        "Each item with its recording, where it is at hand, and what the model said. Errors of the model are left out."
    )
    return Table(
        "single_right_multi_wrong",
        "Single-hop right, multi-hop wrong",
        about,
        tuple(rows),
        columns,
        brief=shown,
    )


def _hard_rows(system: System, track: str, data: sources.Source | None) -> list[Row]:
    single, multi = logs_of(system, track, ("single", "audio"), ("multi", "audio"))
    if single is None or multi is None:
        return []
    known, answered = compare.right(single), compare.right(multi)
    rows = []
    for item_id, correct in answered.items():
        if known.get(item_id) and not correct:
            record = multi.items[item_id].record
            keys = {"origin": system.origin, "system": system.label, "track": track, "item": item_id}
            values: dict[str, Value] = {
                "audio": audio_file(record, data),
                "question": multi.items[item_id].prompt,
                "golden": record.golden,
                "chosen_option": record.chosen,
                "verdict": record.verdict,
                "multi_response": record.response,
                "single_response": single.items[item_id].record.response,
            }
            rows.append(Row({**keys, "label": _label(record)}, values))
    return rows


def audio_file(record: Record, data: sources.Source | None = None) -> str | None:
    """The path of a record's recording, in `data` or where the record says its data came from; None if not at hand."""
    track, _, name = record.item_id.partition("/")
    root = sources.DEMO_ROOT if record.demo else data.root if data is not None else None
    if root is None and not record.source.startswith("hub:"):
        root = Path(record.source)
    # The name comes from a log, so it must not lead out of the folder.
    if root is None or track not in TRACKS or not name or name != Path(name).name:
        return None
    path = root / "sakura" / track.capitalize() / "audio" / name
    return str(path) if path.is_file() else None
