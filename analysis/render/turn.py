"""The tables of one turn: where its time went, and how fast it was.

One rule: the rows of a budget are the segments of the turn, so what is printed adds up to the turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .names import PARTS, printable
from .table import Column, Table, text
from .units import NOTHING, count, percent, plural, scale_for, speed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from analysis.explain.budget import Segment
    from analysis.explain.overview import MedianTurn
    from analysis.explain.speeds import Speed

    from .units import Scale

BAR: Final = 20
"""Characters of a bar that is the whole."""

SPEED_NAMES: Final = {
    "client_style": "client style",
    "decode": "decode",
    "decode_after_first": "after the first event",
    "per_request": "per request",
    "whole_turn": "whole turn",
}


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    ns: int
    source: str


def budget_table(median: MedianTurn) -> Table:
    """Where the time of the median turn went, with a bar for each segment."""
    spent = median.budget
    scale = scale_for(spent.whole_ns)
    rows = []
    before = ""
    for row in _rows(spent.segments, scale):
        share = row.ns / spent.whole_ns if spent.whole_ns else 0.0
        said = '"' if row.source == before else row.source
        if not row.ns:
            said = "nothing read anew"
        bar = "|" + "#" * round(share * BAR)
        rows.append((row.name, scale.text(row.ns), percent(share), bar, said))
        before = row.source if row.ns else before
    columns = (
        text("WHERE THE MEDIAN TURN GOES"),
        Column(scale.text(spent.whole_ns)),
        Column("share"),
        text(""),
        text("known how"),
    )
    return Table(columns, tuple(rows), (_which(median),))


def _which(median: MedianTurn) -> str:
    line = median.brief
    tokens = (
        ""
        if line.input is None
        else f", {plural(line.input.tokens, 'token')} in, {line.input.source}"
    )
    if line.input is not None and line.cached is not None:
        tokens += f" ({count(line.cached)} from its cache)"
    return f"Exchange {printable(line.id)}, from its first request byte to its end{tokens}."


def _rows(segments: Iterable[Segment], scale: Scale) -> Iterator[_Row]:
    """Segments with time in them, and prefill parts without: those came from the cache.

    Neighbours that are too short to show share a row.
    """
    rows: list[_Row] = []
    for segment in segments:
        prefill = segment.name.startswith("prefill: ")
        if not segment.ns and (not prefill or segment.name == "prefill: template"):
            continue  # a template's few tokens have no place of their own: zero says nothing
        row = _Row(_words(segment.name), segment.ns, str(segment.source))
        joins = rows and not prefill and rows[-1].source == row.source
        if joins and max(row.ns, rows[-1].ns) < scale.least_shown_ns:
            last = rows.pop()
            row = _Row(f"{last.name}, {row.name}", last.ns + row.ns, row.source)
        rows.append(row)
    yield from rows


def _words(name: str) -> str:
    head, colon, part = name.partition(": ")
    return f"{head}{colon}{PARTS.get(part, part)}"


def speed_table(median: MedianTurn, turns: int) -> Table:
    """One turn's speed by every definition, and the median over the turns if there are several."""
    several = turns > 1
    rows = tuple(
        (
            SPEED_NAMES[row.name],
            _figure(row),
            *((_median(row), count(row.turns)) if several else ()),
            row.formula,
        )
        for row in median.speeds
    )
    columns = (
        text("SPEED, by its definitions"),
        Column("median turn" if several else "the turn"),
        *((Column("median of"), Column("turns")) if several else ()),
        text("formula"),
    )
    output = median.brief.output
    known = "" if output is None else f": {plural(output.tokens, 'token')}, {output.source}"
    note = (
        f"n: all output tokens{known}. k1: those of the first event, 1 if the server does not say."
    )
    return Table(columns, rows, (note,))


def _figure(row: Speed) -> str:
    return row.figure.refused or NOTHING if row.figure.value is None else speed(row.figure.value)


def _median(row: Speed) -> str:
    return NOTHING if row.median is None else speed(row.median)
