"""The splice, its upstream half: the hot path, and the seam to everything around it.

One rule: bytes first. What one side sent is written to the other before anything else is done with it,
and no fault of the tap reaches a byte. Nothing here parses a body, counts a token or waits for the
recorder. FIN is passed as FIN, a reset as a reset. `caller` is the other half.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol, cast

from .wire.exchange import Outcome
from .wire.pairing import Pairing

if TYPE_CHECKING:
    from .caller import Caller
    from .wire.exchange import Opening
    from .wire.flow import Tap
    from .wire.notes import Notes

HALF_CLOSED_S: Final = 60.0
"""How long a caller may keep its half of a connection whose upstream is done and owes it nothing."""


UNSENT: Final = (1, 0)
"""High and low water of both sides: any unsent bytes are back-pressure, so memory stays at one read and
a stall is seen at once. Not 0: uvloop's TLS pauses at "as much as", so an empty buffer would do."""


JOINED: Final = 16 * 1024
"""Bytes up to which pieces are copied together: a head with its new `Host` and a short body."""


class Session(Protocol):
    """What one route gives to its connections; `server` provides it."""

    @property
    def tap(self) -> Tap:
        """Where frames go."""

    @property
    def host(self) -> bytes | None:
        """The upstream's authority for `Host`; None keeps the caller's."""

    @property
    def read_timeout_s(self) -> float | None:
        """Silence of the upstream that ends an exchange; None: any silence is fine."""

    @property
    def notes(self) -> Notes:
        """Where what the tap has to hear waits to be read."""

    def now(self) -> int:
        """Monotonic ns."""

    def dial(self, caller: Caller) -> None:
        """Begin to connect; `caller.connected` or `caller.refused` is called later, once."""

    def break_off(self, transport: asyncio.Transport, *, drain: bool) -> None:
        """End a connection with a reset; with `drain`, after what was written has gone out."""

    def unread(self, transport: asyncio.BaseTransport) -> bytes:
        """What the peer had sent before a write to it failed."""

    def tap_failed(self, fault: Exception) -> None:
        """Count a fault of the tap; the bytes have gone on."""

    def joined(self, caller: Caller) -> Opening | None:
        """A caller came: what is known of its exchanges before they begin. None: no room for it."""

    def left(self, caller: Caller) -> None:
        """A caller is gone."""


def write(transport: asyncio.Transport, data: bytes) -> None:
    """Write now. A transport that has just closed raises; its `connection_lost` says the rest."""
    try:
        transport.write(data)
    except (RuntimeError, OSError):
        return


def write_all(transport: asyncio.Transport | None, pieces: list[bytes]) -> None:
    """Write pieces in order; joined where that is cheaper than a system call that gathers them."""
    if transport is None or not pieces:
        return
    if len(pieces) == 1 or sum(map(len, pieces)) <= JOINED:
        write(transport, b"".join(pieces) if len(pieces) > 1 else pieces[0])
        return
    try:
        transport.writelines(pieces)
    except (RuntimeError, OSError):
        return


def write_eof(transport: asyncio.Transport) -> None:
    """Pass a FIN on. TLS transports cannot half-close: there it closes."""
    try:
        if transport.can_write_eof():
            transport.write_eof()
        else:
            transport.close()
    except (RuntimeError, OSError):
        return


def words(fault: BaseException | None) -> str:
    """A fault in the system's own words; empty for none."""
    if fault is None:
        return ""
    system = fault.strerror if isinstance(fault, OSError) else None
    return system or str(fault) or type(fault).__name__


