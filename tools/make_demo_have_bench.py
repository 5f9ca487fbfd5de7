"""Write the demo items of HAVE-Bench: pictures drawn and sounds made on the spot, questions of the project's own.

    python tools/make_demo_have_bench.py --out my_demo/have_bench

writes `items.jsonl`, `images/` and `audio/`; the task graphs beside them are `make_demo_have_graphs.py`'s. The same
bank and the same versions of espeak-ng, Pillow, numpy, soxr and libsndfile give the same bytes again.

An item of the bank (`demo_have_items.json`) has the fields of `items.jsonl` but for the media, and in their place
`picture` (a name in `demo_have_pictures.PICTURES`) and what is heard: in an AaI item the question, in an AaC one `say`
(both with `voice`), `tones` (Hz, with `seconds` each and, if wanted, a `gap` between them) or an `animal` of
`demo_animal_sounds`. `asr`, of an AaI item, is what Whisper tiny.en made of the recording; `--asr` makes it anew and
writes it into the bank.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import demo_animal_sounds
import numpy as np
from _synth import Signal, at_level, run, speak, tones, write_flac
from demo_have_pictures import PICTURES

HERE = Path(__file__).resolve().parent
BANK = HERE / "demo_have_items.json"
OUT = HERE.parent / "lmms_audio_tasks" / "demo_data" / "have_bench"
RATE = 16_000
SPEED = 145  # words a minute
LEVEL = -6.0  # dBFS, peak
STEPS = 2**8  # a side: 9 bits are plenty for a demo, and FLAC makes files of half the size of them
FIELDS = ("id", "level", "role", "subtask", "images", "audios", "question", "spoken", "choices", "answer", "kind")
Item = dict[str, Any]


def line(item: Item) -> Item:
    """The item's line in `items.jsonl`."""
    media = {"images": [f"images/{item['picture']}.png"], "audios": [f"audio/{item['id']}.flac"]}
    whole = {"choices": [], **item, **media, "spoken": item["role"] == "AaI"}
    words = item["question"] if whole["spoken"] else item.get("say")
    return {
        **{name: whole[name] for name in FIELDS},
        **({"transcript": words} if words else {}),
        **({"asr": item["asr"]} if "asr" in item else {}),
    }


def render(item: Item) -> Signal:
    """What is heard: mono at `RATE`, its peak at `LEVEL`."""
    if "tones" in item:
        return at_level(tones(item["tones"], item["seconds"], RATE, item.get("gap", 0.0)), RATE, RATE, LEVEL)
    if "animal" in item:
        rng = np.random.default_rng(0)
        call = demo_animal_sounds.ANIMALS[item["animal"]](rng)
        return at_level(call, demo_animal_sounds.SAMPLE_RATE, RATE, LEVEL)
    words = item["question"] if item["role"] == "AaI" else item["say"]
    signal, rate = speak({"text": words, "voice": item["voice"], "speed": SPEED})
    return at_level(signal, rate, RATE, LEVEL)


def write(folder: Path, items: Sequence[Item]) -> None:
    """Write the media and `items.jsonl` into `folder`."""
    for name in ("images", "audio"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for item in items:
        PICTURES[item["picture"]]().quantize(64).save(folder / "images" / f"{item['picture']}.png", optimize=True)
        write_flac(folder / "audio" / f"{item['id']}.flac", render(item), RATE, STEPS)
    text = "".join(json.dumps(line(item), ensure_ascii=False) + "\n" for item in items)
    (folder / "items.jsonl").write_text(text, encoding="utf-8")


def recognise(folder: Path, items: Sequence[Item]) -> list[Item]:
    """The items with `asr` as Whisper tiny.en of the `demo` extra hears the recordings in `folder`."""
    from lmms_audio_tasks import audio
    from lmms_audio_tasks.models import demo
    from lmms_audio_tasks.models.asr import Recogniser

    model = Recogniser(f"faster-whisper:{demo.whisper_folder()}", None, "float32", "cpu").load()
    heard = []
    for item in items:
        clip, _ = audio.load(folder / "audio" / f"{item['id']}.flac", model.rate)
        heard.append({**item, "asr": model.transcribe([clip])[0]} if item["role"] == "AaI" else item)
    return heard


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: 0 when the set is written, 1 with one line on stderr when it cannot be."""
    parser = argparse.ArgumentParser(description="Write the demo items of HAVE-Bench.")
    parser.add_argument("--out", type=Path, default=OUT, help="folder to write into (default: %(default)s)")
    parser.add_argument("--bank", type=Path, default=BANK, help="items (default: %(default)s)")
    parser.add_argument("--asr", action="store_true", help="transcribe the spoken questions anew, into the bank too")
    options = parser.parse_args(arguments)

    def make() -> Iterator[str]:
        items = json.loads(options.bank.read_text(encoding="utf-8"))
        write(options.out, items)
        if options.asr:
            items = recognise(options.out, items)
            options.bank.write_text(json.dumps(items, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            write(options.out, items)
        yield f"{options.out}: {len(items)} items"

    return run(make)


if __name__ == "__main__":
    sys.exit(main())
