"""The pictures and recordings that items and graphs name: whether each is there and decodes, each looked at once."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from lmms_audio_tasks import audio
from lmms_audio_tasks.strict_json import short

Kind = Literal["image", "audio"]
SILENT = 1e-4
"""A recording whose loudest sample is below this share of full scale holds no speech."""


@contextmanager
def _strict_pictures() -> Iterator[None]:
    """Have Pillow take a cut picture for a fault and keep its warnings of odd metadata, which do no harm, to itself.

    A module of the host's asks it, for the whole process, to pass over what is cut.
    """
    from PIL import ImageFile

    before = ImageFile.LOAD_TRUNCATED_IMAGES
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = before


def load_image(path: Path | str) -> Any:
    """The picture as Pillow has it, in RGB and detached from its file."""
    from PIL import Image

    with Image.open(path) as image:
        return image.convert("RGB")


class Media:
    """The media below one folder, checked.

    Args:
        root: the folder that paths are relative to.
        decode: whether to decode every file to its end, as `lmms-audio-tasks check` does; else its header is read,
            which finds whatever is missing, of another kind or cut short.
    """

    def __init__(self, root: Path, decode: bool) -> None:
        self.root = root
        self.decode = decode
        self._problems: dict[tuple[Kind, str], str] = {}
        self.seconds: dict[str, float] = {}
        """Durations of the recordings that are sound, by path."""
        self.silent: set[str] = set()
        """Recordings without any sound in them; known only where they were decoded."""

    def look(self, files: Iterable[tuple[Kind, str]]) -> None:
        """Check `files` (kind and path) at once; libsndfile and Pillow release the interpreter's lock."""
        new = [file for file in dict.fromkeys(files) if file not in self._problems]
        with _strict_pictures(), ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
            self._problems.update(zip(new, pool.map(lambda file: self._look(*file), new), strict=True))

    def problem(self, kind: Kind, name: str) -> str:
        """What is wrong with a file; "" where nothing is."""
        self.look([(kind, name)])
        return self._problems[kind, name]

    def _look(self, kind: Kind, name: str) -> str:
        path = self.root / name
        try:
            if not path.is_file():
                return f"{name!r}: {'no file' if path.exists() else 'no such file'}"
        except OSError as error:  # a name that is too long, a folder that may not be entered
            return f"{short(name)}: {error.strerror or error}"
        return self._image(name) if kind == "image" else self._audio(name)

    def _image(self, name: str) -> str:
        from PIL import Image

        try:
            with Image.open(self.root / name) as image:
                if self.decode:
                    image.load()
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            return f"{name!r}: {str(error) or type(error).__name__}"
        return ""

    def _audio(self, name: str) -> str:
        try:
            if self.decode:
                samples, rate = audio.load(self.root / name)
                self.seconds[name] = len(samples) / rate
                if max(samples.max(), -samples.min()) < SILENT:
                    self.silent.add(name)
            else:
                self.seconds[name] = audio.probe(self.root / name).duration
        except audio.AudioError as error:
            return str(error)
        return ""
