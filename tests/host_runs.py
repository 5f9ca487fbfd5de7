"""The real host's command line in processes of its own, and what it leaves in an output folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
"""Where the environment's console scripts are."""


def run(command: Sequence[str | Path], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end without the caller's data source or judge; `environment` is set on top."""
    ours = "LMMS_AUDIO_TASKS_"
    clean = {
        key: value for key, value in os.environ.items() if not key.startswith(ours) or key == "LMMS_AUDIO_TASKS_CACHE"
    }
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        env={**clean, **environment},
        timeout=900,
        check=False,
    )


def results(out: Path) -> dict[str, Any]:
    """The results file of a run that wrote one."""
    (path,) = out.rglob("*_results.json")
    return json.loads(path.read_text("utf-8"))


def records(out: Path, task: str, metric: str = "accuracy") -> list[dict[str, Any]]:
    """A task's records, as its samples file has them under `metric`."""
    (path,) = out.rglob(f"*_samples_{task}.jsonl")
    return [json.loads(line)[metric] for line in path.read_text("utf-8").splitlines()]
