"""A run as a person reads it: on the terminal, and as the table of a page.

One rule: no figure is made here. Both forms have the same cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.table import Table

from .contestants import ALL
from .ratios import GOALS, MEASURE, NOTHING, ROWS, figure, reached

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from .ratios import Figure, Goal
    from .result import Result

BEGIN: Final = "<!-- figures: written by `make bench` -->\n"
END: Final = "<!-- end of figures -->"
OWN: Final = "turnscope"
BUSY: Final = 0.5
"""Load average of the minute before a run from which on its times are doubtful."""
_VERDICTS: Final = {True: "pass", False: "MISS", None: "no figure"}
NOTES: Final = (
    f"Times are what a contestant adds to `{NOTHING}` in the same round; its own column has the whole.",
    f"Behind each figure: its ratio to {MEASURE}, median of the rounds; for {OWN} [lowest..highest], too.",
)
_EXACT: Final = {
    "request_head": "request head but for Host",
    "request_body": "request body",
    "reply_body": "reply's body",
    "reply": "reply, head and framing included",
}


def names(result: Result) -> list[str]:
    """The contestants of a run, in the order of their table."""
    measured = result.contestants()
    return [name for name in ALL if name in measured]


def goals(result: Result) -> Iterator[tuple[str, ...]]:
    """Goal, limit, what was found, with the range, and the verdict; a quick run is too little for one."""
    full = result.conditions.effort == "full"
    for goal in GOALS:
        cell = figure(result, goal.row, OWN)
        verdict = _VERDICTS[reached(goal, cell)] if full else "not judged"
        yield goal.title, _limit(goal), _found(goal, cell), verdict


def rows(result: Result) -> Iterator[tuple[str, ...]]:
    """A title, then a cell for each contestant."""
    contestants = names(result)
    for row in ROWS:
        cells = [figure(result, row, name) for name in contestants]
        if any(cells):
            shown = [_cell(name, cell) for name, cell in zip(contestants, cells, strict=True)]
            yield (f"{row.title}, {row.unit}", *shown)


def exactness(result: Result) -> Iterator[tuple[str, ...]]:
    """What is the same at both ends, by contestant."""
    for value, title in _EXACT.items():
        found = [result.figures("exact", name, value) for name in names(result)]
        if any(found):
            yield (title, *[_same(each) for each in found])


def show(result: Result, console: Console) -> None:
    """Print all of it."""
    columns = ["", *names(result)]
    _print(console, "bytes at both ends", columns, exactness(result))
    _print(console, "figures", columns, rows(result))
    for note in NOTES:
        console.print(note)
    _print(console, "goals", ["", "at most", "found", ""], goals(result))
    for line in remarks(result):
        console.print(line)


def remarks(result: Result) -> Iterator[str]:
    """What went wrong, what was missing, and under which conditions it ran."""
    told = result.conditions
    for fault in result.faults():
        yield f"{fault.contestant}, {fault.metric}, round {fault.round}: {fault.fault}"
    for name, command in told.missing.items():
        yield f"{name} is not installed: {command}"
    yield (
        f"{told.started_at}, {told.cores} cores ({told.processor}), {told.system}, Python {told.python}; "
        f"{told.effort}, {told.rounds} rounds, seed {told.seed}, {result.took_s:.0f} s; "
        f"load average before: {told.load_average:.2f}"
    )
    if told.load_average > BUSY:
        yield f"others had work ({told.load_average:.2f} before the run): no figure of time can be trusted"
    if told.versions:
        yield "; ".join(told.versions.values())


def markdown(result: Result) -> str:
    """All of it for a page."""
    columns = ["", *names(result)]
    parts = [
        _markdown(["goal", "at most", "found", ""], goals(result)),
        _markdown(columns, rows(result)),
        "\n".join(NOTES),
        _markdown(columns, exactness(result)),
        "\n".join(f"- {line}" for line in remarks(result)),
    ]
    return "\n\n".join(parts) + "\n"


def published(page: str, result: Result) -> str:
    """The page with the figures of this run between its two marks. Raises ValueError without marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN.strip()} ... {END}")
    return f"{before}{begin}\n{markdown(result)}\n{end}{after}"


def _print(
    console: Console, title: str, columns: list[str], lines: Iterator[tuple[str, ...]]
) -> None:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    for line in lines:
        table.add_row(*line)
    if table.row_count:
        console.print(table)


def _markdown(columns: list[str], lines: Iterator[tuple[str, ...]]) -> str:
    rule = ["---", *["---:" for _ in columns[1:]]]
    return "\n".join(f"| {' | '.join(line)} |" for line in (columns, rule, *lines))


def _limit(goal: Goal) -> str:
    return f"{goal.at_most:g} {goal.row.unit}" if goal.absolute else f"{goal.at_most:g} x {MEASURE}"


def _found(goal: Goal, cell: Figure | None) -> str:
    if cell is None:
        return "-"
    if goal.absolute:
        return f"{number(cell.median)} {goal.row.unit}"
    return _ratio(cell) or "-"


def _cell(name: str, cell: Figure | None) -> str:
    if cell is None:
        return "-"
    if name in (NOTHING, MEASURE):
        return number(cell.median)
    ratio = _ratio(cell) if name == OWN or cell.ratio is None else f"{cell.ratio:.2f}x"
    return f"{number(cell.median)}  {ratio}".strip()


def _ratio(cell: Figure) -> str:
    if cell.ratio is None or cell.low is None or cell.high is None:
        return ""
    spread = "" if cell.low == cell.high else f" [{cell.low:.2f}..{cell.high:.2f}]"
    return f"{cell.ratio:.2f}x{spread}"


def number(value: float) -> str:
    """Three digits that mean something."""
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{value:,.{digits}f}"


def _same(found: dict[int, float]) -> str:
    if not found:
        return "-"
    return "identical" if all(found.values()) else "DIFFERS"
