"""Log folders as the host writes them, made from scripted responses by the plugin's own scoring hook."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_audio_tasks.art import SPECS as ART_SPECS
from lmms_audio_tasks.art import utils as art_utils
from lmms_audio_tasks.c3t import utils as c3t_utils
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
    """Write what `lmms_eval --output_path FOLDER --log_samples` leaves of SAKURA's tasks; returns `folder`."""
    asked = {}
    for task in tasks:
        spec = SPECS[task]
        own = docs(spec) if docs else documents(spec, count, source, demo)
        asked[task] = [(doc, script(spec, number, doc)) for number, doc in enumerate(own)]
    told = {"model": model, "model_args": model_args, "date": date, "version": version}
    return write_samples(folder, asked, utils.process_results, **told, config=config, metadata=metadata)


def write_samples(
    folder: Path,
    asked: Mapping[str, Sequence[tuple[Doc, str]]],
    score: Callable[[Doc, Sequence[str]], dict[str, Any]],
    *,
    model: str = "known",
    model_args: str = "",
    date: str = "20260101_120000",
    version: int = 1,
    config: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Path:
    """The same of any benchmark: its documents and responses by task, scored by its `process_results`."""
    folder.mkdir(parents=True, exist_ok=True)
    configs = {}
    for task, pairs in asked.items():
        lines = []
        for number, (doc, response) in enumerate(pairs):
            target = doc["answer"] if "answer" in doc else doc["answers"][0]
            sample = {"doc_id": number, "target": target, "filtered_resps": response, "doc_hash": "0"}
            lines.append({**sample, **score(doc, [response]), "input": doc["prompt"]})
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
        "versions": dict.fromkeys(asked, version),
        "config": {"model": model, "model_args": model_args, "limit": None, "random_seed": 0, **(config or {})},
        "lmms_eval_version": "unknown@unknown",
        "date": date,
    }
    (folder / f"{date}_results.json").write_text(json.dumps(results), "utf-8")
    return folder


def write_art(folder: Path, responses: Mapping[str, Sequence[str]], demo: bool = False, **told: Any) -> Path:
    """A run of ART: what was answered by task (`sound_reasoning`, `sound_reasoning_text`); answers are yes, no in turn.

    Args:
        told: see `write_samples`.
    """
    asked = {}
    for name, said in responses.items():
        spec = ART_SPECS[f"art_{name}"]
        docs = [
            {
                "item_id": f"{spec.folder}_{number}",
                "task": spec.name,
                "folder": spec.folder,
                "modality": spec.modality,
                "template_id": "t",
                "question_id": f"q{number}",
                "prompt": "Yes or no?",
                "answer": "no" if number % 2 else "yes",
                "source": "demo" if demo else "/data",
                "demo": demo,
            }
            for number in range(len(said))
        ]
        asked[spec.name] = list(zip(docs, said, strict=True))
    return write_samples(folder, asked, art_utils.process_results, **told)


ACCENTS = ("Ayr", "Bath", "Cork")
VOICES = (("sixties", "female"), ("sixties", "male"), ("teens", "female"), ("teens", "male"))
Outcome = bool | str | None
"""Right, wrong, a response as it stands, or not asked."""


def write_c3t(
    folder: Path,
    prompts: Mapping[str, Mapping[str, Sequence[Outcome]]],
    task: str = "navigate",
    own_task: str = "",
    demo: bool = False,
    **told: Any,
) -> Path:
    """A run of one C3T task: by prompt and kind, the outcomes of `ACCENTS`, of `VOICES`, and in writing.

    Args:
        own_task: the name of a task that is not one of the paper's, for `task="custom"`.
        told: see `write_samples`.
    """
    asked: dict[str, list[tuple[Doc, str]]] = {}
    for instance, by_kind in prompts.items():
        for kind, outcomes in by_kind.items():
            voices = {"accent": [(accent,) for accent in ACCENTS], "age_gender": VOICES, "text": [()]}[kind]
            for voice, outcome in zip(voices, outcomes, strict=True):
                if outcome is not None:
                    doc = c3t_document(own_task or task, f"c3t_{task}_{kind}", kind, instance, voice, len(voices), demo)
                    said = outcome if isinstance(outcome, str) else "Yes" if outcome else "No"
                    asked.setdefault(doc["task"], []).append((doc, said))
    return write_samples(folder, asked, c3t_utils.process_results, **told)


def c3t_document(
    task_name: str, task: str, kind: str, instance: str, voice: Sequence[str], variants: int, demo: bool
) -> Doc:
    name = "-".join((task_name, instance, *voice)).replace(" ", "_")
    return {
        "item_id": f"{task_name}/{kind}/{instance if kind == 'text' else name}",
        "task": task,
        "task_name": task_name,
        "split": kind,
        "modality": "text" if kind == "text" else "audio",
        "instance_id": instance,
        "sample_id": "" if kind == "text" else name,
        "accent": voice[0] if kind == "accent" else "",
        "age": voice[0] if kind == "age_gender" else "",
        "gender": voice[1] if kind == "age_gender" else "",
        "variants": variants,
        "text_prompt": f"Is {instance} right? Yes or no?",
        "prompt": f"Is {instance} right? Yes or no?" if kind == "text" else "",
        "answers": ["Yes"],
        "options": ["Yes", "No"],
        "source": "demo" if demo else "/data",
        "demo": demo,
    }


def edit_samples(folder: Path, task: str, change: Callable[[list[Any]], None]) -> Path:
    """Change the samples of one task in place: `change` gets the list of its lines' objects."""
    (path,) = folder.glob(f"*_samples_{task}.jsonl")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    change(lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path
