"""Which models a cascade is made of: those given, else those of a preset."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models import demo
from lmms_audio_tasks.models.arguments import choice


@dataclass(frozen=True, slots=True)
class System:
    """The models of a cascade, as the arguments `asr`, `captioner` and `llm` take them."""

    asr: str | None = None
    captioner: str | None = None
    llm: str | None = None


_WHISPER, _LLAMA = "openai/whisper-large-v3", "meta-llama/Llama-3.1-8B-Instruct"
PRESETS = {
    "sakura_asr": System(asr=_WHISPER, llm=_LLAMA),
    "sakura_asr_aac": System(asr=_WHISPER, captioner="audio_lm:Qwen/Qwen2-Audio-7B-Instruct", llm=_LLAMA),
    # Of packages: see `demo`.
    "demo": System(),
}


@dataclass(frozen=True, slots=True)
class Whole:
    """A system that lacks nothing."""

    asr: str
    captioner: str | None
    llm: str


def complete(preset: str | None, given: System, cache: Path) -> Whole:
    """The models to use: those given, else the preset's; `ModelError` if any is missing."""
    filled = System() if preset is None else PRESETS[choice("preset", preset, PRESETS)]
    asr, llm = given.asr or filled.asr, given.llm or filled.llm
    if preset == "demo":
        asr = asr or f"faster-whisper:{demo.whisper_folder()}"
        llm = llm or str(demo.smollm2_folder(cache))
    if asr is None or llm is None:
        missing = " and ".join(name for name, value in (("asr", asr), ("llm", llm)) if value is None)
        raise ModelError(f"cascade needs {missing}=<folder or hub id>, or preset=demo for small models to try it with")
    return Whole(asr, given.captioner or filled.captioner, llm)
