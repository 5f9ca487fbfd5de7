"""Addresses and keys of servers: checked before use, and kept out of everything that is told."""

from __future__ import annotations

import os
import re
from urllib.parse import SplitResult, urlsplit

from lmms_audio_tasks.errors import AudioTasksError

OPENAI_URL = "https://api.openai.com/v1"
_LONGEST_TOLD = 300


def url_from_environment() -> str:
    """What `OPENAI_BASE_URL` says, else OpenAI's own server."""
    return os.environ.get("OPENAI_BASE_URL", "").strip() or OPENAI_URL


def key_from_environment() -> str:
    """What `OPENAI_API_KEY` says, "" where it is not set."""
    return os.environ.get("OPENAI_API_KEY", "").strip()


def url_parts(url: str, name: str, error: type[AudioTasksError]) -> SplitResult:
    """`url` taken apart.

    Args:
        url: a server's address.
        name: what errors call it.
        error: what is raised.

    Raises:
        error: not an http or https URL with a host; the URL itself is not quoted, as it may hold a secret.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise error(f"{name} is not a URL") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise error(f"{name} must begin with http:// or https:// and name a host")
    return parts


def checked_key(key: str, name: str, error: type[AudioTasksError]) -> str:
    """`key` without blanks around it; `error`, which does not quote it, if no HTTP header can hold it."""
    key = key.strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise error(f"{name} holds characters that no HTTP header may hold")
    return key


def one_line(text: object, key: str) -> str:
    """`text` as one short line without `key` or anything that looks like one."""
    told = str(text)
    if key:
        told = told.replace(key, "***")
    line = " ".join(re.sub(r"\bsk-[\w*.-]{4,}", "***", told).split())
    return line if len(line) <= _LONGEST_TOLD else f"{line[:_LONGEST_TOLD]}..."
