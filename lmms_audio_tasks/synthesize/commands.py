"""The command `lmms-audio-tasks synthesize`."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_audio_tasks.c3t import SPLITS
from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.synthesize import ENGINES, settings

if TYPE_CHECKING:
    from lmms_audio_tasks.synthesize.cells import Options

INCOMPLETE = 1
"""Exit code where a row was no prompt, or a recording is missing."""


def add_parser(commands: Any) -> None:
    """Add `synthesize` to the subparsers action `commands`; it sets `run`, which gives the exit code."""
    parser = commands.add_parser(
        "synthesize",
        help="make a spoken, many-voiced test set from text tasks",
        description="Say the prompts of text tasks in many voices and write a data set in C3T's form to DIR/c3t. A run "
        "that was stopped goes on where it was. Exit code 1 where a row or a recording is missing in the end.",
    )
    parser.add_argument("tasks", nargs="+", type=Path, metavar="TASKS", help=".jsonl, or BIG-Bench-Hard .json files")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="where the set goes; needed save for --report")
    parser.add_argument(
        "--report", action="store_true", help="only say which prompts can be spoken, and why not others"
    )
    parser.add_argument("--engine", choices=ENGINES, default="espeak", help="default: espeak")
    parser.add_argument(
        "--command",
        dest="template",
        metavar="TEMPLATE",
        default="",
        help="of --engine command: 'mytts --in {text_file} --out {wav}'",
    )
    parser.add_argument("--model", default="", help="what --engine clone loads; default: its model of the language")
    parser.add_argument("--voices", type=Path, metavar="FILE", help="table of voices (CSV); default: 43 of espeak-ng")
    parser.add_argument("--settings", type=Path, metavar="FILE", help="thresholds that differ from the default (YAML)")
    parser.add_argument("--language", type=_language, default="en", help="of the prompts; default: en")
    parser.add_argument("--splits", default=",".join(SPLITS), help="accent, age_gender or both; default: both")
    parser.add_argument("--seed", type=int, default=0, help="of the draw of voices; default: 0")
    parser.add_argument("--limit", type=_count, metavar="N", help="only the first N prompts of each task")
    parser.add_argument("--processes", type=_count, default=1, metavar="N", help="that speak; default: 1")
    parser.add_argument(
        "--asr",
        default="",
        metavar="NAME",
        help="check by this recogniser how well voices are understood: demo, or as cascade takes asr",
    )
    parser.add_argument("--device", default="cpu", help="of the recogniser and of --engine clone; default: cpu")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command that `add_parser` parsed; 0, or `INCOMPLETE`.

    Raises:
        AudioTasksError: see `pipeline.synthesize`.
    """
    known = settings.load(arguments.settings)
    try:
        # Not before: numpy and libsndfile are of no use to the other commands.
        from lmms_audio_tasks.synthesize.pipeline import filtered, synthesize

        if arguments.report:
            found = filtered(arguments.tasks, arguments.language, known, arguments.limit)
            _show(found, arguments.format)
            return INCOMPLETE if found.faults else 0
        if arguments.output is None:
            raise AudioTasksError("say where the set goes: -o DIR (or --report for a look at the prompts alone)")
        summary = synthesize(_options(arguments, known), _bar)
    except KeyboardInterrupt:
        raise AudioTasksError("stopped; the same command goes on from there") from None
    _show(summary, arguments.format)
    return 0 if summary.complete else INCOMPLETE


def _options(arguments: argparse.Namespace, known: settings.Settings) -> Options:
    from lmms_audio_tasks.synthesize.cells import Options
    from lmms_audio_tasks.synthesize.tts import Choice
    from lmms_audio_tasks.synthesize.voices import ESPEAK_TABLE

    splits = tuple(dict.fromkeys(part.strip() for part in arguments.splits.split(",") if part.strip()))
    if not splits or not set(splits) <= set(SPLITS):
        raise AudioTasksError(f"--splits takes {', '.join(SPLITS)}, not {arguments.splits!r}")
    if arguments.template and arguments.engine != "command":
        raise AudioTasksError("--command goes with --engine command")
    if arguments.model and arguments.engine != "clone":
        raise AudioTasksError("--model goes with --engine clone")
    if arguments.voices is None and arguments.engine != "espeak":
        raise AudioTasksError(f"--engine {arguments.engine} needs a table of voices: --voices FILE")
    if arguments.voices is None and arguments.language.partition("-")[0].lower() != "en":
        raise AudioTasksError(f"the shipped voices speak English, not {arguments.language!r}: --voices FILE")
    timeout = float(known.run["timeout_seconds"])
    choice = Choice(
        arguments.engine, arguments.language, timeout, arguments.template, arguments.model, arguments.device
    )
    return Options(
        tasks=tuple(arguments.tasks),
        output=arguments.output.expanduser(),
        engine=choice,
        voices=arguments.voices or ESPEAK_TABLE,
        settings=known,
        seed=arguments.seed,
        limit=arguments.limit,
        processes=arguments.processes,
        splits=tuple(split for split in SPLITS if split in splits),
        asr=arguments.asr,
        device=arguments.device,
    )


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, not {text!r}")
    return int(text)


def _language(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*", text):
        raise argparse.ArgumentTypeError(f"expected a language such as en or pt-BR, not {text!r}")
    return text


def _bar(title: str, total: int) -> Any:
    from tqdm import tqdm

    return tqdm(total=total, desc=title)


def _show(result: Any, form: str) -> None:
    text = json.dumps(result.to_dict(), indent=2, ensure_ascii=False) if form == "json" else result.to_text()
    print(text)  # noqa: T201
