"""The transcripts with which the `_asr` tasks ask: the data's own, or a speech recogniser's, made when needed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from lmms_audio_tasks import audio
from lmms_audio_tasks.errors import AudioTasksError, DataError
from lmms_audio_tasks.have_bench import ITEMS_FILE
from lmms_audio_tasks.have_bench.items import Item

VARIABLE = "LMMS_AUDIO_TASKS_HAVE_ASR"
DATA = "data"
"""What is named as the recogniser where the data brought the transcript."""


class Heard(NamedTuple):
    """A transcript and who made it: `data`, or a recogniser's name."""

    text: str
    by: str


def recogniser_name() -> str:
    """The recogniser that `LMMS_AUDIO_TASKS_HAVE_ASR` names, as `cascade` takes its `asr`; "" where it is not set."""
    return os.environ.get(VARIABLE, "").strip()


def heard(items: Sequence[Item], root: Path) -> dict[str, Heard]:
    """The transcript of each AaI item's recording, by item id; never the `transcript` that people wrote.

    A recogniser that the user names transcribes all. Without one an item's own `asr` is taken, and what lacks one is
    transcribed by Whisper tiny.en of the `demo` extra. Transcripts are kept in the cache folder.

    Raises:
        ModelError: the recogniser is not there.
        DataError: a recording cannot be transcribed.
    """
    name = recogniser_name()
    own = {item.id: Heard(item.asr, DATA) for item in items if not name and item.asr is not None}
    rest = [item for item in items if item.id not in own]
    return {**own, **(_transcribe(rest, root, name) if rest else {})}


def _transcribe(items: Sequence[Item], root: Path, name: str) -> dict[str, Heard]:
    from tqdm import tqdm

    from lmms_audio_tasks.cache import cache_root
    from lmms_audio_tasks.models import demo
    from lmms_audio_tasks.models.asr import Recogniser
    from lmms_audio_tasks.models.failures import Failure
    from lmms_audio_tasks.models.transcription import Transcription

    try:
        wanted = name or f"faster-whisper:{demo.whisper_folder()}"
    except AudioTasksError as error:
        told = f"no recogniser for the items without `asr` ({len(items)}): set {VARIABLE}, or install the demo extra"
        raise type(error)(f"{told} ({error})") from None
    paths = {item.id: str(root / item.audios[0]) for item in items}
    keys = {one: audio.content_hash(path) for one, path in paths.items()}
    # How to get each recording: by its path, which is what it is opened by.
    fetch = {keys[one]: partial(str, path) for one, path in paths.items()}
    transcription = Transcription(Recogniser(wanted, None, "float32", "cpu"), cache_root() / "transcripts", 8)
    with tqdm(total=len(fetch), desc="Transcribing", disable=None) as bar:
        texts = transcription.transcribe(fetch, bar.update)
    found = {}
    for item in items:
        text = texts[keys[item.id]]
        if isinstance(text, Failure):
            file = root / ITEMS_FILE
            raise DataError(file, "a recording that can be transcribed", text.message, f"line {item.line}")
        found[item.id] = Heard(text, name or "faster-whisper tiny.en")
    return found
