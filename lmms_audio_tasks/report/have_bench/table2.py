"""The paper's Table 2: the same AaI items asked by speech (SI), in writing (TI), and as a recogniser heard them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmms_audio_tasks import stats
from lmms_audio_tasks.have_bench import ITEM_LEVELS, SPECS, Mode, asr
from lmms_audio_tasks.report import compare
from lmms_audio_tasks.report.document import FROM, SYSTEM, Column, Note, Row, Table, Value, decimal
from lmms_audio_tasks.report.have_bench.shared import (
    AVERAGE,
    SUBTASK,
    counted,
    keys_of,
    score_form,
    subtask_order,
    subtask_title,
)
from lmms_audio_tasks.report.load import Item, TaskLog
from lmms_audio_tasks.report.notes import listed
from lmms_audio_tasks.report.published import number, published
from lmms_audio_tasks.report.systems import System

MODES: dict[Mode, str] = {"speech": "SI", "text": "TI", "asr": "ASR+TI"}
_PRINTED = {
    "recognition": "instructed_recognition",
    "text_rich": "text_rich_qa",
    "math": "math",
    "multi_disciplinary": "multi_disciplinary_reasoning",
    "average": AVERAGE,
}
"""The columns of the published table, and what they are called in the data."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One system's AaI items that have a verdict in every way in which the system was asked.

    Attributes:
        right: by mode, then by item id: whether the answer is right.
        subtasks: by item id.
        dropped: AaI items of the levels in `levels` that lack a verdict in one of the modes, or are another question.
        levels: those that were asked in every mode; the others are not compared.
        recognisers: who wrote the questions of ASR+TI down.
    """

    system: System
    right: Mapping[Mode, Mapping[str, bool]]
    subtasks: Mapping[str, str]
    dropped: int
    levels: tuple[str, ...]
    recognisers: tuple[str, ...]


def asked(system: System) -> Asked:
    """Join the system's latest logs by item id."""
    by_level = {level: _logs(system, level) for level in ITEM_LEVELS}
    modes = [mode for mode in MODES if any(mode in logs for logs in by_level.values())]
    levels = tuple(level for level, logs in by_level.items() if modes and len(logs) == len(modes))
    right: dict[Mode, dict[str, bool]] = {mode: {} for mode in modes}
    subtasks: dict[str, str] = {}
    dropped = 0
    for level in levels:
        items = {mode: _spoken(log) for mode, log in by_level[level].items()}
        for item_id in sorted(set().union(*items.values())):
            found = [items[mode][item_id] for mode in modes if item_id in items[mode]]
            if len(found) < len(modes) or not _same(found):
                dropped += 1
                continue
            subtasks[item_id] = found[0].record.groups["subtask"]
            for mode, item in zip(modes, found, strict=True):
                right[mode][item_id] = item.record.verdict == "correct"
    written_down = [log for logs in by_level.values() for mode, log in logs.items() if mode == "asr"]
    heard = {record.groups.get("asr", "") for log in written_down for record in log.records}
    return Asked(system, right, subtasks, dropped, levels, tuple(sorted(filter(None, heard))))


def _logs(system: System, level: str) -> dict[Mode, TaskLog]:
    return {spec.mode: system.logs[name] for name, spec in SPECS.items() if spec.level == level and name in system.logs}


def _spoken(log: TaskLog) -> dict[str, Item]:
    """The items whose question is spoken."""
    return {item_id: item for item_id, item in log.items.items() if item.record.groups.get("role") == "AaI"}


def _same(found: Sequence[Item]) -> bool:
    """Whether all have a verdict, on one question."""
    questions = {(i.record.golden, i.record.options, i.record.groups.get("subtask")) for i in found}
    return len(questions) == 1 and all(item.record.verdict not in ("error", "unjudged") for item in found)


def _in(found: Asked, subtask: str) -> list[str]:
    return [item_id for item_id, own in found.subtasks.items() if own == subtask]


def _subtasks(found: Asked) -> list[str]:
    return sorted(set(found.subtasks.values()), key=subtask_order)


def mode_table(systems: Sequence[Asked], with_published: bool = False) -> Table:
    """Table 2: a line for each system and way of asking, a column a subtask."""
    rows = [row for found in systems for row in _score_rows(found)]
    rows += _published() if with_published and rows else []
    names = sorted({row.keys["subtask"] for row in rows}, key=subtask_order)
    average = {"subtask": AVERAGE}
    columns = (
        *(SYSTEM, FROM, Column("Asked by", "modality", form=mode_form, kind="text")),
        *(
            Column(subtask_title(name), "score", form=score_form, where={"subtask": name}, tip=counted)
            for name in names
        ),
        Column("Items", "n", where=average),
        Column("Dropped", "dropped", where=average),
    )
    about = (
        "Right answers in % on the items whose question is spoken (AaI): by speech (SI), in writing (TI), and as a "
        "speech recogniser wrote it down (ASR+TI). Of each system only items with a verdict in all of its ways count; "
        "the others are dropped. Average: the plain mean over subtasks. The latest run of each task; 95 % intervals as "
        "in Table 1."
    )
    about += " Published rows stand as printed." if with_published else ""
    lines = ("origin", "system", "modality")
    return Table("table2", "Table 2: asked by speech and in writing", about, tuple(rows), columns, lines_by=lines)


