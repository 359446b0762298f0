"""How fast one and the same turn was, by each definition that somebody calls tok/s.

One rule: beside every number stands what it leaves out and who shows it, so that a reader finds
 the one that their own client shows and does not hold it against another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .table import Column, Table, text
from .units import MS, NOTHING, plural, speed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.explain.overview import MedianTurn
    from analysis.explain.speeds import Speed

SPEED_NAMES: Final = {
    "client_style": "client style",
    "decode": "decode",
    "decode_after_first": "after the first event",
    "per_request": "per request",
    "whole_turn": "whole turn",
}


def speed_table(median: MedianTurn, answers: int) -> Table:
    """One turn's speed by every definition, and the median over all answers."""
    several = answers > 1
    rows = [
        (
            SPEED_NAMES[row.name],
            _figure(row),
            *((_median(row, answers),) if several else ()),
            "; ".join(filter(None, (f"leaves out {row.leaves_out}", row.shown_by))),
        )
        for row in median.speeds
    ]
    columns = (
        text("SPEED, by definition"),
        Column("median turn" if several else "the turn"),
        *((Column(f"of {answers:,}"),) if several else ()),
        text("what it leaves out; who shows it"),
    )
    return Table(columns, tuple(rows), tuple(_notes(median)))


def _notes(median: MedianTurn) -> Iterator[str]:
    output = median.brief.output
    known = "" if output is None else f": {plural(output.tokens, 'token')}, {output.source}"
    yield f"Of all output tokens{known}."
    if median.step is not None:
        yield (
            f"Per step: {median.step.ns / MS:.1f} ms x {median.step.tokens:.1f} tokens an event"
            f" (TPOT {median.step.ns / median.step.tokens / MS:.1f} ms)."
        )


def _figure(row: Speed) -> str:
    return row.figure.refused or NOTHING if row.figure.value is None else speed(row.figure.value)


def _median(row: Speed, answers: int) -> str:
    """Over how many, where not all of them have it."""
    if row.median is None:
        return NOTHING
    return speed(row.median) + ("" if row.turns == answers else f" ({row.turns:,})")
