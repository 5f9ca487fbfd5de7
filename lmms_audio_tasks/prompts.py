"""How audio and text are handed to the host's models, whose wishes differ.

`lmms_eval_specific_kwargs` in a task's YAML says for each model (by its `--model` name) what it needs:
`simple_audio` is `array` (default) or `path`; `chat_audio` is `path` (default), `data_uri` or `array`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lmms_audio_tasks import audio
from lmms_audio_tasks.cache import cache_root

RATE = 16_000
"""Hz: what speech encoders take. Models of ours decode from the path at their own rate."""
YOUR_TURN = "Now it is your turn"
"""Begins the line before what is asked now, where a dialogue is told as one text."""


def local_path(recording: Mapping[str, Any]) -> str:
    """A path to `recording` (`{"bytes", "path"}`); bytes without a file are written once into the cache."""
    if recording.get("bytes") is None:
        return recording["path"]
    return str(audio.as_file(recording, cache_root() / "audio"))


def simple_audio(recording: Mapping[str, Any], wishes: Mapping[str, Any] | None) -> Any:
    """One recording for a model of the simple kind: `{"array", "sampling_rate", "path"}`, or a path where it asks so.

    Raises:
        AudioError: the recording cannot be decoded.
        ValueError: an unknown wish.
    """
    wish = (wishes or {}).get("simple_audio", "array")
    if wish == "path":
        return local_path(recording)
    if wish == "array":
        return _array(recording)
    raise ValueError(f"simple_audio must be array or path, not {wish!r}")


def recording_of(doc: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A document's recording; None where it is asked in writing.

    Raises:
        AudioError: it is spoken, and the data have no recording: a model must not answer what it was not asked.
    """
    recording = doc.get("audio")
    nothing = recording is None or (recording.get("bytes") is None and not recording.get("path"))
    if nothing and doc["modality"] != "text":
        raise audio.AudioError(doc["item_id"], "a recording", "none in the data")
    return recording


def doc_to_audio(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> list[Any]:
    """The host's hook where some tasks' documents have a recording and others' are text alone.

    Returns:
        `[{"array": float32 of shape (n,), "sampling_rate": 16000, "path": str | None}]`, or what the model's entry in
        `lmms_eval_specific_kwargs` asks for instead (see `simple_audio`); [] for a document that is text alone.

    Raises:
        AudioError: see `recording_of`, and `simple_audio`.
    """
    recording = recording_of(doc)
    return [] if recording is None else [simple_audio(recording, lmms_eval_specific_kwargs)]


def chat_audio(recording: Mapping[str, Any], wishes: Mapping[str, Any] | None) -> Any:
    """One recording for a model of the chat kind: a path, a data URI or an array, whichever it asks for.

    Raises:
        AudioError: the recording cannot be decoded.
        ValueError: an unknown wish.
    """
    wish = (wishes or {}).get("chat_audio", "path")
    if wish == "path":
        return local_path(recording)
    if wish == "data_uri":
        return audio.data_uri(recording, RATE)
    if wish == "array":
        return _array(recording)
    raise ValueError(f"chat_audio must be path, data_uri or array, not {wish!r}")


def _array(recording: Mapping[str, Any]) -> dict[str, Any]:
    samples, rate = audio.load(recording, RATE)
    return {"type": "audio", "array": samples, "sampling_rate": rate, "path": recording.get("path")}


def last_turn(text: str) -> tuple[str, str]:
    """Of a dialogue told as one text, what comes before the turn to be answered, and that turn; else ("", text)."""
    before, mark, now = text.rpartition(f"\n{YOUR_TURN}")
    return before, now.partition("\n")[2] if mark else text


def user_turn(audios: Sequence[Any], text: str) -> list[dict[str, Any]]:
    """One user message in the host's form: the audio parts, then the text."""
    # The host takes an audio part without `type: audio` for a video.
    content = [{"type": "audio", "url": recording} for recording in audios]
    return [{"role": "user", "content": [*content, {"type": "text", "text": text}]}]
