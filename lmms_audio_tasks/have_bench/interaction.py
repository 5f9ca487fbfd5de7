"""The interaction tasks' hooks for the host, but for the scoring: an episode is carried from round to round.

Two forms of one task. `have_interaction` (`generate_until_multi_round`) gives chat models the whole dialogue as turns;
`have_interaction_agentic` (`generate_until_agentic`) gives any model one user turn with the dialogue as text. The state
between rounds is the trace itself, in `previous_round_info`; the host's functions are in lmms-eval 0.7.3's
`models/chat/vllm.py`, `models/simple/llava_onevision.py` and `evaluator._run_generate_until_agentic`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_audio_tasks import prompts
from lmms_audio_tasks.have_bench import dialogue
from lmms_audio_tasks.have_bench.edge_judge import judge_edges
from lmms_audio_tasks.have_bench.episode import Episode, begin, step
from lmms_audio_tasks.have_bench.interaction_data import graph_of
from lmms_audio_tasks.have_bench.media import load_image
from lmms_audio_tasks.have_bench.task_graph import Graph
from lmms_audio_tasks.records import is_error

Doc = Mapping[str, Any]
"""One document: what `interaction_data.documents` builds."""
Wishes = Mapping[str, Any] | None
"""The entry of the model in `lmms_eval_specific_kwargs`, see `prompts`."""

_HANDED_OVER: set[bytes] = set()
"""Digests of the traces that this process gave to the host; scoring runs in the same process."""


def doc_to_messages(
    doc: Doc,
    lmms_eval_specific_kwargs: Wishes = None,
    round_idx: int | None = None,
    previous_output: Sequence[str] | None = None,
    previous_round_info: Mapping[str, Any] | None = None,
) -> Any:
    """The dialogue for chat models.

    Returns:
        the first message alone where there is no answer yet; later `(messages, terminal, outputs, info)`. At the end
        `outputs` is the trace as JSON in a list, else the answers as they came.
    """
    if not round_idx:
        return _messages(doc, begin(_graph(doc)), lmms_eval_specific_kwargs)
    episode = advance(doc, previous_output or (), previous_round_info)
    if episode.end is not None:
        return None, True, [hand_over(episode)], _info(episode)
    return _messages(doc, episode, lmms_eval_specific_kwargs), False, list(previous_output or ()), _info(episode)


def doc_to_text(
    doc: Doc,
    lmms_eval_specific_kwargs: Wishes = None,
    previous_output: Sequence[str] | None = None,
    round_idx: int | None = None,
    previous_round_info: Mapping[str, Any] | None = None,
) -> Any:
    """The dialogue as one text, for the agentic form and for models of the simple kind.

    Returns:
        the first text alone where there is no answer yet; later `(visuals, text, terminal, outputs, info)`, with all
        media of the dialogue, and `outputs` as in `doc_to_messages`.
    """
    graph = _graph(doc)
    if not round_idx:
        return dialogue.transcript_text(graph, begin(graph))
    episode = advance(doc, previous_output or (), previous_round_info)
    if episode.end is not None:
        return None, None, True, [hand_over(episode)], _info(episode)
    visuals = _visuals(doc, episode, lmms_eval_specific_kwargs)
    text = dialogue.transcript_text(graph, episode)
    return visuals, text, False, list(previous_output or ()), _info(episode)


def doc_to_visual(doc: Doc, lmms_eval_specific_kwargs: Wishes = None) -> list[Any]:
    """The first node's pictures (`PIL.Image.Image`), then its recordings (see `prompts.simple_audio`)."""
    return _visuals(doc, begin(_graph(doc)), lmms_eval_specific_kwargs)


def doc_to_target(doc: Doc) -> str:
    """The goals."""
    return doc["answer"]


def advance(doc: Doc, outputs: Sequence[str], info: Mapping[str, Any] | None) -> Episode:
    """The episode after the newest of `outputs`, the answers so far; without `info` all of them are played over."""
    if info:
        return play(_graph(doc), Episode.from_dict(json.loads(info["state"])), outputs[-1:])
    return play(_graph(doc), begin(_graph(doc)), outputs)


def play(graph: Graph, episode: Episode, responses: Sequence[str]) -> Episode:
    """Go on with `episode` by these answers, judged as the environment says, until they or the episode end."""
    for response in responses:
        if episode.end is not None:
            break
        verdicts = () if is_error(response) else judge_edges(graph, episode.node, response)
        episode = step(graph, episode, response, verdicts)
    return episode


def _graph(doc: Doc) -> Graph:
    return graph_of(doc["graph"])


def hand_over(episode: Episode) -> str:
    """The trace of an episode as JSON, which from now on counts as one that this process made."""
    text = _text(episode)
    _HANDED_OVER.add(_digest(text))
    return text


def handed_over(graph: Graph, fields: Mapping[str, Any]) -> Episode | None:
    """The episode of `graph` whose trace `fields` are, if this process handed it to the host; None otherwise.

    Any other trace is an answer like all answers: a model may write one, and would be believed its own success.
    """
    try:
        episode = Episode.from_dict(fields)
        known = _digest(_text(episode)) in _HANDED_OVER
    except (KeyError, TypeError, ValueError):
        return None
    return episode if known and episode.graph == graph.id else None


def _text(episode: Episode) -> str:
    # The host cuts what stands between thinking tags out of all that it is given, here from one turn into the next.
    return json.dumps(episode.to_dict(), ensure_ascii=False).replace("<", "\\u003c")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _info(episode: Episode) -> dict[str, Any]:
    return {"state": hand_over(episode)}


def _messages(doc: Doc, episode: Episode, wishes: Wishes) -> list[dict[str, Any]]:
    root = Path(doc["root"])
    return dialogue.messages(
        _graph(doc),
        episode,
        image=lambda name: str(root / name),
        audio=lambda name: prompts.chat_audio({"path": str(root / name)}, wishes),
    )


def _visuals(doc: Doc, episode: Episode, wishes: Wishes) -> list[Any]:
    root = Path(doc["root"])
    return dialogue.visuals(
        _graph(doc),
        episode,
        image=lambda name: load_image(root / name),
        audio=lambda name: prompts.simple_audio({"path": str(root / name)}, wishes),
    )
