"""Log folders as the host writes them, made from scripted responses by the plugin's own scoring hook."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lmms_audio_tasks.sakura import SPECS, TRACKS, TaskSpec, utils
from lmms_audio_tasks.sakura.data import CAPTIONS

LABELS = {
    "gender": ("female", "male"),
    "language": ("French", "German", "Korean", "Spanish"),
    "emotion": ("angry", "fear", "happy", "sad"),
    "animal": ("cat", "cow", "dog", "hen"),
}
LETTERS = "abcd"
Doc = dict[str, Any]
Script = Callable[[TaskSpec, int, Doc], str]
"""What a model answers to the n-th item of a task."""


def documents(spec: TaskSpec, count: int, source: str = "/data", demo: bool = False) -> list[Doc]:
    """Items of one task: labels in turn; the right option is the label's own in both hops."""
    labels = LABELS[spec.track]
    listing = " ".join(f"({letter}) {label}" for letter, label in zip(LETTERS, labels, strict=False))
    docs = []
    for number in range(count):
        label = labels[number % len(labels)]
        caption = f"{CAPTIONS[spec.track].format(label)}\n" if spec.text else ""
        docs.append(
            {
                "item_id": f"{spec.track}/clip_{number}.wav",
                "task": spec.name,
                "track": spec.track,
                "hop": spec.hop,
                "modality": "text" if spec.text else "audio",
                "attribute": label,
                "prompt": f"{caption}Question {number}, {spec.hop}? {listing}",
                "answer": f"({LETTERS[labels.index(label)]}) {label}",
                "source": source,
                "demo": demo,
            }
        )
    return docs


def right(doc: Doc) -> str:
    return doc["answer"]


def wrong(doc: Doc) -> str:
    """The option after the right one, the first after the last."""
    options = doc["prompt"].rpartition("? ")[2].split(" (")
    options = [options[0], *(f"({rest}" for rest in options[1:])]
    return options[(options.index(doc["answer"]) + 1) % len(options)]


def known(right_items: Mapping[str, Mapping[str, int]]) -> Script:
    """Right on the first so many items, told as `{"single" | "multi" | "text": {track: count}}`; wrong on the rest."""

    def script(spec: TaskSpec, number: int, doc: Doc) -> str:
        setting = "text" if spec.text else spec.hop
        return right(doc) if number < right_items[setting][spec.track] else wrong(doc)

    return script


def everywhere(count: int) -> dict[str, int]:
    return dict.fromkeys(TRACKS, count)


def write_run(
    folder: Path,
    script: Script,
    *,
    model: str = "known",
    model_args: str = "",
    date: str = "20260101_120000",
    count: int = 4,
    tasks: tuple[str, ...] = tuple(SPECS),
    docs: Callable[[TaskSpec], list[Doc]] | None = None,
    source: str = "/data",
    demo: bool = False,
    version: int = 1,
    config: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Path:
    """Write what `lmms_eval --output_path FOLDER --log_samples` leaves; returns `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    configs = {}
    for task in tasks:
        spec = SPECS[task]
        lines = []
        for number, doc in enumerate(docs(spec) if docs else documents(spec, count, source, demo)):
            response = script(spec, number, doc)
            sample = {"doc_id": number, "target": doc["answer"], "filtered_resps": response, "doc_hash": "0"}
            lines.append({**sample, **utils.process_results(doc, [response]), "input": doc["prompt"]})
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (folder / f"{date}_samples_{task}.jsonl").write_text(text, "utf-8", "surrogatepass")
        configs[task] = {
            "task": task,
            "generation_kwargs": {"max_new_tokens": 512},
            "metadata": {"version": version, **(metadata or {})},
        }
    results = {
        "results": {},
        "configs": configs,
        "versions": dict.fromkeys(tasks, version),
        "config": {"model": model, "model_args": model_args, "limit": None, "random_seed": 0, **(config or {})},
        "lmms_eval_version": "unknown@unknown",
        "date": date,
    }
    (folder / f"{date}_results.json").write_text(json.dumps(results), "utf-8")
    return folder


def edit_samples(folder: Path, task: str, change: Callable[[list[Any]], None]) -> Path:
    """Change the samples of one task in place: `change` gets the list of its lines' objects."""
    (path,) = folder.glob(f"*_samples_{task}.jsonl")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    change(lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path
