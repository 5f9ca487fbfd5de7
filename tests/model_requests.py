"""Recordings of noise, and requests about them as the host makes them for chat models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from lmms_eval.api.instance import Instance

RATE = 16_000
GREEDY: dict[str, Any] = {"max_new_tokens": 12, "do_sample": False, "temperature": 0, "until": []}
Conversation = Sequence[Mapping[str, Any]]


def noise(seed: int, seconds: float) -> np.ndarray:
    """Mono float32 at 16 kHz, of another colour for each seed."""
    generator = np.random.default_rng(seed)
    white = generator.standard_normal(round(seconds * RATE))
    colour = np.convolve(white, generator.standard_normal(32), mode="same")
    return (0.3 * colour / np.abs(colour).max()).astype(np.float32)


def write_noise(path: Path, seed: int, seconds: float = 1.0) -> Path:
    soundfile.write(path, noise(seed, seconds), RATE)
    return path


def user(*parts: Any) -> dict[str, Any]:
    """A turn of texts (str), recordings (a path, bytes or array dict) and images (of Pillow), in order."""
    return {"role": "user", "content": [_part(part) for part in parts]}


def _part(part: Any) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if hasattr(part, "convert"):
        return {"type": "image", "url": part}
    return {"type": "audio", "url": str(part) if isinstance(part, Path) else part}


def requests(
    model: Any, conversations: Sequence[Conversation], generation: Mapping[str, Any] = GREEDY, task: str = "sounds"
) -> list[Instance]:
    """One request a conversation."""
    model.task_dict[task] = {"test": [{"messages": conversation} for conversation in conversations]}
    return [
        Instance(
            "generate_until",
            ("", lambda doc: doc["messages"], dict(generation), number, task, "test"),
            0,
            {"task": task, "doc_id": number, "repeats": 1},
        )
        for number in range(len(conversations))
    ]


def ask(
    model: Any, conversations: Sequence[Conversation], generation: Mapping[str, Any] = GREEDY, task: str = "sounds"
) -> list[str]:
    """The model's answers."""
    return model.generate_until(requests(model, conversations, generation, task))
