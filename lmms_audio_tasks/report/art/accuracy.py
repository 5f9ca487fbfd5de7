"""ART's score by task, the answers behind it, and how far a system leans to yes."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_audio_tasks import stats
from lmms_audio_tasks.records import Verdict
from lmms_audio_tasks.report import tables as common
from lmms_audio_tasks.report.art.counts import ALL, MODALITIES, Counts, by_task, task_logs
from lmms_audio_tasks.report.art.shared import QUESTION, TASK, keys_of
from lmms_audio_tasks.report.document import FROM, SYSTEM, Column, Row, Table, Value, decimal, with_interval
from lmms_audio_tasks.report.systems import System
from lmms_audio_tasks.report.tables import Tally


def share(k: int, n: int) -> Value:
    """`k` of `n` in percent; None for n = 0."""
    return 100 * k / n if n else None


def interval(k: int, n: int, prefix: str) -> dict[str, Value]:
    """Wilson's limits in percent as `<prefix>ci_low` and `<prefix>ci_high`; None for n = 0."""
    low, high = stats.wilson(k, n) if n else (None, None)
    told = (("ci_low", low), ("ci_high", high))
    return {f"{prefix}{name}": None if limit is None else 100 * limit for name, limit in told}


def accuracy_values(counts: Counts) -> dict[str, Value]:
    """The figures of one line of the accuracy table."""
    n = counts.scored
    return {
        **common.accuracy(counts.exact, n, "wilson"),
        "official": share(counts.exact, counts.items),
        "lenient": share(counts.lenient, n),
        **interval(counts.lenient, n, "lenient_"),
        "neither": share(counts.neither, n),
        "yes_rate": share(counts.yes, n),
        "gold_yes_rate": share(counts.gold_yes, n),
        "errors": counts.items - n,
    }


def of_all(system: System, modality: str, task: str) -> dict[str, Value]:
    """How many tasks are in a line that takes tasks together; {} for a line of one task."""
    return {"tasks": len(task_logs(system, modality))} if task == ALL else {}


def accuracy_table(systems: Sequence[System]) -> Table:
    """Exact match, the lenient reading, the share of neither, and yes beside the answers' own yes."""
    rows = [
        Row(keys_of(system, modality, task), {**accuracy_values(counts), **of_all(system, modality, task)})
        for system in systems
        for modality, task, counts in by_task(system)
    ]
    failed = any(row.get("errors") for row in rows)
    columns = (
        *(SYSTEM, FROM, TASK, QUESTION, Column("Responses", "n")),
        Column("Exact match", "accuracy", form=with_interval("accuracy", "wilson"), tip=_counted),
        Column("Lenient", "lenient", form=with_interval("lenient", "wilson", prefix="lenient_")),
        Column("Neither", "neither", form=decimal("neither")),
        Column("Yes", "yes_rate", form=decimal("yes_rate")),
        Column("Yes is right", "gold_yes_rate", form=decimal("gold_yes_rate")),
        Column("Failed", "errors"),
        *((Column("Failed as wrong", "official", form=decimal("official")),) if failed else ()),
    )
    about = (
        "In % of the responses, with Wilson's 95 % interval. Exact match is the official score; all tasks are pooled "
        "over their items, as the official overall accuracy is. Lenient: exactly one of yes and no is asserted, and it "
        "is right. Neither: the response asserts neither of them, or both. Yes, beside the share of items to which yes "
        "is right: what lies between is bias."
    )
    if failed:
        about += (
            " Failed items are no responses; the official script would count them as wrong (last column), as it does "
            "with missing predictions."
        )
    return Table("accuracy", "Exact match by task", about, tuple(rows), columns)


def _counted(row: Row) -> str:
    return f"{row.get('correct')} of {row.get('n')}"


def bias_values(counts: Counts) -> dict[str, Value]:
    """The figures of one line of the yes-bias table."""
    n, asserted = counts.scored, counts.yes + counts.no
    gold_no = n - counts.gold_yes
    return {
        "n": n,
        "yes_rate": share(counts.yes, n),
        **interval(counts.yes, n, "yes_"),
        "no_rate": share(counts.no, n),
        "gold_yes_rate": share(counts.gold_yes, n),
        "asserted": asserted,
        "yes_of_asserted": share(counts.yes, asserted),
        **interval(counts.yes, asserted, "asserted_"),
        "gold_yes_of_asserted": share(counts.asserted_gold_yes, asserted),
        "bias": 100 * (counts.yes - counts.asserted_gold_yes) / asserted if asserted else None,
        "right_where_yes": share(counts.exact_yes, counts.gold_yes),
        "right_where_no": share(counts.exact - counts.exact_yes, gold_no),
    }


def bias_table(systems: Sequence[System]) -> Table:
    """How often yes was said, how often it was right, and how each answer's items fared."""
    rows = [
        Row(keys_of(system, modality, task), {**bias_values(counts), **of_all(system, modality, task)})
        for system in systems
        for modality, task, counts in by_task(system)
    ]
    columns = (
        *(SYSTEM, TASK, QUESTION),
        Column("Yes", "yes_rate", form=with_interval("yes_rate", "wilson", prefix="yes_"), group="All responses"),
        Column("No", "no_rate", form=decimal("no_rate"), group="All responses"),
        Column("Number", "asserted", group="Yes/no responses"),
        Column(
            "Yes",
            "yes_of_asserted",
            form=with_interval("yes_of_asserted", "wilson", prefix="asserted_"),
            group="Yes/no responses",
        ),
        Column(
            "Yes is right",
            "gold_yes_of_asserted",
            form=decimal("gold_yes_of_asserted"),
            group="Yes/no responses",
        ),
        Column("Bias", "bias", form=decimal("bias", sign=True), group="Yes/no responses"),
        Column("Yes", "right_where_yes", form=decimal("right_where_yes"), group="Exact match if right is"),
        Column("No", "right_where_no", form=decimal("right_where_no"), group="Exact match if right is"),
    )
    about = (
        "In %, with Wilson's 95 % intervals. Bias: how much more often yes was said than it was right, in percentage "
        "points, among the responses that assert one of the two; so a system that often says neither is not taken for "
        "one that leans to no."
    )
    return Table("yes_bias", "Yes-bias", about, tuple(rows), columns)


_VERDICTS: dict[Verdict, str] = {
    "correct": "Exact",
    "wrong": "Other answer, or more words",
    "none": "Neither",
    "several": "Both",
    "error": "Model failed",
}


def verdict_table(systems: Sequence[System]) -> Table:
    """Errors by kind."""
    rows = [
        common.verdict_row(keys_of(system, modality, task), Tally.of(log.records))
        for system in systems
        for modality in MODALITIES
        for task, log in task_logs(system, modality)
    ]
    return common.verdict_table(rows, (SYSTEM, TASK, QUESTION), _VERDICTS)
