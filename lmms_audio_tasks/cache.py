"""Where this plugin keeps what it need not make twice: transcripts, converted weights, audio written out of tables."""

from __future__ import annotations

import os
from pathlib import Path

CACHE_VARIABLE = "LMMS_AUDIO_TASKS_CACHE"


def cache_root() -> Path:
    """The cache folder: the value of `LMMS_AUDIO_TASKS_CACHE` (`~` is expanded), else `~/.cache/lmms_audio_tasks`.

    It is not created here, and may be deleted at any time when nothing runs: all in it is made again.
    """
    value = os.environ.get(CACHE_VARIABLE, "").strip()
    return Path(value).expanduser().absolute() if value else Path.home() / ".cache" / "lmms_audio_tasks"
