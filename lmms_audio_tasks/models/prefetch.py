"""Recordings decoded and resampled in worker threads, each once, ahead of the model that hears them."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any

from lmms_audio_tasks import audio
from lmms_audio_tasks.models.messages import Part, Prompt, Turn
from lmms_audio_tasks.models.windows import Samples

if TYPE_CHECKING:
    from lmms_audio_tasks.models.base import Item

Fetch = Callable[[], Any]
THREADS = 4
KEPT_BYTES = 512 * 2**20
"""Decoded audio kept for questions about the same recording: some 2 h 20 min at 16 kHz."""


def noted(prompt: Prompt, item: Item, recordings: dict[str, Fetch]) -> Prompt:
    """The prompt without what is heavy: the content hash of each recording, or how to get an image, takes its place.

    Args:
        prompt: of `item`.
        item: makes the prompt anew where a recording or image is no path.
        recordings: by content hash, how to get each; what is new is added.

    Raises:
        AudioError: a recording is missing or no audio.
    """
    seen: Counter[str] = Counter()

    def light(part: Part) -> Part:
        if part.kind == "text":
            return part
        source = part.value
        fetch = (lambda: source) if isinstance(source, str) else _again(item, part.kind, seen[part.kind])
        seen[part.kind] += 1
        if part.kind == "image":
            return Part("image", fetch)
        key = item.hashes.of(part)
        recordings.setdefault(key, fetch)
        return Part("audio", key)

    return Prompt(tuple(Turn(turn.role, tuple(map(light, turn.parts))) for turn in prompt.turns))


def _again(item: Item, kind: str, position: int) -> Fetch:
    def fetch() -> Any:
        prompt = item.read()
        return (prompt.audios if kind == "audio" else prompt.images)[position]

    return fetch


class Decoder:
    """Decodes recordings to mono float32 at one rate, in threads; a context manager.

    What was decoded is kept until `kept` bytes are full, the longest unused going first, so that a recording asked for
    again soon is not decoded again.
    """

    def __init__(self, rate: int, threads: int = THREADS, kept: int = KEPT_BYTES) -> None:
        """Take the rate in Hz; nothing runs yet."""
        self._rate = rate
        self._kept = kept
        self._pool = ThreadPoolExecutor(threads)
        self._clips: OrderedDict[str, Future[Samples]] = OrderedDict()

    def __enter__(self) -> Decoder:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Start nothing more, and wait for what is being decoded."""
        self._pool.shutdown(cancel_futures=True)

    def clip(self, key: str, fetch: Fetch) -> Future[Samples]:
        """The samples of a recording, in time; what `audio.load` raises comes with it.

        Args:
            key: its content hash.
            fetch: how to get its source as `audio.load` takes it; called in a thread, at most once while it is kept.
        """
        if key not in self._clips:
            self._forget()
            self._clips[key] = self._pool.submit(lambda: audio.load(fetch(), self._rate)[0])
        self._clips.move_to_end(key)
        return self._clips[key]

    def _forget(self) -> None:
        sizes = {key: _size(clip) for key, clip in self._clips.items() if clip.done()}
        held = sum(sizes.values())
        for key, size in sizes.items():
            if held <= self._kept:
                return
            del self._clips[key]
            held -= size


def _size(clip: Future[Samples]) -> int:
    return 0 if clip.cancelled() or clip.exception() else clip.result().nbytes
