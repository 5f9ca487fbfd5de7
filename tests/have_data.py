"""Small HAVE-Bench sets made on the spot."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from conftest import tone
from PIL import Image

MCQ = {"choices": ["a cat", "a dog", "a hen"], "answer": "a dog", "kind": "mcq"}
OPEN = {"choices": [], "answer": "a red kite", "kind": "open"}


def item(name: str, role: str = "AaI", level: str = "perception", **fields: Any) -> dict[str, Any]:
    """A sound line of `items.jsonl`; an mcq item unless told otherwise."""
    spoken = role == "AaI"
    return {
        "id": name,
        "level": level,
        "role": role,
        "subtask": "looking" if spoken else "matching",
        "images": ["images/one.png"],
        "audios": ["audio/one.wav"],
        "question": f"What is it, {name}?",
        "spoken": spoken,
        **MCQ,
        **fields,
    }


def default_items() -> list[dict[str, Any]]:
    """Four perception items in two subtasks and three reasoning items in one, both roles, both kinds."""
    return [
        item("p1", asr="what is it p one"),
        item("p2", asr="", **OPEN),
        item("p3", "AaC", images=["images/one.png", "images/two.png"]),
        item("p4", "AaC", audios=["audio/one.wav", "audio/two.wav"], **OPEN),
        item("r1", level="reasoning", subtask="sums", asr="heard wrongly", transcript="What is it, r1?"),
        item("r2", level="reasoning", subtask="sums", asr="how many", **{**OPEN, "answer": "1,000"}),
        item("r3", "AaC", level="reasoning", subtask="sums"),
    ]


def write_items(root: Path, lines: Iterable[Mapping[str, Any] | str]) -> Path:
    """`root/have_bench/items.jsonl`; a text is a line as it stands."""
    path = root / "have_bench" / "items.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("".join(f"{text}\n" for text in texts), "utf-8")
    return path


def make(root: Path, lines: Iterable[Mapping[str, Any] | str] | None = None) -> Path:
    """A folder with `have_bench/` in it: the items and two pictures and recordings; returns `root`."""
    folder = write_items(root, default_items() if lines is None else lines).parent
    for name in ("images", "audio"):
        (folder / name).mkdir(exist_ok=True)
    for name, colour in (("one", "red"), ("two", "blue")):
        Image.new("RGB", (12, 8), colour).save(folder / "images" / f"{name}.png")
        tone(folder / "audio" / f"{name}.wav", 0.2)
    return root
