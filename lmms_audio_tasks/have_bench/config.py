"""Values that HAVE-Bench's YAML files take from Python because they depend on the data source in force.

See `yaml_values` for how a YAML file names them. The keys are the functions below without their underscore. The
interaction tasks have theirs in `interaction_data`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from lmms_audio_tasks import sources, yaml_values
from lmms_audio_tasks.have_bench import ITEMS_FILE, SPECS, TaskSpec, asr, data
from lmms_audio_tasks.have_bench.data import have_folder
from lmms_audio_tasks.judge.settings import JudgeSettings

VERSION = 1
"""Raised whenever a prompt or a scoring rule changes."""


def _dataset_path(spec: TaskSpec) -> str:
    """The file goes through the host's loader as text; `process_docs` reads and checks it itself."""
    return "text"


def _dataset_kwargs(spec: TaskSpec) -> dict[str, Any]:
    return {"data_files": {"test": str(have_folder(sources.current()) / ITEMS_FILE)}}


def _process_docs(spec: TaskSpec) -> Callable[..., Any]:
    return partial(build, task=spec.name)


def _metadata(spec: TaskSpec) -> dict[str, Any]:
    told = {"benchmark": "have_bench", "level": spec.level, "mode": spec.mode}
    recogniser = {"asr": asr.recogniser_name() or asr.DATA} if spec.mode == "asr" else {}
    judge = JudgeSettings.from_environment().public(("multiple_choice", "open_ended"))
    return {"version": VERSION, **told, **recogniser, **yaml_values.provenance(), "judge": judge}


def build(dataset: Any, task: str) -> Any:
    """The host's `process_docs`: the documents of `task` from the local folder."""
    return data.local_dataset(sources.current(), SPECS[task])


_KEYS: dict[str, Callable[[TaskSpec], Any]] = {
    "dataset_path": _dataset_path,
    "dataset_kwargs": _dataset_kwargs,
    "process_docs": _process_docs,
    "metadata": _metadata,
}

__getattr__ = yaml_values.resolver(__name__, SPECS, _KEYS)
