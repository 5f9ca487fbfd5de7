"""What a reader of C3T's tables must know: kinds that were not run, prompts cut apart, voices that are missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from lmms_audio_tasks.c3t import KINDS
from lmms_audio_tasks.report.c3t.joined import Joined, of_all
from lmms_audio_tasks.report.c3t.shared import kind_title
from lmms_audio_tasks.report.document import Note
from lmms_audio_tasks.report.notes import all_or_listed, listed

PUBLISHED = Note(
    "published",
    "no definition over nested sets of voices gives the printed Table 1: Qwen2-Audio's c.a. row has an overall "
    "fairness of 0.0092 above its age fairness of 0.0057, and age equals gender fairness in all four c.a. rows",
)
_NEEDS = {
    ("accent",): "dialect fairness",
    ("age_gender",): "age and gender fairness",
    ("accent", "age_gender"): "overall fairness",
    ("text",): "textual exact match and the constraint c.a.",
    ("accent", "age_gender", "text"): "robustness",
}
"""What can be told only where these kinds of one task were run."""


def of_system(system: Joined) -> Iterator[Note]:
    """Everything to be told of one system."""
    label = system.system.label
    yield from _missing_kinds(system)
    if system.cut:
        told = ", ".join(f"{task} {count}" for task, count in system.cut.items())
        text = f"prompts that were not asked in all voices (--limit cuts so) are in the accuracy by kind only: {told}"
        yield Note("cut prompts", text, label)
    for row in of_all(system.found["rows"]):
        if row["constraint"] == "none" and row["incomplete"]:
            why = f" ({system.failed} items failed in the model)" if system.failed else ""
            text = f"{row['incomplete']} of {row['prompts']} prompts lack a voice or their answer in writing{why}"
            yield Note("incomplete", f"{text}; they are judged on what they have", label)


def _missing_kinds(system: Joined) -> Iterator[Note]:
    by_gap: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for task, kinds in system.kinds.items():
        gap = tuple(kind for kind in KINDS if kind not in kinds)
        if gap:
            by_gap[gap].append(task)
    for gap, tasks in by_gap.items():
        lost = [what for kinds, what in _NEEDS.items() if set(kinds) & set(gap)]
        kinds_told = " and ".join(f"{kind} ({kind_title(kind)})" for kind in gap)
        where = all_or_listed(tasks, len(system.kinds))
        yield Note("kinds", f"no run of {kinds_told} in {where}, so no {listed(lost)} there", system.system.label)
