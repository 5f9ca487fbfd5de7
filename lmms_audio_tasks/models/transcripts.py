"""Transcripts kept on disk, so that each recording is transcribed once by each recogniser.

One folder a recogniser (model, weights and settings are in its name and in `settings.json`), in it one JSONL file for
each process that added to it: any number of processes can write at once without locks, on network file systems too, and
what a killed process finished stays. To clear it, delete the folder.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import socket
import time
from collections.abc import Mapping
from pathlib import Path

logger = logging.getLogger(__name__)


class TranscriptStore:
    """The transcripts made by one recogniser, by the content hash of the recording."""

    def __init__(self, root: Path, recogniser: Mapping[str, str | None]) -> None:
        """Read what is there.

        Args:
            root: the folder that holds one folder a recogniser; made when the first transcript is added.
            recogniser: all that a transcript depends on besides the recording; must have a `model`.
        """
        settings = json.dumps(recogniser, sort_keys=True, ensure_ascii=False)
        name = "-".join(re.findall(r"[\w.]+", str(recogniser["model"]))[-2:])
        self.folder = root / f"{name}-{hashlib.sha256(settings.encode()).hexdigest()[:12]}"
        self._settings = settings
        self._file = self.folder / f"{socket.gethostname()}-{os.getpid()}-{time.time_ns()}.jsonl"
        self._texts = _read(self.folder)

    def __len__(self) -> int:
        """How many recordings have a transcript."""
        return len(self._texts)

    def get(self, audio: str) -> str | None:
        """The transcript of the recording with this content hash ("" where no speech was recognised), or None."""
        return self._texts.get(audio)

    def add(self, texts: Mapping[str, str]) -> None:
        """Keep transcripts by content hash; they are in the file when this returns."""
        if not texts:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = self.folder / "settings.json"
        if not settings.exists():
            settings.write_text(self._settings + "\n", encoding="utf-8")
        lines = [json.dumps({"audio": audio, "text": text}, ensure_ascii=False) for audio, text in texts.items()]
        with self._file.open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
        self._texts.update(texts)


def _read(folder: Path) -> dict[str, str]:
    texts: dict[str, str] = {}
    for path in sorted(folder.glob("*.jsonl")):
        with path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, start=1):
                try:
                    entry = json.loads(line)
                    texts[entry["audio"]] = entry["text"]
                except (json.JSONDecodeError, KeyError, TypeError):
                    # A process killed while writing leaves half a line; that recording is transcribed again.
                    logger.warning("%s, line %d: not a transcript; ignored", path, number)
    return texts
