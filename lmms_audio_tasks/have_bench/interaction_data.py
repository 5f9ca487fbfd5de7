"""Documents of the interaction tasks, and what their YAML files take from Python. Local sources only."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from lmms_audio_tasks import sources, yaml_values
from lmms_audio_tasks.have_bench import GRAPHS_FILE, INTERACTION, edge_judge, graphs, rules
from lmms_audio_tasks.have_bench.data import have_folder
from lmms_audio_tasks.have_bench.task_graph import Graph
from lmms_audio_tasks.judge.settings import JudgeSettings

if TYPE_CHECKING:
    from datasets import Dataset

logger = logging.getLogger(__name__)

VERSION = 1
"""Raised whenever a prompt or a rule of the episodes changes."""


@dataclass(frozen=True, slots=True)
class InteractionSpec:
    """One interaction task; `output` is the host's way of asking in rounds."""

    name: str
    output: str


SPECS = {name: InteractionSpec(name, output) for name, output in INTERACTION.items()}


def validate(task: str) -> None:
    """Raise `DataError` where the source in force cannot serve `task`; warn where its judge is not asked for."""
    found = graphs.load(have_folder(sources.current()))
    needy = [graph.id for graph in found if needs_llm(graph)]
    if needy and JudgeSettings.from_environment().mode == "rule":
        logger.warning(
            "%s: %d of %d graphs have criteria in words, which only a language model can judge (--audio_judge llm); "
            "without one their episodes end as unjudged: %s",
            task,
            len(needy),
            len(found),
            ", ".join(needy[:5]) + (" ..." if len(needy) > 5 else ""),
        )


def needs_llm(graph: Graph) -> bool:
    """Whether some criterion of `graph` is no rule."""
    return not all(rules.is_rule(edge.criterion) for edge in graph.edges)


def documents(source: sources.Source, task: str) -> list[dict[str, Any]]:
    """One document a graph: the graph itself as JSON, the folder that its media are in, and who it is.

    Raises:
        DataError: see `graphs.load`.
    """
    root = have_folder(source)
    return [
        {
            "item_id": graph.id,
            "task": task,
            "scenario": graph.scenario,
            "graph": json.dumps(graph.to_dict(), ensure_ascii=False),
            "root": str(root),
            "answer": " or ".join(graph.goals),
            "source": source.label,
            "demo": source.demo,
        }
        for graph in graphs.load(root)
    ]


@lru_cache(maxsize=4096)
def graph_of(text: str) -> Graph:
    """The graph in a document's `graph`."""
    return Graph.from_dict(json.loads(text))


def local_dataset(source: sources.Source, task: str = "have_interaction") -> Dataset:
    """The documents of `task`; media stay on disk."""
    from datasets import Dataset

    return Dataset.from_list(documents(source, task))


def build(dataset: Any, task: str) -> Dataset:
    """The host's `process_docs`: the documents of `task` from the local folder."""
    edge_judge.forget()
    return local_dataset(sources.current(), task)


def _dataset_path(spec: InteractionSpec) -> str:
    """The graphs go through the host's loader as text; `process_docs` reads and checks them itself."""
    return "text"


def _dataset_kwargs(spec: InteractionSpec) -> dict[str, Any]:
    return {"data_files": {"test": str(have_folder(sources.current()) / GRAPHS_FILE)}}


def _process_docs(spec: InteractionSpec) -> Callable[..., Any]:
    return partial(build, task=spec.name)


def _metadata(spec: InteractionSpec) -> dict[str, Any]:
    told = {"benchmark": "have_bench", "level": "interaction", "output": spec.output}
    judge = JudgeSettings.from_environment().public(("criterion",))
    return {"version": VERSION, **told, **yaml_values.provenance(), "judge": judge}


_KEYS: dict[str, Callable[[InteractionSpec], Any]] = {
    "dataset_path": _dataset_path,
    "dataset_kwargs": _dataset_kwargs,
    "process_docs": _process_docs,
    "metadata": _metadata,
}

__getattr__ = yaml_values.resolver(__name__, SPECS, _KEYS)
