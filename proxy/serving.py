"""One relay process at work: its listeners, its sessions, the hot side of its pipe.

One rule: the main process and each further worker are the same thing here; what differs is who starts it
and who tells it to stop.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import resource
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec

from . import clock
from .handoff import Handoff
from .lateness import Lateness
from .listening import listen
from .log import Event
from .pipe import Pipe
from .session import Floor, RouteSession
from .slots import Figures
from .wire.exchange import Outcome
from .wire.notes import Notes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .config import Config, Route
    from .listening import Listener
    from .log import Log
    from .slots import Slots

_STEP_S: Final = 0.02
_FEWEST: Final = 8
"""Callers at once; with fewer the proxy would turn a browser away."""


class StartError(Exception):
    """The proxy cannot start: a sentence that says what, where and what to do."""


class Serving:
    """Everything that bytes pass through in this process."""

    def __init__(self, config: Config, log: Log, slots: Slots, index: int) -> None:
        """`index` is the slot of this process."""
        recorder = config.recorder
        bounds = (recorder.queue_bytes, recorder.retain_bytes)
        self._config = config
        self._log = log
        self._slots, self._index = slots, index
        self.tap = Handoff(*bounds, _unix_of, self._lags)
        self.pipe = Pipe(self.tap, log)
        self._notes = Notes(self.tap.soon)
        self._floor = Floor(self.tap, log, self._notes, _connections_limit())
        self._lateness = Lateness(self.tap, self.publish)
        self._listeners: list[Listener] = []

    async def listen(self, routes: Sequence[Route], *, shared: bool) -> list[Route]:
        """Listen for each; return them with the ports they got. Raises StartError.

        `shared`: other workers listen on the same ports.
        """
        return [await self._listen(route, shared=shared) for route in routes]

    def start(self) -> None:
        """Begin to look at itself; what lives as long as the process is not looked at again by the gc."""
        self._lateness.start()
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 50, 50)

    async def stop(self, hurried: Callable[[], bool]) -> int:
        """No new callers; idle ones close at once, streams get their grace. Returns how many were cut."""
        for listener in self._listeners:
            listener.close()
        await self._let_finish(hurried)
        cut = self._cut_the_rest()
        for dial in self._floor.dials:
            dial.cancel()
        while self._floor.tasks:
            await asyncio.wait(self._floor.tasks)
        self._lateness.stop()
        return cut

    async def drain(self, deadline: float) -> None:
        """Let the recorder write what this process has sent, until this time of the loop at most."""
        await self.pipe.drain(deadline)
        self.publish()

    async def _listen(self, route: Route, *, shared: bool) -> Route:
        session = RouteSession(route, self._floor)
        try:
            listener = await listen(route, session, session.doorway, reuse_port=shared)
        except OSError as fault:
            raise StartError(_cannot_listen(route, fault)) from fault
        self._listeners.append(listener)
        port = listener.sockets[0].getsockname()[1]
        got = msgspec.structs.replace(route, listen=replace(route.listen, port=port))
        session.doorway.route = got
        return got

    async def _let_finish(self, hurried: Callable[[], bool]) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._config.relay.grace_s
        while self._floor.callers and loop.time() < deadline and not hurried():
            for caller in [c for c in self._floor.callers if c.idle]:
                caller.close()
            await asyncio.sleep(_STEP_S)

    def _cut_the_rest(self) -> int:
        self._notes.settle()
        cut = len(self.tap.open_exchanges)
        for caller in list(self._floor.callers):
            caller.cut(Outcome.shutdown, "this proxy was stopped", drain=True)
        return cut

    def _lags(self) -> None:
        sentence = "the recorder does not keep up: content is left out, times are kept"
        self._log.say(Event.RECORDER_LAGGED, sentence, left_out_bytes=self.tap.left_out_bytes)

    def publish(self) -> None:
        """Write this process's figures into its slot."""
        self._notes.settle()
        tap, floor, late = self.tap, self._floor, self._lateness
        figures = Figures(
            pulse_ns=clock.monotonic_ns(),
            in_flight=len(tap.open_exchanges),
            callers=len(floor.callers),
            queued_bytes=tap.queued_bytes,
            exchanges=tap.exchanges,
            connections=floor.connections,
            turned_away=floor.turned_away,
            left_out_bytes=tap.left_out_bytes,
            lost=tap.lost_in_all,
            tap_failures=floor.tap_failures,
            looks=late.looks,
            late_ns=late.sum_ns,
            late_most_ns=late.most_ns,
        )
        self._slots.write(self._index, figures)


def _unix_of(at_ns: int) -> int:
    """The wall time of a stamp taken just now.

    Not by an offset from the start: the wall clock may be set meanwhile, and the monotonic one stands
    still while a laptop sleeps.
    """
    return at_ns + clock.unix_ns() - clock.monotonic_ns()


def _cannot_listen(route: Route, fault: OSError) -> str:
    if fault.errno == errno.EADDRINUSE:
        return f"{route.listen} is in use already; stop what listens there, or choose another port with --listen"
    return f"cannot listen on {route.listen} ({fault.strerror or fault}); choose another address with --listen"


def _connections_limit() -> int:
    """How many callers can be served: each takes two descriptors, and some are needed besides."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    most = 2**20 if hard == resource.RLIM_INFINITY else hard
    limit = most // 2 - 32
    if limit < _FEWEST:
        raise StartError(
            f"only {most} file descriptors are allowed, which is too few to serve callers; "
            "allow more: ulimit -n 1024"
        )
    return limit
