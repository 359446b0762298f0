"""The splice, its caller half: it owns the pair, holds what must be held, and says when it ends.

One rule: the same as `relay`'s: bytes first, and no fault of the tap reaches one. A caller's bytes wait
only for an upstream that is being dialled, and for the rest of a head whose `Host` is to be rewritten.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from .relay import UNSENT, words, write, write_eof
from .wire.exchange import Outcome
from .wire.pairing import Pairing
from .wire.request_side import RequestSide, Step

if TYPE_CHECKING:
    from .relay import Session, Upstream
    from .wire.notes import Hear
    from .wire.request_side import Cut

HOLD_S: Final = 1.0
"""How long part of a head may be held before it goes on as it is."""

LINGER_S: Final = 5.0
"""How long a refused caller may go on sending before its connection is closed (RFC 9112 section 9.6)."""


class Refusal(NamedTuple):
    """Why there is no upstream, and what the caller is told."""

    reply: bytes
    detail: str
    outcome: Outcome


class Caller(asyncio.Protocol):
    """The caller's connection. It owns the pair."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.transport: asyncio.Transport | None = None
        self.upstream: Upstream | None = None
        self.finished = False
        """True once the caller's FIN came."""
        self.requests = RequestSide(session.host)
        self.pairing: Pairing | None = None
        """None once the tap has failed for this connection, and before it is made."""
        self._waiting: list[bytes] = []
        """What came before there was an upstream: one read at most."""
        self._dialling = False
        self._over = False
        """True once the pair was cut: what still comes is read and forgotten."""
        self._refusal: Refusal | None = None
        self._hold: asyncio.TimerHandle | None = None

    # From the loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A caller connected: nothing is dialled before its first byte."""
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(*UNSENT)
        opening = self.session.joined(self)
        if opening is None:
            self._over = True
            self.transport.abort()
            return
        self.pairing = Pairing(self.session.tap, opening)

    def data_received(self, data: bytes) -> None:
        """Pass the caller's bytes on, then let the tap hear them."""
        at = self.session.now()
        if self._over or (self._refusal is not None and not self.requests.holding):
            return
        passage = self._cut(data)
        if passage is None:
            return
        pieces, cuts = passage
        if self.upstream is not None:
            self.upstream.send(pieces)
        else:
            self._waiting += pieces
        self.listen(Pairing.request, data, cuts, at, size=len(data))
        if self.upstream is None:
            self._without_upstream(at)
        elif cuts and cuts[-1].step is Step.ENDED:
            self.upstream.note_sent()
        self._arm_hold()

    def eof_received(self) -> bool:
        """Pass the FIN on; the reply may still come."""
        self.finished = True
        self._release()
        self.listen(Pairing.caller_finished)
        if self.upstream is not None:
            self.upstream.caller_finished()
        elif self._refusal is not None or not self._dialling:
            self.close()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """The caller is gone: the upstream is told in the same way."""
        at = self.session.now()
        if self._refusal is not None:
            outcome, detail = self._refusal.outcome, self._refusal.detail
        else:
            outcome = Outcome.complete if exc is None else Outcome.client_gone
            detail = words(exc)
        self.listen(Pairing.close, outcome, detail, at)
        self.transport = None
        self.session.left(self)
        if self._hold is not None:
            self._hold.cancel()
        upstream, self.upstream = self.upstream, None
        if upstream is not None:
            upstream.caller_lost(reset=exc is not None)

    def pause_writing(self) -> None:
        """The caller does not read: neither do we read the upstream."""
        at = self.session.now()
        if self.upstream is not None:
            self.upstream.pause_reading()
        self.listen(Pairing.stalled, at)

    def resume_writing(self) -> None:
        """The caller has read everything."""
        at = self.session.now()
        if self.upstream is not None:
            self.upstream.resume_reading()
        self.listen(Pairing.flowing, at)

    # From the upstream's side and from the session

    def connected(self, upstream: Upstream, at_ns: int, address: str) -> None:
        """The upstream connection is ready: what waited goes out now."""
        self._dialling = False
        self.upstream = upstream
        waiting, self._waiting = self._waiting, []
        upstream.send(waiting)
        self.listen(Pairing.connected, at_ns, address)
        upstream.note_sent()
        if self.finished:
            upstream.caller_finished()
        elif self.transport is not None:
            self.transport.resume_reading()

    def refused(self, refusal: Refusal) -> None:
        """No upstream: say so once the request head is in, then close."""
        self._dialling = False
        self._refusal = refusal
        self._waiting.clear()
        if self.transport is None:
            return
        self.transport.resume_reading()
        if not self.requests.holding:
            self._refuse(refusal)

    def listen(self, hear: Hear, *args: object, size: int = 0) -> None:
        """Let the tap hear something, a moment later: a method of `Pairing` and what it is told."""
        if self.pairing is not None:
            self.session.notes.add(self, hear, args, size)

    def hear(self, hear: Hear, args: tuple[object, ...]) -> None:
        """The moment has come. The tap's faults end the listening, never the connection."""
        pairing = self.pairing
        if pairing is None:
            return
        try:
            hear(pairing, *args)
        except Exception as fault:  # noqa: BLE001  whatever it is, the bytes go on
            self.deafen(fault)
            return
        if pairing.tunnel and not self.requests.raw and self.upstream is not None:
            self.upstream.send(self.requests.release())

    def deafen(self, fault: Exception) -> None:
        """The tap has failed: this connection goes on unheard, and what was open ends as our fault."""
        pairing, self.pairing = self.pairing, None
        self.session.tap_failed(fault)
        if pairing is not None:
            with contextlib.suppress(Exception):
                pairing.close(Outcome.proxy_error, type(fault).__name__, self.session.now())

    @property
    def idle(self) -> bool:
        """True when nothing is under way: no open exchange and no part of a head."""
        self.session.notes.settle()
        return self.requests.between and (self.pairing is None or self.pairing.idle)

    def close(self) -> None:
        """End the pair in good order: what was written still goes out."""
        if self.transport is not None:
            self.transport.close()
        if self.upstream is not None and self.upstream.transport is not None:
            self.upstream.transport.close()

    def cut(self, outcome: Outcome, detail: str, *, drain: bool) -> None:
        """End the pair so that both sides can tell that it was cut."""
        at = self.session.now()
        self._over = True
        self.listen(Pairing.close, outcome, detail, at)
        upstream, self.upstream = self.upstream, None
        if upstream is not None:
            upstream.caller_lost(reset=True)
        if self.transport is not None:
            self.session.break_off(self.transport, drain=drain)

    # Steps

    def _cut(self, data: bytes) -> tuple[list[bytes], list[Cut]] | None:
        try:
            return self.requests.feed(data)
        except Exception as fault:  # noqa: BLE001  whatever it is: nobody knows what has gone on
            self.session.tap_failed(fault)
            self.cut(Outcome.proxy_error, type(fault).__name__, drain=False)
            return None

    def _without_upstream(self, at_ns: int) -> None:
        if self._refusal is not None:
            if not self.requests.holding:
                self._refuse(self._refusal)
        elif not self._dialling and self.transport is not None:
            self._dialling = True
            self.transport.pause_reading()
            self.session.dial(self)
            self.listen(Pairing.dialled, at_ns)

    def _refuse(self, refusal: Refusal) -> None:
        at = self.session.now()
        self.listen(Pairing.close, refusal.outcome, refusal.detail, at)
        if self.requests.raw or self.transport is None:
            self.close()  # whatever it speaks, it would not understand an HTTP reply
            return
        write(self.transport, refusal.reply)
        write_eof(self.transport)
        asyncio.get_running_loop().call_later(LINGER_S, self.close)

    def _arm_hold(self) -> None:
        holding = self.requests.holding
        if not holding and self._hold is not None:
            self._hold.cancel()
            self._hold = None
        elif holding and self._hold is None:
            self._hold = asyncio.get_running_loop().call_later(HOLD_S, self._release)

    def _release(self) -> None:
        self._hold = None
        if not self.requests.holding:
            return
        at = self.session.now()
        pieces = self.requests.release()
        if self.upstream is not None:
            self.upstream.send(pieces)
        else:
            self._waiting += pieces
        self.listen(Pairing.unframed, at)
        if self._refusal is not None:
            self._refuse(self._refusal)
