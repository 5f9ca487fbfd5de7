"""What the language model of a cascade reads: the transcripts of the recordings, then the question as it stands."""

from __future__ import annotations

from collections.abc import Sequence

NO_SPEECH = "(no speech was recognised)"

TEMPLATES = {
    "sentence": "{recording} was transcribed by speech recognition as: {transcript}",
    "label": "{recording}: {transcript}",
}
"""One line a recording, by the name that the model argument `prompt` takes. The SAKURA paper does not print its own."""


def build_prompt(instruction: str, transcripts: Sequence[str], template: str = "sentence") -> str:
    """The prompt for one question.

    Args:
        instruction: the task's text, which comes last and unchanged.
        transcripts: one for each recording, in order; "" where no speech was recognised. Without any the prompt is the
            instruction alone.
        template: a key of `TEMPLATES`.
    """
    lines = [
        TEMPLATES[template].format(
            recording="A recording" if len(transcripts) == 1 else f"Recording {number}",
            transcript=f'"{transcript}"' if transcript else NO_SPEECH,
        )
        for number, transcript in enumerate(transcripts, start=1)
    ]
    return "\n\n".join(["\n".join(lines), instruction] if lines else [instruction])
