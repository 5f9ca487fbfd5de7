"""Files of answers judged by a language model: open answers against their reference, options by the LLM matcher."""

from __future__ import annotations

from pathlib import Path

from lmms_audio_tasks import sources
from lmms_audio_tasks.have_bench.predictions import ScoredFile, score
from lmms_audio_tasks.judge.settings import JudgeSettings


def judge_file(
    path: Path, settings: JudgeSettings, progress: bool = True, source: sources.Source | None = None
) -> ScoredFile:
    """Judge a file of answers according to `settings.mode`, against the items of `source` (default: the one in force).

    Raises:
        DataError: see `predictions.score_file`.
        AudioTasksError: see `judge.run.judge`.
    """
    return score(path, source or sources.current(), settings, progress)
