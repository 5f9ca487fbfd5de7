"""The commands `lmms-audio-tasks report` and `leaderboard`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lmms_audio_tasks import sources
from lmms_audio_tasks.errors import AudioTasksError

FORMATS = ("md", "csv", "json", "html")
_EMBED_DEFAULT_MB = 20.0


def add_parser(commands: Any) -> None:
    """Add `report` and `leaderboard` to the action `commands`; each sets `run`, which gives the exit code."""
    _add_report(commands)
    _add_leaderboard(commands)


def _add_report(commands: Any) -> None:
    report = commands.add_parser(
        "report",
        help="tables, comparisons and plots from log folders",
        description="Report on what lmms_eval --output_path DIR --log_samples wrote. Of each model and task the latest "
        "run counts, in HAVE-Bench's report the mean of all.",
    )
    report.add_argument("logdirs", nargs="+", type=Path, metavar="LOGDIR", help="what --output_path was given")
    report.add_argument("--benchmark", default="sakura", help="default: sakura")
    report.add_argument("--published", action="store_true", help="the papers' own rows beside yours")
    report.add_argument(
        "--interval", choices=("wilson", "paper"), default="wilson", help="default: wilson; paper: Wald at n = 500"
    )
    report.add_argument("--format", choices=FORMATS, help="default: the ending of -o, else md")
    report.add_argument(
        "-o",
        "--output",
        dest="outputs",
        action="append",
        type=Path,
        metavar="FILE",
        help="default: standard output; several files of different formats take one reading of the logs",
    )
    report.add_argument("--data", metavar="{demo,DIR}", help="SAKURA: for Table 1, and to play recordings from")
    report.add_argument(
        "--items", type=int, default=20, metavar="N", help="hard items, prompts, episodes a system in md; 0: all"
    )
    report.add_argument(
        "--embed-audio",
        nargs="?",
        type=float,
        const=_EMBED_DEFAULT_MB,
        metavar="MB",
        help=f"put recordings of hard items into the HTML, up to so many MB in all (default {_EMBED_DEFAULT_MB:g})",
    )
    _add_choice(report)
    report.add_argument("--all-runs", action="store_true", help="a row for each run instead of the latest only")
    report.set_defaults(run=_uncollected(run_report))


def _add_choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--run", dest="runs", action="append", default=[], metavar="DATE", help="only runs of that date"
    )
    parser.add_argument(
        "--name", dest="names", action="append", default=[], metavar="MODEL=LABEL", help="another label"
    )


def _add_leaderboard(commands: Any) -> None:
    leaderboard = commands.add_parser("leaderboard", help="a file of results that a team can commit and merge")
    actions = leaderboard.add_subparsers(dest="action", required=True, metavar="{add,build}")

    add = actions.add_parser("add", help="add the runs of a log folder; adding twice changes nothing")
    add.add_argument("logdirs", nargs="+", type=Path, metavar="LOGDIR", help="what --output_path was given")
    add.add_argument("--benchmark", default="sakura", help="default: sakura")
    add.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.json", help="made where it is missing")
    add.add_argument("--allow-demo", action="store_true", help="take demo scores too, marked as such")
    _add_choice(add)
    add.set_defaults(run=_uncollected(run_leaderboard_add))

    build = actions.add_parser("build", help="the leaderboard as a table, best average first")
    build.add_argument("files", nargs="+", type=Path, metavar="FILE.json", help="several are merged")
    build.add_argument("--format", choices=("md", "html"), help="default: the ending of -o, else md")
    build.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")
    build.set_defaults(run=run_leaderboard_build)


def _uncollected(command: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    def run(arguments: argparse.Namespace) -> int:
        from lmms_audio_tasks.report.load import without_collection

        with without_collection():
            return command(arguments)

    return run


def run_report(arguments: argparse.Namespace) -> int:
    """Write the report; 0.

    Raises:
        AudioTasksError: see `build.build`; also a file that cannot be written.
    """
    from lmms_audio_tasks.report.build import Options, build

    if arguments.items < 0:
        raise AudioTasksError(f"--items must be 0 or more, not {arguments.items}")
    if arguments.embed_audio is not None and not 0 <= arguments.embed_audio < float("inf"):
        raise AudioTasksError(f"--embed-audio must be a number of MB, not {arguments.embed_audio:g}")
    outputs: list[Path | None] = arguments.outputs or [None]
    if len({None if output is None else output.resolve() for output in outputs}) < len(outputs):
        raise AudioTasksError("-o names one file twice")
    options = Options(
        interval=arguments.interval,
        published=arguments.published,
        runs=tuple(arguments.runs),
        all_runs=arguments.all_runs,
        names=_names(arguments.names),
        data=None if arguments.data is None else sources.parse(arguments.data),
        shown_items=arguments.items or None,
    )
    report = build(arguments.logdirs, arguments.benchmark, options)
    for output in outputs:
        _write(_rendered(report, _format(arguments.format, output, FORMATS), output, arguments.embed_audio), output)
    return 0


def _rendered(report: Any, form: str, output: Path | None, embed_mb: float | None) -> str:
    if form != "html":
        return _renderer(form)(report)
    from lmms_audio_tasks.report.render_html import Audio, render

    folder = Path.cwd() if output is None else output.resolve().parent
    return render(report, Audio(folder, embed_mb))


def run_leaderboard_add(arguments: argparse.Namespace) -> int:
    """Add runs to a leaderboard file; 0.

    Raises:
        AudioTasksError: see `leaderboard.add`.
    """
    from lmms_audio_tasks.report import leaderboard

    told = leaderboard.add(
        arguments.output,
        arguments.logdirs,
        arguments.benchmark,
        runs=arguments.runs,
        names=_names(arguments.names),
        allow_demo=arguments.allow_demo,
    )
    sys.stdout.write("".join(f"{line}\n" for line in told))
    return 0


def run_leaderboard_build(arguments: argparse.Namespace) -> int:
    """Write the leaderboard as a table; 0.

    Raises:
        AudioTasksError: see `leaderboard.read`.
    """
    from lmms_audio_tasks.report import board, leaderboard

    report = board.build(leaderboard.read_all(arguments.files))
    if _format(arguments.format, arguments.output, ("md", "html")) == "html":
        from lmms_audio_tasks.report.render_html import render

        text = render(report)
    else:
        text = _renderer("md")(report)
    _write(text, arguments.output)
    return 0


def _format(wished: str | None, output: Path | None, known: tuple[str, ...]) -> str:
    if wished:
        return wished
    ending = output.suffix.lstrip(".").lower() if output else ""
    return {"markdown": "md", "htm": "html"}.get(ending, ending if ending in known else "md")


def _renderer(form: str) -> Any:
    from lmms_audio_tasks.report import render_csv, render_json, render_md

    return {"md": render_md.render, "csv": render_csv.render, "json": render_json.render}[form]


def _names(given: list[str]) -> tuple[tuple[str, str], ...]:
    # From the right: a model's arguments hold equal signs, a label hardly does.
    pairs = [tuple(part.strip() for part in text.rpartition("=")[::2]) for text in given]
    for text, (model, label) in zip(given, pairs, strict=True):
        if not model or not label:
            raise AudioTasksError(f"--name needs MODEL=LABEL, not {text!r}")
    return tuple((model, label) for model, label in pairs)


def _write(text: str, output: Path | None) -> None:
    from lmms_audio_tasks.files import write_whole
    from lmms_audio_tasks.judge.prompt import clean

    if output is None:
        sys.stdout.write(clean(text))
    else:
        write_whole(output, clean(text))
