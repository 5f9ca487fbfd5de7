"""Values that SAKURA's YAML files take from Python because they depend on the data source in force.

See `yaml_values` for how a YAML file names them. The keys are the functions below without their underscore.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from lmms_audio_tasks import sources, yaml_values
from lmms_audio_tasks.judge.settings import JudgeSettings
from lmms_audio_tasks.sakura import SPECS, TaskSpec

VERSION = 1
"""Raised whenever a prompt or a scoring rule changes."""


def _dataset_path(spec: TaskSpec) -> str:
    """A local table goes through the host's loader as text; `process_docs` reads and checks it itself."""
    return spec.hub_id if sources.current().kind == "hub" else "text"


def _dataset_kwargs(spec: TaskSpec) -> dict[str, Any]:
    source = sources.current()
    if source.kind == "hub":
        return {"revision": source.revision}
    return {"data_files": {"test": str(source.folder("sakura") / spec.folder / "metadata.csv")}}


def _process_docs(spec: TaskSpec) -> Callable[..., Any]:
    return partial(build, task=spec.name)


def _metadata(spec: TaskSpec) -> dict[str, Any]:
    told = {"benchmark": "sakura", "track": spec.track, "hop": spec.hop, "modality": "text" if spec.text else "audio"}
    judge = JudgeSettings.from_environment().public()
    return {"version": VERSION, **told, **yaml_values.provenance(), "judge": judge}


def build(dataset: Any, task: str) -> Any:
    """The host's `process_docs`: the documents of `task`, from what the host loaded or from the local folder."""
    from lmms_audio_tasks.sakura import data

    source, spec = sources.current(), SPECS[task]
    return data.hub_dataset(dataset, spec) if source.kind == "hub" else data.local_dataset(source, spec)


_KEYS: dict[str, Callable[[TaskSpec], Any]] = {
    "dataset_path": _dataset_path,
    "dataset_kwargs": _dataset_kwargs,
    "process_docs": _process_docs,
    "metadata": _metadata,
}

__getattr__ = yaml_values.resolver(__name__, SPECS, _KEYS)
