"""Which weights a model's name stands for on this machine, so that what was made with others is told apart."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path

from lmms_audio_tasks.errors import ModelError


def load_errors() -> tuple[type[Exception], ...]:
    """What transformers raises where a checkpoint is not there, damaged, or does not fit its config."""
    from safetensors import SafetensorError

    return OSError, ValueError, ImportError, KeyError, RuntimeError, SafetensorError


def refuse_random(given: str, missing: Collection[str]) -> None:
    """Raise `ModelError` if weights of the model that `given` names are missing: they would be drawn at random."""
    if missing:
        raise ModelError(
            f"{given}: {len(missing)} weights are not in the checkpoint and would be random, the first of them "
            f"{min(missing)}"
        )


def local_folder(name: str) -> Path | None:
    """The folder of a local model; None for a hub id."""
    folder = Path(name).expanduser()
    return folder if folder.is_dir() else None


def fingerprint(name: str, revision: str | None = None) -> str | None:
    """The commit of a hub model, or a hash of names, sizes and times of change of a folder's files.

    None for a hub model that is not in the hub's cache yet.
    """
    folder = local_folder(name)
    if folder is None:
        return _commit(name, revision)
    stats = [(str(path.relative_to(folder)), path.stat()) for path in sorted(folder.rglob("*")) if path.is_file()]
    lines = [f"{path} {stat.st_size} {stat.st_mtime_ns}" for path, stat in stats]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _commit(name: str, revision: str | None) -> str | None:
    import huggingface_hub

    try:
        # Asked for by one file: a repository that was loaded from is seldom in the cache as a whole.
        path = huggingface_hub.try_to_load_from_cache(name, "config.json", revision=revision)
    except (OSError, ValueError):
        return None
    return Path(path).parent.name if isinstance(path, str) else None
