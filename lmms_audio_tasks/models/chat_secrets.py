"""Keys and addresses of servers: checked before use, and kept out of everything that is told."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from lmms_audio_tasks.errors import ModelError

_LONGEST_TOLD = 300


def checked_url(url: str) -> str:
    """`url` without a slash at its end.

    Raises:
        ModelError: not an http or https URL with a host; or one that may hold a secret (user, password, query), which
            the host's results file would show. The URL itself is not quoted then.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ModelError("base_url is not a URL") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ModelError("base_url must begin with http:// or https:// and name a host")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ModelError(
            "base_url must not hold a user, password or query: it stands in logs and results; a key goes into the "
            "environment variable OPENAI_API_KEY"
        )
    return url.rstrip("/")


def checked_key(key: str) -> str:
    """`key` without blanks around it; `ModelError`, which does not quote it, if no HTTP header can hold it."""
    key = key.strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ModelError("the server's key holds characters that no HTTP header may hold")
    return key


def one_line(text: object, key: str) -> str:
    """`text` as one short line without `key` or anything that looks like one."""
    line = " ".join(str(text).split())
    if key:
        line = line.replace(key, "***")
    line = re.sub(r"\bsk-[\w*.-]{4,}", "***", line)
    return line if len(line) <= _LONGEST_TOLD else f"{line[:_LONGEST_TOLD]}..."
