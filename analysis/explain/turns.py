"""Exchanges threaded into turns: what somebody waited for, with all the requests that it took.

An agent answers one question in a loop of several requests; between them its client runs tools, and
beside them it may ask things for itself (titles, tags), which the server works on as well.

One rule: a summary is a real turn. The median turn is the one in the middle by duration, so that its
parts belong together and it can be looked up by its id; parts that each were a median would add up to
a turn that nobody lived through.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from .beside import hidden_beside
from .standing import Standing, standing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from analysis.store.recorded import Record

    Span = tuple[int, int]
    """Begin and end on a time line."""

__all__ = ["Gap", "Placed", "Standing", "Turn", "median_turn", "standing", "threaded"]


class Placed(NamedTuple):
    """An exchange on its turn's time line: ns after the turn's first request byte."""

    record: Record
    begin_ns: int
    end_ns: int
    """Never before `begin_ns`."""
    seen_from_ns: int
    """Where it is the only one: time in which an earlier exchange of the turn ran as well is that one's."""


class Gap(NamedTuple):
    """Time of a turn in which none of its exchanges ran: the client's own."""

    begin_ns: int
    """After the turn's first request byte."""
    ns: int
    why: Literal["tools", "between requests"]
    """`tools`: the answer before it ended in tool calls. What a client does else is not seen."""
    after: str
    """Id of the exchange before it."""
    hidden_ns: int
    """Time of it in which a hidden request ran."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What was asked for once, and all the exchanges that it took."""

    id: str
    """Id of its first exchange."""
    exchanges: tuple[Record, ...]
    """In the order in which they began, one or more; what failed or was cut in between as well."""
    hidden: tuple[Record, ...] = ()
    """Requests that the client made for itself while the turn ran."""
    line: tuple[Placed, ...] = field(init=False, repr=False, compare=False)
    """Its exchanges on one time line."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "line", _line(self.exchanges))

    @property
    def begin_unix_ns(self) -> int:
        """Wall time of the first request byte."""
        return self.exchanges[0].at_unix_ns

    @property
    def standing(self) -> Standing:
        """As the turn ended: its last exchange's. A retry that went well makes up for what failed."""
        return standing(self.exchanges[-1])

    @property
    def whole_ns(self) -> int:
        """First request byte of the first exchange to the end of the last one to end."""
        return max(placed.end_ns for placed in self.line)

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """The client's own time, in order; only where there is some."""
        hidden = _union(self.hidden_spans())
        return tuple(
            Gap(begin, end - begin, _why(before), before.id, _covered(begin, end, hidden))
            for before, begin, end in _pauses(self.line)
        )

    @property
    def in_the_way(self) -> tuple[Record, ...]:
        """Hidden requests that ran in one of the client's gaps, or while a prompt of the turn was read."""
        waits = [(begin, end) for _, begin, end in _pauses(self.line)]
        waits += [(p.begin_ns, p.begin_ns + _until_token(p.record)) for p in self.line]
        waited = _union(waits)
        spans = zip(self.hidden, self.hidden_spans(), strict=True)
        return tuple(h for h, (begin, end) in spans if _covered(begin, end, waited))

    def hidden_spans(self) -> tuple[Span, ...]:
        """Begin and end of each hidden request on the time line, by the wall clock, cut to the turn."""
        whole, begin = self.whole_ns, self.begin_unix_ns
        begins = [h.at_unix_ns - begin for h in self.hidden]
        ends = [at + max(0, h.timings.end_ns) for at, h in zip(begins, self.hidden, strict=True)]
        return tuple(
            (min(max(at, 0), whole), min(max(end, 0), whole))
            for at, end in zip(begins, ends, strict=True)
        )


