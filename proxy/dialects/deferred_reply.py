"""A reply whose form shows only in its first bytes.

One rule: bytes that wait for the choice keep no time of their own; they are read with the piece that
decided it. An event's time is that of its last byte, so none is moved as long as no event is whole by
then or the last one is just that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from .base import ReplyReading

if TYPE_CHECKING:
    from .base import ReplyReader


START_BOUND: Final = 64 * 1024
"""Bytes of a beginning that are looked at: by then a form shows, or it is taken as at the end."""


class Choice(Protocol):
    """Picks the reader."""

    def __call__(self, start: bytes, *, last: bool) -> ReplyReader | None:
        """A reader for what begins so; None as long as it does not tell, which `last` forbids."""


class DeferredReply:
    """A `ReplyReader` that waits for the choice and then is the one chosen."""

    def __init__(self, choose: Choice) -> None:
        self._choose = choose
        self._held = bytearray()
        self._at_ns = 0
        self._reader: ReplyReader | None = None

    def feed(self, data: bytes, at_ns: int) -> None:
        """Take a piece of the decoded body."""
        self._at_ns = at_ns
        if self._reader is not None:
            self._reader.feed(data, at_ns)
            return
        self._held += data
        self._decide(last=False)

    def close(self) -> None:
        """No more will come."""
        if self._reader is None:
            self._decide(last=True)
        if self._reader is not None:
            self._reader.close()

    def reading(self) -> ReplyReading:
        """What was understood so far: nothing before the choice."""
        return ReplyReading() if self._reader is None else self._reader.reading()

    def _decide(self, *, last: bool) -> None:
        held = bytes(self._held)
        last = last or len(held) >= START_BOUND
        self._reader = self._choose(held[:START_BOUND], last=last)
        if self._reader is not None:
            self._held.clear()
            self._reader.feed(held, self._at_ns)
