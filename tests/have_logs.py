"""Log folders of HAVE-Bench as the host writes them, made from scripted responses by the plugin's own scoring hooks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from report_logs import Doc, write_samples

from lmms_audio_tasks.have_bench import INTERACTION, SPECS, interaction_scoring, utils
from lmms_audio_tasks.records import error_response

OPTIONS = ("(a) cat", "(b) dog")
SAID = {"+": "(a) cat", "-": "(b) dog", "0": "I cannot tell.", "!": error_response("out of memory")}
"""What a mark stands for: a right answer, a wrong one, none, and a failure of the model."""
OPEN = {"?": "a small brown animal", "=": "a cat"}
"""The same for open questions, whose reference is `a cat`: no rule can judge the first, the second is right."""


def documents(task: str, marks: Mapping[str, str], roles: Mapping[str, str], demo: bool) -> list[tuple[Doc, str]]:
    """The items of one task, `<level>/<subtask>/<number>`, and what is said to them; a blank is an item left out."""
    spec, found = SPECS[task], []
    for subtask, said in marks.items():
        for number, mark in enumerate(said):
            if mark == " ":
                continue
            choices = mark not in OPEN
            doc = {
                "item_id": f"{spec.level}/{subtask}/{number}",
                "task": task,
                "level": spec.level,
                "role": roles.get(subtask, "AaI"),
                "subtask": subtask,
                "kind": "mcq" if choices else "open",
                "mode": spec.mode,
                "asr": "listener" if spec.mode == "asr" else "",
                "prompt": "What is it?",
                "question": "\n".join(["What is it?", *OPTIONS]) if choices else "What is it?",
                "answer": OPTIONS[0] if choices else "a cat",
                "options": list(OPTIONS) if choices else [],
                "source": "demo" if demo else "/data",
                "demo": demo,
            }
            found.append((doc, SAID[mark] if choices else OPEN[mark]))
    return found


def way(name: str, scenario: str = "navigation", steps: int = 2, words: bool = False, **more: Any) -> dict[str, Any]:
    """A graph of so many steps in a row: `go` leads on, `trap` leads from the start into a dead end.

    Args:
        words: the last step's criterion is in words, which no rule can judge.
        more: what is changed in it.
    """
    nodes = [{"id": f"n{number}", "text": f"You are at {number}."} for number in range(steps + 1)]
    edges = [{"from": f"n{n}", "to": f"n{n + 1}", "criterion": r"regex:\bgo\b"} for n in range(steps)]
    edges[-1]["criterion"] = "The answer is polite." if words else edges[-1]["criterion"]
    return {
        "id": name,
        "scenario": scenario,
        "nodes": [*nodes, {"id": "pit", "text": "You fell."}],
        "edges": [*edges, {"from": "n0", "to": "pit", "criterion": r"regex:\btrap\b"}],
        "start": "n0",
        "goal": [f"n{steps}"],
        "limits": {"tries": 2, "turns": 3},
        **more,
    }


def played(graph: Mapping[str, Any], task: str, demo: bool) -> Doc:
    return {
        "item_id": graph["id"],
        "task": task,
        "scenario": graph["scenario"],
        "graph": json.dumps(graph),
        "root": "/data/have_bench",
        "answer": " or ".join(graph["goal"]),
        "prompt": "You are at 0.",
        "source": "demo" if demo else "/data",
        "demo": demo,
    }


def write_have(
    folder: Path,
    items: Mapping[str, Mapping[str, str]] | None = None,
    episodes: Mapping[str, Sequence[tuple[Mapping[str, Any], Sequence[str]]]] | None = None,
    *,
    roles: Mapping[str, str] | None = None,
    demo: bool = False,
    **told: Any,
) -> Path:
    """A run: by task (without `have_`) the marks of each subtask, and by task graphs with what was answered.

    Args:
        roles: by subtask, `AaC` where it is not `AaI`.
        told: see `report_logs.write_samples`.
    """
    asked: dict[str, list[tuple[Doc, Any]]] = {}
    for name, marks in (items or {}).items():
        asked[f"have_{name}"] = documents(f"have_{name}", marks, roles or {}, demo)
    for name, plays in (episodes or {}).items():
        task = f"have_{name}"
        asked[task] = [(played(graph, task, demo), list(answers)) for graph, answers in plays]
    return write_samples(folder, asked, _score, **told)


def _score(doc: Doc, results: Sequence[Any]) -> dict[str, Any]:
    if doc["task"] in INTERACTION:
        return interaction_scoring.process_results(doc, results)
    return utils.process_results(doc, results)