def address_of(transport: asyncio.BaseTransport, end: str) -> str:
    """`host:port` of an end (`peername` or `sockname`); empty when it is gone already."""
    address = transport.get_extra_info(end)
    if not isinstance(address, tuple):
        return ""
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Upstream(asyncio.Protocol):
    """The upstream's connection, made for one caller and closed with it."""

    def __init__(self, caller: Caller) -> None:
        self.transport: asyncio.Transport | None = None
        self._caller: Caller | None = caller
        self._now = caller.session.now
        self._finished = False
        self._quiet_ns = 0
        """When something last passed, or could: silence is counted from there."""
        self._watch: asyncio.TimerHandle | None = None

    # From the loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected, TLS included."""
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(*UNSENT)
        self._quiet_ns = self._now()
        if self._caller is None or self._caller.transport is None:
            self.transport.close()
            return
        self._caller.connected(self, self._quiet_ns, address_of(transport, "peername"))
        timeout_s = self._caller.session.read_timeout_s
        if timeout_s is not None:
            self._look(timeout_s)

    def data_received(self, data: bytes) -> None:
        """Pass the upstream's bytes on, then let the tap hear them. The hot path."""
        at = self._now()
        self._quiet_ns = at
        caller = self._caller
        if caller is None or (transport := caller.transport) is None:
            return
        write(transport, data)
        own = None if transport.get_write_buffer_size() else self._now() - at
        caller.listen(Pairing.reply, data, at, own, size=len(data))
        if caller.requests.may_switch:
            caller.session.notes.settle()

    def eof_received(self) -> bool:
        """The upstream will send no more: so the caller is told."""
        at = self._now()
        self._finished = True
        caller = self._caller
        if caller is None:
            return False
        caller.listen(Pairing.upstream_finished, at)
        if caller.transport is not None:
            write_eof(caller.transport)
        if caller.finished:
            caller.close()
        elif caller.idle:
            asyncio.get_running_loop().call_later(HALF_CLOSED_S, caller.close)
        return self.transport is not None and self.transport.can_write_eof()

    def connection_lost(self, exc: Exception | None) -> None:
        """The upstream is gone; if it broke off, the caller sees it broken."""
        if self._watch is not None:
            self._watch.cancel()
        if exc is not None and self.transport is not None and self._caller is not None:
            early = self._caller.session.unread(self.transport)
            if early:
                self.data_received(early)
        self.transport = None
        caller, self._caller = self._caller, None
        if caller is None:
            return
        caller.upstream = None
        if exc is not None:
            caller.cut(Outcome.upstream_aborted, words(exc), drain=True)
        else:
            self._closed(caller)

    def _closed(self, caller: Caller) -> None:
        at = self._now()
        if not self._finished:
            caller.listen(Pairing.upstream_finished, at)
        caller.listen(Pairing.close, Outcome.complete, "", at)
        caller.close()

    def pause_writing(self) -> None:
        """The upstream does not read: neither do we read the caller."""
        if self._caller is not None and self._caller.transport is not None:
            self._caller.transport.pause_reading()

    def resume_writing(self) -> None:
        """The upstream has taken everything."""
        if self._caller is not None and self._caller.transport is not None:
            self._caller.transport.resume_reading()
        self.note_sent()

    # From the caller's side

    def send(self, pieces: list[bytes]) -> None:
        """Pass the caller's bytes on."""
        self._quiet_ns = self._now()
        write_all(self.transport, pieces)

    def caller_finished(self) -> None:
        """The caller sent its FIN."""
        if self.transport is None:
            return
        if self._finished and self._caller is not None:
            self._caller.close()
        else:
            write_eof(self.transport)

    def caller_lost(self, *, reset: bool) -> None:
        """The caller is gone."""
        caller, self._caller = self._caller, None
        if self.transport is None or caller is None:
            return
        if reset:
            caller.session.break_off(self.transport, drain=False)
        else:
            self.transport.close()

    def pause_reading(self) -> None:
        """Read no more for now."""
        if self.transport is not None:
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
        self._quiet_ns = self._now()
        if self.transport is not None:
            self.transport.resume_reading()

    def note_sent(self) -> None:
        """If all that was written is with the kernel, the request has been sent."""
        transport, caller = self.transport, self._caller
        if transport is None or caller is None or transport.get_write_buffer_size():
            return
        at = self._now()
        caller.listen(Pairing.sent, at)

    # The configured read time-out

    def _look(self, timeout_s: float) -> None:
        caller = self._caller
        if caller is None or self.transport is None:
            return
        silent_s = (self._now() - self._quiet_ns) / 1e9 if self._due(caller) else 0.0
        if silent_s >= timeout_s:
            caller.cut(Outcome.upstream_timeout, f"silent for {timeout_s:g} s", drain=True)
            return
        loop = asyncio.get_running_loop()
        self._watch = loop.call_later(timeout_s - silent_s, self._look, timeout_s)

    def _due(self, caller: Caller) -> bool:
        """Whether it is the upstream that should do something, and could."""
        caller.session.notes.settle()
        flow = caller.pairing.current if caller.pairing is not None else None
        if flow is None or self.transport is None:
            return False
        if caller.transport is not None and caller.transport.get_write_buffer_size():
            return False  # what it says is not read before the caller has read what it said
        unsent = self.transport.get_write_buffer_size() > 0
        return flow.requested or caller.requests.raw or unsent
