"""A turn as a waterfall of text: a row for each exchange, hidden request and gap, on one scale.

One rule: a bar's place and length are its time; what is too short to be drawn still has one letter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .names import printable
from .table import Column, Table, text
from .units import NOTHING, count, plural, scale_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from analysis.explain.waterfall import PhaseName, Row, Waterfall

    from .units import Scale

LETTERS: Final[Mapping[PhaseName, str]] = {
    "upload": "-",
    "wait": ".",
    "reasoning": "~",
    "answer": "#",
    "tail": "-",
    "client": ":",
}
WORDS: Final[Mapping[PhaseName, str]] = {
    "wait": ". waits for its first token",
    "reasoning": "~ reasons",
    "answer": "# answers",
    "client": ": the client's own time",
    "upload": "- is sent, or ends",
}

MOST_ROWS: Final = 40
"""Of a longer turn the first and the last half of so many rows are shown."""

NARROWEST: Final = 10
WIDEST_BAR: Final = 50
APART: Final = 2
"""Blanks between two columns."""


def waterfall_table(fall: Waterfall, subject: str, width: int) -> Table:
    """The rows; the one of the exchange `subject` is marked."""
    scale = scale_for(fall.whole_ns)
    run = one_run([row.id for row in fall.rows])
    shown, left_out = _shown(fall.rows)
    numbers = {row.id: n for n, row in enumerate(_of(fall.rows, "exchange"), start=1)}
    cells = [
        (
            _what(row, numbers),
            NOTHING if row.kind == "gap" else printable(row.id.removeprefix(f"{run}-"), 20),
            NOTHING if row.kind == "gap" else scale.text(row.ttft_ns),
            scale.text(row.end_ns - row.begin_ns),
            _ended(row, subject),
        )
        for row in shown
    ]
    heads = (f"TURN {printable(fall.turn, 24)}", "id", "TTFT", "took", "ended")
    columns = zip(heads, *cells, strict=True)
    taken = sum(max(map(len, column)) + APART for column in columns)
    bar = min(WIDEST_BAR, max(NARROWEST, width - taken - 1))
    rows = tuple(
        (*cell, draw(row, fall.whole_ns, bar)) for cell, row in zip(cells, shown, strict=True)
    )
    return Table(
        (
            text(heads[0]),
            text("id"),
            Column("TTFT"),
            Column("took"),
            text("ended"),
            text(_axis(fall.whole_ns, scale, bar)),
        ),
        rows,
        tuple(_notes(fall, run, left_out)),
    )


def draw(row: Row, whole_ns: int, width: int) -> str:
    """The bar of a row, in `width` letters for the whole turn; nothing behind its last letter."""
    if whole_ns <= 0:
        return "|"
    cells = [" "] * width
    for phase in row.phases:
        first = phase.begin_ns * width // whole_ns
        # A phase has the cells whose middle it covers: neighbours never share one.
        begin = (2 * phase.begin_ns * width + whole_ns) // (2 * whole_ns)
        end = (2 * phase.end_ns * width + whole_ns) // (2 * whole_ns)
        for n in range(min(begin, width), min(end, width)):
            cells[n] = LETTERS[phase.name]
        if begin == end and cells[min(first, width - 1)] == " ":
            cells[min(first, width - 1)] = LETTERS[phase.name]
    drawn = "".join(cells).rstrip()
    if drawn:
        return drawn
    return " " * min(row.begin_ns * width // whole_ns, width - 1) + "|"


def one_run(ids: Sequence[str]) -> str | None:
    """The run that all of them are of; None if there are several."""
    runs = {name.rpartition("-")[0] for name in ids}
    return runs.pop() if len(runs) == 1 else None


def _shown(rows: Sequence[Row]) -> tuple[Sequence[Row], int]:
    if len(rows) <= MOST_ROWS:
        return rows, 0
    half = MOST_ROWS // 2
    return (*rows[:half], *rows[-half:]), len(rows) - 2 * half


def _of(rows: Sequence[Row], kind: str) -> Iterator[Row]:
    return (row for row in rows if row.kind == kind)


def _what(row: Row, numbers: Mapping[str, int]) -> str:
    if row.kind == "exchange":
        return f"request {numbers[row.id]}"
    if row.kind == "hidden":
        way = ", in its way" if row.in_the_way else ""
        return f"hidden: {printable(row.purpose or 'for itself', 16)}{way}"
    if not row.called:
        return "client"
    more = len(row.called) - 1
    return f"client: {printable(row.called[0], 20)}" + (f" +{more:,}" if more else "")


def _ended(row: Row, subject: str) -> str:
    if row.kind == "gap":
        return NOTHING
    return ("* " if row.id == subject else "") + printable(row.ending, 24)


def _axis(whole_ns: int, scale: Scale, width: int) -> str:
    """0 at the left end of the bars, the whole at the right."""
    right = scale.text(whole_ns)
    return f"0{right.rjust(width - 1)}" if len(right) < width else right


def _notes(fall: Waterfall, run: str | None, left_out: int) -> Iterator[str]:
    used = {phase.name for row in fall.rows for phase in row.phases}
    used |= {"upload"} if "tail" in used else set()
    letters = "; ".join(word for name, word in WORDS.items() if name in used)
    yield f"Bars: {letters}. * is the exchange that is shown below."
    if run:
        yield f"Each id begins with {printable(run)}-."
    if left_out:
        yield f"{count(left_out)} rows in the middle are left out: --json has all."
    beside = sum(row.hidden_ns for row in fall.rows)
    if beside:
        n = sum(row.in_the_way for row in fall.rows)
        took = scale_for(beside).text(beside)
        yield f"{plural(n, 'hidden request')} in its way, {took} of it while the client sent nothing else."
