"""The composition root: the recorder, the relay processes, signals, shutdown.

One rule: everything is wired here and nowhere else, and everything started here is ended here.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING, Final

import msgspec
import uvloop

from . import __version__, ranks, slots
from .address import Address
from .certificate import exposed_key, exposure_of_key
from .greeting import base_url, exposure, exposure_reason, greeting
from .log import Event, Log
from .recording import Recording
from .serving import Serving, StartError
from .settings import Settings, gauged
from .upstream import Reach
from .workers import Workers, run_name

if TYPE_CHECKING:
    from .config import Config, Route
    from .status import Status

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def run(config: Config) -> int:
    """Serve until a signal. Returns the exit code. Raises StartError."""
    _prepare_folder(config)
    return uvloop.run(_Server(config).serve())


class _Server:
    """One run of the proxy."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._log = Log(sys.stderr.fileno(), config.console.format)
        self._signals: list[signal.Signals] = []
        self._signalled = asyncio.Event()
        self._hurried = asyncio.Event()
        self._count = config.relay.workers
        memory, self._slots = slots.make(self._count)
        self._serving = Serving(config, self._log, self._slots, 0)
        self._recording = self._make_recording()
        self._workers = Workers(self._recording, self._slots, memory, self._log)
        self._status: Status | None = None

    async def serve(self) -> int:
        """Listen, then wait for a signal, then end in good order."""
        await _refuse_cycles(self._config.route)
        loop = asyncio.get_running_loop()
        self._recording.join(run_name(os.getpid()), self._serving.pipe.attach)
        self._recording.start()
        try:
            routes = await self._listen()
            await self._start_status(routes)
        except StartError:
            await self._workers.stop(self._hurried)
            await self._recording.stop(0.0)
            raise
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._signal, number)
        self._greet(routes)
        self._serving.start()
        await self._signalled.wait()
        return await self._stop()

    async def _listen(self) -> list[Route]:
        several = self._count > 1
        if several:  # with a port that is shared nobody would be told that it is in use already
            probe = Serving(self._config, self._log, self._slots, 0)
            await probe.listen(self._config.route, shared=False)
            await probe.stop(lambda: True)
        routes = await self._serving.listen(self._config.route, shared=several)
        if several:
            shared = msgspec.structs.replace(self._config, route=tuple(routes))
            if why := await self._workers.start(shared):
                raise StartError(f"a worker cannot serve: {why}")
        return routes

    async def _start_status(self, routes: list[Route]) -> None:
        if self._config.status.enabled:
            from .status import Status  # noqa: PLC0415 -- 3 MB that only those pay who want it

            self._status = Status(self._fresh_slots, self._recording, self._workers, routes)
            await self._status.start(self._config.status.listen)

    def _make_recording(self) -> Recording:
        config, kept = self._config, ranks.unpack(ranks.cache_folder(os.environ))
        if kept.problem:
            self._log.say(Event.COUNTING_OFF, kept.problem, detail=kept.problem)
        settings = Settings(
            journal=str(config.journal.dir),
            keep_days=config.journal.keep_days,
            max_bytes=config.journal.max_bytes,
            nice=config.recorder.nice,
            retain_bytes=config.recorder.retain_bytes,
            quiet=config.console.quiet,
            form=config.console.format,
            asking=config.tokenizer.server,
            tokenizer_file=str(config.tokenizer.file) if config.tokenizer.file else None,
            metrics=config.status.enabled,
            gauges=gauged(config.route),
        )
        return Recording(settings, kept.environment, self._log)

    def _greet(self, routes: list[Route]) -> None:
        log, journal = self._log, str(self._config.journal.dir)
        sentence = f"turnscope {__version__} records to {journal}"
        log.say(
            Event.PROXY_STARTED, sentence, version=__version__, pid=os.getpid(), journal=journal
        )
        for route in routes:
            keys = {"listen": str(route.listen), "upstream": str(route.upstream)}
            named = {"label": route.label, "base_url": base_url(route)}
            log.say(Event.ROUTE_LISTENING, greeting(route), **keys, **named)
            if risk := exposure(route):
                log.say(Event.ROUTE_EXPOSED, risk, reason=exposure_reason(route), **keys)
            if risk := exposure_of_key(route):
                key = {"file": route.tls_key, "mode": exposed_key(route)}
                log.say(Event.KEY_EXPOSED, risk, listen=keys["listen"], **key)
        if self._status is not None:
            self._status.greet(log)

    def _signal(self, number: signal.Signals) -> None:
        if self._signals:
            self._hurried.set()
        self._signals.append(number)
        self._signalled.set()

    async def _stop(self) -> int:
        """No new callers; idle ones close at once, streams get their grace; then the recorder drains."""
        config, open_now = self._config.relay, self._figures().in_flight
        exchanges = "1 exchange" if open_now == 1 else f"{open_now} exchanges"
        sentence = f"stopping; in flight: {exchanges}, with {config.grace_s:g} s to end"
        name = self._signals[0].name
        self._log.say(
            Event.PROXY_STOPPING, sentence, signal=name, in_flight=open_now, grace_s=config.grace_s
        )
        cut, cut_elsewhere = await asyncio.gather(
            self._serving.stop(self._hurried.is_set), self._workers.stop(self._hurried)
        )
        deadline = asyncio.get_running_loop().time() + config.drain_s
        await self._serving.drain(deadline)
        if self._status is not None:
            await self._status.stop()
        await self._recording.stop(deadline)
        self._say_stopped(cut + cut_elsewhere)
        return 0

    def _figures(self) -> slots.Figures:
        return self._fresh_slots().total()

    def _fresh_slots(self) -> slots.Slots:
        self._serving.publish()
        return self._slots

    def _say_stopped(self, cut: int) -> None:
        total = self._figures()
        sentence = f"stopped: {cut} exchanges cut, {total.lost} records lost"
        counted = {"exchanges": total.exchanges, "cut": cut, "lost": total.lost}
        self._log.say(Event.PROXY_STOPPED, sentence, **counted)


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
