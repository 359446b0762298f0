"""The relay alone, on real sockets, in the test's own loop, with a tap that keeps all it is told.

async with Upstream([Await(), Send(reply)]) as up, Splice(up.url) as splice:
    async with await Caller.connect(splice.port) as caller: ...
    assert splice.tap.outcomes == ["complete"]
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, Self

from proxy.address import Address, Origin
from proxy.config import Route
from proxy.listening import listen
from proxy.log import Log
from proxy.session import Floor, RouteSession
from proxy.wire.flow import Flow
from proxy.wire.frame import Frame, Kind, Mark
from proxy.wire.notes import Notes

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.wire.exchange import Ending, Opening


class KeepingTap:
    """A `Tap` that keeps frames, and can be told to fail."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.endings: dict[int, Ending] = {}
        self.failing_kinds: set[Kind] = set()
        """Frames of these kinds are refused with an error."""
        self._ended = asyncio.Event()

    def open(self, connection: Opening, at_ns: int) -> Flow:
        """Number it and keep its first frame."""
        number = sum(frame.kind is Kind.OPEN for frame in self.frames) + 1
        self.put(Kind.OPEN, number, at_ns, connection.encode())
        return Flow(number)

    def put(self, kind: Kind, number: int, at_ns: int, data: bytes, code: int = 0) -> None:
        """Keep a frame, or fail as told."""
        if kind in self.failing_kinds:
            raise RuntimeError("the tap was told to fail")
        self.frames.append(Frame(kind, number, at_ns, data, len(data), code))

    def end(self, flow: Flow, ending: Ending, at_ns: int) -> None:
        """Keep the last word, once."""
        assert flow.number not in self.endings, "an exchange ends once"
        self.endings[flow.number] = ending
        self.put(Kind.END, flow.number, at_ns, ending.encode())
        self._ended.set()

    def soon(self, work: Callable[[], None]) -> None:
        """Do it a little later, as the hand-off does."""
        asyncio.get_running_loop().call_later(0.002, work)

    @property
    def outcomes(self) -> list[str]:
        """Outcomes of the exchanges that ended, in order of their numbers."""
        return [ending.outcome.name for _, ending in sorted(self.endings.items())]

    @property
    def opened(self) -> int:
        """Exchanges that began."""
        return sum(frame.kind is Kind.OPEN for frame in self.frames)

    def bytes_of(self, kind: Kind, number: int = 1) -> bytes:
        """All bytes of one direction of an exchange."""
        pieces = (f.data for f in self.frames if f.kind is kind and f.exchange == number)
        return b"".join(pieces)

    def mark(self, mark: Mark, number: int = 1) -> int | None:
        """The time of a mark; None if it was not made."""
        marks = (f for f in self.frames if f.kind is Kind.MARK and f.exchange == number)
        return next((f.at_ns for f in marks if f.code == mark), None)

    async def ended(self, count: int = 1, within: float = 5.0) -> list[str]:
        """Wait until so many exchanges have ended; return the outcomes."""
        async with asyncio.timeout(within):
            while len(self.endings) < count:
                self._ended.clear()
                await self._ended.wait()
        return self.outcomes


class Splice:
    """One route, listening on a free port."""

    def __init__(self, upstream: str, **route: Any) -> None:
        self._route = Route(
            listen=Address("127.0.0.1", 0),
            upstream=Origin.parse(upstream, "http://127.0.0.1:0"),
            **route,
        )
        self._tap = KeepingTap()
        self.port = 0

    @property
    def tap(self) -> KeepingTap:
        """With all that was noted by now."""
        self._floor.notes.settle()
        return self._tap

    @property
    def floor(self) -> Floor:
        """The same of the counts."""
        self._floor.notes.settle()
        return self._floor

    async def __aenter__(self) -> Self:
        self._fd = os.open(os.devnull, os.O_WRONLY)
        notes = Notes(self._tap.soon)
        self._floor = Floor(self._tap, Log(self._fd, "json"), notes, 1000)  # type: ignore[arg-type]
        session = RouteSession(self._route, self._floor)
        self.doorway = session.doorway
        self._server = await listen(self._route, session, self.doorway)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for caller in list(self.floor.callers):
            caller.close()
        async with asyncio.timeout(10):
            while self.floor.tasks or self.floor.dials or self.floor.callers:
                for caller in list(self.floor.callers):
                    if caller.transport is not None:
                        caller.transport.abort()
                await asyncio.sleep(0.005)
        await self._server.wait_closed()
        os.close(self._fd)