def mode_form(row: Row) -> str:
    """How a row's questions were put."""
    return MODES.get(row.keys["modality"], row.keys["modality"])  # type: ignore[call-overload]


def _score_rows(found: Asked) -> Iterator[Row]:
    for mode, right in found.right.items():
        counts = {name: _counts([right[item] for item in _in(found, name)]) for name in _subtasks(found)}
        for name, (correct, n) in counts.items():
            low, high = stats.wilson(correct, n)
            values: dict[str, Value] = {"n": n, "answered": n, "correct": correct, "runs": 1}
            values |= {"score": 100 * correct / n, "ci_low": 100 * low, "ci_high": 100 * high}
            yield Row(keys_of(found.system, modality=mode, subtask=name), values)
        if counts:
            macro = stats.macro_average(list(counts.values()))
            correct, n = (sum(count[at] for count in counts.values()) for at in (0, 1))
            limits = {"ci_low": 100 * macro.interval.low, "ci_high": 100 * macro.interval.high}
            values = {"n": n, "answered": n, "correct": correct, "runs": 1, "score": 100 * (macro.mean or 0), **limits}
            values |= {"dropped": found.dropped, "groups": macro.groups}
            yield Row(keys_of(found.system, modality=mode, subtask=AVERAGE), values)


def _counts(right: Sequence[bool]) -> tuple[int, int]:
    return sum(right), len(right)


def _published() -> list[Row]:
    return [
        Row(
            {
                "origin": "published",
                "system": told["system"],
                "modality": told["query_mode"],
                "subtask": _PRINTED[column],
            },
            {"score": number(told[column])},
        )
        for told in published("have_bench_table2")
        for column in _PRINTED
    ]


def comparison_table(systems: Sequence[Asked]) -> Table:
    """Each way of asking in writing against speech, with paired tests by subtask and for the average."""
    rows = [row for found in systems for row in _comparison_rows(found)]
    columns = (
        *(SYSTEM, Column("Written", "modality", form=mode_form, kind="text"), SUBTASK, Column("Items", "n")),
        Column("Speech", "speech_score", form=decimal("speech_score"), group="Score"),
        Column("Writing", "written_score", form=decimal("written_score"), group="Score"),
        *compare.paired_columns("Difference", "Writing", "Speech"),
    )
    about = (
        "What asking in writing adds, on the items of Table 2: difference in percentage points with its 95 % interval "
        "for paired proportions (Newcombe), and McNemar's exact p. p (Holm) is corrected over all subtasks and both "
        "comparisons of a system; the average's p takes the discordant items of all subtasks together and is not among "
        "them. Detectable: the smallest difference that so many items show with a power of 80 % at a level of 5 %, "
        "given the discordance seen."
    )
    return Table("query_modes", "Speech against writing, paired", about, tuple(rows), columns)


def _comparison_rows(found: Asked) -> list[Row]:
    if "speech" not in found.right:
        return []
    pairings = {
        (mode, name): _pairing(found, mode, name)
        for mode in found.right
        if mode != "speech"
        for name in _subtasks(found)
    }
    names = ("written_score", "speech_score")
    values = {" ".join(at): compare.paired_values(pairing, names) for at, pairing in pairings.items()}
    corrected = compare.with_holm(values)
    rows = []
    for mode in dict.fromkeys(mode for mode, _ in pairings):
        own = {name: pairing for (other, name), pairing in pairings.items() if other == mode}
        rows += [_row(found, mode, name, corrected[f"{mode} {name}"]) for name in own]
        rows.append(_row(found, mode, AVERAGE, compare.average_values(list(own.values()), names)))
    return rows


def _row(found: Asked, mode: str, subtask: str, values: Mapping[str, Value]) -> Row:
    told = {name: value for name, value in values.items() if name != "left_out"}
    return Row(keys_of(found.system, modality=mode, subtask=subtask), told)


def _pairing(found: Asked, mode: Mode, subtask: str) -> compare.Pairing:
    items = _in(found, subtask)
    written, spoken = ([found.right[side][item] for item in items] for side in (mode, "speech"))
    return compare.Pairing(stats.paired_difference(written, spoken), 0)


def notes(systems: Sequence[Asked]) -> Iterator[Note]:
    """What is not in Table 2, and who wrote the questions down."""
    for found in systems:
        label = found.system.label
        there = [level for level in ITEM_LEVELS if _logs(found.system, level)]
        apart = [level for level in there if level not in found.levels]
        if apart:
            ways = ", ".join(MODES[mode] for mode in found.right)
            yield Note("Table 2", f"{listed(apart)} left out, as not asked in all of {ways}", label)
        if found.dropped:
            text = f"{found.dropped} dropped from Table 2, for lack of a verdict in one of the ways of asking"
            yield Note("dropped items", text, label)
    by_recogniser: dict[str, list[str]] = {}
    for found in systems:
        if found.recognisers:
            words = " and ".join("the data" if name == asr.DATA else name for name in found.recognisers)
            by_recogniser.setdefault(words, []).append(found.system.label)
    for words, labels in by_recogniser.items():
        told = f" ({listed(labels)})" if len(by_recogniser) > 1 else ""
        yield Note("recogniser", f"the transcripts of ASR+TI are by {words}{told}")