def threaded(records: Iterable[Record]) -> tuple[Turn, ...]:
    """The turns that the records hold, in the order in which they began; hidden requests beside them.

    An exchange whose turn is not known is a turn of its own.
    """
    records = tuple(records)
    groups: dict[str, list[Record]] = {}
    for record in records:
        if record.kind == "turn":
            groups.setdefault(record.turn or record.id, []).append(record)
    orders = [_in_order(group) for group in groups.values()]
    orders.sort(key=lambda group: (group[0].at_unix_ns, group[0].id))
    turns = [Turn(group[0].id, group) for group in orders]
    beside = hidden_beside(
        [(turn.exchanges[0], turn.begin_unix_ns, turn.whole_ns) for turn in turns],
        [record for record in records if record.kind == "hidden"],
    )
    return tuple(
        Turn(turn.id, turn.exchanges, tuple(found)) if found else turn
        for turn, found in zip(turns, beside, strict=True)
    )


def median_turn(turns: Sequence[Turn]) -> Turn | None:
    """The turn in the middle by duration, the shorter of two; None if there are none.

    Start and id settle ties, so the same journal always gives the same turn.
    """
    if not turns:
        return None
    ordered = sorted(turns, key=lambda t: (t.whole_ns, t.begin_unix_ns, t.id))
    return ordered[(len(ordered) - 1) // 2]


def _in_order(group: list[Record]) -> tuple[Record, ...]:
    """As they began: by their numbers where one run counted them all, because wall clocks step."""
    names = [record.id.replace(".", "-").rpartition("-") for record in group]
    counted = all(number.isdecimal() and len(number) < 19 for _, _, number in names)
    if counted and len({run for run, _, _ in names}) == 1:
        numbers = {record.id: int(name[2]) for record, name in zip(group, names, strict=True)}
        return tuple(sorted(group, key=lambda r: numbers[r.id]))
    return tuple(sorted(group, key=lambda r: (r.at_unix_ns, r.id)))


def _line(exchanges: Sequence[Record]) -> tuple[Placed, ...]:
    """The exchanges where they lie, the first at 0.

    The recorder's own clock does not step: it says how long before an exchange an earlier one of the turn
    ended, and whether anything at all ran when it came. The wall clock is asked last.
    """
    placed: list[Placed] = []
    ends: dict[str, int] = {}
    upto = 0
    for record in exchanges:
        age = record.prefix.parent_age_ns if record.prefix else None
        parent = ends.get(record.prefix.parent or "") if record.prefix else None
        begin = record.at_unix_ns - exchanges[0].at_unix_ns
        if parent is not None and age is not None:
            begin = parent + age
        elif record.load.in_flight_at_arrival == 1:
            begin = max(upto, begin)
        begin = max(0, begin) if placed else 0
        end = begin + max(0, record.timings.end_ns)
        placed.append(Placed(record, begin, end, min(max(begin, upto), end)))
        ends[record.id], upto = end, max(upto, end)
    return tuple(placed)


def _pauses(line: Sequence[Placed]) -> list[tuple[Record, int, int]]:
    """Where no exchange of the turn ran: the one before it, begin, end."""
    found = []
    last = line[0]
    for placed in line[1:]:
        if placed.begin_ns > last.end_ns:
            found.append((last.record, last.end_ns, placed.begin_ns))
        last = placed if placed.end_ns >= last.end_ns else last
    return found


def _why(record: Record) -> Literal["tools", "between requests"]:
    called = record.timings.first_tool_call_ns is not None or (record.tools and record.tools.called)
    return "tools" if called and standing(record) == "turn" else "between requests"


def _until_token(record: Record) -> int:
    """First request byte -> first token, or end if none was seen."""
    marks = record.timings
    token = marks.end_ns if marks.first_token_ns is None else marks.first_token_ns
    return max(0, min(token, marks.end_ns))


def _union(spans: Iterable[Span]) -> list[Span]:
    """The same time, in order, none of it twice."""
    merged: list[Span] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif end > begin:
            merged.append((begin, end))
    return merged


def _covered(begin: int, end: int, union: Sequence[Span]) -> int:
    """Time between begin and end that lies in a union of spans."""
    covered = 0
    for first, last in union[max(0, bisect_left(union, (begin,)) - 1) :]:
        if first >= end:
            break
        covered += max(0, min(last, end) - max(first, begin))
    return covered
