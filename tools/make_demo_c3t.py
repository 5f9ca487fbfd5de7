"""Write the C3T demo set: two prompts of each of the eleven tasks, each spoken by eight voices of espeak-ng.

To make a set of your own, edit the prompts (or point `--prompts` at another file) and run

    python tools/make_demo_c3t.py --out my_demo/c3t

The same prompts and the same versions of espeak-ng, soxr and libsndfile give the same bytes again: the serial number
that libsndfile draws for an Ogg stream is replaced by one made from the file's name. With another espeak-ng the words
stay, the voices differ a little.

A prompt has `prompt` (in writing), `answer`, `options`, and `spoken` where it is read out in other words. Accents are
voices of espeak-ng; ages are pitch and pace, genders its variants. As in the official data, one recording of the age
and gender split is absent.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import soxr
from _synth import espeak, run, trim

HERE = Path(__file__).resolve().parent
PROMPTS = HERE / "demo_c3t_prompts.json"
OUT = HERE.parent / "lmms_audio_tasks" / "demo_data" / "c3t"

ACCENTS = {"America": "en-us", "Caribbean": "en-029", "England": "en-gb", "Scotland": "en-gb-scotland"}
AGES = {"twenties": {"pitch": 55, "speed": 175}, "seventies": {"pitch": 25, "speed": 150}}
GENDERS = {"female": "en+f5", "male": "en+m3"}  # variants of `en-gb` are ignored by espeak-ng 1.51
ABSENT = ("web_of_lies", 2, "seventies", "male")
RATE = 16_000
PEAK = 0.35  # of full scale
COMPRESSION = 0.984  # of libsndfile's 0 to 1 for Opus: 10 kbit/s
MARGIN_S = 0.08  # left of the silence at either end of espeak-ng's output

Voice = dict[str, Any]


def voices(split: str) -> Iterator[tuple[dict[str, str | None], Voice]]:
    """The labels of each voice of a split, and what espeak-ng needs for it."""
    if split == "accent":
        for accent, voice in ACCENTS.items():
            yield {"accent": accent, "age": None, "gender": None}, {"voice": voice, "pitch": 50, "speed": 175}
        return
    for age, settings in AGES.items():
        for gender, voice in GENDERS.items():
            yield {"accent": "England", "age": age, "gender": gender}, {"voice": voice, **settings}


def speak(text: str, voice: Voice) -> np.ndarray:
    """The spoken text, mono at `RATE`, silence at the ends cut, its peak at `PEAK`.

    Raises:
        AudioTasksError: espeak-ng is missing, or refuses the voice.
    """
    signal, rate = espeak(text, **voice)
    signal = soxr.resample(trim(signal, rate, MARGIN_S), rate, RATE)
    return signal * (PEAK / np.abs(signal).max())


def ogg_opus(signal: np.ndarray, name: str) -> bytes:
    """The signal as Ogg Opus, the same bytes each time."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "speech.ogg"
        soundfile.write(path, signal, RATE, format="OGG", subtype="OPUS", compression_level=COMPRESSION)
        content = path.read_bytes()
    return renumbered(content, int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little"))


def renumbered(ogg: bytes, serial: int) -> bytes:
    """An Ogg file of one stream with another serial number in its pages, and their checksums made anew (RFC 3533)."""
    pages, start = [], 0
    while start < len(ogg):
        segments = ogg[start + 26]
        end = start + 27 + segments + sum(ogg[start + 27 : start + 27 + segments])
        page = bytearray(ogg[start:end])
        page[14:18] = serial.to_bytes(4, "little")
        page[22:26] = bytes(4)
        page[22:26] = ogg_checksum(page).to_bytes(4, "little")
        pages.append(bytes(page))
        start = end
    return b"".join(pages)


def ogg_checksum(page: bytes | bytearray) -> int:
    """CRC-32 of polynomial 0x04c11db7, not reflected, starting at 0, as Ogg has it."""
    value = 0
    for byte in page:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1) ^ 0x104C11DB7 if value & 0x80000000 else value << 1
    return value


def rows(task: str, split: str, prompts: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str, Voice]]:
    """Each row of a split with what is spoken and by which voice."""
    for number, prompt in enumerate(prompts, start=1):
        for labels, voice in voices(split):
            told = [labels["accent"]] if split == "accent" else [labels["age"], labels["gender"]]
            if (task, number, *told) == ABSENT:
                continue
            sample = "_".join([task, str(number), *map(str, told)]).lower()
            row = {
                "task_name": task,
                "task_id": number - 1,
                "instance_id": str(number),
                "sample_id": sample,
                "audio": f"{task}/audio/{sample}.ogg",
                "text_prompt": prompt["prompt"],
                "answers": [prompt["answer"]],
                "options": prompt["options"],
                "audio_prompt": f"espeak-ng {voice['voice']}, pitch {voice['pitch']}, {voice['speed']} words a minute",
                **labels,
            }
            yield row, prompt.get("spoken", prompt["prompt"]), voice


def write_task(folder: Path, task: str, prompts: Sequence[dict[str, Any]]) -> int:
    """Write both splits of one task into `folder`; returns the number of recordings."""
    (folder / task / "audio").mkdir(parents=True, exist_ok=True)
    count = 0
    for split in ("accent", "age_gender"):
        with (folder / task / f"{split}.jsonl").open("w", encoding="utf-8", newline="\n") as lines:
            for row, spoken, voice in rows(task, split, prompts):
                (folder / row["audio"]).write_bytes(ogg_opus(speak(spoken, voice), row["sample_id"]))
                lines.write(json.dumps(row, ensure_ascii=False) + "\n")
                count += 1
    return count


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: 0 when the set is written, 1 with one line on stderr when it cannot be."""
    parser = argparse.ArgumentParser(description="Write the C3T demo set.")
    parser.add_argument("--out", type=Path, default=OUT, help="folder to write the tasks into (default: %(default)s)")
    parser.add_argument("--prompts", type=Path, default=PROMPTS, help="prompts (default: %(default)s)")
    options = parser.parse_args(arguments)

    def make() -> Iterator[str]:
        for task, prompts in json.loads(options.prompts.read_text(encoding="utf-8")).items():
            yield f"{options.out / task}: {write_task(options.out, task, prompts)} recordings"

    return run(make)


if __name__ == "__main__":
    sys.exit(main())
