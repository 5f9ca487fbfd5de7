"""What all benchmarks' YAML files take from Python: where the data come from, by what versions, and whether it is demo.

A YAML file names a value of its benchmark's `config.py` as `<key>__<task>`, e.g.
`!function lmms_audio_tasks.sakura.config.dataset_path__sakura_multi_animal`, or `group_alias__<group>`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any, Protocol, TypeVar

from lmms_audio_tasks import __version__, sources


class Spec(Protocol):
    """What a benchmark knows of one of its tasks."""

    @property
    def name(self) -> str:
        """The task's name."""


S = TypeVar("S", bound=Spec)


def resolver(module: str, specs: Mapping[str, S], keys: Mapping[str, Callable[[S], Any]]) -> Callable[[str], Any]:
    """A module's `__getattr__` that makes the values anew at each look-up, since the source in force may change.

    Args:
        module: the module's name, for its `AttributeError`.
        specs: the benchmark's tasks by name.
        keys: how each value is made for a task; `task_alias` and `group_alias` are there without being named.
    """
    made = {"task_alias": lambda spec: demo_label(spec.name), **keys}

    def value(name: str) -> Any:
        key, _, target = name.partition("__")
        if key in made and target in specs:
            return made[key](specs[target])
        if key == "group_alias":
            return demo_label(target)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return value


def demo_label(name: str) -> str:
    """`name`, marked where the demo set is in force, so that a demo score cannot pass for a real one."""
    return f"{name} (demo data)" if sources.current().demo else name


def provenance() -> dict[str, Any]:
    """What every task's metadata say of the data in force and of the versions that run, for results and reports."""
    source = sources.current()
    versions = {"plugin_version": __version__, "host_version": version("lmms_eval")}
    revision = {"revision": source.revision} if source.revision else {}
    return {"data_source": source.label, "demo": source.demo, **revision, **versions}
