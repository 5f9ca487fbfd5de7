"""`answer=rank`: choose the listed option that the transcript makes more likely, instead of generating an answer.

Not the protocol of any paper here: for language models too small to answer in a form that can be judged. An option's
score is its pointwise mutual information with the transcript, a token: mean log P(option | transcript, question) minus
mean log P(option | question). The second term takes away that a model likes some options whatever it heard (Holtzman et
al. 2021, "Surface form competition"). A question without audio has no such second term.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.options import OptionError, parse_options

if TYPE_CHECKING:
    from lmms_audio_tasks.models.llm import LanguageModel

Scores = tuple[float, ...]


def rank_options(
    model: LanguageModel, questions: Sequence[tuple[str, str]], progress: Callable[[int], Any]
) -> list[str | Failure]:
    """The best option of each question as `(b) text`; the first of equals; a failure where none are listed.

    Args:
        model: the language model.
        questions: the prompt with its transcripts, and the instruction alone; equal ones where there is no audio.
        progress: called with 1 after each question.
    """
    known: dict[tuple[str, tuple[str, ...]], Scores] = {}
    answers = []
    for prompt, instruction in questions:
        answers.append(_best(model, prompt, instruction, known))
        progress(1)
    return answers


def _best(
    model: LanguageModel, prompt: str, instruction: str, known: dict[tuple[str, tuple[str, ...]], Scores]
) -> str | Failure:
    try:
        options = tuple(f"({option.letter}) {option.text}" for option in parse_options(instruction))
    except OptionError as error:
        return Failure(f"no options to rank: {error}")

    def scores(text: str) -> Scores:
        # The same question is often asked about many recordings.
        if (text, options) not in known:
            known[text, options] = model.mean_log_probabilities(text, options)
        return known[text, options]

    try:
        given = scores(prompt)
        before = scores(instruction) if prompt != instruction else (0.0,) * len(options)
    except Exception as error:
        return Failure.of(error)
    gains = [with_it - without for with_it, without in zip(given, before, strict=True)]
    return options[gains.index(max(gains))]
