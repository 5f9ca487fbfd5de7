"""The figures that the papers print, as they stand there."""

from __future__ import annotations

import csv
from pathlib import Path

_FOLDER = Path(__file__).parent / "published"


def published(name: str) -> list[dict[str, str]]:
    """The rows of `published/<name>.csv`: texts by column, "" where the paper has no figure."""
    with (_FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def number(text: str) -> float | int | None:
    """A printed figure as a number that prints the same; None for ""."""
    if not text:
        return None
    return float(text) if "." in text else int(text)
