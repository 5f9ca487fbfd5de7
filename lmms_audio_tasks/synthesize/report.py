"""What a run found and did: which prompts were kept, which recordings were made, what went wrong."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lmms_audio_tasks.c3t import CUSTOM, SPLITS, table_of
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.synthesize.speakability import REASONS
from lmms_audio_tasks.synthesize.tasks_input import Prompt

SHOWN = 20
"""Problems that are printed; the file has all."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """The prompts as the speakability filter parted them.

    Attributes:
        kept: each with the words to say, at most as many of a task as were asked for.
        dropped: each with its reasons, see `speakability.examine`.
        faults: rows that are no prompts.
        beyond: prompts that could be spoken, but are more than were asked for.
    """

    kept: tuple[tuple[Prompt, str], ...]
    dropped: tuple[tuple[Prompt, Mapping[str, str]], ...]
    faults: tuple[DataError, ...]
    beyond: int = 0

    @property
    def read(self) -> int:
        """How many prompts were read."""
        return len(self.kept) + len(self.dropped) + self.beyond

    def to_dict(self) -> dict[str, Any]:
        """Counts a task, each dropped prompt with its reasons, and the faults, as plain JSON types."""
        dropped = [
            {"task_name": p.task, "instance_id": p.instance_id, "reasons": dict(reasons)} for p, reasons in self.dropped
        ]
        return {
            "tasks": self.counts(),
            "beyond_limit": self.beyond,
            "dropped": dropped,
            "faults": [str(fault) for fault in self.faults],
        }

    def counts(self) -> dict[str, dict[str, int]]:
        """By task: how many were kept, and how many dropped for each reason; a prompt counts for its first reason."""
        kept = Counter(prompt.task for prompt, _ in self.kept)
        reasons = Counter((prompt.task, next(iter(why))) for prompt, why in self.dropped)
        tasks = sorted({*kept, *(task for task, _ in reasons)})
        return {
            task: {"kept": kept[task], **{r: reasons[task, r] for r in REASONS if reasons[task, r]}} for task in tasks
        }

    def to_text(self) -> str:
        """The counts for people, then a line for each dropped prompt and each fault."""
        lines = ["prompts that can be spoken"]
        for task, counts in self.counts().items():
            why = ", ".join(f"{count} {REASONS[reason]}" for reason, count in counts.items() if reason != "kept")
            lines.append(f"  {task}: {counts['kept']} kept" + (f"; dropped: {why}" if why else ""))
        if self.beyond:
            lines.append(f"  {self.beyond} more are beyond --limit")
        for prompt, reasons in self.dropped:
            told = "; ".join(f"{REASONS[reason]} ({found})" for reason, found in reasons.items())
            lines.append(f"  dropped: {prompt.task} {prompt.instance_id}: {told}")
        lines += [f"  fault: {fault}" for fault in self.faults]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Problem:
    """A recording, or all of a voice's, that is not in the set.

    Attributes:
        kind: `voice`, `failed`, `rejected`, or `not transcribed` (which is in the set).
    """

    kind: str
    told: str
    task: str = ""
    instance_id: str = ""
    split: str = ""
    voice: str = ""

    def to_dict(self) -> dict[str, str]:
        """A line of `problems.jsonl`."""
        return asdict(self)

    def to_text(self) -> str:
        """One line for people."""
        where = " ".join(part for part in (self.task, self.instance_id, self.split, self.voice) if part)
        return f"{self.kind}: {where}: {self.told}"


@dataclass(slots=True)
class Summary:
    """What a run did.

    Attributes:
        wanted: recordings that the plan asks for.
        without_voice: those of them whose voice cannot be used.
        reused, newly_made: recordings, each counted once where several rows share it.
        written: rows of the set.
        understood: see `intelligibility.table`; [] where it was not checked.
        wer: word error rate over all recordings, and the capped one; None where it was not checked.
        tasks, splits: in the set.
    """

    output: Path
    filtered: Filtered
    wanted: int = 0
    without_voice: int = 0
    reused: int = 0
    newly_made: int = 0
    written: int = 0
    problems: list[Problem] = field(default_factory=list)
    understood: list[dict[str, Any]] = field(default_factory=list)
    wer: tuple[float, float] | None = None
    tasks: tuple[str, ...] = ()
    splits: tuple[str, ...] = SPLITS

    def note(self, problem: Problem) -> None:
        """Add a problem."""
        self.problems.append(problem)

    @property
    def complete(self) -> bool:
        """Whether every row was a prompt, and every recording is there."""
        return not self.problems and not self.filtered.faults

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        names = ("wanted", "without_voice", "reused", "newly_made", "written", "wer", "understood")
        return {
            "output": str(self.output),
            **self.filtered.to_dict(),
            **{name: getattr(self, name) for name in names},
            "problems": [problem.to_dict() for problem in self.problems],
        }

    def to_text(self) -> str:
        """For people, with the command that evaluates on the set."""
        kinds = Counter(problem.kind for problem in self.problems)
        parts = [f"{self.wanted} wanted", f"{self.newly_made} made now", f"{self.reused} there already"]
        parts += [f"{kinds[kind]} {kind}" for kind in ("failed", "rejected", "not transcribed") if kinds[kind]]
        parts += [f"{self.without_voice} in voices that cannot be used"] if self.without_voice else []
        lines = [self.filtered.to_text(), "", f"recordings: {', '.join(parts)}; {self.written} in the set"]
        lines += [f"  {problem.to_text()}" for problem in self.problems[:SHOWN]]
        if len(self.problems) > SHOWN:
            lines.append(f"  and {len(self.problems) - SHOWN} more in {self.output / 'problems.jsonl'}")
        lines += self._understood()
        folder = shlex.quote(str(self.output))
        return "\n".join([
            *lines, "", f"written: {self.output / 'c3t'}",
            f"check:    lmms-audio-tasks check c3t --data {folder}",
            f"evaluate: lmms_eval --audio_data {folder} --tasks {','.join(self.evaluated_by())} --model ...",
        ])  # fmt: skip

    def _understood(self) -> list[str]:
        if self.wer is None:
            return []
        rates = f"{self.wer[0]:.4f} over all recordings, {self.wer[1]:.4f} with at most all words of each wrong"
        lines = ["", f"word error rate of transcripts: {rates}"]
        for row in self.understood:
            if row["characteristic"] != "voice":
                mark = "  flagged: may be the voice's fault, not a model's" if row["flagged"] else ""
                name = f"{row['characteristic']} {row['group']}"
                lines.append(
                    f"  {name:32} {row['wer']:.4f}  {row['wer_capped']:.4f}  ({row['recordings']} recordings){mark}"
                )
        return lines

    def evaluated_by(self) -> list[str]:
        """The host's tasks that ask what was written."""
        mine = {table_of(task) for task in self.tasks}
        named = [f"c3t_{task}" for task in (*sorted(mine - {CUSTOM}), CUSTOM) if task in mine]
        if self.splits != SPLITS:
            return [f"{name}_{kind}" for name in named for kind in (*self.splits, "text")]
        return [name if name == f"c3t_{CUSTOM}" else f"{name}_*" for name in named]
