"""Figures of each relay process that the others can read: one page of memory, one slot a process.

One rule: a slot has one writer. A reader may see figures of two moments beside each other; each of them
was true at one.
"""

from __future__ import annotations

import mmap
import os
import struct
from typing import Final, NamedTuple


class Figures(NamedTuple):
    """What one relay process says of itself. Numbers since its start, but for the first four."""

    pulse_ns: int = 0
    """Monotonic time of the last look; 0: it never ran."""
    in_flight: int = 0
    callers: int = 0
    queued_bytes: int = 0
    """What waits for the recorder."""
    exchanges: int = 0
    connections: int = 0
    turned_away: int = 0
    """Callers for whom there was no room."""
    left_out_bytes: int = 0
    """What was not kept because the recorder lagged, or beyond the bound of a request."""
    lost: int = 0
    """Records that died with a recorder, or could not be written in time at the end."""
    tap_failures: int = 0
    looks: int = 0
    late_ns: int = 0
    """Lateness of the event loop, summed over all looks."""
    late_most_ns: int = 0
    """The largest of one look."""


_OF_NOW: Final = ("pulse_ns", "in_flight", "callers", "queued_bytes")
"""Figures that end with their process; the others still count when it is gone."""

_SLOT: Final = struct.Struct(f"{len(Figures._fields)}q")


class Slots:
    """Slots in shared memory."""

    def __init__(self, fd: int, count: int) -> None:
        """`fd` is a file of at least `size(count)` bytes; it may be closed afterwards."""
        self.count = count
        self._memory = mmap.mmap(fd, size(count))
        self._gone = Figures()

    def write(self, index: int, figures: Figures) -> None:
        """One process's figures."""
        _SLOT.pack_into(self._memory, index * _SLOT.size, *figures)

    def read(self, index: int) -> Figures:
        """One process's figures, as they stand."""
        return Figures(*_SLOT.unpack_from(self._memory, index * _SLOT.size))

    def all(self) -> list[Figures]:
        """Every process's figures."""
        return [self.read(index) for index in range(self.count)]

    def retire(self, index: int) -> None:
        """That process is gone: what it had counted is kept, and its slot is free for the next."""
        last = self.read(index)._replace(**dict.fromkeys(_OF_NOW, 0))
        self._gone = add(self._gone, last)
        self.write(index, Figures())

    def total(self) -> Figures:
        """All processes together, those that are gone included; of pulses the oldest."""
        whole = self._gone
        for figures in self.all():
            whole = add(whole, figures)
        return whole._replace(pulse_ns=min(figures.pulse_ns for figures in self.all()))


def add(one: Figures, other: Figures) -> Figures:
    """Two processes' figures as one's."""
    sums = Figures(*(a + b for a, b in zip(one, other, strict=True)))
    return sums._replace(late_most_ns=max(one.late_most_ns, other.late_most_ns))


def size(count: int) -> int:
    """Bytes for so many slots: whole pages."""
    return -(-count * _SLOT.size // mmap.PAGESIZE) * mmap.PAGESIZE


def make(count: int) -> tuple[int, Slots]:
    """Fresh slots and the descriptor by which another process can have them."""
    fd = _nameless()
    os.ftruncate(fd, size(count))
    return fd, Slots(fd, count)


def _nameless() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("turnscope-slots")
    import tempfile  # noqa: PLC0415 -- macOS has no memfd

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
