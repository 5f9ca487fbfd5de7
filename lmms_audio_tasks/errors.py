"""The errors a user can cause, each told in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class AudioTasksError(Exception):
    """Base of every error whose message is meant for the user: one line, no traceback needed."""


class DataError(AudioTasksError):
    """A fault in input data: names the file, the row, what was expected and what came.

    Args:
        file: the file (or folder) at fault.
        expected: what would have been right.
        found: what was there instead.
        row: 1-based data row (the header is not counted), a line number or a key; None where the whole file is meant.
    """

    def __init__(self, file: str | Path, expected: str, found: str, row: int | str | None = None) -> None:
        self.file = str(file)
        self.row = row
        self.expected = expected
        self.found = found
        where = (
            self.file if row is None else f"{self.file}, row {row}" if isinstance(row, int) else f"{self.file}, {row}"
        )
        super().__init__(f"{where}: expected {expected}; found {found}")

    def to_dict(self) -> dict[str, Any]:
        """The fields and the one-line message as plain JSON types."""
        found = {"file": self.file, "row": self.row, "expected": self.expected, "found": self.found}
        return {**found, "message": str(self)}

    def __reduce__(self) -> tuple[type[DataError], tuple[str, str, str, int | str | None]]:
        """Keep the fields when the error crosses a process boundary."""
        return (type(self), (self.file, self.expected, self.found, self.row))


class ModelError(AudioTasksError):
    """A model argument that cannot work, or weights that are not there."""
