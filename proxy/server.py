"""The composition root: listeners, sessions, the recorder, signals, shutdown.

One rule: everything is wired here and nowhere else, and everything started here is ended here.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import resource
import signal
import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import msgspec
import uvloop

from . import __version__, clock, ranks
from .address import Address
from .caller import Caller
from .greeting import exposure, greeting
from .handoff import Handoff
from .lateness import Lateness
from .log import Event, Log
from .recording import Recording
from .session import Floor, RouteSession
from .settings import Settings
from .upstream import Reach
from .wire.exchange import Outcome

if TYPE_CHECKING:
    from .config import Config, Route

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_STEP_S: Final = 0.02
_FEWEST: Final = 8
"""Callers at once; with fewer the proxy would turn a browser away."""


class StartError(Exception):
    """The proxy cannot start: a sentence that says what, where and what to do."""


def run(config: Config) -> int:
    """Serve until a signal. Returns the exit code. Raises StartError."""
    _prepare_folder(config)
    return uvloop.run(_Server(config).serve())


class _Server:
    """One run of the proxy."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._log = Log(sys.stderr.fileno(), config.console.format)
        since = clock.unix_ns() - clock.monotonic_ns()
        recorder = config.recorder
        bounds = (recorder.queue_bytes, recorder.retain_bytes)
        self._tap = Handoff(*bounds, lambda at: at + since, self._lags)
        self._floor = Floor(self._tap, self._log, _connections_limit())
        self._listeners: list[asyncio.Server] = []
        self._signals: list[signal.Signals] = []
        self._signalled = asyncio.Event()
        self._recording = self._make_recording()
        self._lateness = Lateness(self._tap)

    async def serve(self) -> int:
        """Listen, then wait for a signal, then end in good order."""
        await _refuse_cycles(self._config.route)
        loop = asyncio.get_running_loop()
        self._recording.start()
        try:
            routes = [await self._listen(route) for route in self._config.route]
        except StartError:
            await self._recording.stop(0.0)
            raise
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._signal, number)
        self._greet(routes)
        self._lateness.start()
        gc.collect()
        gc.freeze()  # what lives as long as the process is not looked at again
        gc.set_threshold(20_000, 50, 50)
        await self._signalled.wait()
        return await self._stop()

    def _lags(self) -> None:
        sentence = "the recorder does not keep up: content is left out, times are kept"
        self._log.say(Event.RECORDER_LAGGED, sentence, left_out_bytes=self._tap.left_out_bytes)

    def _make_recording(self) -> Recording:
        config, kept = self._config, ranks.unpack(ranks.cache_folder(os.environ))
        if kept.problem:
            self._log.say(Event.COUNTING_OFF, kept.problem, detail=kept.problem)
        started = datetime.fromtimestamp(clock.unix_ns() / 1e9, UTC)
        settings = Settings(
            run=f"{started:%Y%m%dT%H%M%S}-{os.getpid()}",
            journal=str(config.journal.dir),
            nice=config.recorder.nice,
            retain_bytes=config.recorder.retain_bytes,
            quiet=config.console.quiet,
            form=config.console.format,
            asking=config.tokenizer.server,
            tokenizer_file=str(config.tokenizer.file) if config.tokenizer.file else None,
        )
        return Recording(self._tap, settings, kept.environment, self._log, clock.monotonic_ns)

    async def _listen(self, route: Route) -> Route:
        """Listen for one route; return it with the port it got."""
        session = RouteSession(route, self._floor)
        where = (route.listen.host, route.listen.port)
        try:
            listener = await asyncio.get_running_loop().create_server(
                lambda: Caller(session), *where, backlog=1024
            )
        except OSError as fault:
            raise StartError(_cannot_listen(route, fault)) from fault
        self._listeners.append(listener)
        port = listener.sockets[0].getsockname()[1]
        return msgspec.structs.replace(route, listen=replace(route.listen, port=port))

    def _greet(self, routes: list[Route]) -> None:
        log, journal = self._log, str(self._config.journal.dir)
        sentence = f"turnscope {__version__} records to {journal}"
        log.say(
            Event.PROXY_STARTED, sentence, version=__version__, pid=os.getpid(), journal=journal
        )
        for route in routes:
            keys = {"listen": str(route.listen), "upstream": str(route.upstream)}
            base_url = f"{route.listen.client_url}/v1"
            named = {"label": route.label, "base_url": base_url}
            log.say(Event.ROUTE_LISTENING, greeting(route), **keys, **named)
            if risk := exposure(route):
                log.say(Event.ROUTE_EXPOSED, risk, **keys)

    def _signal(self, number: signal.Signals) -> None:
        self._signals.append(number)
        self._signalled.set()

    async def _stop(self) -> int:
        """No new callers; idle ones close at once, streams get their grace; then the recorder drains."""
        config, open_now = self._config.relay, len(self._tap.open_exchanges)
        for listener in self._listeners:
            listener.close()
        exchanges = "1 exchange" if open_now == 1 else f"{open_now} exchanges"
        sentence = f"stopping; in flight: {exchanges}, with {config.grace_s:g} s to end"
        name = self._signals[0].name
        self._log.say(
            Event.PROXY_STOPPING, sentence, signal=name, in_flight=open_now, grace_s=config.grace_s
        )
        await self._let_finish(config.grace_s)
        cut = self._cut_the_rest()
        for dial in self._floor.dials:
            dial.cancel()
        while self._floor.tasks:
            await asyncio.wait(self._floor.tasks)
        self._lateness.stop()
        await self._recording.stop(config.drain_s)
        lost = self._tap.lost_in_all
        sentence = f"stopped: {cut} exchanges cut, {lost} records lost"
        self._log.say(
            Event.PROXY_STOPPED, sentence, exchanges=self._tap.exchanges, cut=cut, lost=lost
        )
        return 0

    async def _let_finish(self, grace_s: float) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + grace_s
        while self._floor.callers and loop.time() < deadline and len(self._signals) < 2:
            for caller in [c for c in self._floor.callers if c.idle]:
                caller.close()
            await asyncio.sleep(_STEP_S)

    def _cut_the_rest(self) -> int:
        cut = len(self._tap.open_exchanges)
        for caller in list(self._floor.callers):
            caller.cut(Outcome.shutdown, "this proxy was stopped", drain=True)
        return cut


def _prepare_folder(config: Config) -> None:
    folder = config.journal.dir
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe = folder / f".writable-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as fault:
        remedy = "make it writable, or choose another with --journal DIR"
        raise StartError(
            f"the journal folder {folder} cannot be written ({fault.strerror}); {remedy}"
        ) from fault


def _cannot_listen(route: Route, fault: OSError) -> str:
    if fault.errno == errno.EADDRINUSE:
        return f"{route.listen} is in use already; stop what listens there, or choose another port with --listen"
    return f"cannot listen on {route.listen} ({fault.strerror or fault}); choose another address with --listen"


async def _refuse_cycles(routes: tuple[Route, ...]) -> None:
    """A route that leads back to a listener of ours would send each request round for ever."""
    for route in routes:
        try:
            found = await Reach(route.upstream, route.connect_timeout_s).addresses()
        except OSError:
            continue  # it may come up later; each caller is told until then
        ends = [Address(address, route.upstream.port) for address in found]
        for other in routes:
            if any(other.listen.overlaps(end) for end in ends):
                raise StartError(
                    f"the upstream {route.upstream} is this proxy's own listener {other.listen}; "
                    "give the inference server's own address as the upstream"
                )


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
