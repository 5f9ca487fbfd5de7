"""The command `lmms-audio-tasks export`: a run's responses as the benchmark's official prediction file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from lmms_audio_tasks import registry
from lmms_audio_tasks.errors import AudioTasksError


def add_parser(commands: Any) -> None:
    """Add `export` to the subparsers action `commands`; it sets `run`, which gives the exit code."""
    export = commands.add_parser(
        "export",
        help="write a run's responses as an official prediction file",
        description="Write the responses of one run, as lmms_eval --log_samples saved them, in the official form.",
    )
    export.add_argument("benchmark", help="art")
    logdir = "what --output_path was given, or samples files of one run"
    export.add_argument("logdir", type=Path, nargs="+", metavar="LOGDIR", help=logdir)
    export.add_argument("-o", "--output", type=Path, required=True, metavar="OUT.json", help="e.g. outputs.json")
    export.add_argument(
        "--modality", choices=("audio", "text"), default="audio", help="text: the _text tasks; default: audio"
    )
    export.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    export.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command that `add_parser` parsed; 0.

    Raises:
        AudioTasksError: the benchmark has no export, or see `export.export_run`.
    """
    benchmark = registry.benchmark(arguments.benchmark)
    export_run = getattr(benchmark.module("predictions"), "export_run", None)
    if export_run is None:
        raise AudioTasksError(f"{benchmark.name} has no official prediction file to export to")
    exported = export_run(arguments.logdir, arguments.output, arguments.modality)
    as_json = arguments.format == "json"
    print(json.dumps(exported.to_dict(), indent=2) if as_json else exported.to_text())  # noqa: T201
    return 0
