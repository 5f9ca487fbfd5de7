"""Verdicts kept between runs: one SQLite file that is only ever appended to.

Each verdict is its own transaction in write-ahead mode. A run killed at any moment loses nothing it was told, a power
cut at most the last few verdicts, and several runs may use one file at once. Deleting the file is the way to clear it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.judge.prompt import JudgeRequest, encode
from lmms_audio_tasks.judge.settings import JudgeSettings

PROTOCOL = 1
"""Raised whenever the way of asking or of reading a verdict changes and the prompt's version does not tell."""

_VERSION = 1
_BUSY_SECONDS = 60
_TABLE = """
CREATE TABLE IF NOT EXISTS verdicts (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('correct', 'incorrect', 'unjudged')),
    text TEXT NOT NULL,
    problem TEXT NOT NULL,
    model TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    time REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS verdicts_by_key ON verdicts (key);
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a judge said on one request.

    Attributes:
        verdict: `correct`, `incorrect`, or `unjudged` where no verdict could be had.
        text: the judge's reply as it came; both replies where it was asked twice.
        problem: why there is no verdict, "" where there is one.
    """

    verdict: Literal["correct", "incorrect", "unjudged"]
    text: str
    problem: str
    prompt_tokens: int
    completion_tokens: int


def request_key(request: JudgeRequest, prompt_version: str, settings: JudgeSettings) -> str:
    """SHA-256 of whatever the verdict depends on: judge model, prompt, sampling settings and the request.

    The server is not part of it: one model is the same judge wherever it is served. What kind of request it is shows in
    the version of its kind's prompt.
    """
    parts = [PROTOCOL, settings.model, prompt_version, float(settings.temperature), float(settings.top_p)]
    request_parts = [settings.max_tokens, request.instruction, request.golden, request.response]
    return hashlib.sha256(encode(json.dumps([*parts, *request_parts], ensure_ascii=False))).hexdigest()


class VerdictCache:
    """The file, open. To be used from one thread, as a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._faults_told():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
            try:
                self._prepare()
            except BaseException:
                self._database.close()
                raise

    def _prepare(self) -> None:
        found = self._database.execute("PRAGMA user_version").fetchone()[0]
        if found == _VERSION:
            self._database.execute("PRAGMA synchronous = NORMAL")
            return
        if found:
            raise DataError(self.path, f"a judge's cache of version {_VERSION}", f"version {found}")
        self._write_ahead()
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.executescript(f"BEGIN IMMEDIATE;{_TABLE}PRAGMA user_version = {_VERSION};COMMIT;")

    def _write_ahead(self) -> None:
        # This one switch fails at once, without waiting, where another process makes it too.
        last = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._database.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > last:
                    raise
                time.sleep(0.05)

    def get(self, key: str) -> Entry | None:
        """The first usable verdict on `key`; what is `unjudged` is never found, so that it is asked again."""
        with self._faults_told():
            row = self._database.execute(
                "SELECT verdict, text, problem, prompt_tokens, completion_tokens FROM verdicts"
                " WHERE key = ? AND verdict != 'unjudged' ORDER BY id LIMIT 1",
                (key,),
            ).fetchone()
        return Entry(*row) if row else None

    def put(self, key: str, entry: Entry, model: str) -> None:
        """Append one verdict; it is in the file when this returns."""
        with self._faults_told():
            self._database.execute(
                "INSERT INTO verdicts (key, verdict, text, problem, model, prompt_tokens, completion_tokens, time)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    key,
                    entry.verdict,
                    entry.text,
                    entry.problem,
                    model,
                    entry.prompt_tokens,
                    entry.completion_tokens,
                    time.time(),
                ),
            )

    @contextmanager
    def _faults_told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise DataError(self.path, "a judge's cache that can be read and written", str(error)) from error
        except OSError as error:
            raise DataError(self.path, "a file that can be made", error.strerror or str(error)) from error

    def __enter__(self) -> VerdictCache:
        """The cache itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._database.close()
