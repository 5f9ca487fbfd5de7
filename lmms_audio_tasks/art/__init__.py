"""ART: yes/no questions, spoken inside the audio, that take reasoning over what else is heard."""

from __future__ import annotations

from dataclasses import dataclass

from lmms_audio_tasks.registry import Benchmark, TaskInfo

FOLDERS = (
    "audio_arithmetics",
    "audio_transformation_detection",
    "cross_recording_language_identification",
    "cross_recording_speaker_identification",
    "selective_text_inference",
    "sound_reasoning",
    "speech_features_comparison",
    "text_and_sound_reasoning",
    "text_and_temporal_localization_reasoning",
)
"""The tasks' folders in the authors' repository, in its order."""

ANSWERS = ("yes", "no")
ITEMS = 1000
"""Items of each task in the full data, half of them with the answer yes."""

PAPER = "A Benchmark for Audio Reasoning Capabilities of Multimodal Large Language Models"
ORIGIN = "github.com/SamsungLabs/ART"


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """What one ART task asks: `text` puts the question as text beside the audio, which the paper does not do."""

    name: str
    folder: str
    text: bool

    @property
    def modality(self) -> str:
        """How the question is put: `audio` (spoken only) or `text` (spoken and written)."""
        return "text" if self.text else "audio"


def _specs() -> dict[str, TaskSpec]:
    spoken = [TaskSpec(f"art_{folder}", folder, text=False) for folder in FOLDERS]
    written = [TaskSpec(f"art_{folder}_text", folder, text=True) for folder in FOLDERS]
    return {spec.name: spec for spec in spoken + written}


SPECS = _specs()

BENCHMARK = Benchmark(
    name="art",
    title="yes/no questions spoken in the audio, which take reasoning over sounds and speech",
    tasks=tuple(TaskInfo(name, "art", ITEMS, "generate_until", ORIGIN, PAPER) for name in SPECS),
    groups={
        "art": tuple(name for name, spec in SPECS.items() if not spec.text),
        "art_text": tuple(name for name, spec in SPECS.items() if spec.text),
    },
)
