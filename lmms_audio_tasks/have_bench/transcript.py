"""An episode for people to read: what was shown, what was answered, what the judge made of it, and how it ended."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from lmms_audio_tasks.have_bench.dialogue import exchanges
from lmms_audio_tasks.have_bench.episode import EdgeVerdict, Episode, completion
from lmms_audio_tasks.have_bench.task_graph import Graph
from lmms_audio_tasks.judge.prompt import clean

_ENDS = {
    "goal": "goal reached",
    "stuck": "stuck",
    "turn_limit": "turn limit",
    "judge_error": "no verdict",
    "model_error": "the model failed",
    None: "not over",
}


def summary(graph: Graph, episode: Episode) -> str:
    """One line: how it ended, after how many turns, and how much of the way was covered."""
    turns = f"{len(episode.turns)} turn{'s' if len(episode.turns) != 1 else ''}"
    shortest = graph.shortest_path
    share = f"{completion(graph, episode):.0%} of the shortest path ({shortest} steps)" if shortest else "no path"
    why = f": {episode.why}" if episode.why else ""
    return f"{_ENDS[episode.end]} after {turns}, {share}{why}"


def markdown(graph: Graph, episode: Episode, heading: str = "###") -> str:
    """The episode in Markdown. Texts of the data and of the model stand in code blocks, where nothing is markup."""
    lines = [f"{heading} {_inline(graph.id)} ({graph.scenario})", "", _inline(summary(graph, episode)), ""]
    for number, (turn, shown) in enumerate(zip(episode.turns, exchanges(graph, episode), strict=False), start=1):
        again = f", try {turn.attempt}" if turn.attempt > 1 else ""
        lines += [f"**Turn {number}** at {_inline(turn.node)}{again}", ""]
        media = _media(shown.images, shown.audios)
        lines += [f"Shown: {_inline(media)}", ""] if media else []
        lines += [*_block(shown.text), "", "Answer:", "", *_block(turn.response), ""]
        lines += [f"- {_inline(_verdict(verdict))}" for verdict in turn.verdicts]
        lines += ["", f"Goes on to {_inline(turn.to)}." if turn.to else "Leads nowhere.", ""]
    return clean("\n".join(lines).rstrip() + "\n")


def to_html(graph: Graph, episode: Episode) -> str:
    """The episode as a fragment of HTML: a `<section class="episode">` with one `<li>` a turn; all texts escaped."""
    parts = [
        '<section class="episode">',
        f"<h4>{html.escape(graph.id)} ({graph.scenario})</h4>",
        f"<p>{html.escape(summary(graph, episode))}</p>",
        "<ol>",
    ]
    for turn, shown in zip(episode.turns, exchanges(graph, episode), strict=False):
        again = f", try {turn.attempt}" if turn.attempt > 1 else ""
        media = _media(shown.images, shown.audios)
        verdicts = "".join(
            f'<li class="{verdict.verdict}">{html.escape(_verdict(verdict))}</li>' for verdict in turn.verdicts
        )
        parts += [
            f"<li><p>at <strong>{html.escape(turn.node)}</strong>{again}</p>",
            f"<p>Shown: {html.escape(media)}</p>" if media else "",
            f'<pre class="shown">{html.escape(shown.text)}</pre>',
            f'<pre class="answer">{html.escape(turn.response)}</pre>',
            f"<ul>{verdicts}</ul>" if verdicts else "",
            f"<p>Goes on to <strong>{html.escape(turn.to)}</strong>.</p></li>"
            if turn.to
            else "<p>Leads nowhere.</p></li>",
        ]
    return clean("\n".join([*filter(None, parts), "</ol>", "</section>"]))


def _verdict(verdict: EdgeVerdict) -> str:
    return f"{verdict.verdict}, to {verdict.to}: {verdict.criterion} ({verdict.why})"


def _media(images: Sequence[str], audios: Sequence[str]) -> str:
    return ", ".join([*(f"picture {name}" for name in images), *(f"recording {name}" for name in audios)])


def _block(text: str) -> list[str]:
    """A code block whose fence is longer than any run of backticks in `text`."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", text, fence]


def _inline(text: str) -> str:
    """`text` on one line with Markdown's and HTML's marks escaped."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))
