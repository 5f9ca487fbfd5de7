"""What a benchmark's report has to define, and how it is found: `lmms_audio_tasks.report.<benchmark>`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol, cast

from lmms_audio_tasks import registry, sources
from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.report.document import Note, Table
from lmms_audio_tasks.report.load import TaskLog
from lmms_audio_tasks.report.systems import System
from lmms_audio_tasks.report.tables import Method, Tally


@dataclass(frozen=True, slots=True)
class Options:
    """What a report shows; see the command's help.

    Attributes:
        shown_items: how many items (hard ones, or prompts) Markdown lists of each system; None for all.
    """

    interval: Method = "wilson"
    published: bool = False
    runs: tuple[str, ...] = ()
    all_runs: bool = False
    names: tuple[tuple[str, str], ...] = ()
    data: sources.Source | None = None
    shown_items: int | None = 20


class Content(NamedTuple):
    """A benchmark's tables that have rows, in the order of the report, and what must be told beside them."""

    tables: list[Table]
    notes: list[Note]


class Entrant(NamedTuple):
    """One entry of a leaderboard.

    Attributes:
        origin: `run` or `demo`.
        tallies: by task.
        kept: by task, what `Definitions.kept` gave of it; {} where it gave nothing. Where a benchmark averages runs it
            is `{"runs": {date: what was given of that run}}`.
    """

    label: str
    origin: str
    tallies: Mapping[str, Tally]
    kept: Mapping[str, Mapping[str, Any]]


class Definitions(Protocol):
    """The module of a benchmark's report; a module `plots` beside it, where there is one, has `draw(report)`.

    Attributes:
        TITLE: what the report is called.
        INTERVALS: the kinds of interval its tables know.
        TAKES_DATA: whether `Options.data` adds anything.
        OPTIONAL: tasks beyond the paper's own, which nobody misses where they were not run.
        AVERAGES_RUNS: whether all runs of a system count, and `content` tells which, instead of the latest alone.
        OPEN_SCORES: whether there is no score where responses are unjudged, instead of one that counts them as wrong.
    """

    TITLE: str
    INTERVALS: tuple[Method, ...]
    TAKES_DATA: bool
    OPTIONAL: tuple[str, ...]
    AVERAGES_RUNS: bool
    OPEN_SCORES: bool

    def content(self, systems: Sequence[System], options: Options) -> Content:
        """The tables of the systems; general notes are made elsewhere."""
        ...

    def kept(self, log: TaskLog) -> dict[str, Any]:
        """What a leaderboard keeps of a log beside its counts of verdicts, as plain JSON types; {} for nothing."""
        ...

    def leaderboard_table(self, entrants: Sequence[Entrant]) -> Table:
        """The entries as a table, best first, incomplete ones after complete ones, demo ones last."""
        ...


def definitions(benchmark: str) -> Definitions:
    """A benchmark's report.

    Raises:
        UnknownNameError: no such benchmark.
        AudioTasksError: a benchmark without a report.
    """
    name = f"{__package__}.{registry.benchmark(benchmark).name}"
    if find_spec(name) is None:
        raise AudioTasksError(f"there is no report for {benchmark}")
    return cast("Definitions", import_module(name))


def check(found: Definitions, options: Options) -> None:
    """Raise `AudioTasksError` for an option that this report does not know, as it would do nothing."""
    if options.interval not in found.INTERVALS:
        raise AudioTasksError(f"--interval {options.interval} is not known to {found.TITLE}'s report")
    if options.data is not None and not found.TAKES_DATA:
        raise AudioTasksError(f"--data adds nothing to {found.TITLE}'s report")
