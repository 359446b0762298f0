"""The recorder's second stage: sealed exchanges to records, to the journal, to the console.

One rule: nothing that one exchange holds may cost another its record. A fault while reading one becomes a
record without content and a line in the log; then the relay is told that it is written.
"""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from .counting import CountingStep
from .dialects import opaque, table
from .journal import console
from .journal.derive import Context, derive, understand
from .journal.memory import Memory
from .journal.record import Loss
from .log import Event
from .retention import Bounds, Retention
from .segments import JournalFolder
from .wire.exchange import Note

if TYPE_CHECKING:
    from .dialects.base import ReplyReader
    from .journal.derive import Derived, Understood
    from .journal.record import Record
    from .log import Log
    from .metrics import Metrics
    from .sealed import Sealed, SealedQueue
    from .settings import Settings
    from .wire.exchange import Exchange


class Writing:
    """Takes sealed exchanges one after another."""

    def __init__(self, settings: Settings, log: Log, metrics: Metrics | None = None) -> None:
        self._settings = settings
        self._log = log
        self._metrics = metrics
        self._counting = CountingStep(settings, log)
        self._waiting = 0
        """Exchanges that stand behind the one that is being written."""
        self._memory = Memory()
        bounds = Bounds(settings.keep_days, settings.max_bytes)
        retention = Retention(bounds, self._trimmed, self._complain)
        self._folder = JournalFolder(Path(settings.journal), self._complain, retention)

    def run(self, todo: SealedQueue) -> None:
        """Write until nothing follows."""
        self._counting.load()
        os.nice(self._settings.nice)
        self._folder.begin()
        while (sealed := todo.get()) is not None:
            if sealed.exchange is None:
                self._write_lost(sealed)
            else:
                self._waiting = todo.qsize()
                self._write(sealed, sealed.exchange, todo)
        self._counting.close()
        self._folder.close()

    def hurry(self) -> None:
        """The relay has ended and waits for the rest. For another thread."""
        self._counting.hurry()

    def _write(self, sealed: Sealed, exchange: Exchange[ReplyReader], todo: SealedQueue) -> None:
        derived = self._derive(sealed, exchange)
        self._counting.counter.next_exchange()
        todo.counted(exchange)
        written = self._folder.write(derived.record, derived.tool_set)
        if exchange.message is None:  # what is inside a tunnel is not the relay's to count
            sealed.source.acknowledge(exchange.number)
        self._count(derived, written=written)
        if not self._settings.quiet:
            self._say(derived.record)

    def _count(self, derived: Derived, *, written: bool) -> None:
        if self._metrics is None:
            return
        try:
            self._metrics.take(derived.record, derived.token_event_ns, written=written)
        except Exception as fault:  # noqa: BLE001  a fault of ours: it must not end the writing
            detail = f"metrics: {type(fault).__name__}"
            self._log.say(Event.READING_FAILED, exchange=derived.record.id, detail=detail)

    def _say(self, record: Record) -> None:
        ended_ns = record.at_unix_ns + record.timings.end_ns
        at = datetime.fromtimestamp(ended_ns / 1e9, UTC).astimezone()
        self._log.say(Event.EXCHANGE_ENDED, console.line(record, at), **console.fields(record))

    def _derive(self, sealed: Sealed, exchange: Exchange[ReplyReader]) -> Derived:
        context = Context(sealed.source.run, sealed.load, self._counting.counter)
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
        ids = [f"{sealed.source.run}-{number}" for number in sealed.numbers]
        self._folder.write_loss(Loss(at_unix_ns=sealed.at_unix_ns, ids=ids, why=sealed.why))
        sealed.source.acknowledge(0)

    def _trimmed(self, files: int, size: int) -> None:
        sentence = f"removed from the journal: {files} files, {size:,} bytes"
        self._log.say(Event.JOURNAL_TRIMMED, sentence, files=files, bytes=size)

    def _complain(self, sentence: str) -> None:
        self._log.say(Event.JOURNAL_FAILED, sentence, detail=sentence)
