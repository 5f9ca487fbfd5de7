"""Where data comes from: the hub, a folder of the user's, or the shipped demo set; and strict CSV reading.

The source in force is the value of `LMMS_AUDIO_TASKS_DATA` (`lmms_eval --audio_data` sets it): `hub` (default), `demo`
or a folder. It is read anew at every call, so that one process can evaluate on several.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lmms_audio_tasks.errors import DataError
from lmms_audio_tasks.strict_json import HALF_CHARACTER

DATA_VARIABLE = "LMMS_AUDIO_TASKS_DATA"
REVISION_VARIABLE = "LMMS_AUDIO_TASKS_REVISION"
DEMO_ROOT = Path(__file__).parent / "demo_data"
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Source:
    """A data source.

    Attributes:
        kind: `hub`, `demo` or `dir`.
        root: the folder that holds one folder a benchmark; None for the hub.
        revision: the branch, tag or commit asked of the hub; None elsewhere.
    """

    kind: Literal["hub", "demo", "dir"]
    root: Path | None = None
    revision: str | None = None

    @property
    def demo(self) -> bool:
        """Whether scores on this source are demo scores."""
        return self.kind == "demo"

    @property
    def label(self) -> str:
        """How the source is named in results: `hub`, `demo` or the folder."""
        return self.kind if self.kind != "dir" else str(self.root)

    def folder(self, benchmark: str) -> Path:
        """The folder of one benchmark; `DataError` where it is missing or unreadable, saying what is there instead."""
        if self.root is None:
            raise DataError(self.label, "a folder of data", "the hub, whose data are not in a folder")
        folder = self.root / benchmark
        for place, needed in ((self.root, os.X_OK), (folder, os.R_OK | os.X_OK)):
            if place.is_dir() and not os.access(place, needed):
                raise DataError(place, "a folder that can be read", "no permission")
        if folder.is_dir():
            return folder
        if not self.root.is_dir():
            raise DataError(
                self.root, "a folder of benchmark data", "no such folder" if not self.root.exists() else "a file"
            )
        inside = sorted(entry.name for entry in self.root.iterdir())[:6]
        raise DataError(
            self.root, f"a folder `{benchmark}` in it", f"only {', '.join(inside)}" if inside else "an empty folder"
        )


def current() -> Source:
    """The source that `LMMS_AUDIO_TASKS_DATA` names; the hub where it is not set."""
    return parse(os.environ.get(DATA_VARIABLE, ""))


def parse(value: str) -> Source:
    """The source that `value` names: `hub` or "" for the hub, `demo`, or a folder (`~` is expanded).

    The folder in which the demo set lies is the demo set.

    Raises:
        DataError: the folder's name is not UTF-8, which tables and results cannot hold, or is in nobody's home.
    """
    value = value.strip()
    if value in ("", "hub"):
        return Source("hub", revision=os.environ.get(REVISION_VARIABLE, "").strip() or "main")
    if value == "demo":
        return Source("demo", DEMO_ROOT)
    if HALF_CHARACTER.search(value):  # how Python reads bytes of a name that are not UTF-8
        raise DataError(repr(value), "a folder with a name in UTF-8", "other bytes")
    try:
        # Not `resolve`: results should name the folder as the user knows it, links and all, but without "..".
        root = Path(os.path.abspath(Path(value).expanduser()))  # noqa: PTH100
    except RuntimeError as error:  # ~ of nobody
        raise DataError(value, "a folder", str(error)) from error
    # Named by its path the demo set is still the demo set: its scores must not pass for a model's.
    return Source("demo", DEMO_ROOT) if _is_demo(root) else Source("dir", root)


def _is_demo(root: Path) -> bool:
    try:
        return root.samefile(DEMO_ROOT)
    except OSError:  # what is wrong with it is told by who reads it
        return False


Row = tuple[int, dict[str, str]]
"""A data row: its 1-based number (the header and blank lines are not counted) and its fields by column."""


def read_table(path: Path, columns: Sequence[str]) -> tuple[list[Row], list[DataError]]:
    """Read a CSV file strictly: UTF-8 without BOM, a header with exactly `columns` (in any order), no ragged rows.

    Returns:
        the rows and the faults; a row at fault is left out. No rows at all is a fault too. A fault in the file as a
        whole (encoding, header) gives no rows.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return [], [DataError(path, "a CSV file", "no such file")]
    except OSError as error:
        return [], [DataError(path, "a CSV file that can be read", str(error.strerror or error))]
    if data.startswith(_BOM):
        return [], [DataError(path, "UTF-8 without a byte order mark", "a byte order mark", "line 1")]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return [], [DataError(path, "UTF-8", f"byte 0x{data[error.start]:02x} that is not", f"line {line}")]
    try:
        table = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        return [], [DataError(path, "well-formed CSV", str(error))]
    return _rows(path, table, columns)


def _rows(path: Path, table: list[list[str]], columns: Sequence[str]) -> tuple[list[Row], list[DataError]]:
    if not table:
        return [], [DataError(path, f"a header {','.join(columns)}", "an empty file")]
    header = table[0]
    faults = list(_header_faults(path, header, columns))
    if faults:
        return [], faults
    rows = []
    for number, fields in enumerate((fields for fields in table[1:] if fields), start=1):
        if len(fields) != len(header):
            faults.append(DataError(path, f"{len(header)} fields", f"{len(fields)}", number))
        else:
            rows.append((number, dict(zip(header, fields, strict=True))))
    if not rows and not faults:
        faults.append(DataError(path, "at least one row", "a header only"))
    return rows, faults


def _header_faults(path: Path, header: list[str], columns: Sequence[str]) -> Iterator[DataError]:
    missing = [name for name in columns if name not in header]
    extra = sorted(set(header) - set(columns))
    double = sorted({name for name in header if header.count(name) > 1})
    if missing:
        yield DataError(path, f"column {', '.join(missing)}", f"columns {', '.join(header)}", "header")
    if extra:
        yield DataError(path, f"only the columns {', '.join(columns)}", f"also {', '.join(map(repr, extra))}", "header")
    if double:
        yield DataError(path, "each column once", f"{', '.join(double)} twice or more", "header")
