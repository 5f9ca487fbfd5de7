"""HAVE-Bench: sound and pictures together, from perception over reasoning to interaction along judged task graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lmms_audio_tasks.registry import Benchmark, TaskInfo

Level = Literal["perception", "reasoning"]
Mode = Literal["speech", "text", "asr"]

ITEM_LEVELS: tuple[Level, ...] = ("perception", "reasoning")
"""The levels of `items.jsonl`; the third, interaction, is in `graphs.jsonl`."""
ROLES = ("AaI", "AaC")
"""Audio as instruction (the question is spoken) and audio as context (the question is written)."""
PUBLISHED_ITEMS = {"perception": 1172, "reasoning": 1016, "interaction": 263}
KNOWN_SUBTASKS = {
    "instructed_recognition": ("perception", "AaI"),
    "text_rich_qa": ("perception", "AaI"),
    "math": ("reasoning", "AaI"),
    "multi_disciplinary_reasoning": ("reasoning", "AaI"),
    "cross_modal_matching": ("perception", "AaC"),
    "audio_grounded_vqa": ("perception", "AaC"),
    "discourse_reasoning": ("reasoning", "AaC"),
    "navigation": ("interaction", ""),
    "puzzle": ("interaction", ""),
    "music_reproduction": ("interaction", ""),
}
"""The subtasks that the source names, with level and role; it counts eleven and leaves one without a name. Which
subtasks there are is up to the data: nothing here is needed for a set to be valid."""
ITEMS_FILE = "items.jsonl"
GRAPHS_FILE = "graphs.jsonl"
PAPER = "HAVE-Bench: Hierarchical Audio-Visual Evaluation from Perception to Interaction"
ORIGIN = "a folder of your own; nothing is published"


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """What one task of the levels perception and reasoning asks; the interaction tasks are in `interaction_data`.

    Attributes:
        mode: how the question of an AaI item is put: spoken (`speech`), in writing (`text`), or as a recogniser wrote
            it down (`asr`). The latter two hold the AaI items only.
    """

    name: str
    level: Level
    mode: Mode


def _specs() -> dict[str, TaskSpec]:
    endings: dict[Mode, str] = {"speech": "", "text": "_text", "asr": "_asr"}
    specs = [TaskSpec(f"have_{level}{end}", level, mode) for mode, end in endings.items() for level in ITEM_LEVELS]
    return {spec.name: spec for spec in specs}


SPECS = _specs()
INTERACTION = {
    "have_interaction": "generate_until_multi_round",
    "have_interaction_agentic": "generate_until_agentic",
}
"""The interaction tasks, and the host's way of asking in rounds: two forms of one task, the second for any model."""


def _info(name: str, items: int | None, output: str = "generate_until") -> TaskInfo:
    return TaskInfo(name, "have_bench", items, output, ORIGIN, PAPER)


BENCHMARK = Benchmark(
    name="have_bench",
    title="sound and pictures together: perception, reasoning, and interaction along task graphs",
    judged=True,
    tasks=(
        # How many of the items are AaI is not published.
        *(_info(s.name, PUBLISHED_ITEMS[s.level] if s.mode == "speech" else None) for s in SPECS.values()),
        *(_info(name, PUBLISHED_ITEMS["interaction"], output) for name, output in INTERACTION.items()),
    ),
    groups={
        "have_bench": ("have_perception", "have_reasoning", "have_interaction"),
        "have_bench_text": ("have_perception_text", "have_reasoning_text"),
        "have_bench_asr": ("have_perception_asr", "have_reasoning_asr"),
    },
)
