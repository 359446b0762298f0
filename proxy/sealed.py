"""What the recorder's first stage hands to its second: sealed exchanges, and how much of them may wait.

One rule: whoever sealed something is told when it is in the journal, on the pipe that it came by.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from .journal.record import Load
from .wire.exchange import Note
from .wire.frame import ACK

if TYPE_CHECKING:
    import socket

    from .dialects.base import ReplyReader
    from .wire.exchange import Exchange

WAITING_BYTES: Final = 256 * 1024 * 1024
"""Request bodies that may wait to be counted; beyond that they are let go and the record says so."""

WAITING_EXCHANGES: Final = 10_000
"""Exchanges that may wait to be written, some 100 MB; beyond that no frames are read, and the relay, whose
queue is bounded too, leaves out what it has no room for."""


class Source:
    """The relay process that an exchange went through. For two threads."""

    def __init__(self, run: str, sock: socket.socket) -> None:
        """`run`: with an exchange's number it is the record's id. `sock`: the pipe that leads back to it."""
        self.run = run
        self._sock = sock
        self._lock = threading.Lock()
        """Without it an acknowledgement could go to whoever has got the number of a closed descriptor."""

    def acknowledge(self, number: int) -> None:
        """Tell it that this exchange is written; 0 stands for the list of what was lost."""
        with self._lock, contextlib.suppress(OSError):  # that relay is gone: nobody waits for it
            self._sock.sendall(ACK.pack(number))

    def close(self) -> None:
        """Nobody is at the other end any more."""
        with self._lock:
            self._sock.close()


@dataclass(frozen=True, slots=True)
class Sealed:
    """One thing to write: an exchange, or the numbers of those that were lost."""

    source: Source
    exchange: Exchange[ReplyReader] | None
    load: Load
    numbers: tuple[int, ...] = ()
    why: str = ""
    """Why those were lost."""
    at_unix_ns: int = 0

    @classmethod
    def lost(cls, source: Source, numbers: list[int], why: str, at_unix_ns: int) -> Sealed:
        """Exchanges that have no record. `why` is the name of a `LostBy`."""
        return cls(source, None, Load(), tuple(numbers), why, at_unix_ns)


class SealedQueue:
    """Sealed exchanges on their way to the second stage, bounded in number and in the bodies that wait."""

    def __init__(
        self, bound_bytes: int = WAITING_BYTES, most_exchanges: int = WAITING_EXCHANGES
    ) -> None:
        self._todo: queue.SimpleQueue[Sealed | None] = queue.SimpleQueue()
        self._bound = bound_bytes
        self._waiting_bytes = 0
        self._lock = threading.Lock()
        self._room = threading.Semaphore(most_exchanges)

    def put(self, sealed: Sealed) -> None:
        """Hand one on; waits while there are too many.

        Beyond the bound in bytes it goes without its request body; one alone always has room.
        """
        self._room.acquire()
        exchange = sealed.exchange
        if exchange is not None and not self._takes(len(exchange.request_body)):
            note = Note("content_left_out", "request", "the recorder had too much to count")
            bare = replace(exchange, request_body=b"", notes=(*exchange.notes, note))
            sealed = replace(sealed, exchange=bare)
        self._todo.put(sealed)

    def _takes(self, size: int) -> bool:
        with self._lock:
            room = self._waiting_bytes + size <= self._bound or not self._waiting_bytes
            self._waiting_bytes += size if room else 0
            return room

    def end(self) -> None:
        """Nothing follows."""
        self._todo.put(None)

    def get(self) -> Sealed | None:
        """The next one, waited for; None: nothing follows."""
        sealed = self._todo.get()
        if sealed is not None:
            self._room.release()
        return sealed

    def counted(self, exchange: Exchange[ReplyReader]) -> None:
        """The second stage holds the content of this one no longer."""
        with self._lock:
            self._waiting_bytes -= len(exchange.request_body)

    def qsize(self) -> int:
        """How many wait."""
        return self._todo.qsize()
