"""Texts kept on disk as they are made (transcripts, answers), so that none is made twice and a killed run loses none.

One folder a maker (model, weights and settings are in its name and in `settings.json`), in it one JSONL file for each
process that added to it: any number of processes can write at once without locks, on network file systems too, and what
a killed process finished stays. To clear it, delete the folder.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import ModelError

logger = logging.getLogger(__name__)
_ELSEWHERE = "cache_dir= or LMMS_AUDIO_TASKS_CACHE names another place"


class TextStore:
    """The texts that one model made with one set of settings, by the hash of what each was made from."""

    def __init__(self, root: Path, maker: Mapping[str, Any], key: str) -> None:
        """Read what is there.

        Args:
            root: the folder that holds one folder a maker; made when the first text is added.
            maker: all that a text depends on besides its key, as plain JSON types; must have a `model`.
            key: what the files call the key of a text, e.g. `audio`.

        Raises:
            ModelError: a file cannot be read.
        """
        settings = json.dumps(maker, sort_keys=True, ensure_ascii=False)
        name = "-".join(re.findall(r"[\w.]+", str(maker["model"]))[-2:])
        self.folder = root / f"{name}-{hashlib.sha256(settings.encode()).hexdigest()[:12]}"
        self._settings = settings
        self._key = key
        self._file = self.folder / f"{socket.gethostname()}-{os.getpid()}-{time.time_ns()}.jsonl"
        self._texts = self._read()

    def __len__(self) -> int:
        """How many texts there are."""
        return len(self._texts)

    def get(self, key: str) -> str | None:
        """The text kept under `key` (it may be ""), or None."""
        return self._texts.get(key)

    def add(self, texts: Mapping[str, str]) -> None:
        """Keep texts by key; they are in the file when this returns.

        Raises:
            ModelError: they cannot be written: no leave, or no space.
        """
        if not texts:
            return
        # Lone surrogates, which a tokenizer may let through, stand escaped: UTF-8 has no form for them.
        lines = [_encodable({self._key: key, "text": text}) for key, text in texts.items()]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            settings = self.folder / "settings.json"
            if not settings.exists():
                settings.write_text(self._settings + "\n", encoding="utf-8")
            with self._file.open("a", encoding="utf-8") as file:
                file.write("".join(f"{line}\n" for line in lines))
        except OSError as error:
            raise ModelError(f"{self.folder} cannot be written: {error.strerror}; {_ELSEWHERE}") from error
        self._texts.update(texts)

    def _read(self) -> dict[str, str]:
        texts: dict[str, str] = {}
        for path in sorted(self.folder.glob("*.jsonl")):
            try:
                with path.open(encoding="utf-8", errors="replace") as file:
                    texts.update(self._entries(path, file))
            except OSError as error:
                raise ModelError(f"{path} cannot be read: {error.strerror}; {_ELSEWHERE}") from error
        return texts

    def _entries(self, path: Path, lines: Iterable[str]) -> Iterator[tuple[str, str]]:
        for number, line in enumerate(lines, start=1):
            entry = _entry(line, self._key)
            if entry is None:
                # A process killed while writing leaves half a line; that text is made again.
                logger.warning("%s, line %d: no text with its %s; ignored", path, number, self._key)
            else:
                yield entry


def _encodable(entry: Mapping[str, str]) -> str:
    line = json.dumps(entry, ensure_ascii=False)
    try:
        line.encode()
    except UnicodeEncodeError:
        return json.dumps(entry)
    return line


def _entry(line: str, key: str) -> tuple[str, str] | None:
    try:
        value = json.loads(line)
        name, text = value[key], value["text"]
    except (json.JSONDecodeError, KeyError, TypeError):
        return None
    return (name, text) if isinstance(name, str) and isinstance(text, str) else None
