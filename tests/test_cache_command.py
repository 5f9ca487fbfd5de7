"""`lmms-audio-tasks cache`: every cache has a path, a size and a way to clear it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lmms_audio_tasks import cache_command, cli
from lmms_audio_tasks.cache import CACHE_VARIABLE
from lmms_audio_tasks.judge.cache import VerdictCache
from lmms_audio_tasks.models.store import TextStore


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder with something of three kinds, and a stranger's file."""
    root = tmp_path / "cache"
    monkeypatch.setenv(CACHE_VARIABLE, str(root))
    monkeypatch.delenv("LMMS_AUDIO_JUDGE_CACHE", raising=False)
    TextStore(root / "answers", {"model": "m"}, "prompt").add({"a": "b"})
    TextStore(root / "transcripts", {"model": "w"}, "audio").add({"a": "b"})
    with VerdictCache(root / "judge.sqlite3"):
        pass
    (root / "notes.txt").write_text("12345")
    return root


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, dict[str, object]]:
    assert cli.main(["cache", "--format", "json", *words]) == 0
    return {kept["kind"]: kept for kept in json.loads(capsys.readouterr().out)["kept"]}


def test_sizes_are_those_on_disk(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(capsys)
    assert list(found) == [*cache_command.KINDS, "notes.txt"]
    files = [path for path in (root / "answers").rglob("*") if path.is_file()]
    # The answers and the settings they were made with.
    assert found["answers"] == {
        "kind": "answers",
        "path": str(root / "answers"),
        "files": 2,
        "bytes": sum(path.stat().st_size for path in files),
    }
    assert found["judge"]["bytes"] == (root / "judge.sqlite3").stat().st_size > 0
    assert found["captions"]["files"] == 0
    assert found["notes.txt"]["bytes"] == 5


def test_text_names_the_folder_and_every_kind(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["cache"]) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == str(root)
    assert [line.split()[0] for line in rest] == [*cache_command.KINDS, "notes.txt"]
    assert "2 files" in rest[0]


def test_clear_takes_what_it_is_told_to_and_nothing_else(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "judge.sqlite3-wal").write_text("left by a kill")
    found = shown(capsys, "--clear", "answers", "--clear", "judge")
    assert found["answers"]["files"] == found["judge"]["files"] == 0
    assert sorted(path.name for path in root.iterdir()) == ["notes.txt", "transcripts"]
    assert cli.main(["cache", "--clear", "answers"]) == 0
    assert "cleared answers: 0 files, 0 B" in capsys.readouterr().out


def test_an_unknown_kind_deletes_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["cache", "--clear", "transcripts", "--clear", "anwsers"]) == cli.USAGE_ERROR
    assert "did you mean answers" in capsys.readouterr().err
    assert (root / "transcripts").is_dir()
    # No kind is a way out of the folder.
    assert cli.main(["cache", "--clear", "../cache"]) == cli.USAGE_ERROR
    assert root.is_dir()


def test_a_linked_folder_is_unlinked_not_emptied(root: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "big"
    elsewhere.mkdir()
    (elsewhere / "a.wav").write_text("x")
    (root / "audio").symlink_to(elsewhere)
    cache_command.clear(root, "audio")
    assert not (root / "audio").exists()
    assert (elsewhere / "a.wav").is_file()


def test_the_judges_own_file_and_another_folder(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_AUDIO_JUDGE_CACHE", str(tmp_path / "mine.sqlite3"))
    (tmp_path / "mine.sqlite3").write_text("123")
    found = shown(capsys)
    assert (found["judge"]["path"], found["judge"]["bytes"]) == (str(tmp_path / "mine.sqlite3"), 3)
    assert shown(capsys, "--dir", str(tmp_path / "nowhere"))["answers"]["files"] == 0


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2_000_000, "2.0 MB"), (5_200_000_000, "5.2 GB")]
)
def test_sizes_for_people(count: int, text: str) -> None:
    assert cache_command._size(count) == text
