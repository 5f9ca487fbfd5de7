"""Which source is in force, and strict reading of tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmms_audio_tasks import sources
from lmms_audio_tasks.errors import DataError

COLUMNS = ("file", "label")


def faults_of(path: Path, data: bytes) -> list[str]:
    path.write_bytes(data)
    return [str(fault) for fault in sources.read_table(path, COLUMNS)[1]]


@pytest.mark.parametrize(
    ("value", "kind", "label"),
    [
        ("", "hub", "hub"),
        ("hub", "hub", "hub"),
        (" demo ", "demo", "demo"),
        ("/some/where", "dir", "/some/where"),
        ("/some/hub", "dir", "/some/hub"),
    ],
)
def test_parse(value: str, kind: str, label: str) -> None:
    source = sources.parse(value)
    assert (source.kind, source.label) == (kind, label)
    assert source.demo == (kind == "demo")


def test_a_relative_folder_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert sources.parse("data").root == tmp_path / "data"
    assert sources.parse("other/../data").label == str(tmp_path / "data")


def test_the_demo_set_named_by_its_folder_is_demo_data(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(sources.DEMO_ROOT)
    for name in (sources.DEMO_ROOT, f"{sources.DEMO_ROOT}/art/..", tmp_path / "link"):
        source = sources.parse(str(name))
        assert (source.demo, source.label) == (True, "demo")
    assert not sources.parse(str(sources.DEMO_ROOT / "art")).demo


def test_a_folder_whose_name_is_not_utf8_is_refused() -> None:
    with pytest.raises(DataError, match=r"^'/data/\\udcff': expected a folder with a name in UTF-8; found other bytes"):
        sources.parse("/data/\udcff")


def test_a_home_of_nobody_is_refused() -> None:
    with pytest.raises(DataError, match=r"^~no-such-user-here/data: expected a folder; found "):
        sources.parse("~no-such-user-here/data")


def test_the_variable_is_read_anew(use_data) -> None:
    use_data("demo")
    assert sources.current().demo
    use_data("hub")
    assert not sources.current().demo


def test_the_revision_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(sources.REVISION_VARIABLE, raising=False)
    assert sources.parse("hub").revision == "main"
    monkeypatch.setenv(sources.REVISION_VARIABLE, "abc123")
    assert sources.parse("hub").revision == "abc123"
    assert sources.parse("demo").revision is None


def test_a_missing_folder_says_what_is_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"expected a folder of benchmark data; found no such folder"):
        sources.parse(str(tmp_path / "nowhere")).folder("sakura")
    (tmp_path / "Animal").mkdir()
    with pytest.raises(DataError, match=r"expected a folder `sakura` in it; found only Animal"):
        sources.parse(str(tmp_path)).folder("sakura")
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(DataError, match="found a file"):
        sources.parse(str(file)).folder("sakura")


@pytest.mark.parametrize("closed", ["data", "sakura"])
def test_a_folder_without_permission(closed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data" / "sakura").mkdir(parents=True)
    # Root may read everything, so the system's answer is put in its place.
    monkeypatch.setattr(sources.os, "access", lambda place, mode: Path(place).name != closed)
    with pytest.raises(DataError, match=rf"{closed}: expected a folder that can be read; found no permission"):
        sources.parse(str(tmp_path / "data")).folder("sakura")


def test_rows_are_numbered_without_header_and_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'label,file\r\nx,a.wav\r\n\r\n"y, ""z""",b.wav\r\n')
    rows, faults = sources.read_table(path, COLUMNS)
    assert not faults
    assert rows == [(1, {"label": "x", "file": "a.wav"}), (2, {"label": 'y, "z"', "file": "b.wav"})]


@pytest.mark.parametrize(
    ("data", "expected", "why"),
    [
        (b"\xef\xbb\xbffile,label\na,b\n", "line 1: expected UTF-8 without a byte order mark", "BOM"),
        ("file,label\na,b\ncafé,c\n".encode("latin-1"), "line 3: expected UTF-8; found byte 0xe9", "Latin-1"),
        ("file,label\na,b\n".encode("utf-16"), "line 1: expected UTF-8; found byte 0xff", "UTF-16"),
        (b"", "expected a header file,label; found an empty file", "empty"),
        (b"file,label\n", "expected at least one row; found a header only", "no rows"),
        (b"file\na\n", "header: expected column label; found columns file", "missing column"),
        (b"file,label,more\na,b,c\n", "header: expected only the columns file, label; found also 'more'", "extra"),
        (b"file,label,file\na,b,c\n", "header: expected each column once; found file twice", "double column"),
        (b"file,label\na,b\nc\n", "row 2: expected 2 fields; found 1", "short row"),
        (b"file,label\na,b,c\n", "row 1: expected 2 fields; found 3", "long row"),
        (b'file,label\na,"b\n', "expected well-formed CSV", "open quote"),
    ],
)
def test_faults(tmp_path: Path, data: bytes, expected: str, why: str) -> None:
    found = faults_of(tmp_path / "t.csv", data)
    assert len(found) == 1, why
    assert expected in found[0], why
    assert str(tmp_path / "t.csv") in found[0]


def test_missing_file_and_folder(tmp_path: Path) -> None:
    assert "no such file" in str(sources.read_table(tmp_path / "no.csv", COLUMNS)[1][0])
    assert "can be read" in str(sources.read_table(tmp_path, COLUMNS)[1][0])


def test_all_ragged_rows_are_told_and_the_others_kept(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("file,label\na\nb,c\nd,e,f\n")
    rows, faults = sources.read_table(path, COLUMNS)
    assert [number for number, _ in rows] == [2]
    assert [fault.row for fault in faults] == [1, 3]
