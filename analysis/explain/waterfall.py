"""A turn on one time line: its exchanges, the client's gaps and the hidden requests beside it, with marks.

One rule: every row is on the same scale, ns after the turn's first request byte, and no time is behind
that or after the turn's end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from analysis.store.recorded import ttft_ns, verdict

from .prefill import engine
from .turns import standing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.store.recorded import Record, Timings

    from .turns import Gap, Standing, Turn

MARKS: Final = (
    "request_end_ns",
    "upstream_sent_ns",
    "first_byte_ns",
    "first_token_ns",
    "first_visible_text_ns",
    "first_tool_call_ns",
    "last_token_ns",
    "end_ns",
)
"""The marks that are shown, in the order in which they happen if all is well."""

UNKNOWN_PURPOSE: Final = "purpose not known"
"""The recorder's word."""

PhaseName = Literal["upload", "wait", "reasoning", "answer", "tail", "client"]


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment of an exchange."""

    name: str
    at_ns: int


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of a row."""

    name: PhaseName
    begin_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class Row:
    """An exchange, a hidden request, or a gap of the client's."""

    kind: Literal["exchange", "hidden", "gap"]
    id: str
    """Of the exchange; of a gap that of the exchange before it."""
    begin_ns: int
    end_ns: int
    phases: tuple[Phase, ...]
    """In order, without those of no time; together they are the row."""
    marks: tuple[Mark, ...] = ()
    """Those that were seen."""
    standing: Standing | None = None
    """None: a gap."""
    ending: str | None = None
    """`ok`, or what went wrong; None: a gap."""
    model: str | None = None
    ttft_ns: int | None = None
    called: tuple[str, ...] = ()
    """Tools that the answer called; of a gap that of the answer before it."""
    purpose: str | None = None
    """Of a hidden request: what for, in the journal's word; None: not known."""
    in_the_way: bool = False
    """A hidden request that ran in one of the client's gaps, or while a prompt of the turn was read."""
    hidden_ns: int = 0
    """Of a gap: time of it in which a hidden request ran."""


@dataclass(frozen=True, slots=True)
class Waterfall:
    """A turn, row by row in the order in which they begin."""

    turn: str
    begin_unix_ns: int
    whole_ns: int
    rows: tuple[Row, ...]


def waterfall(turn: Turn) -> Waterfall:
    """The rows of a turn."""
    rows = [_row("exchange", p.record, p.begin_ns, p.end_ns) for p in turn.line]
    rows += _gaps(turn)
    rows += _hidden(turn)
    kinds = ("exchange", "gap", "hidden")
    rows.sort(key=lambda row: (row.begin_ns, kinds.index(row.kind)))
    return Waterfall(turn.id, turn.begin_unix_ns, turn.whole_ns, tuple(rows))


def _row(kind: Literal["exchange", "hidden"], record: Record, begin_ns: int, end_ns: int) -> Row:
    seen = ((name, getattr(record.timings, name)) for name in MARKS)
    return Row(
        kind=kind,
        id=record.id,
        begin_ns=begin_ns,
        end_ns=end_ns,
        phases=tuple(_phases(record.timings, begin_ns, end_ns)),
        marks=tuple(
            Mark(name, min(max(begin_ns, begin_ns + at), end_ns))
            for name, at in seen
            if at is not None
        ),
        standing=standing(record),
        ending=verdict(record),
        model=engine(record).model,
        ttft_ns=ttft_ns(record.timings),
        called=_called(record),
    )


def _phases(marks: Timings, begin_ns: int, end_ns: int) -> Iterator[Phase]:
    """Between the marks, each put in its place: not before the one before it, not after the end."""
    spoken = [m for m in (marks.first_visible_text_ns, marks.first_tool_call_ns) if m is not None]
    thought = marks.first_reasoning_ns is not None
    unseen = marks.first_token_ns is None
    cuts: tuple[tuple[PhaseName, int | None], ...] = (
        ("upload", marks.request_end_ns),
        ("wait", marks.end_ns if unseen else marks.first_token_ns),
        ("reasoning", (min(spoken) if spoken else marks.last_token_ns) if thought else None),
        ("answer", marks.last_token_ns),
        ("tail", marks.end_ns),
    )
    at = begin_ns
    for name, mark in cuts:
        if mark is not None:
            until = min(max(begin_ns + mark, at), end_ns)
            if until > at:
                yield Phase(name, at, until)
            at = until


def _gaps(turn: Turn) -> Iterator[Row]:
    calls = {record.id: _called(record) for record in turn.exchanges}
    for gap in turn.gaps:
        yield _gap(gap, calls[gap.after])


def _gap(gap: Gap, called: tuple[str, ...]) -> Row:
    end = gap.begin_ns + gap.ns
    phases = (Phase("client", gap.begin_ns, end),)
    called = called if gap.why == "tools" else ()
    return Row("gap", gap.after, gap.begin_ns, end, phases, called=called, hidden_ns=gap.hidden_ns)


def _hidden(turn: Turn) -> Iterator[Row]:
    waited = {record.id for record in turn.in_the_way}
    for record, (begin, end) in zip(turn.hidden, turn.hidden_spans(), strict=True):
        row = _row("hidden", record, begin, end)
        yield replace(row, purpose=_purpose(record), in_the_way=record.id in waited)


def _purpose(record: Record) -> str | None:
    """From the note that says why it counts as hidden: `hidden: title, system asks`."""
    for note in record.notes:
        code, _, said = note.partition(": ")
        if code == "hidden":
            word = said.partition(", ")[0]
            return None if word in ("", UNKNOWN_PURPOSE) else word
    return None


def _called(record: Record) -> tuple[str, ...]:
    return tuple(record.tools.called) if record.tools else ()
