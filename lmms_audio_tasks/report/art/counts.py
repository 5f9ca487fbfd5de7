"""The counts from which every share of ART's report is made; those of several tasks add up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from lmms_audio_tasks.art import FOLDERS, SPECS
from lmms_audio_tasks.records import Record
from lmms_audio_tasks.report.load import TaskLog
from lmms_audio_tasks.report.systems import System

ALL = "all"
"""How rows name the tasks taken together."""
MODALITIES = ("audio", "text")
"""How the question is put: spoken only, or spoken and written."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How often what was answered.

    Attributes:
        items: all items, those on which the model failed too.
        scored: responses; all counts below are among them.
        exact: right by the official rule.
        lenient: right by the lenient reading.
        yes, no: responses that assert this answer alone.
        gold_yes: items whose answer is yes.
        exact_yes: right by the official rule where the answer is yes.
        asserted_gold_yes: items whose answer is yes among responses that assert one answer.
    """

    items: int = 0
    scored: int = 0
    exact: int = 0
    lenient: int = 0
    yes: int = 0
    no: int = 0
    gold_yes: int = 0
    exact_yes: int = 0
    asserted_gold_yes: int = 0

    @classmethod
    def of(cls, records: Iterable[Record]) -> Counts:
        """The counts of records."""
        records = list(records)
        scored = [record for record in records if record.verdict != "error"]
        exact = [record for record in scored if record.verdict == "correct"]
        asserted = [record for record in scored if record.chosen]
        return cls(
            items=len(records),
            scored=len(scored),
            exact=len(exact),
            lenient=sum(record.chosen == record.golden for record in asserted),
            yes=sum(record.chosen == "yes" for record in asserted),
            no=sum(record.chosen == "no" for record in asserted),
            gold_yes=sum(record.golden == "yes" for record in scored),
            exact_yes=sum(record.golden == "yes" for record in exact),
            asserted_gold_yes=sum(record.golden == "yes" for record in asserted),
        )

    @classmethod
    def pooled(cls, found: Iterable[Counts]) -> Counts:
        """The counts of several tasks together, all 0 of none."""
        found = list(found)
        return cls(*(sum(getattr(counts, field.name) for counts in found) for field in fields(cls)))

    @property
    def neither(self) -> int:
        """Responses that assert neither answer, or both."""
        return self.scored - self.yes - self.no


def task_logs(system: System, modality: str) -> list[tuple[str, TaskLog]]:
    """The system's logs of one way to ask, with the tasks' names as rows have them, in the order of the tasks."""
    names = {spec.folder: name for name, spec in SPECS.items() if spec.modality == modality}
    return [(folder, system.logs[names[folder]]) for folder in FOLDERS if names[folder] in system.logs]


def by_task(system: System) -> list[tuple[str, str, Counts]]:
    """Modality, task and counts: task by task and then all together, where there is more than one."""
    found = []
    for modality in MODALITIES:
        counts = [(task, Counts.of(log.records)) for task, log in task_logs(system, modality)]
        found += [(modality, task, told) for task, told in together(counts)]
    return found


def together(counts: Sequence[tuple[str, Counts]]) -> list[tuple[str, Counts]]:
    """The same, followed by all tasks together where there is more than one."""
    return [*counts, *([(ALL, Counts.pooled(told for _, told in counts))] if len(counts) > 1 else [])]
