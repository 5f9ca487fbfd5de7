"""What a log was made with: everything that must be equal before two numbers may be compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from typing import Any

from lmms_audio_tasks.report.load import TaskLog

UNKNOWN = "not recorded"


def data_kind(log: TaskLog) -> str:
    """Where the data came from: `hub`, `demo` or the folder; several are joined by " and "."""
    kinds = {"hub" if source.startswith("hub:") else source for source in _sources(log)}
    return " and ".join(sorted(kinds))


def revision(log: TaskLog) -> str:
    """The hub's commit that was served; "" for other sources."""
    return " and ".join(sorted({source.partition("@")[2] for source in _sources(log) if source.startswith("hub:")}))


def _sources(log: TaskLog) -> set[str]:
    return {record.source for record in log.records}


def content(log: TaskLog) -> str:
    """A hash of the questions (item ids, prompts, right answers): the same for the same data, wherever they lie.

    The recordings are not part of it, as a log does not hold them.
    """
    digest = hashlib.sha256()
    # As `json.dumps` writes the three, which takes several times as long for a text alone.
    quoted = lru_cache(maxsize=4096)(encode_basestring_ascii)
    for item_id, item in sorted(log.items.items()):
        told = f"[{encode_basestring_ascii(item_id)}, {quoted(item.prompt)}, {quoted(item.record.golden)}]"
        digest.update(told.encode())
    return digest.hexdigest()[:16]


def judge(log: TaskLog) -> list[Mapping[str, Any]]:
    """The settings of the judges whose verdicts count, as a list, so that more than one shows."""
    return list(log.judges)


def judge_label(log: TaskLog) -> str:
    """The judges in words, e.g. `rule` or `llm gpt-4o-2024-11-20 (temperature 0, top_p 0.9, ...)`."""
    return judges_label(judge(log))


def judges_label(judges: Sequence[Mapping[str, Any]]) -> str:
    """The same of settings that `judge` gave."""
    return " and ".join(map(_judge_words, judges))


def judge_but_prompts(log: TaskLog) -> str:
    """The same without the versions of the prompts, which belong to the kinds of question that a task has."""
    return " and ".join(dict.fromkeys(_judge_words(_core(told)) for told in log.judges))


def judge_prompts(log: TaskLog) -> str:
    """The versions of the judges' prompts; "" where rules alone judged."""
    found = ({name: told[name] for name in _PROMPTS if name in told} for told in log.judges)
    return " and ".join(text(prompts) for prompts in found if prompts)


def one_judge(logs: Sequence[TaskLog]) -> list[Mapping[str, Any]] | None:
    """The judge of several tasks, with the prompts of all of them; None where it is not one and the same."""
    told = [found for log in logs for found in log.judges]
    if not told or any(len(log.judges) != 1 or _core(found) != _core(told[0]) for log in logs for found in log.judges):
        return None
    joined: dict[str, Any] = dict(_core(told[0]))
    prompts: dict[str, Any] = {}
    for found in told:
        own = {"prompt": found["prompt"]} if "prompt" in found else {}
        for name, version in {**own, **(found.get("prompts") or {})}.items():
            if prompts.setdefault(name, version) != version:
                return None
    joined |= {"prompt": prompts.pop("prompt")} if "prompt" in prompts else {}
    return [joined | ({"prompts": prompts} if prompts else {})]


_PROMPTS = ("prompt", "prompts")


def _core(told: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in told.items() if name not in _PROMPTS}


def _judge_words(told: Mapping[str, Any]) -> str:
    head = " ".join(str(told[name]) for name in ("mode", "model") if told.get(name)) or UNKNOWN
    rest = ", ".join(f"{name} {value}" for name, value in told.items() if name not in ("mode", "model"))
    return f"{head} ({rest})" if rest else head


def task_version(log: TaskLog) -> Any:
    """The task's version, which rises with every change of a prompt or a scoring rule."""
    versions = log.run.results.get("versions")
    version = versions.get(log.task) if isinstance(versions, dict) else None
    if version is None:
        version = _metadata(log).get("version")
    return UNKNOWN if version is None else version


def generation(log: TaskLog) -> dict[str, Any]:
    """Generation settings of the task, and those of the command line, which win; system prompts and templates too."""
    found = log.run.task_config(log.task).get("generation_kwargs")
    # How many rounds the host lets a task take is no matter of generating.
    told = {name: value for name, value in found.items() if name != _ROUNDS} if isinstance(found, dict) else {}
    results = log.run.results
    more = {
        "gen_kwargs": _config(log).get("gen_kwargs") or None,
        "system_instruction_sha": results.get("system_instruction_sha"),
        "chat_template_sha": results.get("chat_template_sha"),
    }
    return told | {name: value for name, value in more.items() if value is not None}


_ROUNDS = "max_agentic_steps"


def seeds(log: TaskLog) -> dict[str, Any]:
    """The host's seeds; {} where the results file is missing."""
    names = ("random_seed", "numpy_seed", "torch_seed", "fewshot_seed")
    return {name: _config(log)[name] for name in names if name in _config(log)}


def limit(log: TaskLog) -> Any:
    """`--limit`; None where all items were asked."""
    return _config(log).get("limit")


def offset(log: TaskLog) -> Any:
    """`--offset`, after which the items were asked; None where it is 0."""
    return _config(log).get("offset") or None


def plugin_version(log: TaskLog) -> str:
    """The version of this plugin that ran the task, where its metadata tell."""
    return str(_metadata(log).get("plugin_version") or UNKNOWN)


def host_version(log: TaskLog) -> str:
    """The version of the host, where the task's metadata or the host itself tell."""
    told = _metadata(log).get("host_version") or log.run.results.get("lmms_eval_version")
    return UNKNOWN if not told or str(told).startswith("unknown") else str(told)


def _config(log: TaskLog) -> Mapping[str, Any]:
    found = log.run.results.get("config")
    return found if isinstance(found, dict) else {}


def _metadata(log: TaskLog) -> Mapping[str, Any]:
    found = log.run.task_config(log.task).get("metadata")
    return found if isinstance(found, dict) else {}


def text(value: Any) -> str:
    """Any setting as a text that is equal exactly where the setting is."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
