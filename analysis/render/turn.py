"""The tables of one turn: where its time went.

One rule: the rows of a budget are the segments of the turn, so what is printed adds up to the turn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from .names import PARTS, printable
from .table import Column, Table, text
from .units import count, percent, plural, scale_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from analysis.explain.budget import Budget, Sum
    from analysis.explain.overview import MedianTurn

    from .units import Scale

BAR: Final = 20
"""Characters of a bar that is the whole."""

ANOTHER_STORY: Final = 0.15
"""Shares of a segment further apart than this are worth a second table."""


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    ns: int
    source: str
    cached: int | None = None
    interval: tuple[int, int] | None = None


def budget_table(median: MedianTurn) -> Table:
    """Where the time of the median turn went, with a bar for each segment."""
    spent = median.budget
    return spent_table("WHERE THE MEDIAN TURN GOES", spent, _which(median))


def spent_table(title: str, spent: Budget, note: str) -> Table:
    """Where the time of one exchange or turn went."""
    rows = (_Row(s.name, s.ns, str(s.source), s.cached, s.interval) for s in spent.segments)
    return _spent(title, spent.whole_ns, rows, note)


def sum_table(total: Sum) -> Table | None:
    """Where the time of all turns went; None when one turn is all."""
    if total.budgets < 2:
        return None
    rows = (_Row(s.name, s.ns, "; ".join(map(str, s.sources))) for s in total.segments)
    note = f"The same segments, summed over {total.budgets:,} turns."
    return _spent("WHERE ALL TURNS WENT", total.whole_ns, rows, note)


def unlike(spent: Budget, total: Sum) -> bool:
    """Whether all turns tell another story than the one: some segment's share is far from its own there."""
    own = {s.name: s.ns / spent.whole_ns for s in spent.segments if spent.whole_ns}
    return any(
        abs(s.ns / total.whole_ns - own.get(s.name, 0.0)) > ANOTHER_STORY
        for s in total.segments
        if total.whole_ns
    )


def _spent(title: str, whole_ns: int, segments: Iterable[_Row], note: str) -> Table:
    """Time by segment: the first column's heading is the sum of what stands below it."""
    scale = scale_for(whole_ns)
    rows = []
    before = ""
    for row in _rows(segments, scale):
        share = row.ns / whole_ns if whole_ns else 0.0
        said = '"' if row.source == before else row.source
        if not row.ns:
            said = f"all {row.cached:,} tokens cached" if row.cached else "nothing read anew"
        elif row.interval is not None:
            low, high = map(scale.text, row.interval)
            said += f", {low} to {high}"
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
    requests = len(median.turn.exchanges)
    if requests > 1:
        return (
            f"Turn {printable(median.turn.id)} of {requests:,} requests, from its first request byte to"
            f" its end. Most was decoded in exchange {printable(line.id)}{tokens}."
        )
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
        row = replace(segment, name=_words(segment.name))
        joins = rows and not prefill and rows[-1].source == row.source
        if joins and max(row.ns, rows[-1].ns) < scale.least_shown_ns:
            last = rows.pop()
            row = _Row(f"{last.name}, {row.name}", last.ns + row.ns, row.source)
        rows.append(row)
    yield from rows


def _words(name: str) -> str:
    head, colon, part = name.partition(": ")
    return f"{head}{colon}{PARTS.get(part, part)}"
