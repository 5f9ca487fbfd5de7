"""The data card: what is in the set, how it was made, whose voices and under which licences, the files' hashes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lmms_audio_tasks.synthesize.tasks_input import folder_name
from lmms_audio_tasks.synthesize.voices import Voice
from lmms_audio_tasks.synthesize.writer import Row, Shard


def card(
    manifest: Mapping[str, Any],
    rows: Sequence[Row],
    shards: Sequence[Shard],
    voices: Iterable[Voice],
    understood: Sequence[Mapping[str, Any]],
) -> str:
    """The text of `README.md`, in the form of the hub's cards; the same for the same set.

    Args:
        manifest: what `synthesized.json` says.
        voices: those that speak in the set.
        understood: the rows of `intelligibility.table`; none where it was not checked.
    """
    parts = [
        _head(manifest, shards),
        "# A spoken test set in the form of C3T",
        f"Made by `lmms-audio-tasks synthesize` (version {manifest['plugin_version']}) from text tasks: each prompt is "
        "spoken by several synthetic voices, to see whether a model serves all speakers alike. No person speaks in it "
        "unless the table of voices says so.",
        "## Contents",
        _contents(rows),
        "## How it was made",
        _how(manifest),
        "## Voices and licences",
        _voices(list(voices), rows),
    ]
    if understood:
        parts += ["## How well the voices are understood", _understood(manifest, understood)]
    parts += [
        "## Files",
        _table(("file", "rows", "bytes", "SHA-256"), [(s.path, s.rows, s.size, s.sha256) for s in shards]),
    ]
    return "\n\n".join(parts) + "\n"


def _head(manifest: Mapping[str, Any], shards: Sequence[Shard]) -> str:
    """The front matter, from which `datasets.load_dataset` takes the configurations: one a task, and `default`."""
    import yaml

    splits: dict[str, dict[str, list[str]]] = {}
    for shard in shards:
        folder, _, name = shard.path.partition("/")
        splits.setdefault(folder, {}).setdefault(name.partition("-")[0], []).append(shard.path)
    whole: dict[str, list[str]] = {}
    for files in splits.values():
        for split, paths in files.items():
            whole.setdefault(split, []).extend(paths)
    configs = [_config("default", whole)]
    configs += [_config(folder.replace("_", "-"), files) for folder, files in splits.items()]
    configs[0]["default"] = True
    told = {
        "license": "other",
        "language": [manifest["language"].partition("-")[0]],
        "tags": ["audio", "synthetic-speech"],
        "configs": configs,
    }
    return f"---\n{yaml.safe_dump(told, sort_keys=False, allow_unicode=True)}---"


def _config(name: str, files: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    return {
        "config_name": name,
        "data_files": [{"split": split, "path": list(paths)} for split, paths in files.items()],
    }


def _contents(rows: Sequence[Row]) -> str:
    counts = Counter((row.task, row.split) for row in rows)
    prompts: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        prompts.setdefault((row.task, row.split), set()).add(row.fields["instance_id"])
    lines = [
        (task, folder_name(task).replace("_", "-"), split, len(prompts[task, split]), count)
        for (task, split), count in sorted(counts.items())
    ]
    return _table(("task", "configuration", "split", "prompts", "recordings"), lines)


def _how(manifest: Mapping[str, Any]) -> str:
    engine = ", ".join(f"{name}: {value}" for name, value in manifest["engine"].items())
    speech = ", ".join(f"{name}: {value}" for name, value in manifest["settings"]["speech"].items())
    lines = [
        ("speech", engine),
        ("language", manifest["language"]),
        ("seed", manifest["seed"]),
        ("recordings", f"FLAC, mono, 16 bits; {speech}"),
        ("prompts read, kept, left out as hard to say", " / ".join(str(manifest["prompts"][k]) for k in _COUNTED)),
        ("recordings that failed or were rejected", manifest["recordings_absent"]),
        ("SHA-256 of the settings", manifest["settings_sha256"]),
        ("SHA-256 of the tasks as read", manifest["tasks_sha256"]),
        ("SHA-256 of the table of voices", manifest["voices_sha256"]),
    ]
    note = (
        "Sampling as in section 7 of the C3T paper: for each prompt a speaker of each accent is drawn, and a woman "
        "and a man of each age, then one sample of each; `audio_prompt` records which. All settings are in "
        "`synthesized.json`."
    )
    return f"{_table(('', ''), lines)}\n\n{note}"


_COUNTED = ("read", "kept", "dropped")


def _voices(voices: Sequence[Voice], rows: Sequence[Row]) -> str:
    spoken = Counter(row.fields["audio_prompt"] for row in rows)
    lines = [
        (
            v.voice_id,
            v.accent,
            v.age,
            v.gender,
            v.engine_voice or v.reference,
            spoken[v.told()],
            v.licence or "not stated",
        )
        for v in voices
    ]
    return _table(("voice", "accent", "age", "gender", "made from", "recordings", "licence"), lines)


def _understood(manifest: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    limit = manifest["settings"]["intelligibility"]["max_voice_wer"]
    note = (
        f"Word error rate of transcripts by `{manifest['asr']}` against the words that were to be said; "
        "in the capped rate a recording counts at most as many errors as it has words. Above a capped rate of "
        f"{limit} a voice is flagged: what a model gets wrong in it may be the voice's fault."
    )
    lines = [
        (
            row["characteristic"],
            row["group"],
            row["recordings"],
            f"{row['wer']:.4f}",
            f"{row['wer_capped']:.4f}",
            "flagged" if row["flagged"] else "",
        )
        for row in rows
    ]
    return f"{note}\n\n{_table(('', 'group', 'recordings', 'WER', 'capped', ''), lines)}"


def _table(header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in line) + " |" for line in lines
    )
