"""A prompt -> the messages that a processor's chat template takes."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_audio_tasks import audio
from lmms_audio_tasks.models.messages import Part, Prompt, Turn
from lmms_audio_tasks.models.windows import Samples

if TYPE_CHECKING:
    from PIL.Image import Image

Message = dict[str, Any]

PLAIN_TURNS = """\
{%- set plain = namespace(turns=[]) -%}
{%- for turn in messages -%}
{%- set plain.text = '' -%}
{%- if turn.content is string -%}
{%- set plain.text = turn.content -%}
{%- else -%}
{%- for part in turn.content -%}
{%- set plain.text = plain.text + {'text': part.text, 'audio': AUDIO, 'image': IMAGE}[part.type] -%}
{%- endfor -%}
{%- endif -%}
{%- set plain.turns = plain.turns + [{'role': turn.role, 'content': plain.text}] -%}
{%- endfor -%}
{%- set messages = plain.turns -%}
"""
"""What comes before a chat template that knows only turns of text: it writes the parts as text, with placeholders."""


def chat_template(processor: Any) -> str | None:
    """The processor's template, made to keep recordings where it knows only turns of text; None for its default.

    Templates of the second kind are those of Phi-4 and Granite Speech: handed a list of parts they fail, write it out
    as Python would, or lose the recording.
    """
    turn = {"role": "user", "content": [{"type": "audio"}, {"type": "text", "text": "probe"}]}
    token = getattr(processor, "audio_token", None)
    try:
        text = processor.apply_chat_template([turn], tokenize=False, add_generation_prompt=True)
    except Exception:
        text = ""
    if token is None or ("probe" in text and "'type'" not in text and token in text):
        return None
    template = processor.chat_template
    template = template["default"] if isinstance(template, Mapping) else template
    image = getattr(processor, "image_token", None) or ""
    return PLAIN_TURNS.replace("AUDIO", repr(token)).replace("IMAGE", repr(image)) + template


def messages(
    prompt: Prompt,
    pieces: Callable[[Any], Sequence[Samples]],
    image: Callable[[Any], Image],
    encode_at: int | None,
    system_prompt: str | None,
) -> list[Message]:
    """The messages of one conversation.

    Args:
        prompt: the conversation.
        pieces: what to give for the value of an audio part: mono float32 samples at the model's rate, mostly one array.
        image: the image for the value of an image part.
        encode_at: None to hand over samples; a rate in Hz for models that take base64 WAV files instead.
        system_prompt: comes first where the conversation has no system turn; None for nothing.
    """

    def parts(part: Part) -> list[Message]:
        if part.kind == "text":
            return [{"type": "text", "text": part.value}]
        if part.kind == "image":
            return [{"type": "image", "image": image(part.value)}]
        return [_audio(piece, encode_at) for piece in pieces(part.value)]

    def message(turn: Turn) -> Message:
        content: Any = [found for part in turn.parts for found in parts(part)]
        # A single text as such: some templates take nothing else from the system or the assistant.
        if len(content) == 1 and content[0]["type"] == "text":
            content = content[0]["text"]
        return {"role": turn.role, "content": content}

    found = [message(turn) for turn in prompt.turns]
    if system_prompt is not None and prompt.turns[0].role != "system":
        found.insert(0, {"role": "system", "content": system_prompt})
    return found


def _audio(samples: Samples, encode_at: int | None) -> Message:
    if encode_at is None:
        return {"type": "audio", "audio": samples}
    return {"type": "audio", "base64": base64.b64encode(audio.encode_wav(samples, encode_at)).decode("ascii")}


def open_image(source: Any) -> Image:
    """A path, encoded bytes or image as an RGB image; `OSError` where it is none."""
    from PIL import Image

    if isinstance(source, bytes):
        source = io.BytesIO(source)
    if isinstance(source, str | Path | io.BytesIO):
        with Image.open(source) as opened:
            return opened.convert("RGB")
    return source.convert("RGB")
