"""What the tests of `synthesize` share: the command without a process, prompts, voices, and a synthesizer of tones."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.synthesize import commands

TONES = """
import array, hashlib, math, os, sys, time, wave
text_file, wav, voice = sys.argv[1:4]
text = open(text_file, encoding="utf-8").read()
for word in os.environ.get("TONES_FAIL", "").split():
    if word in (voice, *text.rstrip(".?").split()):
        sys.exit("cannot say " + word)
how = os.environ.get("TONES_HOW", "")
if how == "empty": open(wav, "wb").close(); sys.exit()
if how == "corrupt": open(wav, "wb").write(b"RIFF of nothing"); sys.exit()
if how == "nothing": sys.exit()
if how == "hang": time.sleep(60)
time.sleep(float(os.environ.get("TONES_SLEEP", "0")))
held, hold = "five" in text, os.environ.get("TONES_HOLD", "")
while held and hold and os.path.exists(hold): time.sleep(0.02)
seconds = 0.35 * len(text.split()) * (0.1 if how == "fast" else 1)
pitch = 200 + int(hashlib.sha256((text + voice).encode()).hexdigest()[:4], 16) % 400
level = {"silent": 0.0, "clipped": 8.0}.get(how, 0.2)
tone = (level * math.sin(2 * math.pi * pitch * n / 8000) for n in range(round(seconds * 8000)))
with wave.open(wav, "wb") as file:
    file.setparams((1, 2, 8000, 0, "NONE", ""))
    file.writeframes(array.array("h", [max(-32768, min(32767, round(32768 * x))) for x in tone]).tobytes())
"""
VOICES = (
    ("v1", "Ayr", "", "", "accent"),
    ("v2", "Bath", "", "", "accent"),
    ("v3", "Ayr", "teens", "female", "age_gender"),
    ("v4", "Ayr", "teens", "male", "age_gender"),
)


def run(*words: object) -> int:
    """The command `synthesize` as `lmms-audio-tasks` runs it: its exit code; errors go to stderr."""
    parser = argparse.ArgumentParser()
    commands.add_parser(parser.add_subparsers(dest="command", required=True))
    arguments = parser.parse_args(["synthesize", *map(str, words)])
    try:
        return arguments.run(arguments)
    except AudioTasksError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def prompt(number: int, text: str = "", task: str = "my_task", **changes: Any) -> dict[str, Any]:
    """A sound row."""
    said = text or f"Is this question number {number}?"
    return {
        "task_name": task,
        "instance_id": str(number),
        "text_prompt": said,
        "answers": ["yes"],
        "options": ["yes", "no"],
        **changes,
    }


def write_tasks(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def write_voices(path: Path, rows: Iterable[tuple[str, ...]] = VOICES, **columns: str) -> Path:
    """A table of voices, each called by the synthesizer as it is here; `columns` are the same for all."""
    header = ("voice_id", "accent", "age", "gender", "split", "engine_voice", *columns)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows((*row, row[0], *columns.values()) for row in rows)
    return path


def tones(folder: Path) -> list[str]:
    """Options that have a script speak in tones, whose words last 0.35 s each."""
    script = folder / "tones.py"
    script.write_text(TONES, "utf-8")
    template = f"{sys.executable} {script} {{text_file}} {{wav}} {{voice}}"
    voices = folder / "voices.csv"
    if not voices.exists():
        write_voices(voices)
    return ["--engine", "command", "--command", template, "--voices", str(voices)]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
