"""Write the ART demo set: nine small tasks in the official layout, made without any recording.

Each recording is a spoken question and then what it is about: speech from espeak-ng, calls from
`demo_animal_sounds.py`, everyday sounds from `demo_art_sounds.py`. The items stand in `demo_art_items.json`; to make a
set of your own, edit that file (or point `--bank` at another) and run

    python tools/make_demo_art.py --out my_demo

The same bank and the same versions of espeak-ng, numpy, soxr and libsndfile give the same bytes again: every random
choice has a fixed seed. With another espeak-ng the words stay, the voices differ a little.

An item of the bank: `id`, `template`, `question`, `asker` (an espeak-ng voice), `answer` (yes or no), `slots` (what the
item is made of, in words) and `parts`, heard one after the other: `say` (with `voice`, if wanted `speed` in words a
minute, `pitch` 0 to 99, `in: rain` for rain around it), `sound`, or `animal` (if wanted cut to `seconds`); each, if
wanted, `reversed`, at a `rate` (2 is twice as fast and an octave up) and with a `gain` in dB.
"""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import demo_animal_sounds
import numpy as np
import soxr
from _synth import SPEED, at_level, run, speak, write_flac
from demo_art_sounds import SAMPLE_RATE, SOUNDS, Signal, rain

from lmms_audio_tasks.art import ANSWERS, FOLDERS
from lmms_audio_tasks.errors import DataError

HERE = Path(__file__).resolve().parent
BANK = HERE / "demo_art_items.json"
OUT = HERE.parent / "lmms_audio_tasks" / "demo_data" / "art"

LEVEL = -6.0  # dBFS, peak of every part
PAUSE_S = 0.3  # between the question and what it is about
GAP_S = 0.15  # between the parts
STEPS = 2**8  # a side: 9 bits are plenty for a demo, and FLAC makes files of half the size of them
Item = dict[str, Any]


def load_bank(path: Path = BANK) -> dict[str, list[Item]]:
    """The items of each task.

    Raises:
        DataError: a task of ART is missing or unknown, its answers are not half yes and half no, or an id occurs twice.
    """
    bank: dict[str, list[Item]] = json.loads(path.read_text(encoding="utf-8"))
    if sorted(bank) != sorted(FOLDERS):
        raise DataError(path, f"the tasks {', '.join(FOLDERS)}", ", ".join(bank))
    for task, items in bank.items():
        counts = [sum(item["answer"] == answer for item in items) for answer in ANSWERS]
        if counts[0] != counts[1] or sum(counts) != len(items):
            raise DataError(path, "as many items with yes as with no, and no others", f"{counts} of {len(items)}", task)
    ids = [item["id"] for items in bank.values() for item in items]
    if len(set(ids)) < len(ids):
        raise DataError(path, "each id once", str(sorted({one for one in ids if ids.count(one) > 1})))
    return bank


def records(items: Sequence[Item]) -> list[dict[str, Any]]:
    """The task's `metadata.json`. Items with one template and question share their ids, as in the official data."""
    return [
        {
            "instance_id": item["id"],
            "template_id": item["template"],
            "question_id": f"{item['template']}_{zlib.crc32(item['question'].encode()):08x}",
            "question": item["question"],
            "slots": item["slots"],
            "answer": item["answer"],
        }
        for item in items
    ]


def render(item: Item) -> Signal:
    """The item's recording: mono at `SAMPLE_RATE`, in -1..1."""
    question = at_level(_spoken({"say": item["question"], "voice": item["asker"]}), SAMPLE_RATE, SAMPLE_RATE, LEVEL)
    signals = [question, np.zeros(round(PAUSE_S * SAMPLE_RATE))]
    for number, part in enumerate(item["parts"]):
        # A sound that comes twice is the same one twice, as the questions on transformations need it.
        signals += [_part(part), np.zeros(round(GAP_S * SAMPLE_RATE))][: None if number < len(item["parts"]) - 1 else 1]
    return np.concatenate(signals)


def _part(part: Item) -> Signal:
    rng = np.random.default_rng(zlib.crc32(str(part.get("sound") or part.get("animal") or part["say"]).encode()))
    if "say" in part:
        signal = _spoken(part)
        if part.get("in") == "rain":
            signal = signal / np.abs(signal).max() + 0.35 * rain(rng, len(signal) / SAMPLE_RATE)[: len(signal)]
    elif "animal" in part:
        call = demo_animal_sounds.ANIMALS[part["animal"]](rng)
        signal = soxr.resample(call, demo_animal_sounds.SAMPLE_RATE, SAMPLE_RATE)
        signal = signal[: round(part.get("seconds", 10.0) * SAMPLE_RATE)]
    else:
        signal = SOUNDS[part["sound"]](rng)
    if part.get("reversed"):
        signal = signal[::-1]
    if "rate" in part:
        signal = soxr.resample(signal, SAMPLE_RATE * part["rate"], SAMPLE_RATE)
    return at_level(signal, SAMPLE_RATE, SAMPLE_RATE, LEVEL + part.get("gain", 0.0))


def _spoken(part: Item) -> Signal:
    speech = {"text": part["say"], "voice": part["voice"], "speed": part.get("speed", SPEED)}
    signal, rate = speak({**speech, "pitch": part.get("pitch", 50)})
    return soxr.resample(signal, rate, SAMPLE_RATE)


def write_task(folder: Path, items: Sequence[Item]) -> None:
    """Write `metadata.json` and the recordings of one task into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(records(items), indent=4, ensure_ascii=False) + "\n"
    (folder / "metadata.json").write_text(text, encoding="utf-8")
    for item in items:
        write_flac(folder / f"{item['id']}.flac", render(item), SAMPLE_RATE, STEPS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: 0 when the set is written, 1 with one line on stderr when it cannot be."""
    parser = argparse.ArgumentParser(description="Write the ART demo set.")
    parser.add_argument("--out", type=Path, default=OUT, help="folder to write the tasks into (default: %(default)s)")
    parser.add_argument("--bank", type=Path, default=BANK, help="items (default: %(default)s)")
    options = parser.parse_args(arguments)

    def make() -> Iterator[str]:
        for task, items in load_bank(options.bank).items():
            write_task(options.out / task, items)
            yield f"{options.out / task}: {len(items)} items"

    return run(make)


if __name__ == "__main__":
    sys.exit(main())
