"""One route while it runs: what its connections need, given to the relay from outside.

One rule: it holds the world for the relay (clock, dialling, closing, the tap), so that the relay itself
imports nothing but wire.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from . import clock
from .closing import drain_then_reset, reset, unread
from .doorway import Doorway
from .log import Event
from .relay import address_of
from .upstream import Reach
from .wire.exchange import Opening

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from .caller import Caller
    from .config import Route
    from .handoff import Handoff
    from .log import Log
    from .wire.notes import Notes


@dataclass(slots=True)
class Floor:
    """What all routes of one process share."""

    tap: Handoff
    log: Log
    notes: Notes
    connections_limit: int
    callers: set[Caller] = field(default_factory=set)
    connections: int = 0
    """Callers so far: the number of the last one."""
    turned_away: int = 0
    """Callers for whom there was no room, or who are not in the allow-list."""
    tap_failures: int = 0
    dials: set[asyncio.Task[None]] = field(default_factory=set)
    """Connections that are being made: nobody waits for them at the end."""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    """Connections that are being broken off: each is bounded, and waited for."""

    def start(self, work: Coroutine[None, None, None], kept: set[asyncio.Task[None]]) -> None:
        """Run something to its end; until then it is in `kept`."""
        task = asyncio.get_running_loop().create_task(work)
        kept.add(task)
        task.add_done_callback(kept.discard)


class RouteSession:
    """The relay's `Session` for one route."""

    def __init__(self, route: Route, floor: Floor) -> None:
        self._route = route
        self._floor = floor
        self._reach = Reach(route.upstream, route.connect_timeout_s)
        self.doorway = Doorway(route, floor)
        self.tap = floor.tap
        self.notes = floor.notes
        self.now = clock.monotonic_ns
        self.host = route.upstream.authority.encode() if route.host == "upstream" else None
        self.read_timeout_s = route.read_timeout_s

    def joined(self, caller: Caller) -> Opening | None:
        """A caller came: what all its exchanges share. None when there is no room for one more."""
        floor, transport = self._floor, caller.transport
        if transport is None or len(floor.callers) >= floor.connections_limit:
            self.doorway.have_no_room()
            return None
        floor.callers.add(caller)
        floor.connections += 1
        return Opening(
            at_unix_ns=0,
            connection=floor.connections,
            route=address_of(transport, "sockname"),
            label=self._route.label,
            upstream=str(self._route.upstream),
            peer=address_of(transport, "peername"),
        )

    def left(self, caller: Caller) -> None:
        """A caller is gone."""
        self._floor.callers.discard(caller)

    def dial(self, caller: Caller) -> None:
        """Connect to the upstream for this caller."""
        if caller.requests.tls_hello and caller.transport is not None:
            self.doorway.hear_tls(address_of(caller.transport, "peername"))
        self._floor.start(self._reach.connect(caller), self._floor.dials)

    def break_off(self, transport: asyncio.Transport, *, drain: bool) -> None:
        """End a connection with a reset."""
        if drain:
            self._floor.start(drain_then_reset(transport), self._floor.tasks)
        else:
            reset(transport)

    def unread(self, transport: asyncio.BaseTransport) -> bytes:
        """What the peer had sent before a write to it failed."""
        return unread(transport)

    def tap_failed(self, fault: Exception) -> None:
        """The tap is deaf for one connection from now on."""
        self._floor.tap_failures += 1
        # The type alone: a fault's text may quote the bytes it choked on.
        self._floor.log.say(Event.TAP_FAILED, detail=type(fault).__name__)
