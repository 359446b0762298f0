"""What was heard and not yet read, of all connections in one list, in the order in which it happened.

One rule: nothing that anybody waits for is put off, and nothing is read out of order. Bytes are written
across, stamped and noted; who they belong to and what ends with them is read a moment later, all at once.
A stream's pieces come one by one, each after a sleep, when reading one costs several times what it does in a
row. Whoever must know something has everything read first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    Hear = Callable[..., object]

MOST_BYTES: Final = 64 * 1024
"""Of noted pieces; beyond that they are read at once, so that long bodies do not pile up."""


class Listener(Protocol):
    """Whoever hears things of one connection."""

    def hear(self, hear: Hear, args: tuple[Any, ...]) -> None:
        """Hear something that was noted before. Never raises."""


class Notes:
    """The list of one process."""

    def __init__(self, soon: Callable[[Callable[[], None]], None]) -> None:
        """`soon` takes what is to be called within a moment."""
        self._soon = soon
        self._noted: list[tuple[Listener, Hear, tuple[Any, ...]]] = []
        self._bytes = 0

    def add(self, listener: Listener, hear: Hear, args: tuple[Any, ...], size: int = 0) -> None:
        """Note something: `hear` is called with the listener's own ear and `args`, which hold `size` bytes."""
        noted = self._noted
        noted.append((listener, hear, args))
        self._bytes += size
        if self._bytes > MOST_BYTES:
            self.settle()
        elif len(noted) == 1:
            self._soon(self.settle)

    def settle(self) -> None:
        """Hear all that was noted."""
        noted, self._noted = self._noted, []
        self._bytes = 0
        for listener, hear, args in noted:
            listener.hear(hear, args)
