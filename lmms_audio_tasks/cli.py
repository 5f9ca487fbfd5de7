"""The two commands: `lmms_eval` (the host's command line, our tasks known) and `lmms-audio-tasks` (data and files)."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmms_audio_tasks import __version__, cache_command, export, registry, sources
from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.judge import commands as judge
from lmms_audio_tasks.judge.settings import MODE_VARIABLE
from lmms_audio_tasks.report import commands as report
from lmms_audio_tasks.synthesize import commands as synthesize

USAGE_ERROR = 2
STOPPED = 130
"""What shells make of a program that Ctrl-C has ended."""
COMMANDS = ("tasks", "check", "score", "export", "judge", "agreement", "report", "leaderboard", "synthesize", "cache")
_OURS_HELP = f"""\
lmms-audio-tasks adds to the options of lmms-eval:
  --audio_data {{hub,demo,DIR}}
                        where our tasks' data come from: the hub (default), the shipped demo set, or a folder that
                        holds sakura/, art/, ... in the official layouts. The same as {sources.DATA_VARIABLE}.
  --audio_judge {{rule,llm,hybrid}}
                        who judges free responses: the option matcher (default), a language model, or the model where
                        the matcher is undecided. The same as {MODE_VARIABLE}.
"""


def lmms_eval(argv: Sequence[str] | None = None) -> int:
    """The host's command line with our tasks, models and options; exit code 1 where an evaluation failed."""
    logging.basicConfig(format="%(levelname)s: %(message)s")
    try:
        arguments, data = take_option(list(sys.argv[1:] if argv is None else argv), "--audio_data", "hub, demo or DIR")
        arguments, judge = take_option(arguments, "--audio_judge", "rule, llm or hybrid")
        if data is not None:
            # A folder made absolute, so that worker processes elsewhere find it too.
            os.environ[sources.DATA_VARIABLE] = sources.parse(data).label
        if judge is not None:
            os.environ[MODE_VARIABLE] = judge
        if {"-h", "--help"} & set(arguments):
            print(_OURS_HELP)
        from lmms_audio_tasks import plugin

        return plugin.run_host(arguments)
    except AudioTasksError as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print("error: stopped by hand; answers and verdicts that were kept are not asked for again", file=sys.stderr)
        return STOPPED


def take_option(argv: list[str], name: str, values: str) -> tuple[list[str], str | None]:
    """Take `name VALUE` or `name=VALUE` out of `argv`; the last one counts.

    Raises:
        AudioTasksError: `name` stands without a value.
    """
    rest: list[str] = []
    value = None
    words = iter(argv)
    for word in words:
        if word == name:
            value = next(words, None)
            if value is None or value.startswith("--"):
                raise AudioTasksError(f"{name} needs a value: {values}")
        elif word.startswith(f"{name}="):
            value = word.split("=", 1)[1]
        else:
            rest.append(word)
    return rest, value


def main(argv: Sequence[str] | None = None) -> int:
    """`lmms-audio-tasks`: 0 on success, 1 on faults in data or unjudged items, 2 where the command is wrong."""
    logging.basicConfig(format="%(levelname)s: %(message)s")
    arguments = _parser().parse_args(argv)
    try:
        return arguments.run(arguments)
    except AudioTasksError as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print("error: stopped by hand", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:
        # `lmms-audio-tasks tasks | head`: whoever read has what it wanted.
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
        return 0


class _Parser(argparse.ArgumentParser):
    """Unknown commands are told with the nearest known ones."""

    def error(self, message: str) -> None:  # type: ignore[override]
        words = sys.argv[1:]
        if "invalid choice" in message and words and not words[0].startswith("-") and words[0] not in COMMANDS:
            message = str(registry.UnknownNameError("command", words[0], COMMANDS))
        super().error(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="lmms-audio-tasks", description="Audio benchmarks for lmms-eval: data, scores, listings.")
    parser.add_argument("--version", action="version", version=f"lmms-audio-tasks {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar=f"{{{','.join(COMMANDS)}}}")

    tasks = commands.add_parser("tasks", help="list our tasks and groups")
    tasks.add_argument("names", nargs="*", help="only these tasks and groups")
    _add_format(tasks)
    tasks.set_defaults(run=_tasks)

    check = commands.add_parser("check", help="check a benchmark's data; exit code 1 on faults")
    check.add_argument("benchmark", help="e.g. sakura")
    _add_data(check)
    _add_format(check)
    check.set_defaults(run=_check)

    score = commands.add_parser("score", help="score a prediction file in the benchmark's official form")
    score.add_argument("benchmark", help="e.g. sakura")
    score.add_argument("predictions", type=Path, metavar="PRED")
    _add_data(score)
    score.add_argument("--judgements", type=Path, metavar="OUT.json", help="also write the official judgement file")
    _add_format(score)
    judge.add_judge_options(score)
    score.set_defaults(run=_score)

    export.add_parser(commands)
    judge.add_parser(commands)
    report.add_parser(commands)
    synthesize.add_parser(commands)
    cache_command.add_parser(commands)
    return parser


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", metavar="{demo,DIR}", help=f"where the data are; default: {sources.DATA_VARIABLE}")


def _add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")


def _tasks(arguments: argparse.Namespace) -> int:
    known, groups = registry.tasks(), registry.groups()
    for name in arguments.names:
        if not registry.is_ours(name):
            raise registry.UnknownNameError("task or group", name, [*known, *groups])
    chosen = [known[name] for name in registry.expand(arguments.names or known)]
    if arguments.format == "json":
        rows = [
            {field: getattr(task, field) for field in ("name", "benchmark", "items", "output", "source", "paper")}
            for task in chosen
        ]
        print(json.dumps(rows, indent=2))
        return 0
    header = ("name", "benchmark", "items", "output", "source", "paper")
    print(_table([header, *((t.name, t.benchmark, str(t.items or "?"), t.output, t.source, t.paper) for t in chosen)]))
    if not arguments.names:
        print("\ngroups")
        print(_table([(name, " ".join(members)) for name, members in groups.items()]))
    return 0


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _check(arguments: argparse.Namespace) -> int:
    benchmark = registry.benchmark(arguments.benchmark)
    source = _source(arguments.data)
    if source.kind == "hub":
        raise AudioTasksError("check reads a folder: name one with --data DIR, or --data demo")
    found = benchmark.module("check").check(source)
    _show(found, arguments.format)
    return 1 if found.faults else 0


def _source(data: str | None) -> sources.Source:
    return sources.current() if data is None else sources.parse(data)


def _score(arguments: argparse.Namespace) -> int:
    benchmark = registry.benchmark(arguments.benchmark)
    settings = judge.settings_from(arguments)
    if settings.mode == "rule":
        scored = benchmark.module("predictions").score_file(arguments.predictions, _source(arguments.data))
    elif benchmark.judged:
        scored = benchmark.module("judging").judge_file(arguments.predictions, settings, source=_source(arguments.data))
    else:
        raise AudioTasksError(f"{benchmark.name} is scored by rule, as its authors do; leave --judge out")
    if arguments.judgements is not None:
        if not benchmark.judged:
            raise AudioTasksError(f"{benchmark.name} has no judgement file; leave --judgements out")
        scored.write_judgements(arguments.judgements)
    _show(scored, arguments.format)
    return judge.UNJUDGED_LEFT if getattr(scored, "unjudged", 0) else 0


def _show(result: Any, form: str) -> None:
    print(json.dumps(result.to_dict(), indent=2, ensure_ascii=False) if form == "json" else result.to_text())


if __name__ == "__main__":
    sys.exit(main())
