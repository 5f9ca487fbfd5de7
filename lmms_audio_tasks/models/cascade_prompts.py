"""What the language model of a cascade reads: the conversation, with what was heard in each recording in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.messages import Part, Prompt, Turn

Dialogue: TypeAlias = tuple[tuple[str, str], ...]
"""Turns of text, each its role and its content."""

NO_SPEECH = "(no speech was recognised)"
NO_CAPTION = "(nothing was described)"
IMAGE_NOTE = "(An image belongs here. It is not shown.)"

TEMPLATES = {
    "sentence": "{recording} was transcribed by speech recognition as: {transcript}",
    "label": "{recording}: {transcript}",
}
"""The line of a recording, by the name that the argument `prompt` takes. The SAKURA paper does not print its own."""
CAPTIONS = {
    "sentence": "It was described by an audio captioning model as: {caption}",
    "label": "Description: {caption}",
}
"""The line after it where there is a captioner."""

CAPTION_PROMPT = (
    "Describe everything that can be heard in this audio. Mention sounds, animals and music, and for each speaker the "
    "gender, the emotion and the language. Do not guess at what cannot be heard."
)
"""What the captioner is asked about each recording. The paper does not print its own."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What is known of a recording: its transcript ("" for no speech), and its caption where there is a captioner."""

    transcript: str
    caption: str | None = None


def build_dialogue(
    prompt: Prompt, heard: Callable[[Any], Heard], template: str = "sentence", images: str = "error"
) -> Dialogue:
    """The conversation as text.

    In each turn the parts keep their order: recordings in a row are lines of one paragraph, and so are texts.

    Args:
        prompt: the conversation.
        heard: what is known of a recording, by the value of its part.
        template: a key of `TEMPLATES`.
        images: `omit` to put `IMAGE_NOTE` in an image's place.

    Raises:
        ModelError: the conversation has an image, and `images` is `error`.
    """
    if prompt.images and images == "error":
        raise ModelError(
            "the prompt has an image, which a cascade cannot see; images=omit asks without it and says so in the prompt"
        )
    names = _names(len(prompt.audios))

    def line(part: Part) -> str:
        if part.kind == "audio":
            return _lines(next(names), heard(part.value), template)
        return part.value if part.kind == "text" else IMAGE_NOTE

    def content(turn: Turn) -> str:
        runs = groupby(turn.parts, key=lambda part: part.kind)
        return "\n\n".join("\n".join(map(line, run)) for _, run in runs)

    return tuple((turn.role, content(turn)) for turn in prompt.turns)


def wording(template: str) -> list[str]:
    """All the words that `build_dialogue` may add."""
    return [TEMPLATES[template], CAPTIONS[template], NO_SPEECH, NO_CAPTION, IMAGE_NOTE]


def without_recordings(prompt: Prompt) -> Prompt:
    """The conversation without its recordings, and without turns that have nothing else."""
    turns = (Turn(turn.role, tuple(part for part in turn.parts if part.kind != "audio")) for turn in prompt.turns)
    return Prompt(tuple(turn for turn in turns if turn.parts))


def _names(count: int) -> Iterator[str]:
    return iter(["A recording"] if count == 1 else [f"Recording {number}" for number in range(1, count + 1)])


def _lines(recording: str, heard: Heard, template: str) -> str:
    transcript = f'"{heard.transcript}"' if heard.transcript else NO_SPEECH
    found = TEMPLATES[template].format(recording=recording, transcript=transcript)
    if heard.caption is None:
        return found
    return found + "\n" + CAPTIONS[template].format(caption=f'"{heard.caption}"' if heard.caption else NO_CAPTION)
