"""HAVE-Bench's data, from a local folder: `DIR/have_bench/{items.jsonl,graphs.jsonl}` and the media that they name."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_audio_tasks import sources
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.have_bench import INTERACTION, ITEMS_FILE, SPECS, Mode, TaskSpec
from lmms_audio_tasks.have_bench.asr import Heard, heard
from lmms_audio_tasks.have_bench.items import Item, Read, read_items
from lmms_audio_tasks.have_bench.media import Media

if TYPE_CHECKING:
    from datasets import Dataset

LISTEN = "Answer the question that is asked in the recording."
"""What stands for the question where it is spoken."""
CHOOSE = "Choose one of these options."
BRIEF = "Answer in a few words."


def have_folder(source: sources.Source) -> Path:
    """The folder `have_bench` of a local source.

    Raises:
        DataError: the source is the hub, which has no HAVE-Bench data, or the folder is missing.
    """
    if source.kind == "hub":
        raise DataError(
            "hub",
            "local data: a folder that holds have_bench/items.jsonl, or demo "
            "(lmms_eval --audio_data DIR|demo, lmms-audio-tasks --data DIR|demo)",
            "the hub, which has no HAVE-Bench data",
        )
    return source.folder("have_bench")


def load_items(source: sources.Source) -> tuple[Item, ...]:
    """All items of a local source, free of faults, in the order of the file; of media the headers are read.

    Raises:
        DataError: see `have_folder`, or the first fault, with the number of further ones.
    """
    folder = have_folder(source)
    read = _read_once(folder, _stamp(folder))
    if read.faults:
        first, more = read.faults[0], len(read.faults) - 1
        check = f"`lmms-audio-tasks check have_bench --data {source.label}` lists all"
        others = f" (and {more} more: {check})" if more else ""
        raise DataError(first.file, first.expected, first.found + others, first.row)
    return read.items


@lru_cache(maxsize=8)
def _read_once(folder: Path, _stamp: tuple[tuple[str, int, int], ...]) -> Read:
    return read_items(folder, Media(folder, decode=False))


def _stamp(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Changes whenever a file of the folder does, so that several tasks of a run share one reading of it."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return tuple((str(path), stat.st_size, stat.st_mtime_ns) for path in files for stat in [path.stat()])


def task_items(source: sources.Source, spec: TaskSpec) -> tuple[Item, ...]:
    """The items that a task asks: those of its level, in the `_text` and `_asr` tasks the AaI ones among them.

    Raises:
        DataError: there are none, or see `load_items`.
    """
    spoken_only = spec.mode != "speech"
    level = [item for item in load_items(source) if item.level == spec.level]
    items = tuple(item for item in level if item.role == "AaI" or not spoken_only)
    if not items:
        wanted = f"at least one {spec.level} item" + (" of role AaI" if spoken_only else "")
        raise DataError(have_folder(source) / ITEMS_FILE, wanted, "none")
    return items


def validate(task: str) -> None:
    """Raise `DataError` where the source in force cannot serve `task`; media are decoded by the check command only."""
    if task in INTERACTION:
        from lmms_audio_tasks.have_bench import interaction_data

        interaction_data.validate(task)
    else:
        task_items(sources.current(), SPECS[task])


def local_dataset(source: sources.Source, spec: TaskSpec) -> Dataset:
    """The documents of `spec`; media stay on disk, as plain paths, which reach the scoring too.

    Raises:
        DataError: see `task_items`.
        ModelError: the `_asr` tasks need a recogniser that is not there.
    """
    from datasets import Dataset

    root, items = have_folder(source), task_items(source, spec)
    transcripts = heard(items, root) if spec.mode == "asr" else {}
    # What `--model chance` draws from where a question has no options.
    guesses = sorted({item.answer for item in load_items(source) if item.kind == "open"})
    told = {"source": source.label, "demo": source.demo}
    documents = []
    for item in items:
        document = _document(item, spec, root, transcripts.get(item.id))
        documents.append({**document, "choices": list(item.options) or guesses, **told})
    return Dataset.from_list(documents)


def _document(item: Item, spec: TaskSpec, root: Path, transcript: Heard | None) -> dict[str, Any]:
    spoken = item.spoken and spec.mode == "speech"
    return {
        "item_id": item.id,
        "task": spec.name,
        "level": item.level,
        "role": item.role,
        "subtask": item.subtask,
        "kind": item.kind,
        "mode": spec.mode,
        "asr": transcript.by if transcript else "",
        "prompt": prompt(item, spec.mode, transcript.text if transcript else ""),
        "question": item.written,
        "answer": item.golden,
        "options": list(item.options),
        "images": [str(root / name) for name in item.images],
        "audios": [str(root / name) for name in item.audios] if spoken or item.role == "AaC" else [],
    }


def prompt(item: Item, mode: Mode, transcript: str = "") -> str:
    """What a model reads beside the media. Only the first line differs between the ways of asking one AaI item.

    Args:
        transcript: the question of an AaI item in mode `asr`; may be empty, where nothing was recognised.
    """
    question = item.question
    if item.spoken and mode != "text":
        question = LISTEN if mode == "speech" else transcript
    lines = [question, CHOOSE, *item.options] if item.options else [question, BRIEF]
    return "\n".join(filter(None, lines))
