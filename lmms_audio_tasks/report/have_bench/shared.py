"""What HAVE-Bench's tables have in common: levels and subtasks as people read them, keys, columns and forms."""

from __future__ import annotations

from lmms_audio_tasks.have_bench import INTERACTION, KNOWN_SUBTASKS, SPECS
from lmms_audio_tasks.report.document import Column, Form, Row, decimal
from lmms_audio_tasks.report.systems import System

AVERAGE = "average"
"""How rows name the plain mean over subtasks."""
LEVEL_TASKS: dict[str, str] = {
    **{spec.level: name for name, spec in SPECS.items() if spec.mode == "speech"},
    **{name.removeprefix("have_"): name for name in INTERACTION},
}
"""Each level's task. The agentic form of interaction is a level of its own here: another protocol, never mixed in."""
LEVEL_TITLES = {
    "perception": "Perception",
    "reasoning": "Reasoning",
    "interaction": "Interaction",
    "interaction_agentic": "Interaction, agentic",
}
PAPER_LEVELS = ("perception", "reasoning", "interaction")
PLAYED = ("interaction", "interaction_agentic")


_SUBTASK_TITLES = {
    AVERAGE: "Average",
    "text_rich_qa": "Text-rich QA",
    "multi_disciplinary_reasoning": "Multi-disciplinary reasoning",
    "cross_modal_matching": "Cross-modal matching",
    "audio_grounded_vqa": "Audio-grounded VQA",
}


def level_form(row: Row) -> str:
    """A row's level as people read it."""
    return LEVEL_TITLES[row.keys["level"]]


def subtask_title(name: str) -> str:
    """A subtask as people read it."""
    text = name.replace("_", " ")
    return _SUBTASK_TITLES.get(name, text[:1].upper() + text[1:])


def subtask_form(row: Row) -> str:
    """A row's subtask as people read it."""
    return subtask_title(row.keys["subtask"])


def subtask_order(name: str) -> tuple[int, str]:
    """The source's subtasks in its order, then others by name, and the average last."""
    known = list(KNOWN_SUBTASKS)
    if name == AVERAGE:
        return len(known) + 1, ""
    return (known.index(name), "") if name in known else (len(known), name)


def keys_of(system: System, **more: str) -> dict[str, str]:
    """A row's keys."""
    return {"origin": system.origin, "system": system.label, **more}


LEVEL = Column("Level", "level", form=level_form, kind="text")
SUBTASK = Column("Subtask", "subtask", form=subtask_form, kind="text")


def score_form(row: Row) -> str:
    """A score with its interval. Where answers are unjudged it is not known: the ends between which it lies."""
    score, low, high = (row.get(name) for name in ("score", "ci_low", "ci_high"))
    if score is not None:
        return f"{ONE(row)} [{low:.1f}, {high:.1f}]" if low is not None else ONE(row)
    if row.get("unjudged"):
        return f"{row.get('least'):.1f}–{row.get('greatest'):.1f} ({row.get('unjudged')} unjudged)"
    return f"– ({row.get('failed')} failed)" if row.get("failed") else "–"


def runs_form(row: Row) -> str:
    """How many runs a score is the mean of, and how far they lie apart; "" for a published one."""
    runs, sd, low, high = (row.get(name) for name in ("runs", "sd", "lowest", "highest"))
    if runs is None:
        return ""
    if runs == 1:
        return "1 run"
    return f"{runs} runs" if sd is None else f"{runs} runs, sd {sd:.1f} ({low:.1f} to {high:.1f})"


def counted(row: Row) -> str:
    """What a score is made of; "" for a published one."""
    if row.get("answered") is None:
        return ""
    told = f"{row.get('correct')} of {row.get('answered')} right"
    return told + (f" over {row.get('runs')} runs" if row.get("runs") != 1 else "")


ONE: Form = decimal("score")
