"""What is wanted, and the plan of it: which prompt is said by which voice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lmms_audio_tasks import audio
from lmms_audio_tasks.c3t import SPLITS
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.synthesize import make, voices
from lmms_audio_tasks.synthesize.report import Problem, Summary
from lmms_audio_tasks.synthesize.settings import Settings
from lmms_audio_tasks.synthesize.tasks_input import Prompt
from lmms_audio_tasks.synthesize.tts import Choice, Engine
from lmms_audio_tasks.synthesize.voices import Voice
from lmms_audio_tasks.synthesize.workfiles import Made


@dataclass(frozen=True, slots=True)
class Options:
    """What is wanted.

    Attributes:
        tasks: files of `tasks_input`.
        output: the folder that gets `c3t/` and the reports.
        engine: which synthesizer.
        voices: the table of voices.
        settings: the thresholds.
        seed: of the draw of voices, and of engines that draw.
        limit: prompts of each task; None for all.
        processes: that make speech.
        splits: of `SPLITS`.
        asr: the recogniser of the intelligibility check; "" for none.
        device: of the recogniser.
    """

    tasks: tuple[Path, ...]
    output: Path
    engine: Choice
    voices: Path
    settings: Settings
    seed: int = 0
    limit: int | None = None
    processes: int = 1
    splits: tuple[str, ...] = SPLITS
    asr: str = ""
    device: str = "cpu"


@dataclass(slots=True)
class Cell:
    """One recording of the set: a prompt in one voice.

    Attributes:
        spoken: the words to say.
        labels: see `voices.Labels`.
        number: the prompt's place in its task.
        made: the finished recording, once there is one.
    """

    prompt: Prompt
    number: int
    spoken: str
    split: str
    labels: voices.Labels
    voice: Voice
    key: str = ""
    made: Made | None = None

    @property
    def sample_id(self) -> str:
        """Unique in the set."""
        return "/".join((self.prompt.task, self.prompt.instance_id, self.split, *self.labels))

    @property
    def words(self) -> int:
        """How many are said."""
        return len(self.spoken.split())

    @property
    def groups(self) -> dict[str, str]:
        """Its voice, and what that stands for in the split."""
        names = ("accent",) if self.split == "accent" else ("age", "gender")
        return {"voice": self.voice.voice_id, **dict(zip(names, self.labels, strict=True))}

    def problem(self, kind: str, told: str) -> Problem:
        """A line about it for the list of problems."""
        return Problem(kind, told, self.prompt.task, self.prompt.instance_id, self.split, self.voice.voice_id)


def planned(plan: voices.Plan, table: voices.Table, engine: Engine, options: Options, summary: Summary) -> list[Cell]:
    """All recordings of the set, save those in voices that cannot be used, which are noted as problems."""
    numbers: dict[str, int] = {}
    cells = []
    for prompt, spoken in summary.filtered.kept:
        number = numbers[prompt.task] = numbers.get(prompt.task, -1) + 1
        for split in options.splits:
            for labels, voice in plan.draw(split, *prompt.key):
                cells.append(Cell(prompt, number, spoken, split, labels, voice))
    summary.wanted = len(cells)
    used = {cell.voice.voice_id: cell.voice for cell in cells}
    wrong: dict[str, DataError] = {}
    references: dict[str, str] = {}
    for voice in used.values():
        path = table.reference(voice)
        fault = engine.voice_fault(voice, path)
        if not fault and voice.reference and voice.reference not in references:
            try:
                references[voice.reference] = audio.content_hash(str(path))
            except audio.AudioError as error:
                fault = "a reference recording", f"{voice.reference!r}: {error}"
        if fault:
            wrong[voice.voice_id] = table.fault(voice, *fault)
    absent = [cell for cell in cells if cell.voice.voice_id in wrong]
    for voice_id, told in wrong.items():
        count = sum(cell.voice.voice_id == voice_id for cell in absent)
        summary.note(Problem("voice", f"{told}; {count} recordings are left out", voice=voice_id))
    summary.without_voice = len(absent)
    identity, seed = engine.identity(), options.seed if engine.draws else None
    kept = [cell for cell in cells if cell.voice.voice_id not in wrong]
    for cell in kept:
        reference = references.get(cell.voice.reference, "")
        cell.key = make.key_of(cell.spoken, cell.voice, reference, identity, options.settings.speech, seed)
    return kept
