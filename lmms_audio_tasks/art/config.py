"""Values that ART's YAML files take from Python because they depend on the data source in force.

A YAML file names them as `<key>__<task>`, e.g.
`!function lmms_audio_tasks.art.config.dataset_path__art_sound_reasoning`. The keys are the functions below without
their underscore.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from lmms_audio_tasks import sources
from lmms_audio_tasks.art import SPECS, TaskSpec
from lmms_audio_tasks.art.metadata import FILE, art_folder

VERSION = 1
"""Raised whenever a prompt or a scoring rule changes."""


def _dataset_path(spec: TaskSpec) -> str:
    """The metadata file goes through the host's loader as text; `process_docs` reads and checks it itself."""
    return "text"


def _dataset_kwargs(spec: TaskSpec) -> dict[str, Any]:
    return {"data_files": {"test": str(art_folder(sources.current()) / spec.folder / FILE)}}


def _process_docs(spec: TaskSpec) -> Callable[..., Any]:
    return partial(build, task=spec.name)


def _task_alias(spec: TaskSpec) -> str:
    return demo_label(spec.name)


def _metadata(spec: TaskSpec) -> dict[str, Any]:
    source = sources.current()
    told = {"benchmark": "art", "folder": spec.folder, "modality": spec.modality}
    return {"version": VERSION, **told, "data_source": source.label, "demo": source.demo}


def demo_label(name: str) -> str:
    """`name`, marked where the demo set is in force, so that a demo score cannot pass for a real one."""
    return f"{name} (demo data)" if sources.current().demo else name


def build(dataset: Any, task: str) -> Any:
    """The host's `process_docs`: the documents of `task` from the local folder."""
    from lmms_audio_tasks.art import data

    return data.local_dataset(sources.current(), SPECS[task])


_KEYS: dict[str, Callable[[TaskSpec], Any]] = {
    "dataset_path": _dataset_path,
    "dataset_kwargs": _dataset_kwargs,
    "process_docs": _process_docs,
    "task_alias": _task_alias,
    "metadata": _metadata,
}


def __getattr__(name: str) -> Any:
    key, _, target = name.partition("__")
    if key in _KEYS and target in SPECS:
        return _KEYS[key](SPECS[target])
    if key == "group_alias":
        return demo_label(target)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
