"""`lmms-audio-tasks check have_bench`: every fault of a folder, and what it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lmms_audio_tasks import sources
from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.have_bench import GRAPHS_FILE, ITEMS_FILE
from lmms_audio_tasks.have_bench.data import have_folder
from lmms_audio_tasks.have_bench.items import Item, Read, read_items
from lmms_audio_tasks.have_bench.media import Media

OFFICIAL = "the full benchmark: 1172 perception items, 1016 reasoning items, 263 graphs"


@dataclass(frozen=True, slots=True)
class Subtask:
    """What one subtask holds, of the items that are free of faults.

    Attributes:
        asr: AaI items that bring a recogniser's transcript.
        seconds: duration of all recordings, each time an item names one.
    """

    level: str
    subtask: str
    items: int
    aai: int
    aac: int
    mcq: int
    open: int
    asr: int
    images: int
    audios: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    """What `check` found.

    Attributes:
        scenarios: graphs free of faults, by scenario.
        absent: which of the two files the folder lacks. Not a fault: a set may have one of them only.
    """

    source: str
    demo: bool
    subtasks: tuple[Subtask, ...]
    scenarios: Mapping[str, int]
    absent: tuple[str, ...]
    faults: tuple[DataError, ...]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON types; each fault has file, row, expected, found and its one-line message."""
        faults = [fault.to_dict() for fault in self.faults]
        return {
            "benchmark": "have_bench",
            "source": self.source,
            "demo": self.demo,
            "items": sum(one.items for one in self.subtasks),
            "graphs": sum(self.scenarios.values()),
            "subtasks": [asdict(one) for one in self.subtasks],
            "scenarios": dict(self.scenarios),
            "absent": list(self.absent),
            "faults": faults,
        }

    def to_text(self) -> str:
        """The report for people: a line a subtask and scenario, then a line a fault."""
        demo = " (demo data: these figures are not the benchmark's)" if self.demo else ""
        told = self.to_dict()
        lines = [f"HAVE-Bench in {self.source}{demo}", f"{told['items']} items, {told['graphs']} graphs ({OFFICIAL})"]
        lines += [f"no {name}: what it would hold cannot be run" for name in self.absent]
        lines.append("")
        for one in self.subtasks:
            kinds = f"{one.aai} AaI ({one.asr} with asr), {one.aac} AaC; {one.mcq} mcq, {one.open} open"
            media = f"{one.images} pictures, {one.audios} recordings, {one.seconds:.1f} s"
            lines.append(f"{one.level} {one.subtask}: {one.items} items, {kinds}; {media}")
        lines += [f"interaction {name}: {count} graph{'s' * (count > 1)}" for name, count in self.scenarios.items()]
        lines += ["", *(f"fault: {fault}" for fault in self.faults)]
        count = len(self.faults)
        return "\n".join([*lines, "no faults" if count == 0 else "1 fault" if count == 1 else f"{count} faults"])


def check(source: sources.Source) -> Report:
    """Check the folder of a local source whole, every picture and recording decoded.

    Raises:
        DataError: the folder is missing, or has neither of the two files.
    """
    folder = have_folder(source)
    there = {name: (folder / name).exists() for name in (ITEMS_FILE, GRAPHS_FILE)}
    if not any(there.values()):
        inside = ", ".join(sorted(path.name for path in folder.iterdir())[:6]) or "an empty folder"
        raise DataError(folder, f"{ITEMS_FILE} or {GRAPHS_FILE} in it", inside)
    media = Media(folder, decode=True)
    read = read_items(folder, media) if there[ITEMS_FILE] else Read((), {}, ())
    faults = list(read.faults)
    scenarios: Counter[str] = Counter()
    if there[GRAPHS_FILE]:
        from lmms_audio_tasks.have_bench import graphs

        found, graph_faults = graphs.faults(folder, media)
        scenarios.update(graph.scenario for graph in found)
        faults += [*_shared_ids(folder, read.ids, [graph.id for graph in found]), *graph_faults]
    absent = tuple(name for name, present in there.items() if not present)
    figures = tuple(_figures(read.items, media))
    return Report(source.label, source.demo, figures, dict(sorted(scenarios.items())), absent, tuple(faults))


def _shared_ids(folder: Path, ids: Mapping[str, int], graphs: Sequence[str]) -> Iterator[DataError]:
    for name in graphs:
        if name in ids:
            found = f"{name!r} in {GRAPHS_FILE} too"
            yield DataError(folder / ITEMS_FILE, "each id once over items and graphs", found, f"line {ids[name]}")


def _figures(items: Sequence[Item], media: Media) -> Iterator[Subtask]:
    for level, subtask in sorted({(item.level, item.subtask) for item in items}):
        own = [item for item in items if (item.level, item.subtask) == (level, subtask)]
        yield Subtask(
            level,
            subtask,
            items=len(own),
            aai=sum(item.role == "AaI" for item in own),
            aac=sum(item.role == "AaC" for item in own),
            mcq=sum(item.kind == "mcq" for item in own),
            open=sum(item.kind == "open" for item in own),
            asr=sum(item.asr is not None for item in own),
            images=sum(len(item.images) for item in own),
            audios=sum(len(item.audios) for item in own),
            seconds=sum(media.seconds[name] for item in own for name in item.audios),
        )
