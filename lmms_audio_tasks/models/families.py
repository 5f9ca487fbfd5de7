"""What kinds of audio language models need beyond the common path; most need nothing.

Seen on transformers 5.24 with random models of each kind. The key is the config's `model_type`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """The quirks of one kind of model.

    Attributes:
        leaks: beside a longer recording it answers otherwise than alone, as its encoder does not mask the padding;
            such models are given recordings of equal length only. None: not known, to be tried at load.
        chunks: it reads recordings in windows one after another, so that the extractor's window is no limit.
        encoded: it takes recordings as base64 WAV files, not as samples.
        pairs: its processor refuses other than one recording a conversation, though the model takes any number.
        adapter: the folder inside the checkpoint of LoRA weights without which it does not understand audio.
    """

    leaks: bool | None = False
    chunks: bool = False
    encoded: bool = False
    pairs: bool = False
    adapter: str | None = None


FAMILIES = {
    "audioflamingo3": Family(chunks=True, pairs=True),
    "gemma3n": Family(leaks=True),
    "gemma4": Family(),
    "glmasr": Family(chunks=True, pairs=True),
    "granite_speech": Family(leaks=True),
    "musicflamingo": Family(chunks=True, pairs=True),
    "phi4_multimodal": Family(leaks=True, adapter="speech-lora"),
    "qwen2_5_omni_thinker": Family(),
    "qwen2_audio": Family(),
    "voxtral": Family(chunks=True, encoded=True),
}
UNKNOWN = Family(leaks=None)


def family_of(model_type: str) -> Family:
    """The quirks of models of this type; none but an unknown leak where the type is not listed."""
    return FAMILIES.get(model_type, UNKNOWN)
