"""The shipped ART demo set: what the bank says it is, balanced, in the official format, small."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import soundfile

from lmms_audio_tasks import sources
from lmms_audio_tasks.art import FOLDERS, check
from lmms_audio_tasks.errors import DataError

TOOLS = Path(__file__).resolve().parents[1] / "tools"
SHIPPED = sources.DEMO_ROOT / "art"


@pytest.fixture(scope="module")
def tool() -> Iterator[ModuleType]:
    sys.path.insert(0, str(TOOLS))
    import make_demo_art

    yield make_demo_art
    sys.path.remove(str(TOOLS))


def test_the_shipped_metadata_are_those_of_the_bank(tool: ModuleType) -> None:
    for task, items in tool.load_bank().items():
        shipped = json.loads((SHIPPED / task / "metadata.json").read_text("utf-8"))
        assert shipped == tool.records(items)


def test_all_nine_tasks_are_there_balanced_and_sound() -> None:
    report = check.check(sources.parse("demo"))
    assert not report.faults
    assert [task.task for task in report.tasks] == list(FOLDERS)
    for task in report.tasks:
        assert task.items >= 4 and task.yes == task.no and task.unlisted == 0
        assert task.seconds is not None and task.seconds[0] > 1 and task.seconds[2] < 15


def test_the_set_is_small() -> None:
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file()) < 1_500_000


def test_the_bank_is_checked(tool: ModuleType, tmp_path: Path) -> None:
    bank = json.loads(tool.BANK.read_text("utf-8"))
    path = tmp_path / "bank.json"

    def refused(expected: str) -> None:
        path.write_text(json.dumps(bank), "utf-8")
        with pytest.raises(DataError, match=expected):
            tool.load_bank(path)

    bank["sound_reasoning"][0]["answer"] = "no"
    refused(r"sound_reasoning: expected as many items with yes as with no, and no others; found \[1, 3\] of 4")
    bank["sound_reasoning"][0]["answer"] = "yes"
    bank["sound_reasoning"][0]["id"] = bank["audio_arithmetics"][0]["id"]
    refused("expected each id once")
    bank["more"] = bank.pop("sound_reasoning")
    refused("expected the tasks audio_arithmetics, ")


def test_made_anew_it_is_the_same(tool: ModuleType, tmp_path: Path) -> None:
    """With the espeak-ng it was made with, save for the last bit, which is left to the resampler."""
    from make_demo_sakura import ESPEAK_VERSION, espeak_version

    if espeak_version() != ESPEAK_VERSION:
        pytest.skip(f"espeak-ng {ESPEAK_VERSION} is not installed")
    item = tool.load_bank()["text_and_temporal_localization_reasoning"][0]
    tool.write_task(tmp_path, [item])
    made, rate = soundfile.read(tmp_path / f"{item['id']}.flac")
    shipped, _ = soundfile.read(SHIPPED / "text_and_temporal_localization_reasoning" / f"{item['id']}.flac")
    assert rate == 16_000 and made.shape == shipped.shape
    assert abs(made - shipped).max() <= 2 / tool.STEPS
