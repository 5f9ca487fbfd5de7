"""SAKURA: single-hop and multi-hop questions about speech and audio, in four tracks."""

from __future__ import annotations

from dataclasses import dataclass

from lmms_audio_tasks.registry import Benchmark, TaskInfo

TRACKS = ("gender", "language", "emotion", "animal")
HOPS = ("single", "multi")
PAPER = "SAKURA: On the Multi-hop Reasoning of Large Audio-Language Models Based on Speech and Audio Information"
HUB_OWNER = "SLLM-multi-hop"
_ITEMS = 500


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """What one SAKURA task asks: `hop` picks the question, `text` replaces the audio by a caption (Table 3)."""

    name: str
    track: str
    hop: str
    text: bool

    @property
    def folder(self) -> str:
        """The track's name in the official layout and on the hub, e.g. `Animal`."""
        return self.track.capitalize()

    @property
    def hub_id(self) -> str:
        """The data set's id on the hub."""
        return f"{HUB_OWNER}/{self.folder}QA"


def _specs() -> dict[str, TaskSpec]:
    audio = [TaskSpec(f"sakura_{hop}_{track}", track, hop, text=False) for hop in HOPS for track in TRACKS]
    text = [TaskSpec(f"sakura_multi_{track}_text", track, "multi", text=True) for track in TRACKS]
    return {spec.name: spec for spec in audio + text}


SPECS = _specs()

BENCHMARK = Benchmark(
    name="sakura",
    title="multi-hop reasoning over speech and audio",
    judged=True,
    tasks=tuple(TaskInfo(spec.name, "sakura", _ITEMS, "generate_until", spec.hub_id, PAPER) for spec in SPECS.values()),
    groups={
        "sakura": ("sakura_single", "sakura_multi", "sakura_text"),
        "sakura_single": tuple(f"sakura_single_{track}" for track in TRACKS),
        "sakura_multi": tuple(f"sakura_multi_{track}" for track in TRACKS),
        "sakura_text": tuple(f"sakura_multi_{track}_text" for track in TRACKS),
    },
)
