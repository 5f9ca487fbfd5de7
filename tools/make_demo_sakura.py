"""Write the SAKURA demo set: four small tracks in the official layout, made without any recording.

Speech comes from espeak-ng, animal calls from `demo_animal_sounds.py`, questions from `demo_sakura_questions.json`.
To make a set of your own, edit the question bank (or point `--bank` at another) and run

    python tools/make_demo_sakura.py --out my_demo

The same bank and the same versions of espeak-ng, numpy, soxr and libsndfile give the same bytes again: every random
choice has a fixed seed. With another espeak-ng the words stay, the voices differ a little.

An item of the bank: `file`, `label`, either `speech` (`text`, `voice`, and if wanted `speed` in words a minute, `pitch`
0 to 99, `range` of the pitch, peak `level` in dBFS) or `sound` (`animal`, `seed`, and what that animal's function
takes), if wanted `format` (`rate`, `channels`, `bits`), and the questions `single` and `multi` (`question`, `answer`,
`distractors`, if wanted `blank_before_answer`). Where the right answer stands among the options is dealt by
`deal_positions`, so that no letter is right more often than another.

espeak-ng is particular about voices. A variant follows the name of the voice's file: `en+f5` is a British woman, while
`en-gb+f5` is spoken by the usual man, without a warning. Japanese wants kana, the particles spelt as they sound.
Mandarin wants the voice `cmn-latn-pinyin`: with `cmn` version 1.51 reads pinyin out as if it were English.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import demo_animal_sounds
import numpy as np
import soundfile
import soxr
from _synth import ESPEAK_VERSION, Signal, espeak_version, run, speak  # noqa: F401 (tests ask here)

from lmms_audio_tasks.errors import DataError

HERE = Path(__file__).resolve().parent
BANK = HERE / "demo_sakura_questions.json"
OUT = HERE.parent / "lmms_audio_tasks" / "demo_data" / "sakura"

HEADER = ("file", "attribute_label", "single_instruction", "single_answer", "multi_instruction", "multi_answer")
LETTERS = "abcdefgh"
LEVEL = -12.0  # dBFS, peak, of speech that does not say otherwise
RATE, CHANNELS, BITS = 16_000, 1, 16  # of files whose item does not say otherwise

Item = dict[str, Any]


# Questions


def load_bank(path: Path = BANK) -> dict[str, list[Item]]:
    """The question bank: the items of each track.

    Raises:
        DataError: a question lists an option twice, or a track's questions differ in their number of options.
    """
    bank: dict[str, list[Item]] = json.loads(path.read_text(encoding="utf-8"))
    for track, items in bank.items():
        size = len(items[0]["single"]["distractors"]) + 1
        for item in items:
            for hop in ("single", "multi"):
                options = {item[hop]["answer"], *item[hop]["distractors"]}
                if len(options) != size or len(item[hop]["distractors"]) + 1 != size:
                    where = f"{track}, {item['file']}, {hop}"
                    raise DataError(path, f"{size} different options", f"{sorted(options)}", where)
    return bank


def deal_positions(labels: Sequence[str], options: int, seed: str) -> list[int]:
    """Where the right answer stands (0-based), one an item.

    Items are dealt a shuffled round of all positions at a time, label after label: each position is right equally
    often, as near as the count allows, and no label favours a position.
    """
    rng = random.Random(seed)
    order = sorted(range(len(labels)), key=lambda i: labels[i])
    positions = [0] * len(labels)
    for start in range(0, len(labels), options):
        # Sorted by rng.random(), the one method whose numbers Python promises to keep.
        dealt = sorted(range(options), key=lambda _: rng.random())
        for item, position in zip(order[start : start + options], dealt, strict=False):
            positions[item] = position
    return positions


def ask(question: Item, position: int) -> tuple[str, str]:
    """The instruction, options inline, and the golden answer: `("Who? (a) dog (b) cat", "(b) cat")`."""
    options = list(question["distractors"])
    options.insert(position, question["answer"])
    listed = [f"({letter}) {option}" for letter, option in zip(LETTERS, options, strict=False)]
    blank = " " if question.get("blank_before_answer") else ""
    return " ".join([question["question"], *listed]), blank + listed[position]


def metadata_rows(track: str, items: Sequence[Item]) -> list[tuple[str, ...]]:
    """The track's metadata, one tuple an item in the order of `HEADER`."""
    labels = [item["label"] for item in items]
    hops = []
    for hop in ("single", "multi"):
        positions = deal_positions(labels, len(items[0][hop]["distractors"]) + 1, f"{track} {hop}")
        hops.append([ask(item[hop], position) for item, position in zip(items, positions, strict=True)])
    return [(i["file"], i["label"], *one, *two) for i, one, two in zip(items, *hops, strict=True)]


def write_metadata(path: Path, rows: Sequence[Sequence[str]]) -> None:
    """Write a `metadata.csv` as the official ones are: UTF-8 without a mark, CRLF, quotes only where needed."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([HEADER, *rows])


# Sounds


def call(sound: Item) -> tuple[Signal, int]:
    """The animal's call, mono, and its sampling rate."""
    options = {key: value for key, value in sound.items() if key not in ("animal", "seed")}
    rng = np.random.default_rng(sound["seed"])
    signal = demo_animal_sounds.ANIMALS[sound["animal"]](rng, **options)
    return demo_animal_sounds.outdoors(signal, rng), demo_animal_sounds.SAMPLE_RATE


# Files


def render(item: Item) -> tuple[Signal, int]:
    """The item's audio as it goes into the file: shape (samples, channels), peak at the wanted level; and its rate."""
    signal, made_at = speak(item["speech"]) if "speech" in item else call(item["sound"])
    layout = item.get("format", {})
    rate = layout.get("rate", RATE)
    signal = soxr.resample(signal, made_at, rate)
    signal *= 10 ** (item.get("speech", {}).get("level", LEVEL) / 20) / np.abs(signal).max()
    # Unlike channels, so that a reader that takes one of them for the mix is found out.
    channels = [signal * 0.5**k for k in range(layout.get("channels", CHANNELS))]
    return np.stack(channels, axis=1), rate


def write_audio(path: Path, item: Item) -> None:
    """Write the item's audio as FLAC."""
    signal, rate = render(item)
    soundfile.write(path, signal, rate, subtype=f"PCM_{item.get('format', {}).get('bits', BITS)}", format="FLAC")


def write_track(folder: Path, track: str, items: Sequence[Item]) -> None:
    """Write `metadata.csv` and `audio/` of one track into `folder`."""
    (folder / "audio").mkdir(parents=True, exist_ok=True)
    write_metadata(folder / "metadata.csv", metadata_rows(track, items))
    for item in items:
        write_audio(folder / "audio" / item["file"], item)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: 0 when the set is written, 1 with one line on stderr when it cannot be."""
    parser = argparse.ArgumentParser(description="Write the SAKURA demo set.")
    parser.add_argument("--out", type=Path, default=OUT, help="folder to write the tracks into (default: %(default)s)")
    parser.add_argument("--bank", type=Path, default=BANK, help="question bank (default: %(default)s)")
    options = parser.parse_args(arguments)

    def make() -> Iterator[str]:
        for track, items in load_bank(options.bank).items():
            write_track(options.out / track, track, items)
            yield f"{options.out / track}: {len(items)} items"

    return run(make)


if __name__ == "__main__":
    sys.exit(main())
