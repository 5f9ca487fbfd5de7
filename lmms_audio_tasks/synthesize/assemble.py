"""The set's rows, manifest and card from the finished recordings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lmms_audio_tasks import __version__
from lmms_audio_tasks.files import write_whole
from lmms_audio_tasks.synthesize import card, voices, writer
from lmms_audio_tasks.synthesize.cells import Cell, Options
from lmms_audio_tasks.synthesize.report import Summary
from lmms_audio_tasks.synthesize.tasks_input import Prompt
from lmms_audio_tasks.synthesize.tts import Engine
from lmms_audio_tasks.synthesize.workfiles import WorkFiles


def write_set(
    folder: Path,
    cells: Sequence[Cell],
    files: WorkFiles,
    table: voices.Table,
    engine: Engine,
    options: Options,
    summary: Summary,
) -> None:
    """Write the set of `cells`, all of which have their recordings, in the place of `folder`.

    Raises:
        DataError: it cannot be written.
    """
    rows = [_row(cell, files.path(cell.key), cell.made.size) for cell in cells if cell.made]
    with writer.successor(folder) as new:
        shards = writer.write(new, rows, options.settings.run["shard_megabytes"] * 1e6)
        manifest = _manifest(cells, table, engine, options, summary)
        manifest["files"] = {shard.path: shard.sha256 for shard in shards}
        speaking = {cell.voice.voice_id: cell.voice for cell in cells}
        named = [voice for voice in table.voices if voice.voice_id in speaking]
        write_whole(new / "README.md", card.card(manifest, rows, shards, named, summary.understood))
        writer.put_in_place(new, folder, manifest)
    summary.written = len(rows)
    summary.tasks = tuple(manifest["tasks"])
    summary.splits = tuple(split for split in options.splits if any(row.split == split for row in rows))


def _row(cell: Cell, path: Path, size: int) -> writer.Row:
    prompt, voice = cell.prompt, cell.voice
    age, gender = cell.labels if cell.split == "age_gender" else (voice.age, voice.gender)
    fields = {
        "task_name": prompt.task,
        "task_id": cell.number,
        "instance_id": prompt.instance_id,
        "sample_id": cell.sample_id,
        "text_prompt": prompt.text,
        "answers": list(prompt.answers),
        "options": list(prompt.options),
        "audio_prompt": voice.told(),
        "accent": voice.accent or None,
        "age": age or None,
        "gender": gender or None,
    }
    return writer.Row(prompt.task, cell.split, fields, path, size)


def _manifest(
    cells: Sequence[Cell], table: voices.Table, engine: Engine, options: Options, summary: Summary
) -> dict[str, Any]:
    """What `synthesized.json` says: all that the set depends on, nothing that differs from run to run."""
    found = summary.filtered
    settings = options.settings
    return {
        "tasks": sorted({cell.prompt.task for cell in cells}),
        "plugin_version": __version__,
        "language": options.engine.language,
        "engine": engine.identity(),
        "seed": options.seed,
        "splits": list(options.splits),
        "prompts": {"read": found.read, "kept": len(found.kept), "dropped": len(found.dropped)},
        "recordings": len(cells),
        "recordings_absent": summary.wanted - len(cells),
        "asr": options.asr,
        "settings": settings.to_dict(),
        "settings_sha256": settings.digest,
        "tasks_sha256": _digest(_asked(prompt) for prompt, _ in found.kept),
        "voices_sha256": hashlib.sha256(table.path.read_bytes()).hexdigest(),
        "word_error_rate": summary.wer and [round(rate, 4) for rate in summary.wer],
    }


def _asked(prompt: Prompt) -> list[Any]:
    return [prompt.task, prompt.instance_id, prompt.text, list(prompt.answers), list(prompt.options)]


def _digest(values: Iterable[Any]) -> str:
    digest = hashlib.sha256()
    for value in values:
        digest.update(json.dumps(value, ensure_ascii=False).encode() + b"\n")
    return digest.hexdigest()
