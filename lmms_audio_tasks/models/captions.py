"""Recordings -> captions by an audio language model: each recording once, and never again later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.base import AudioTasksModel, Item
from lmms_audio_tasks.models.cascade_prompts import CAPTION_PROMPT
from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.models.messages import Part, Prompt, Turn
from lmms_audio_tasks.models.prefetch import Fetch
from lmms_audio_tasks.models.seat import Seat
from lmms_audio_tasks.models.store import TextStore
from lmms_audio_tasks.models.transcription import Progress

CAPTIONERS = ("audio_lm", "openai_audio")
MAX_NEW_TOKENS = 200


def load_captioner(
    name: str, base_url: str | None, long_audio: str, shared: Mapping[str, Any], batch_size: int
) -> AudioTasksModel:
    """The captioner that the model argument `captioner` names.

    Args:
        name: `audio_lm:` and a folder or hub id, or `openai_audio:` and a model's name on its server.
        base_url: the server's address.
        long_audio: as `audio_lm` takes it.
        shared: further arguments of `audio_lm`, such as its device.
        batch_size: recordings captioned at a time by `audio_lm`.

    Raises:
        ModelError: no such kind of captioner, or it cannot be loaded.
    """
    kind, _, model = name.partition(":")
    if kind not in CAPTIONERS or not model:
        raise ModelError(f"captioner={name}: expected audio_lm:<folder or hub id> or openai_audio:<model>")
    if kind == "openai_audio":
        from lmms_audio_tasks.models.openai_audio import OpenAIAudio

        return OpenAIAudio(model=model, base_url=base_url, resume=False)
    from lmms_audio_tasks.models.audio_lm import AudioLM

    return AudioLM(pretrained=model, batch_size=batch_size, long_audio=long_audio, resume=False, **shared)


class Captioning:
    """A captioner, and its captions on disk."""

    def __init__(self, load: Callable[[], AudioTasksModel], root: Path, seat: Seat) -> None:
        """Load the captioner.

        Args:
            load: loads it.
            root: the folder of all captions.
            seat: taken before it is loaded.

        Raises:
            ModelError: it cannot be loaded, or its weights cannot be told from others of the same name.
        """
        self._seat = seat
        seat.take(self.unload)
        self._captioner = load()
        identity = self._captioner.identity()
        if identity is None:
            raise ModelError("the captioner's weights are not in the hub's cache; give a folder")
        self.identity = {**identity, "prompt": CAPTION_PROMPT, "captions_of": MAX_NEW_TOKENS}
        self._root = root

    def unload(self) -> None:
        """Free the captioner's memory; it is loaded again when needed."""
        self._captioner.clean()

    def caption(self, recordings: Mapping[str, Fetch], progress: Progress) -> dict[str, str | Failure]:
        """The caption of each recording, or why there is none; what is new is on disk as soon as it is there.

        Args:
            recordings: by content hash, how to get the recording's source as `audio.load` takes it.
            progress: called with the number of recordings done.
        """
        store = TextStore(self._root, self.identity, "audio")
        found: dict[str, str | Failure] = {key: text for key in recordings if (text := store.get(key)) is not None}
        progress(len(found))
        missing = [key for key in recordings if key not in found]
        items = [_item(number, recordings[key]) for number, key in enumerate(missing)]
        if items:
            self._seat.take(self.unload)
        for number, caption in self._captioner.answer(items) if items else ():
            found[missing[number]] = caption
            if isinstance(caption, str):
                store.add({missing[number]: caption})
            progress(1)
        return found


def _item(number: int, fetch: Fetch) -> Item:
    def read() -> Prompt:
        return Prompt((Turn("user", (Part("audio", fetch()), Part("text", CAPTION_PROMPT))),))

    generation = {"max_new_tokens": MAX_NEW_TOKENS, "do_sample": False, "until": []}
    return Item(task="captions", doc_id=number, context="", generation=generation, read=read)
