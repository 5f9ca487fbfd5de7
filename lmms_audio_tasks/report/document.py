"""What a report is made of: tidy rows that every format carries, and how a table of them is laid out for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

Value = str | int | float | bool | None
Kind = Literal["text", "long", "number", "audio"]
"""`long` is text of a model's that may run over many lines; `audio` is the path of a recording."""

KEYS = (
    *("origin", "system", "against", "track", "hop", "modality"),
    *("label", "chosen", "letter", "item", "quantity", "task"),
    *("constraint", "characteristic", "voices"),
    *("level", "subtask", "run", "benchmark"),
)
"""All names a row's keys may have, in the order of the CSV's columns. `origin` is `run`, `demo` or `published`."""


@dataclass(frozen=True, slots=True)
class Row:
    """One fact: what it is about (`keys`, names from `KEYS`), and its figures or texts (`values`) by measure."""

    keys: Mapping[str, str]
    values: Mapping[str, Value]

    def get(self, name: str) -> Value:
        """The key or measure of that name; None where the row has neither."""
        return self.keys[name] if name in self.keys else self.values.get(name)


Form = Callable[[Row], str]
"""How a row is shown in a cell."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column for people.

    Attributes:
        field: the key or measure it shows, and sorts by.
        form: None shows `field` as it is.
        group: a title over several neighbouring columns.
        where: only a row with these keys is shown here; how a tidy table is turned into a wide one.
        tip: more about a cell, for formats that can show it on demand.
    """

    title: str
    field: str
    form: Form | None = None
    kind: Kind = "number"
    group: str = ""
    where: Mapping[str, str] | None = None
    tip: Form | None = None


@dataclass(frozen=True, slots=True)
class Fold:
    """Something long that belongs to a table; HTML shows its title until a reader opens it.

    Attributes:
        html: makes a fragment in which everything is escaped that a model, a judge or a log wrote.
        md: makes the same in Markdown, with a heading of the third level.
    """

    title: str
    system: str
    html: Callable[[], str]
    md: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        name: its name in JSON and CSV.
        about: what the numbers mean, in one or two sentences.
        lines_by: keys that rows of one shown line have in common; () shows each row as a line.
        brief: how many lines Markdown shows of each system; None for all.
        most: how many HTML shows of each system; None for all. JSON and CSV always have all.
        folds: what follows the table; `brief` and `most` hold for them too.
    """

    name: str
    title: str
    about: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    lines_by: tuple[str, ...] = ()
    brief: int | None = None
    most: int | None = None
    folds: tuple[Fold, ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """A shown cell; `value` is what it sorts by."""

    text: str
    value: Value
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A shown line; `system` is whose it is, "" where the table is of no system."""

    cells: tuple[Cell, ...]
    system: str
    origin: str


SYSTEM = Column("System", "system", kind="text")
FROM = Column("From", "origin", kind="text")


@dataclass(frozen=True, slots=True)
class Note:
    """Something a reader must know before trusting a number: what is missing, mixed, left out or demo."""

    kind: str
    text: str
    system: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report.

    Attributes:
        interval: how intervals were computed, `wilson` or `paper`.
        demo: whether any row is of demo data.
        systems: one dictionary of plain JSON types for each system: label, model, arguments, runs, settings.
    """

    benchmark: str
    title: str
    plugin_version: str
    interval: str
    demo: bool
    systems: tuple[dict[str, Any], ...]
    notes: tuple[Note, ...]
    tables: tuple[Table, ...]

    @property
    def heading(self) -> str:
        """The title, which says so where the scores are demo scores."""
        if not self.demo:
            return self.title
        partly = any(not system["demo"] for system in self.systems)
        return f"{self.title} ({'partly ' if partly else ''}demo data)"

    def table(self, name: str) -> Table | None:
        """The table of that name; None where the report has none."""
        return next((table for table in self.tables if table.name == name), None)


def lines(table: Table) -> list[Line]:
    """The table as people see it, in the order of the rows; [] for a table without rows."""
    grouped: dict[tuple[Any, ...], list[Row]] = {}
    for number, row in enumerate(table.rows):
        key = tuple(row.get(name) for name in table.lines_by) if table.lines_by else (number,)
        grouped.setdefault(key, []).append(row)
    return [_line(table.columns, rows) for rows in grouped.values()]


class _Owned(Protocol):
    @property
    def system(self) -> str: ...


_T = TypeVar("_T", bound=_Owned)


def first_of_each(everything: Sequence[_T], most: int | None) -> list[_T]:
    """The first so many lines or folds of each system; None for all."""
    seen: Counter[str] = Counter()
    kept = []
    for one in everything:
        seen[one.system] += 1
        if most is None or seen[one.system] <= most:
            kept.append(one)
    return kept


def _line(columns: tuple[Column, ...], rows: list[Row]) -> Line:
    cells = tuple(_cell(column, rows) for column in columns)
    return Line(cells, str(rows[0].get("system") or ""), str(rows[0].get("origin") or ""))


def _cell(column: Column, rows: list[Row]) -> Cell:
    wanted = (column.where or {}).items()
    for row in rows:
        if all(row.keys.get(name) == value for name, value in wanted):
            text = plain(row.get(column.field)) if column.form is None else column.form(row)
            return Cell(text, row.get(column.field), column.tip(row) if column.tip else "")
    return Cell("", None)


def plain(value: Value) -> str:
    """A value as it stands; a dash for None."""
    return "–" if value is None else str(value)


def decimal(field: str, places: int = 1, sign: bool = False) -> Form:
    """Shows a number with so many decimal places; a dash for None."""

    def form(row: Row) -> str:
        value = row.get(field)
        return plain(value) if not isinstance(value, (int, float)) else f"{value:{'+' if sign else ''}.{places}f}"

    return form


def with_interval(field: str, interval: str, sign: bool = False, places: int = 1, prefix: str = "") -> Form:
    """Shows a number with its interval: `52.4 [48.0, 56.8]`, or `52.4 ± 4.4` for a published or a `paper` one.

    Wilson's and the paired intervals are not symmetric about the number, so that "±" would be wrong for them.

    Args:
        prefix: of the measures that hold the interval, `<prefix>ci_low` and so on.
    """
    number = decimal(field, places, sign)

    def form(row: Row) -> str:
        low, high, half = (row.get(f"{prefix}{name}") for name in ("ci_low", "ci_high", "half_width"))
        if row.get(field) is None:
            return "–"
        if isinstance(half, (int, float)) and (interval == "paper" or row.keys.get("origin") == "published"):
            return f"{number(row)} ± {half:.{places}f}"
        if isinstance(low, (int, float)) and isinstance(high, (int, float)):
            plus = "+" if sign else ""
            return f"{number(row)} [{low:{plus}.{places}f}, {high:{plus}.{places}f}]"
        return number(row)

    return form


def p_value(field: str) -> Form:
    """Shows a p value with three places, `<0.001` below that; a dash for None."""

    def form(row: Row) -> str:
        value = row.get(field)
        if not isinstance(value, (int, float)):
            return plain(value)
        return "<0.001" if value < 0.001 else f"{value:.3f}"

    return form
