"""Which hidden requests ran beside which turn.

One rule: a hidden request stands beside one turn at most: of those that it overlaps in time, one of its
own thread, else one of the same caller at the same upstream; of several the one that it overlaps longest.
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from analysis.store.recorded import Record

    Spoken = tuple[Record, int, int]
    """Of a turn: its first exchange, the wall time of its begin, its length in ns."""


def hidden_beside(turns: Sequence[Spoken], hidden: Sequence[Record]) -> list[list[Record]]:
    """For each turn the hidden requests beside it, in the order in which they began.

    The turns stand in the order in which they began.
    """
    hidden = sorted(hidden, key=lambda record: (record.at_unix_ns, record.id))
    beside: list[list[Record]] = [[] for _ in turns]
    best: dict[str, tuple[int, int, int]] = {}
    for rank, kin in enumerate((_thread, _caller)):
        for record, number, shared_ns in _overlapping(turns, hidden, kin):
            found = (-rank, shared_ns, -number)
            best[record.id] = max(best.get(record.id, found), found)
    for record in hidden:
        if record.id in best:
            beside[-best[record.id][2]].append(record)
    return beside


def _thread(record: Record) -> Hashable:
    return record.thread


def _caller(record: Record) -> Hashable:
    """The caller's address without its port, which each connection has one of."""
    host = record.peer.rpartition(":")[0]
    return (host, record.upstream) if host else None


def _overlapping(
    turns: Sequence[Spoken], hidden: Sequence[Record], kin: Callable[[Record], Hashable]
) -> Iterator[tuple[Record, int, int]]:
    """Each pair of a hidden request and a turn of its kin that overlap, with their common time.

    Both are gone through in the order in which they begin, so that only turns are looked at that run.
    """
    families: dict[Hashable, _Family] = {}
    for number, (first, begin_ns, length_ns) in enumerate(turns):
        if kin(first) is not None:
            families.setdefault(kin(first), _Family()).add(begin_ns, begin_ns + length_ns, number)
    for record in hidden:
        family = families.get(kin(record))
        if family is not None:
            begin_ns = record.at_unix_ns
            end_ns = begin_ns + max(0, record.timings.end_ns)
            for number, shared_ns in family.during(begin_ns, end_ns):
                yield record, number, shared_ns


class _Family:
    """Turns by their begins, asked for stretches of time that begin later and later."""

    def __init__(self) -> None:
        self._turns: list[tuple[int, int, int]] = []
        """Begin, end, number."""
        self._next = 0
        self._running: list[tuple[int, int, int]] = []
        """End, begin, number: a heap of turns that had begun by the last stretch."""

    def add(self, begin_ns: int, end_ns: int, number: int) -> None:
        """One more turn, that begins no earlier than those before it."""
        self._turns.append((begin_ns, end_ns, number))

    def during(self, begin_ns: int, end_ns: int) -> Iterator[tuple[int, int]]:
        """Number of each turn that overlaps the stretch, and how long."""
        while self._next < len(self._turns) and self._turns[self._next][0] <= begin_ns:
            first, last, number = self._turns[self._next]
            heappush(self._running, (last, first, number))
            self._next += 1
        while self._running and self._running[0][0] <= begin_ns:
            heappop(self._running)
        for last, _, number in self._running:
            if end_ns > begin_ns:
                yield number, min(last, end_ns) - begin_ns
        stop = bisect_left(self._turns, (end_ns,), lo=self._next)
        for first, last, number in self._turns[self._next : stop]:
            if last > first:
                yield number, min(last, end_ns) - first
