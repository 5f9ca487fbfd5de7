"""An episode so far -> what the model is given next: as chat turns, or as one text with all media before it.

A node reached anew is shown whole: pictures, recordings, text. An answer that led nowhere is followed by `RETRY` and
the text alone, since the media are in the dialogue already. A node without text asks `ASK`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lmms_audio_tasks.have_bench.episode import Episode
from lmms_audio_tasks.have_bench.task_graph import Graph, Node
from lmms_audio_tasks.prompts import YOUR_TURN

RETRY = "That did not lead on: you are still where you were. Try again."
ASK = "What do you do next?"
SILENCE = "(no answer)"
"""Stands for an empty answer in the dialogue, as many chat templates refuse empty turns."""

Show = Callable[[str], Any]
"""Makes what a model takes for a picture or a recording out of its path within the benchmark's folder."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a model is shown at one turn, and what it answered; None for the turn that is still to be answered."""

    images: tuple[str, ...]
    audios: tuple[str, ...]
    text: str
    answer: str | None


def exchanges(graph: Graph, episode: Episode) -> Iterator[Exchange]:
    """All turns in order, and last the one to come; an episode that has ended has none to come."""
    for turn in episode.turns:
        yield _exchange(graph.nodes[turn.node], turn.attempt > 1, turn.response)
    if episode.end is None:
        yield _exchange(graph.nodes[episode.node], episode.failed > 0, None)


def _exchange(node: Node, again: bool, answer: str | None) -> Exchange:
    text = node.text if node.text.strip() else ASK
    return Exchange((), (), f"{RETRY}\n{text}", answer) if again else Exchange(node.images, node.audios, text, answer)


def messages(graph: Graph, episode: Episode, image: Show, audio: Show) -> list[dict[str, Any]]:
    """The whole dialogue in the host's form for chat models, the turn to be answered last."""
    found: list[dict[str, Any]] = []
    for exchange in exchanges(graph, episode):
        content: list[dict[str, Any]] = [{"type": "image", "url": image(name)} for name in exchange.images]
        content += [{"type": "audio", "url": audio(name)} for name in exchange.audios]
        found.append({"role": "user", "content": [*content, {"type": "text", "text": exchange.text}]})
        if exchange.answer is not None:
            said = exchange.answer if exchange.answer.strip() else SILENCE
            found.append({"role": "assistant", "content": [{"type": "text", "text": said}]})
    return found


def visuals(graph: Graph, episode: Episode, image: Show, audio: Show) -> list[Any]:
    """All media of the dialogue in order, in the host's form for models that take one user turn."""
    found: list[Any] = []
    for exchange in exchanges(graph, episode):
        found += [*map(image, exchange.images), *map(audio, exchange.audios)]
    return found


def transcript_text(graph: Graph, episode: Episode) -> str:
    """The whole dialogue as one text, for the same models; pictures and recordings are numbered as they are given."""
    turns = list(exchanges(graph, episode))
    if len(turns) == 1:
        return turns[0].text
    lines = ["This is what has happened so far."]
    pictures = recordings = 0
    for number, exchange in enumerate(turns, start=1):
        new = _numbered("picture", pictures, len(exchange.images))
        new += _numbered("recording", recordings, len(exchange.audios))
        pictures += len(exchange.images)
        recordings += len(exchange.audios)
        head = f"Step {number}" if exchange.answer is not None else YOUR_TURN
        shown = f" ({', '.join(new)})" if new else ""
        lines += ["", f"{head}{shown}:", exchange.text]
        if exchange.answer is not None:
            lines.append(f"You answered: {exchange.answer if exchange.answer.strip() else SILENCE}")
    return "\n".join(lines)


def _numbered(word: str, before: int, count: int) -> list[str]:
    return [f"{word} {number}" for number in range(before + 1, before + count + 1)]
