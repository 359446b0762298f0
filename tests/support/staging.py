"""The moments of an exchange at which something may end it, set up on real sockets.

    async with Play("mid stream", splice.port, up) as play:
        await play.end("upstream reset")
        assert "reset" == await play.caller.wait_end()

One rule: a moment is waited for at both ends, so that what follows begins where the name says. The
upstream never acts by itself: what it does is in `play.end`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from proxy.dialects import opaque, table
from proxy.journal.derive import Context, derive, understand
from proxy.journal.record import Load
from proxy.wire.exchange import Ending, Opening
from proxy.wire.frame import Kind
from proxy.wire.tape import Tape
from tests.support.bodies import STREAM_HEAD, chunk, delta, head
from tests.support.caller import Caller
from tests.support.talk import BODY, DONE, END
from tests.support.upstream import Call, Connection, Upstream

if TYPE_CHECKING:
    from proxy.journal.record import Record
    from tests.support.splice import KeepingTap

ASKED = head("POST /v1/chat/completions HTTP/1.1", "Host: in.test", f"Content-Length: {len(BODY)}")
"""The request's head. Routes of these plays keep `Host`, so the upstream sees these very bytes."""

OPENER, WORD = chunk(delta("", role="assistant")), chunk(delta("Hello"))
REPLY = STREAM_HEAD + OPENER + WORD + DONE + END
ERROR = head("HTTP/1.1 400 Bad Request", "Content-Length: 0", "Connection: close")
"""What a server says to half of a request."""

MOMENTS = {
    "connecting": (ASKED + BODY, b""),
    "request head": (ASKED[:30], b""),
    "request body": (ASKED + BODY[:30], b""),
    "waiting": (ASKED + BODY, b""),
    "reply head": (ASKED + BODY, STREAM_HEAD),
    "first event": (ASKED + BODY, STREAM_HEAD + OPENER),
    "mid stream": (ASKED + BODY, STREAM_HEAD + OPENER + WORD),
    "between exchanges": (ASKED + BODY, REPLY),
}
"""Each moment: what the caller has sent and what the upstream has said."""


class Script:
    """The upstream's script: it does nothing, until the block of its play ends."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.steps = [Call(lambda _: self.over.wait())]


class Play:
    """One caller at one moment."""

    def __init__(self, moment: str, port: int, up: Upstream | None, number: int = 0) -> None:
        """`up` is None where nobody can be reached; `number` is that of its connection there."""
        self.moment = moment
        self.asked, self.said = MOMENTS[moment]
        self._port, self._up, self._number = port, up, number
        self.there: Connection | None = None

    async def __aenter__(self) -> Self:
        self.caller = await Caller.connect(self._port)
        await self.caller.send(self.asked)
        if self._up is not None:
            self.there = await self._up.connection(self._number)
            await self._arrive(self.there)
        return self

    async def _arrive(self, there: Connection) -> None:
        if self.moment == "connecting":
            await there.read_exactly(1)  # the beginning of a TLS handshake that is never answered
        elif self.moment != "request head":  # that one is held
            await there.read_exactly(len(self.asked))
        if self.said:
            await there.send(self.said)
            await self.caller.read_exactly(len(self.said))

    async def __aexit__(self, *_: object) -> None:
        self.caller.close()
        if self.there is not None:
            self.there.close()

    # Who ends it

    async def end(self, who: str) -> None:
        """Do what ends the exchange; nothing for those who are silent."""
        side, _, how = who.partition(" ")
        actor = {"caller": self.caller, "upstream": self.there}.get(side)
        if actor is None:
            return
        if how.startswith("FIN"):
            await actor.fin()
        elif how == "reset":
            actor.reset()

    async def answer(self, rest: bytes) -> None:
        """The upstream has seen the caller's FIN, and says what it still has to say."""
        assert self.there is not None
        assert "fin" == await self.there.wait_end()
        await self.there.send(rest)
        await self.there.fin()


def record_of(tap: KeepingTap, number: int) -> Record:
    """What the recorder would make of an exchange that has ended."""
    first, *rest = [frame for frame in tap.frames if frame.exchange == number]
    tape = Tape(
        number,
        Opening.decode(first.data),
        first.at_ns,
        lambda request, start, reply: table.choose(request, start).reply_reader(request, reply),
    )
    for frame in rest[:-1]:
        tape.take(frame)
    assert rest[-1].kind is Kind.END
    exchange = tape.seal(Ending.decode(rest[-1].data), rest[-1].at_ns)
    asked = exchange.request
    dialect = table.choose(asked, exchange.request_body) if asked else opaque.Opaque()
    return derive(exchange, understand(exchange, dialect), Context("run", Load(), None)).record
