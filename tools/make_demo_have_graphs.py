"""Write the demo task graphs of HAVE-Bench: one of each scenario, with pictures drawn and sounds made on the spot.

    python tools/make_demo_have_graphs.py --out my_demo/have_bench

writes `graphs.jsonl` and the folder `graphs/` beside it. All criteria are rules, so that the set runs without a judge.
The same versions of espeak-ng, Pillow, numpy, soxr and libsndfile give the same bytes again.

- `demo_town_walk` (navigation): a map and spoken directions at the station; then only what one sees at each place.
- `demo_lamp_code` (puzzle): a menu; the code can be entered only once the rule has been heard.
- `demo_five_tones` (music_reproduction): a melody to rebuild from its tempo, its line and its number of tones.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import demo_graph_pictures as pictures
import numpy as np
import soxr
from _synth import run, speak
from make_demo_c3t import RATE, ogg_opus
from PIL import Image

OUT = Path(__file__).resolve().parent.parent / "lmms_audio_tasks" / "demo_data" / "have_bench"
VOICE = {"voice": "en-us", "speed": 145}
PEAK = 0.5  # of full scale
STEPS_HZ = (261.63, 293.66, 329.63, 349.23, 392.00)  # c d e f g
ROSE_THEN_FELL = (0, 2, 4, 2, 0)
FELL = (4, 3, 2, 1, 0)
FAST_S, SLOW_S = 0.25, 0.6  # from one tone to the next

DIRECTIONS = (
    "Please walk from the station to the lighthouse. The bridge is closed today, and so is the street past the bakery."
)
RULE = "Each lamp stands for a digit. Red is three. Blue is one. Green is two. Read the lamps from left to right."
MELODY = {"A": (0, 1, 2, 3, 4), "B": FELL, "C": ROSE_THEN_FELL}
WAYS = "(a) north (b) east (c) south (d) west"
Json = dict[str, Any]


def node(name: str, text: str = "", images: Sequence[str] = (), audios: Sequence[str] = ()) -> Json:
    """A node; media by their file names."""
    media = {"images": images, "audios": audios}
    given = {key: [f"graphs/{file}" for file in files] for key, files in media.items() if files}
    return {"id": name, **given, **({"text": text} if text else {})}


def edges(source: str, ways: Iterable[tuple[str, str]]) -> list[Json]:
    """The edges that leave one node, each given as criterion and target."""
    return [{"from": source, "to": target, "criterion": criterion} for criterion, target in ways]


def town_walk() -> Json:
    """Shortest path: station, fountain, market, mill, lighthouse; 4 steps: north, east, north, east."""
    look = f"You see where you are now. Which way do you walk? {WAYS}"
    start = f"This is a map of the town, and you hear where to go. You are at the station. Which way? {WAYS}"
    return {
        "id": "demo_town_walk",
        "scenario": "navigation",
        "nodes": [
            node("station", start, ["map.png"], ["directions.ogg"]),
            node("fountain", look, ["fountain.png"]),
            node("market", look, ["market.png"]),
            node("mill", look, ["mill.png"]),
            node("station_again", look, ["station.png"]),
            node("lighthouse", "You are at the lighthouse."),
            node("bridge", "The bridge is closed."),
            node("bakery", "The street past the bakery is closed."),
        ],
        "edges": [
            *edges("station", [("option:(a) north", "fountain"), ("option:(b) east", "bridge")]),
            *edges("station_again", [("option:(a) north", "fountain"), ("option:(b) east", "bridge")]),
            *edges(
                "fountain",
                [("option:(a) north", "bakery"), ("option:(b) east", "market"), ("option:(c) south", "station_again")],
            ),
            *edges(
                "market",
                [("option:(a) north", "mill"), ("option:(c) south", "bridge"), ("option:(d) west", "fountain")],
            ),
            *edges(
                "mill",
                [("option:(b) east", "lighthouse"), ("option:(c) south", "market"), ("option:(d) west", "bakery")],
            ),
        ],
        "start": "station",
        "goal": "lighthouse",
        "limits": {"tries": 3, "turns": 12},
    }


def lamp_code() -> Json:
    """Shortest path: menu, rule, code, open; 3 steps. The code is 132."""
    menu = "What do you choose? (a) Enter the code (b) Learn the rule (c) Quit"
    return {
        "id": "demo_lamp_code",
        "scenario": "puzzle",
        "nodes": [
            node("menu", f"You want to open the box. {menu}", ["menu.png"]),
            node("rule", "Listen to the rule. What do you choose? (a) Hear it again (b) Enter the code",
                 ["rule.png"], ["rule.ogg"]),
            node("locked", "The code cannot be entered before the rule is known. What do you choose? "
                 "(a) Enter a code (b) Back to the menu", ["locked.png"]),
            node("code", "Which digits are these? Answer with the three digits.", ["lamps.png"]),
            node("open", "The box is open."),
            node("quit", "You have left the game."),
        ],
        "edges": [
            *edges("menu", [("option:a", "locked"), ("option:b", "rule"), ("option:c", "quit")]),
            *edges("rule", [("option:a", "rule"), ("option:b", "code")]),
            *edges("locked", [("option:b", "menu")]),
            *edges("code", [(r"regex:\b1[\s,-]*3[\s,-]*2\b", "open")]),
        ],
        "start": "menu",
        "goal": ["open"],
        "limits": {"tries": 3, "turns": 10},
    }  # fmt: skip


def five_tones() -> Json:
    """Shortest path: tempo, line, tones, compare, done; 4 steps: fast, line C, 5, the same."""
    keep = "This is what you have built. Is it the melody from the beginning? (a) yes (b) no, go back"
    return {
        "id": "demo_five_tones",
        "scenario": "music_reproduction",
        "nodes": [
            node("tempo", "Listen to this melody: you will build it again. First, its tempo: (a) slow (b) fast",
                 audios=["melody.ogg"]),
            node("line", "Which line does the melody follow? (a) line A (b) line B (c) line C", ["lines.png"]),
            node("tones", "How many tones does it have? Answer with a number."),
            node("too_slow", keep, audios=["slow.ogg"]),
            node("wrong_line", keep, audios=["falling.ogg"]),
            node("compare", keep, audios=["melody.ogg"]),
            node("done", "That is the melody."),
            node("another_melody", "That was another melody."),
        ],
        "edges": [
            *edges("tempo", [("option:b", "line"), ("option:a", "too_slow")]),
            *edges("too_slow", [("option:a", "another_melody"), ("option:b", "tempo")]),
            *edges("line", [("option:c", "tones"), ("option:a", "wrong_line"), ("option:b", "wrong_line")]),
            *edges("wrong_line", [("option:a", "another_melody"), ("option:b", "line")]),
            *edges("tones", [(r"regex:\b(5|five)\b", "compare")]),
            *edges("compare", [("option:a", "done"), ("option:b", "another_melody")]),
        ],
        "start": "tempo",
        "goal": "done",
        "limits": {"tries": 3, "turns": 12},
    }  # fmt: skip


def images() -> dict[str, Image.Image]:
    """All pictures by file name."""
    places = {f"{name}.png": pictures.place(name) for name in ("station", "fountain", "market", "mill")}
    return {
        "map.png": pictures.town_map(),
        **places,
        "menu.png": pictures.menu("The lamp code", ["Enter the code", "Learn the rule", "Quit"]),
        "rule.png": pictures.speaker("The rule"),
        "locked.png": pictures.padlock("Enter the code"),
        "lamps.png": pictures.lamps(["blue", "red", "green"]),
        "lines.png": pictures.contours(MELODY),
    }


def sounds() -> dict[str, np.ndarray]:
    """All recordings by file name: mono at `RATE`, peak at `PEAK`."""
    return {
        "directions.ogg": spoken(DIRECTIONS),
        "rule.ogg": spoken(RULE),
        "melody.ogg": tones(ROSE_THEN_FELL, FAST_S),
        "slow.ogg": tones(ROSE_THEN_FELL, SLOW_S),
        "falling.ogg": tones(FELL, FAST_S),
    }


def spoken(text: str) -> np.ndarray:
    """The text as speech."""
    signal, rate = speak({"text": text, **VOICE})
    signal = soxr.resample(signal, rate, RATE)
    return signal * PEAK / np.abs(signal).max()


def tones(steps: Sequence[int], seconds: float) -> np.ndarray:
    """A plucked tone for each step of the scale, so many seconds apart."""
    time = np.arange(round(seconds * RATE)) / RATE
    fade = np.exp(-3.0 * time / seconds) * np.minimum(1, time / 0.01)
    waves = [sum(np.sin(2 * np.pi * STEPS_HZ[step] * part * time) / part for part in (1, 2, 3)) for step in steps]
    signal = np.concatenate([wave * fade for wave in waves])
    return signal * PEAK / np.abs(signal).max()


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: 0 when the set is written, 1 with one line on stderr when it cannot be."""
    parser = argparse.ArgumentParser(description="Write the demo task graphs of HAVE-Bench.")
    parser.add_argument("--out", type=Path, default=OUT, help="folder for graphs.jsonl (default: %(default)s)")
    out: Path = parser.parse_args(arguments).out

    def make() -> Iterator[str]:
        (out / "graphs").mkdir(parents=True, exist_ok=True)
        for name, image in images().items():
            image.quantize(64).save(out / "graphs" / name, optimize=True)
        for name, signal in sounds().items():
            (out / "graphs" / name).write_bytes(ogg_opus(signal, name))
        lines = [json.dumps(graph, ensure_ascii=False) for graph in (town_walk(), lamp_code(), five_tones())]
        (out / "graphs.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        yield f"{out}: {len(lines)} graphs, {len(images())} pictures, {len(sounds())} recordings"

    return run(make)


if __name__ == "__main__":
    sys.exit(main())
