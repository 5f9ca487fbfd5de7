"""C3T: whether a language model's skills survive when its prompts are spoken, by whom ever they are spoken."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from lmms_audio_tasks.registry import OWN_DATA, Benchmark, TaskInfo

TASK_NAMES = (
    "causal_judgement",
    "disambiguation_qa",
    "formal_fallacies",
    "hyperbaton",
    "movie_recommendation",
    "navigate",
    "object_counting",
    "reasoning_about_colored_objects",
    "snarks",
    "sports_understanding",
    "web_of_lies",
)
"""The eleven BIG-Bench-Hard tasks that could be spoken (section 4 of the paper)."""
SPLITS = ("accent", "age_gender")
"""The spoken splits."""
KINDS = (*SPLITS, "text")
PAPER = "Preservation of Language Understanding Capabilities in Speech-aware Large Language Models"
HUB_ID = "amu-cai/C3T"
CUSTOM = "custom"
"""Stands for all tasks in a folder that are not among the eleven, such as `lmms-audio-tasks synthesize` makes."""


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """What one C3T task asks: `kind` is the split of the spoken prompts, or `text` for the prompts in writing."""

    name: str
    task_name: str
    kind: str

    @property
    def text(self) -> bool:
        """Whether the prompts are given in writing, each once."""
        return self.kind == "text"

    @property
    def custom(self) -> bool:
        """Whether it asks the folder's tasks that are not among the eleven, all of them; the hub has none."""
        return self.task_name == CUSTOM

    @property
    def hub_config(self) -> str:
        """The configuration's name on the hub, e.g. `causal-judgement`."""
        return self.task_name.replace("_", "-")


def _specs() -> dict[str, TaskSpec]:
    specs = [TaskSpec(f"c3t_{task}_{kind}", task, kind) for kind in KINDS for task in TASK_NAMES]
    return {spec.name: spec for spec in specs}


SPECS = _specs()
"""The benchmark's own tasks."""
CUSTOM_SPECS = {f"c3t_{CUSTOM}_{kind}": TaskSpec(f"c3t_{CUSTOM}_{kind}", CUSTOM, kind) for kind in KINDS}
"""The same three kinds for tasks of the user's own; not part of the group `c3t`."""
ALL_SPECS = {**SPECS, **CUSTOM_SPECS}

BENCHMARK = Benchmark(
    name="c3t",
    title="the same prompts spoken by many voices, and in writing",
    # How the 2,470 prompts are spread over the eleven tasks is not published.
    tasks=tuple(
        TaskInfo(spec.name, "c3t", None, "generate_until", OWN_DATA if spec.custom else HUB_ID, PAPER)
        for spec in ALL_SPECS.values()
    ),
    groups={
        "c3t": tuple(f"c3t_{kind}" for kind in KINDS),
        **{f"c3t_{kind}": tuple(spec.name for spec in SPECS.values() if spec.kind == kind) for kind in KINDS},
        f"c3t_{CUSTOM}": tuple(CUSTOM_SPECS),
    },
)


@lru_cache(maxsize=256)
def task_named(name: str) -> str | None:
    """The one of the eleven tasks that `name` means, None for any other.

    Case, blanks and hyphens do not matter, nor does what stands before it: `causal-judgement` and
    `leaderboard_bbh_causal_judgement` are `causal_judgement`.
    """
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return next((task for task in TASK_NAMES if plain == task or plain.endswith(f"_{task}")), None)


def table_of(name: str) -> str:
    """Whose rows those of the task `name` are: one of the eleven, or `CUSTOM`."""
    return task_named(name) or CUSTOM
