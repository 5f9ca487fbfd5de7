"""The interaction tasks' scoring: what the host hands over -> the episode -> a record, and the sums the host prints."""

from __future__ import annotations

import ast
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lmms_audio_tasks.have_bench import dialogue, levels
from lmms_audio_tasks.have_bench.episode import VERDICTS, Episode, Turn, begin, completion
from lmms_audio_tasks.have_bench.interaction import Doc, handed_over, play
from lmms_audio_tasks.have_bench.interaction_data import graph_of
from lmms_audio_tasks.have_bench.levels import Tally
from lmms_audio_tasks.have_bench.task_graph import Graph
from lmms_audio_tasks.records import Record, error_response

logger = logging.getLogger(__name__)

AGENTIC = "have_interaction_agentic"
_FOREIGN = (
    "the host handed over no trace that this run made: it is another run's (leave out --use_cache), or was cut at "
    "thinking tags (--reasoning_tags none)"
)
# While it was played the judge failed, or the model answers one round only, whatever the task.
_TOO_FEW = "the answers end before the episode does (have_interaction_agentic asks for one after the other)"


def process_results(doc: Doc, results: Sequence[Any]) -> dict[str, Any]:
    """Score one episode; returns the host's metric values, the record among them under `success`.

    Args:
        results: the trace (as JSON), or the answers alone, which are then played over.

    `score` is missing where an episode ended by no fault of the model (`unjudged`) or without its answer (`error`).
    """
    graph = graph_of(doc["graph"])
    try:
        episode = _episode(doc, results[0] if results else "")
    except Exception as error:  # the host would try again five times and then give the whole run up
        episode = _broken(graph, f"{type(error).__name__}: {error}")
    record = _record(doc, graph, episode)
    verdict, covered = record["verdict"], record["path_completion"]
    judged = verdict in ("correct", "wrong")
    level = {"of": [record["task"], record["item_id"]], "subtask": doc["scenario"], "verdict": verdict}
    return {
        "success": {**record, **_score(judged, int(verdict == "correct"))},
        "level_score": level,
        "path_completion": _score(judged, covered),
        "turns": _score(judged, len(episode.turns)),
        **{name: {"counted": episode.end == name} for name in ("stuck", "turn_limit")},
        **{name: {"counted": verdict == name} for name in ("unjudged", "error")},
    }


def _score(judged: bool, value: float) -> dict[str, float]:
    return {"score": value} if judged else {}


def _record(doc: Doc, graph: Graph, episode: Episode) -> dict[str, Any]:
    """The record, and beside its fields what `docs/have_interaction.md` lists: `end`, `turns`, `trace`, `graph` ..."""
    assert episode.end is not None
    response = episode.turns[-1].response if episode.turns else ""
    judged = VERDICTS[episode.end], episode.why, episode.node
    groups = {"level": "interaction", "subtask": doc["scenario"]}
    prompt = dialogue.transcript_text(graph, begin(graph))
    record = Record.of(doc, "have_bench", response, judged, doc["answer"], groups, prompt=prompt)
    return {
        **record.to_dict(),
        "end": episode.end,
        "turns": len(episode.turns),
        "path_completion": completion(graph, episode),
        "shortest_path": graph.shortest_path,
        "several": sum(turn.several for turn in episode.turns),
        "trace": episode.to_dict(),
        "graph": graph.to_dict(),
    }


def _episode(doc: Doc, output: Any) -> Episode:
    """The episode that the host hands over: the trace that our hooks gave it, or the answers, which are played over."""
    graph, answers = graph_of(doc["graph"]), _answers(output)
    fields = _fields(answers[0]) if len(answers) == 1 else {}
    if (episode := handed_over(graph, fields)) is not None:
        return episode
    state = handed_over(graph, _fields(str(fields.get("state"))))
    if state is not None and "max_agentic_steps" in str(fields.get("error")):
        # The host ran out of steps before the graph ran out of turns: someone has set max_agentic_steps lower.
        return replace(state, end="turn_limit", why=f"the host stopped after {len(state.turns)} turns")
    if fields.keys() >= {"graph", "turns", "end"} or (doc["task"] == AGENTIC and _remnant(answers)):
        # Not to be taken for an answer: a trace has all that was said in it, and meets criteria that no answer met.
        return replace(begin(graph), end="judge_error", why=_FOREIGN)
    episode = play(graph, begin(graph), answers)
    return episode if episode.end is not None else replace(episode, end="judge_error", why=_TOO_FEW)


def _remnant(answers: Sequence[str]) -> bool:
    """Whether all there is may be what is left of a trace, or of what the host tells at its own limit of steps."""
    told = answers[0].strip() if len(answers) == 1 else ""
    return told.startswith("{") or told.endswith("}")


def _answers(output: Any) -> list[str]:
    """The texts in what a model returned: one, a list, or (the host's simple models) a tuple printed as text."""
    if isinstance(output, str) and output.startswith(("('", '("')) and output.endswith(")"):
        try:
            output = ast.literal_eval(output)
        except (SyntaxError, ValueError):
            return [output]
    return [output] if isinstance(output, str) else [str(one) for one in output]


def _fields(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _broken(graph: Graph, message: str) -> Episode:
    turn = Turn(graph.start, 1, error_response(message), (), None)
    return Episode(graph.id, graph.start, 0, (turn,), "model_error", message)


def success(records: Sequence[Mapping[str, Any]]) -> float | None:
    """Share of episodes that reached a goal, in [0, 1], among those that the model played; None where one is unjudged.

    What no judge has judged is neither success nor failure; a warning then tells the bounds, and one the failed items.
    """
    tally = Tally.of(record["verdict"] for record in records)
    task = records[0]["task"] if records else ""
    if tally.errors:
        logger.warning("%s: the model failed in %d of %d episodes, which count nowhere", task, tally.errors, tally.n)
    if tally.unjudged:
        logger.warning(
            "%s: no success rate, as %d of %d episodes ended without a verdict (%s); it lies between %.4f and %.4f",
            task,
            tally.unjudged,
            tally.answered,
            next(record["reason"] for record in records if record["verdict"] == "unjudged"),
            *tally.bounds,
        )
    return tally.score


def level_score(entries: Sequence[Mapping[str, Any]]) -> float | None:
    """The plain mean of the success rate over the scenarios, in [0, 1]; None where an episode is unjudged."""
    return levels.level_score(levels.by_subtask((entry["subtask"], entry["verdict"]) for entry in entries))


def share(values: Sequence[Mapping[str, Any]]) -> float | None:
    """Mean of `score` over the episodes that were judged to their end; None where there is none."""
    scores = [value["score"] for value in values if "score" in value]
    return sum(scores) / len(scores) if scores else None


def count(flags: Sequence[Mapping[str, bool]]) -> int:
    """How many episodes ended so."""
    return sum(flag["counted"] for flag in flags)
