"""Responses a second of the option matcher, on one core.

Run ``python benchmarks/options.py`` for the mix below, or add ``--data FILE`` for JSON lines with "instruction" and
"response". The mix follows what audio language models say: mostly a letter or a short text, some sentences, some
reasoning of about 100 words. Every response is judged from scratch; only what depends on the options alone is cached.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

from lmms_audio_tasks.options import Option, match_response, split_instruction

QUESTIONS = (
    "Which animal do you hear in this clip? (a) goose (b) horse (c) owl (d) bee",
    "Which feature fits the animal in the recording? (a) Antlers (b) Gills (c) Hooves (d) Feathers",
    "What does the tone of the speaker convey? (a) happy (b) angry (c) sad (d) fear",
    "Is the voice that of a man or a woman? (a) Male (b) Female",
    "Which language is spoken? (a) Italian (b) Korean (c) German (d) Spanish",
    "What would suit the speaker's mood? (a) Bring them a cup of tea. (b) Leave the room for a while. "
    "(c) Sing along, it’s a party! (d) Lock the door and wait.",
)
# (times in 100, template); {l} letter, {L} capital, {t} text, {x} another option's letter, {y} its text
MIX = (
    (20, "({l}) {t}"),
    (10, "{L}"),
    (5, "({l})"),
    (5, "{l}."),
    (10, "{t}"),
    (5, "{t}."),
    (5, "**({l}) {t}**"),
    (5, "The answer is ({l}) {t}."),
    (5, "The correct option is {L}."),
    (3, "<think>It may be ({x}) {y}. No, ({l}) fits.</think>({l}) {t}"),
    (3, "({l}) or ({x})"),
    (3, "It is not ({x}) {y}, it is ({l}) {t}."),
    (3, "Let me listen again.\n\nAnswer: {l}"),
    (3, "I'm sorry, but I cannot tell that from the recording."),
    (2, "None of the options fits."),
    (3, "Judging by the pitch and the rhythm of the recording, it sounds most like {t} to me."),
    (
        10,
        "Let me go through the recording step by step. At the start there is some noise, and then the main sound "
        "sets in and lasts for about three seconds. It is rather loud, it rises twice, and it stops with a short "
        "pause before the clip ends. Option ({x}) {y} would have another pitch and a slower rhythm, which I do "
        "not hear at any point of this clip. The remaining options differ even more, as far as one can say from a "
        "few seconds of sound. Taking all of this together, I am fairly confident about it. Therefore, the "
        "correct answer is ({l}) {t}.",
    ),
)


def own_mix() -> list[tuple[str, str, tuple[Option, ...]]]:
    """(response, question, options), one per template, question and option."""
    rows: list[tuple[str, str, tuple[Option, ...]]] = []
    for instruction in QUESTIONS:
        question, options = split_instruction(instruction)
        for place, option in enumerate(options):
            other = options[place - 1]
            words = {
                "l": option.letter,
                "L": option.letter.upper(),
                "t": option.text,
                "x": other.letter,
                "y": other.text,
            }
            rows += [(form.format(**words), question, options) for times, form in MIX for _ in range(times)]
    return rows


def from_file(path: Path) -> list[tuple[str, str, tuple[Option, ...]]]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [(row["response"], *split_instruction(row["instruction"])) for row in rows]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help='JSON lines with "instruction" and "response"')
    parser.add_argument("--seconds", type=float, default=5.0, help="how long to measure")
    args = parser.parse_args(argv)
    rows = from_file(args.data) if args.data else own_mix()
    count, used, best = 0, 0.0, 0.0
    while used < args.seconds:
        start = time.process_time()
        for response, question, options in rows:
            match_response(response, options, question)
        took = time.process_time() - start
        count, used, best = count + len(rows), used + took, max(best, len(rows) / took)
    words = sum(len(response.split()) for response, _, _ in rows) / len(rows)
    print(f"{len(rows)} responses of {words:.1f} words on average")
    print(f"{count / used:,.0f} responses/s of CPU time on one core over {used:.1f} s (best pass {best:,.0f})")


if __name__ == "__main__":
    main()
