"""What an answer makes of the edges that leave a node: rules decide theirs, the language model judge all others.

The judge's verdicts are cached by model, prompt, criterion, observation and answer, so that an episode that is played
over again (a run that goes on, a log that is scored again) asks nothing twice. Episodes call from threads of their own;
they share one judge and its limit of concurrent requests.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.have_bench.episode import EdgeVerdict
from lmms_audio_tasks.have_bench.rules import Ruling, decide, is_rule
from lmms_audio_tasks.have_bench.task_graph import Graph, Node
from lmms_audio_tasks.judge.prompt import JudgeRequest
from lmms_audio_tasks.judge.run import Judgement
from lmms_audio_tasks.judge.settings import JudgeSettings
from lmms_audio_tasks.judge.shared import SharedJudge
from lmms_audio_tasks.judge.verdict import explanation

NEEDS_LLM = "the criterion is in words and needs a language model: --audio_judge llm"


def judge_edges(
    graph: Graph, node: str, response: str, settings: JudgeSettings | None = None
) -> tuple[EdgeVerdict, ...]:
    """Decide every edge that leaves `node`, in the order of the file.

    Args:
        response: the model's answer; an empty one meets no criterion.
        settings: the judge; None for what the environment says. In `rule` mode criteria in words are `unjudged`.

    A judge that cannot be asked, or whose reply has no verdict, leaves an edge `unjudged`; nothing is raised.
    """
    edges = graph.outgoing[node]
    if not response.strip():
        return tuple(EdgeVerdict(e.target, e.criterion, "rejected", "an empty answer") for e in edges)
    observed = graph.nodes[node]
    rulings: dict[int, Ruling] = {}
    words: dict[int, str] = {}
    for number, edge in enumerate(edges):
        if is_rule(edge.criterion):
            rulings[number] = decide(edge.criterion, observed.text, response)
        else:
            words[number] = edge.criterion
    rulings.update(zip(words, _ask(observed, list(words.values()), response, settings), strict=True))
    return tuple(EdgeVerdict(edge.target, edge.criterion, *rulings[number]) for number, edge in enumerate(edges))


_JUDGES: dict[JudgeSettings, SharedJudge] = {}
_LOCK = threading.Lock()


def _shared(settings: JudgeSettings) -> SharedJudge:
    """The judge of all episodes: one client and limit, which gives a server up for all once it has failed for some."""
    with _LOCK:
        if settings not in _JUDGES:
            _JUDGES[settings] = SharedJudge(settings)
        return _JUDGES[settings]


def forget() -> None:
    """Begin anew with the judge, as for another run of this process: one that was given up is asked again."""
    with _LOCK:
        for judge in _JUDGES.values():
            judge.__exit__()
        _JUDGES.clear()


def _ask(node: Node, criteria: Sequence[str], response: str, settings: JudgeSettings | None) -> list[Ruling]:
    if not criteria:
        return []
    try:
        settings = settings or JudgeSettings.from_environment()
        if settings.mode == "rule":
            return [Ruling("unjudged", NEEDS_LLM)] * len(criteria)
        requests = [JudgeRequest(told(node), criterion, response, kind="criterion") for criterion in criteria]
        return [_ruling(judgement, settings.model) for judgement in _shared(settings).judge(requests)]
    except AudioTasksError as error:
        return [Ruling("unjudged", str(error))] * len(criteria)


def _ruling(judgement: Judgement, model: str) -> Ruling:
    if judgement.verdict in ("correct", "incorrect"):
        why = "an empty answer" if judgement.how == "empty" else explanation(judgement.text)
        return Ruling("accepted" if judgement.verdict == "correct" else "rejected", f"judge:{model}: {why}".strip())
    return Ruling("unjudged", judgement.problem or "the judge gave no verdict")


def told(node: Node) -> str:
    """What the judge is told of an observation: the node's text, and that there were media, which it does not get."""
    media = [count(len(node.images), "picture"), count(len(node.audios), "recording")]
    shown = " and ".join(filter(None, media))
    note = f"[The person also got {shown}, not shown here.]" if shown else ""
    return "\n".join(filter(None, [note, node.text]))


def count(number: int, word: str) -> str:
    """`number` of things in words: "", `1 picture`, `2 pictures`."""
    return f"{number} {word}{'s' if number > 1 else ''}" if number else ""
