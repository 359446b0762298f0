"""Bytes of one event until it is whole, up to a bound: what the readers of streams have in common.

One rule: an event that is too long is dropped whole and counted; what comes behind it is read as ever.
"""

from __future__ import annotations

from .exchange import Note


def dropped_notes(dropped: int, bound: int) -> tuple[Note, ...]:
    """What to say of so many events that were longer than `bound` bytes."""
    if not dropped:
        return ()
    return (Note("event_too_long", "reply events", f"{dropped} longer than {bound} bytes"),)


class Held:
    """One event after another."""

    def __init__(self, bound: int) -> None:
        """`bound`: bytes of one event."""
        self._bound = bound
        self._bytes = bytearray()
        self._oversize = False
        self._dropped = 0

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was dropped so far."""
        return dropped_notes(self._dropped, self._bound)

    def add(self, piece: bytes) -> None:
        """More of the event."""
        if len(self._bytes) + len(piece) > self._bound:
            self._oversize = True
            self._bytes.clear()
        if not self._oversize:
            self._bytes += piece

    def take(self) -> bytes:
        """The event, which ends here; empty if it was too long. The next one begins."""
        event = bytes(self._bytes)
        self._dropped += self._oversize
        self._oversize = False
        self._bytes.clear()
        return event
