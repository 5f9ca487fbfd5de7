"""Values that C3T's YAML files take from Python because they depend on the data source in force.

See `yaml_values` for how a YAML file names them. The keys are the functions below without their underscore.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from lmms_audio_tasks import sources, yaml_values
from lmms_audio_tasks.c3t import ALL_SPECS, HUB_ID, TaskSpec, data, layout, utils

VERSION = 1
"""Raised whenever a prompt or a scoring rule changes."""
_PLACEHOLDER = Path(__file__).parent / "placeholder.txt"
"""Something for the host to load where `build` reads the data itself."""


def _dataset_path(spec: TaskSpec) -> str:
    """Spoken prompts go through the host's loader where they lie in tables, which then stay on disk."""
    if spec.text:
        return "text"
    source = sources.current()
    if source.kind == "hub":
        if spec.custom:
            raise data.hub_has_none(spec)
        return HUB_ID
    return "parquet" if _table(source, spec).parquet else "text"


def _dataset_name(spec: TaskSpec) -> str | None:
    return spec.hub_config if _dataset_path(spec) == HUB_ID else None


def _dataset_kwargs(spec: TaskSpec) -> dict[str, Any]:
    path, source = _dataset_path(spec), sources.current()
    if path == HUB_ID:
        return {"revision": source.revision}
    files = [_PLACEHOLDER] if path == "text" else _table(source, spec).paths
    return {"data_files": {spec.kind: [str(file) for file in files]}}


def _table(source: sources.Source, spec: TaskSpec) -> layout.Table:
    return layout.find(source.folder("c3t"), spec.task_name, spec.kind)


def _process_docs(spec: TaskSpec) -> Callable[..., Any]:
    return partial(build, task=spec.name)


def _metadata(spec: TaskSpec) -> dict[str, Any]:
    modality = "text" if spec.text else "audio"
    told = {"benchmark": "c3t", "task_name": spec.task_name, "kind": spec.kind, "modality": modality}
    changed = {"instances": data.instance_limit(), "instruction": utils.instruction(None)}
    named = {name: value for name, value in changed.items() if value}
    return {"version": VERSION, **told, **yaml_values.provenance(), **named}


def build(dataset: Any, task: str) -> Any:
    """The host's `process_docs`: the documents of `task`, from what the host loaded or from the local folder."""
    source, spec = sources.current(), ALL_SPECS[task]
    if source.kind == "hub":
        if spec.text:
            return data.hub_text_dataset(spec, source.revision)
        return data.table_dataset(dataset, spec, data.hub_label(dataset, source))
    if not spec.text and _table(source, spec).parquet:
        return data.table_dataset(dataset, spec, source.label)
    return data.local_dataset(source, spec)


_KEYS: dict[str, Callable[[TaskSpec], Any]] = {
    "dataset_path": _dataset_path,
    "dataset_name": _dataset_name,
    "dataset_kwargs": _dataset_kwargs,
    "process_docs": _process_docs,
    "metadata": _metadata,
}


__getattr__ = yaml_values.resolver(__name__, ALL_SPECS, _KEYS)
