"""The recorder's second stage: sealed exchanges to records, to the journal, to the console.

One rule: nothing that one exchange holds may cost another its record. A fault while reading one becomes a
record without content and a line in the log; then the relay is told that it is written.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from .counting import CountingStep
from .dialects import opaque, table
from .journal import console
from .journal.derive import Context, derive, understand
from .journal.memory import Memory
from .journal.record import Load, Loss
from .log import Event
from .segments import JournalFolder
from .wire.exchange import Note
from .wire.frame import ACK

if TYPE_CHECKING:
    import queue
    import socket
    from collections.abc import Callable

    from .dialects.base import ReplyReader
    from .journal.derive import Derived, Understood
    from .journal.record import Record
    from .log import Log
    from .settings import Settings
    from .wire.exchange import Exchange


@dataclass(frozen=True, slots=True)
class Sealed:
    """One thing to write: an exchange, or the numbers of those that were lost."""

    exchange: Exchange[ReplyReader] | None
    load: Load
    numbers: tuple[int, ...] = ()
    at_unix_ns: int = 0

    @classmethod
    def of(cls, exchange: Exchange[ReplyReader], load: Load) -> Sealed:
        """An exchange with its load."""
        return cls(exchange, load)

    @classmethod
    def lost(cls, numbers: list[int], at_unix_ns: int) -> Sealed:
        """Exchanges that a recorder which died took with it."""
        return cls(None, Load(), tuple(numbers), at_unix_ns)


class Writing:
    """Takes sealed exchanges one after another."""

    def __init__(
        self,
        settings: Settings,
        sock: socket.socket,
        log: Log,
        done: Callable[[Exchange[ReplyReader]], None],
    ) -> None:
        """`done` is told each exchange whose content is no longer held."""
        self._settings = settings
        self._sock = sock
        self._log = log
        self._done = done
        self._counting = CountingStep(settings, log)
        self._waiting = 0
        """Exchanges that stand behind the one that is being written."""
        self._memory = Memory()
        self._folder = JournalFolder(Path(settings.journal), self._complain)

    def run(self, todo: queue.SimpleQueue[Sealed | None]) -> None:
        """Write until None comes."""
        self._counting.load()
        os.nice(self._settings.nice)
        while (sealed := todo.get()) is not None:
            if sealed.exchange is None:
                self._write_lost(sealed)
            else:
                self._waiting = todo.qsize()
                self._write(sealed.exchange, sealed.load)
        self._counting.close()
        self._folder.close()

    def hurry(self) -> None:
        """The relay has ended and waits for the rest. For another thread."""
        self._counting.hurry()

    def _write(self, exchange: Exchange[ReplyReader], load: Load) -> None:
        derived = self._derive(exchange, load)
        self._counting.counter.next_exchange()
        self._done(exchange)
        self._folder.write(derived.record, derived.tool_set)
        if exchange.message is None:  # what is inside a tunnel is not the relay's to count
            self._acknowledge(exchange.number)
        if not self._settings.quiet:
            self._say(derived.record)

    def _say(self, record: Record) -> None:
        ended_ns = record.at_unix_ns + record.timings.end_ns
        at = datetime.fromtimestamp(ended_ns / 1e9, UTC).astimezone()
        self._log.say(Event.EXCHANGE_ENDED, console.line(record, at), **console.fields(record))

    def _derive(self, exchange: Exchange[ReplyReader], load: Load) -> Derived:
        context = Context(self._settings.run, load, self._counting.counter)
        request = exchange.request
        dialect = (
            table.choose(request, exchange.request_body[:4096]) if request else opaque.Opaque()
        )
        try:
            understood = understand(exchange, dialect)
            answer = self._counting.ask(exchange, understood, self._waiting)
            told = replace(context, measured=answer.measured, notes=answer.notes)
            return self._place(exchange, understood, derive(exchange, understood, told))
        except Exception as fault:  # noqa: BLE001  a fault of ours: the timing is still worth a record
            self._log.say(
                Event.READING_FAILED, exchange=exchange.number, detail=type(fault).__name__
            )
            note = Note("reading_failed", dialect.name, type(fault).__name__)
            bare = replace(exchange, heard=None, request_body=b"", notes=(*exchange.notes, note))
            return derive(bare, understand(bare, opaque.Opaque()), context)

    def _place(
        self, exchange: Exchange[ReplyReader], understood: Understood, derived: Derived
    ) -> Derived:
        """With what only memory can add. A fault there costs no more than that, and what it remembered."""
        try:
            record = self._memory.place(
                exchange, understood, derived.record, self._counting.counter
            )
        except Exception as fault:  # noqa: BLE001  a fault of ours: the record is right without it
            self._memory = Memory()
            detail = f"memory: {type(fault).__name__}"
            self._log.say(Event.READING_FAILED, exchange=exchange.number, detail=detail)
            note = Note("memory_failed", "", type(fault).__name__)
            notes = [*derived.record.notes, str(note)]
            record = msgspec.structs.replace(derived.record, notes=notes)
        return replace(derived, record=record)

    def _write_lost(self, sealed: Sealed) -> None:
        ids = [f"{self._settings.run}-{number}" for number in sealed.numbers]
        self._folder.write_loss(Loss(at_unix_ns=sealed.at_unix_ns, ids=ids, why="recorder_died"))
        self._acknowledge(0)

    def _acknowledge(self, number: int) -> None:
        with contextlib.suppress(OSError):  # the relay is gone: nobody waits for it
            self._sock.sendall(ACK.pack(number))

    def _complain(self, sentence: str) -> None:
        self._log.say(Event.JOURNAL_FAILED, sentence, detail=sentence)
