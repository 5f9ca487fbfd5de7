"""`answer=rank`: choose the listed option that the transcript makes more likely, instead of generating an answer.

Not the protocol of any paper here: for language models too small to answer in a form that can be judged. An option's
score is its pointwise mutual information with the transcript, a token: mean log P(option | transcript, question) minus
mean log P(option | question). The second term takes away that a model likes some options whatever it heard (Holtzman et
al. 2021, "Surface form competition"). A question without audio has no such second term.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lmms_audio_tasks.models.cascade_prompts import Dialogue
from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.options import OptionError, parse_options
from lmms_audio_tasks.prompts import last_turn

if TYPE_CHECKING:
    from lmms_audio_tasks.models.llm import LanguageModel

Scores = tuple[float, ...]


def rank_options(
    model: LanguageModel, questions: Sequence[tuple[Dialogue, Dialogue]]
) -> Iterator[tuple[int, str | Failure]]:
    """Yield each question's number and its best option as `(b) text`, the first of equals; a failure where none is.

    Args:
        model: the language model.
        questions: the conversation with what was heard, and without; equal ones where there is no audio. The options
            are those in the last turn of the second.
    """
    known: dict[tuple[Dialogue, tuple[str, ...]], Scores] = {}
    for number, (dialogue, question) in enumerate(questions):
        yield number, _best(model, dialogue, question, known)


def _best(
    model: LanguageModel,
    dialogue: Dialogue,
    question: Dialogue,
    known: dict[tuple[Dialogue, tuple[str, ...]], Scores],
) -> str | Failure:
    try:
        asked = last_turn(question[-1][1])[1] if question else ""
        options = tuple(f"({option.letter}) {option.text}" for option in parse_options(asked))
    except OptionError as error:
        return Failure(f"no options to rank: {error}")

    def scores(turns: Dialogue) -> Scores:
        # The same question is often asked about many recordings.
        if (turns, options) not in known:
            known[turns, options] = model.mean_log_probabilities(turns, options)
        return known[turns, options]

    try:
        given = scores(dialogue)
        before = scores(question) if dialogue != question else (0.0,) * len(options)
    except Exception as error:
        return Failure.of(error)
    gains = [with_it - without for with_it, without in zip(given, before, strict=True)]
    return options[gains.index(max(gains))]
