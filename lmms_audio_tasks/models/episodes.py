"""Tasks of several rounds: what the task's hook makes of the answers so far, round by round, many documents at a time.

The protocol is that of lmms-eval 0.7.3's chat models: later rounds call `doc_to_messages(doc, round_idx=,
previous_output=, previous_round_info=)`, which returns `(messages, terminal, previous_outputs, previous_round_info)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.records import error_response

_THREADS = 32
"""How many hooks may wait for a judge at once."""


class Episode:
    """One document being played.

    Attributes:
        messages: the next prompt.
        outputs: the answers so far; once over, what the task gave back for them.
        over: whether there is no next round.
        failure: why it broke off; None where it did not.
    """

    def __init__(self, hook: Callable[..., Any], doc: Mapping[str, Any]) -> None:
        self._hook = hook
        self._doc = doc
        self._info: Any = None
        self._round = 0
        self.messages: Sequence[Mapping[str, Any]] = ()
        self.outputs: list[str] = []
        self.over = False
        self.failure: Failure | None = None

    def begin(self) -> None:
        """Make the first prompt."""
        try:
            self.messages = self._hook(self._doc)
        except Exception as error:
            self._break_off(Failure.of(error))

    def advance(self, answer: str | Failure) -> None:
        """Take the model's answer and make the next prompt, or come to the end."""
        self._round += 1
        self.outputs.append(error_response(answer.message) if isinstance(answer, Failure) else answer)
        try:
            payload = self._hook(
                self._doc,
                round_idx=self._round,
                previous_output=list(self.outputs),
                previous_round_info=self._info,
            )
            messages, terminal, outputs, self._info = _checked(payload)
        except Exception as error:
            self._break_off(Failure.of(error))
            return
        if terminal or isinstance(answer, Failure):
            self.over = True
            self.failure = answer if isinstance(answer, Failure) else None
            # The task's last word counts, if it has one: it may hold what happened in all rounds.
            self.outputs = list(outputs) if terminal and outputs else self.outputs
        else:
            self.messages = messages

    def _break_off(self, failure: Failure) -> None:
        self.over = True
        self.failure = failure
        self.outputs.append(error_response(failure.message))


def _checked(payload: Any) -> tuple[Any, bool, Sequence[str] | None, Any]:
    if not isinstance(payload, tuple) or len(payload) != 4:
        raise ModelError(
            "doc_to_messages of a task of several rounds must return (messages, terminal, outputs, info), "
            f"not {type(payload).__name__}"
        )
    return payload


def play(episodes: Sequence[Episode], answer: Callable[[int, Sequence[int]], Sequence[str | Failure]]) -> None:
    """Play all to their end.

    Args:
        answer: given the round and the positions of the episodes that are not over, the model's answer to each.
    """
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(Episode.begin, episodes))
        turn = 0
        while active := [index for index, episode in enumerate(episodes) if not episode.over]:
            answers = answer(turn, active)
            list(pool.map(Episode.advance, [episodes[index] for index in active], answers))
            turn += 1
