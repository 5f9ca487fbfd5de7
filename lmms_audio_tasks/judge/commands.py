"""The commands `lmms-audio-tasks judge` and `agreement`, and the judge's options for any command that judges."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.judge.settings import MODES, JudgeSettings
from lmms_audio_tasks.registry import UnknownNameError

UNJUDGED_LEFT = 1
"""Exit code where responses are left without a verdict."""


def add_parser(commands: Any) -> None:
    """Add `judge` and `agreement` to the subparsers action `commands`; each sets `run`, which gives the exit code."""
    judge = commands.add_parser(
        "judge",
        help="judge or re-judge saved samples",
        description="Judge every samples file below LOGDIR anew and write ..._verdicts_<task>.jsonl beside it. "
        "Exit code 1 where responses are left unjudged; run again to ask for those only.",
    )
    judge.add_argument("logdir", type=Path, metavar="LOGDIR", help="what lmms_eval --output_path was given")
    add_judge_options(judge)
    _add_format(judge)
    judge.set_defaults(run=run)

    agreement = commands.add_parser(
        "agreement",
        help="how far a judge agrees with people, or with another judge",
        description="Compare two files of verdicts: judgement files in SAKURA's official form, verdict files of "
        "`judge`, or JSON lines with `verdict` and `key`, `item_id`, or `instruction` and `response`.",
    )
    agreement.add_argument("labels", type=Path, metavar="LABELS", help="people's verdicts, or one judge's")
    agreement.add_argument("judgements", type=Path, metavar="JUDGEMENTS", help="the judge's verdicts")
    _add_format(agreement)
    agreement.set_defaults(run=run)


def add_judge_options(parser: argparse.ArgumentParser) -> None:
    """Add the judge's options; `settings_from` reads them. Each has an environment variable as its default."""
    group = parser.add_argument_group("judge (defaults: LMMS_AUDIO_JUDGE, LMMS_AUDIO_JUDGE_MODEL, ..., else as shown)")
    group.add_argument(
        "--judge",
        metavar="{rule,llm,hybrid}",
        help="rule: the option matcher (default); llm: a language "
        "model judges all; hybrid: it judges what the matcher calls undecided, and open answers",
    )
    group.add_argument("--judge-model", metavar="NAME", help="gpt-4o-2024-11-20")
    group.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible server; OPENAI_BASE_URL, else OpenAI's")
    group.add_argument("--api-key-env", metavar="NAME", help="the variable that holds the key; OPENAI_API_KEY")
    group.add_argument("--temperature", type=float, metavar="X", help="0")
    group.add_argument("--top-p", type=float, metavar="X", help="0.9")
    group.add_argument("--max-tokens", type=int, metavar="N", help="1024")
    group.add_argument("--concurrency", type=int, metavar="N", help="requests under way at once; 16")
    group.add_argument("--timeout", type=float, metavar="S", help="seconds for one request; 60")
    group.add_argument("--max-retries", type=int, metavar="N", help="tries after the first, with growing pauses; 8")
    group.add_argument("--prompt", type=Path, metavar="PATH", help="a template of your own, or a folder of them")
    group.add_argument("--cache", type=Path, metavar="FILE", help="where verdicts are kept")
    group.add_argument("--input-price", type=float, metavar="X", help="per million prompt tokens, for a cost estimate")
    group.add_argument("--output-price", type=float, metavar="X", help="per million completion tokens")


_FIELDS = (
    "base_url",
    "temperature",
    "top_p",
    "max_tokens",
    "concurrency",
    "timeout",
    "max_retries",
    "prompt",
    "cache",
    "input_price",
    "output_price",
)
"""The options that are called as the fields of `JudgeSettings`."""


def settings_from(arguments: argparse.Namespace) -> JudgeSettings:
    """The settings that the options of `add_judge_options` give, over those of the environment.

    Raises:
        AudioTasksError: an unknown judge, a value out of range, or a key variable that is not set.
    """
    if arguments.judge is not None and arguments.judge not in MODES:
        raise UnknownNameError("judge", arguments.judge, MODES)
    key = None
    if arguments.api_key_env is not None:
        key = os.environ.get(arguments.api_key_env, "").strip()
        if not key:
            raise AudioTasksError(f"--api-key-env names {arguments.api_key_env}, which is not set")
    options = {name: getattr(arguments, name) for name in _FIELDS}
    return JudgeSettings.from_environment(mode=arguments.judge, model=arguments.judge_model, api_key=key, **options)


def run(arguments: argparse.Namespace) -> int:
    """Run the command that `add_parser` parsed; 0, or `UNJUDGED_LEFT`.

    Raises:
        AudioTasksError: see `logdir.judge_logdir` and `agreement.compare_files`.
    """
    if arguments.command == "agreement":
        from lmms_audio_tasks.judge.agreement import compare_files

        _show(compare_files(arguments.labels, arguments.judgements), arguments.format)
        return 0
    from lmms_audio_tasks.judge.logdir import judge_logdir

    judged = judge_logdir(arguments.logdir, settings_from(arguments))
    _show(judged, arguments.format)
    return UNJUDGED_LEFT if judged.unjudged else 0


def _add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")


def _show(result: Any, form: str) -> None:
    text = json.dumps(result.to_dict(), indent=2, ensure_ascii=False) if form == "json" else result.to_text()
    print(text)  # noqa: T201
