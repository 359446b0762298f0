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

    from analysis.explain.budget import Sum
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
    rows = (_Row(s.name, s.ns, str(s.source)) for s in spent.segments)
    return _spent("WHERE THE MEDIAN TURN GOES", spent.whole_ns, rows, _which(median))


def sum_table(total: Sum) -> Table | None:
    """Where the time of all turns went; None when one turn is all."""
    if total.exchanges < 2:
        return None
    rows = (_Row(s.name, s.ns, "; ".join(map(str, s.sources))) for s in total.segments)
    note = f"The same segments, summed over {total.exchanges:,} turns."
    return _spent("WHERE ALL TURNS WENT", total.whole_ns, rows, note)


def _spent(title: str, whole_ns: int, segments: Iterable[_Row], note: str) -> Table:
    """Time by segment: the first column's heading is the sum of what stands below it."""
    scale = scale_for(whole_ns)
    rows = []
    before = ""
    for row in _rows(segments, scale):
        share = row.ns / whole_ns if whole_ns else 0.0
        said = '"' if row.source == before else row.source
        if not row.ns:
            said = "nothing read anew"
        rows.append((row.name, scale.text(row.ns), percent(share), _bar(share), said))
        before = row.source if row.ns else before
    columns = (
        text(title),
        Column(scale.text(whole_ns)),
        Column("share"),
        text(""),
        text("known how"),
    )
    return Table(columns, tuple(rows), (note,))


def _bar(share: float) -> str:
    return "|" + "#" * round(share * BAR)


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


def _rows(segments: Iterable[_Row], scale: Scale) -> Iterator[_Row]:
    """Segments with time in them, and prefill parts without: those came from the cache.

    Neighbours that are too short to show share a row.
    """
    rows: list[_Row] = []
    for segment in segments:
        prefill = segment.name.startswith("prefill: ")
        if not segment.ns and (not prefill or segment.name == "prefill: template"):
            continue  # a template's few tokens have no place of their own: zero says nothing
        row = _Row(_words(segment.name), segment.ns, segment.source)
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
