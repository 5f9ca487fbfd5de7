"""C3T's plots, drawn from the tables of a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lmms_audio_tasks.c3t.tables import ALL
from lmms_audio_tasks.report import heat_maps, plots
from lmms_audio_tasks.report.c3t.joined import OWN_MARK
from lmms_audio_tasks.report.c3t.shared import task_title, tasks_of
from lmms_audio_tasks.report.document import Report, Row
from lmms_audio_tasks.report.published import published

AGES = ("teens", "twenties", "thirties", "forties", "fourties", "fifties", "sixties", "seventies", "eighties")
"""The order of life; labels that are none of these come after them by name."""


def draw(report: Report) -> list[plots.Plot]:
    """Spoken against written, and for each system accent by task and age by gender; a plot without data is left out."""
    systems = list(dict.fromkeys(row.keys["system"] for row in _rows(report, "accuracy")))
    found = [_spoken_written(report)]
    for place, system in enumerate(systems):
        found += [_accents(report, system, place), _ages(report, system, place)]
    return [plot for plot in found if plot is not None]


def _rows(report: Report, table: str, **keys: str) -> list[Row]:
    there = report.table(table)
    wanted = keys.items()
    return [row for row in (there.rows if there else ()) if all(row.keys.get(name) == told for name, told in wanted)]


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _spoken_written(report: Report) -> plots.Plot | None:
    own = []
    for place, row in enumerate(_rows(report, "table1", constraint="none")):
        written, spoken = _number(row.get("em_textual")), _number(row.get("em_spoken"))
        if row.keys["origin"] != "published" and written is not None and spoken is not None:
            sides = (*_sides(row, "em_textual"), *_sides(row, "em_spoken"))
            own.append(plots.Point(row.keys["system"], 100 * written, 100 * spoken, place, sides))
    if not own:
        return None
    # The paper's systems stand beside those that were asked the same prompts.
    beside = any(
        row.keys["origin"] == "run" and not row.keys["system"].endswith(OWN_MARK) for row in _rows(report, "table1")
    )
    grey = [
        plots.Point(row["system"], 100 * float(row["em_textual"]), 100 * float(row["em_spoken"]))
        for row in published("c3t_table1")
        if beside and row["constraint"] == "none"
    ]
    about = "Exact match over all tasks, with 95 % intervals. Below the dashed line speech costs answers."
    alt = "; ".join(f"{point.label}: in writing {point.x:.1f}, spoken {point.y:.1f}" for point in own)
    svg = plots.scatter([*own, *grey], "prompt in writing (%)", "prompt spoken (%)")
    return plots.Plot("Spoken against written", about + (" Grey: the paper's systems." if grey else ""), alt, svg)


def _sides(row: Row, metric: str) -> tuple[float, float]:
    """How far the interval reaches to both sides; a leaderboard has none."""
    at, low, high = (_number(row.get(f"{metric}{end}")) for end in ("", "_ci_low", "_ci_high"))
    if at is None or low is None or high is None:
        return 0.0, 0.0
    return 100 * (at - low), 100 * (high - at)


def _accents(report: Report, system: str, place: int) -> plots.Plot | None:
    rows = _rows(report, "by_accent", system=system)
    accents = list(dict.fromkeys(row.keys["voices"] for row in rows))
    if len(accents) < 2:
        return None
    tasks = tasks_of(rows)
    tasks = [ALL, *tasks] if len(tasks) > 1 else tasks
    cells = {(row.keys["voices"], row.keys["task"]): row for row in rows}
    grid = [[cells.get((accent, task)) for task in tasks] for accent in accents]
    columns = [f"{task_title(task)} ({_sizes(line[at] for line in grid)})" for at, task in enumerate(tasks)]
    svg = heat_maps.shaded(accents, columns, _values(grid), _texts(grid), f"accents-{place}", apart=(0, len(tasks) > 1))
    about = "Right responses in %, the worst served accent first; in brackets the prompts that each accent asks."
    worst, best = rows[0], next(row for row in rows[::-1] if row.keys["task"] == rows[0].keys["task"])
    alt = f"{system}: from {_told(worst)} to {_told(best)}"
    return plots.Plot(f"{system}: accent and task", about, alt, svg, table="by_accent")


def _sizes(rows: Iterable[Row | None]) -> str:
    """The number of responses in one column, or its ends where groups have different ones."""
    numbers = [value for row in rows if row is not None and isinstance(value := row.get("n"), int)]
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _told(row: Row) -> str:
    return f"{row.keys['voices']} {_number(row.get('accuracy')) or 0:.1f} %"


def _ages(report: Report, system: str, place: int) -> plots.Plot | None:
    both, ages, genders = (
        {row.keys["voices"]: row for row in _rows(report, table, system=system, task=ALL)}
        for table in ("by_age_gender", "by_age", "by_gender")
    )
    if len(both) < 2:
        return None
    lines, columns = sorted(ages, key=_age_order), sorted(genders)
    grid: list[list[Row | None]] = [[_together(list(genders.values())), *(genders[gender] for gender in columns)]]
    grid += [[ages[age], *(both.get(f"{age} {gender}") for gender in columns)] for age in lines]
    svg = heat_maps.shaded(
        ["all ages", *lines],
        ["all genders", *columns],
        _values(grid),
        _texts(grid, with_n=True),
        f"ages-{place}",
        apart=(1, 1),
        cell=(1.0, 0.42),
    )
    worst = min(both.values(), key=lambda row: _number(row.get("accuracy")) or 0)
    best = max(both.values(), key=lambda row: _number(row.get("accuracy")) or 0)
    about = "Right responses in % over all tasks, and how many responses there are."
    alt = f"{system}: from {_told(worst)} to {_told(best)}"
    return plots.Plot(f"{system}: age and gender", about, alt, svg, table="by_age_gender")


def _together(rows: Sequence[Row]) -> Row:
    """All responses of groups that have none in common."""
    correct, n = (sum(int(_number(row.get(name)) or 0) for row in rows) for name in ("correct", "n"))
    return Row({}, {"n": n, "accuracy": 100 * correct / n})


def _age_order(age: str) -> tuple[int, str]:
    return (AGES.index(age) if age in AGES else len(AGES)), age


def _values(grid: Sequence[Sequence[Row | None]]) -> list[list[float | None]]:
    return [[None if row is None else _number(row.get("accuracy")) for row in line] for line in grid]


def _texts(grid: Sequence[Sequence[Row | None]], with_n: bool = False) -> list[list[str]]:
    def text(row: Row | None) -> str:
        value = None if row is None else _number(row.get("accuracy"))
        if row is None or value is None:
            return "" if with_n else "–"
        return f"{value:.1f}\nn {row.get('n'):,}" if with_n else f"{value:.0f}"

    return [[text(row) for row in line] for line in grid]
