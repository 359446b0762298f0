"""Bytes both ways over a relay, and what each end must have got: an oracle that shares no code with it.

    found = await talk(Side(b"asked", seed), Side(b"told", seed, last=True))
    assert found.asked == b"asked"

One rule: what must arrive is put together from the parts of a message, never cut out of its bytes, so
that no parser of the product's, and none at all, has a say in it.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support.caller import Caller
from tests.support.cuts import at_random
from tests.support.splice import Splice
from tests.support.upstream import Call, Upstream

if TYPE_CHECKING:
    from tests.support.edge import Endpoint

WITHIN_S = 8.0


@dataclass(frozen=True)
class Side:
    """What one end sends, and when it stops."""

    data: bytes
    seed: int
    longest: int = 400
    """Bytes of a piece."""
    last: bool = False
    """True: it sends its FIN only when the other's has come. Not both may wait for each other."""

    behind: bytes = b""
    """What must have come before it says anything."""

    async def play(self, end: Endpoint) -> None:
        """Send all in pieces, some after a pause, then the FIN; then wait for the other's."""
        draw = random.Random(self.seed)
        if self.behind:
            await end.read_until(self.behind, WITHIN_S)
        for piece in at_random(self.data, self.seed, self.longest):
            if draw.random() < 0.1:
                await asyncio.sleep(draw.choice((0, 0, 0.001, 0.003)))
            await end.send(piece, within=WITHIN_S)
        if self.last:
            await end.wait_end(within=WITHIN_S)
        await end.fin()
        if not self.last:
            await end.wait_end(within=WITHIN_S)


@dataclass(frozen=True)
class Passed:
    """What came at either end, and how each saw the other end."""

    asked: bytes
    told: bytes
    ends: tuple[str | None, str | None]
    """As the upstream saw it, as the caller did."""
    outcomes: list[str]
    """Of the exchanges that the tap was told of."""
    opened: int
    port: int
    """The upstream's."""


async def talk(asking: Side, telling: Side, host: str = "upstream") -> Passed:
    """One connection over a relay of its own."""
    script = [Call(telling.play)]
    async with Upstream(script) as up, Splice(up.url, host=host) as splice:
        async with await Caller.connect(splice.port) as caller:
            await asking.play(caller)
            connection = await up.connection(0)
            await asyncio.wait_for(connection.script_over.wait(), WITHIN_S)
            if connection.fault is not None:
                raise connection.fault
            told = bytes(caller.received)
        ends = (connection.ended, caller.ended)
        await splice.tap.ended(splice.tap.opened)
        outcomes, opened = splice.tap.outcomes, splice.tap.opened
        return Passed(bytes(connection.received), told, ends, outcomes, opened, up.port)


@dataclass(frozen=True)
class Sent:
    """A request by its parts."""

    method: str
    before: str
    """The target's scheme and authority, empty for one in origin-form."""
    target: str
    fields: tuple[tuple[str, str, str, bool], ...]
    """Of each its name with the colon and the blanks, its value, its line end, whether it is `Host`."""
    body: bytes
    end: str = "\r\n"

    def wire(self, host: bytes | None = None) -> bytes:
        """Its bytes as sent; with `host` as they must arrive."""
        before = "" if host is not None else self.before
        lines = f"{self.method} {before}{self.target} HTTP/1.1{self.end}".encode("latin-1")
        for name, value, end, is_host in self.fields:
            said = host if host is not None and is_host else value.encode("latin-1")
            lines += name.encode("latin-1") + said + end.encode()
        return lines + self.end.encode() + self.body
