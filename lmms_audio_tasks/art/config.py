"""Values that ART's YAML files take from Python because they depend on the data source in force.

See `yaml_values` for how a YAML file names them. The keys are the functions below without their underscore.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from lmms_audio_tasks import sources, yaml_values
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


def _metadata(spec: TaskSpec) -> dict[str, Any]:
    told = {"benchmark": "art", "folder": spec.folder, "modality": spec.modality}
    return {"version": VERSION, **told, **yaml_values.provenance()}


def build(dataset: Any, task: str) -> Any:
    """The host's `process_docs`: the documents of `task` from the local folder."""
    from lmms_audio_tasks.art import data

    return data.local_dataset(sources.current(), SPECS[task])


_KEYS: dict[str, Callable[[TaskSpec], Any]] = {
    "dataset_path": _dataset_path,
    "dataset_kwargs": _dataset_kwargs,
    "process_docs": _process_docs,
    "metadata": _metadata,
}

__getattr__ = yaml_values.resolver(__name__, SPECS, _KEYS)
