"""Asks servers for their own `/metrics` while exchanges run, and writes what they say into the journal.

One rule: it asks only what the operator named (`gauge = true`), without any credential, and no fault of it
costs a record: it runs in the recorder's process, in a thread and an event loop of its own, and writes files
of its own. An answer that is not whole within one interval is dropped: what it says might be of the moment
of the question or of the next one's, so it says nothing of either.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from . import clock
from .gauges.exposition import Exposition, read
from .gauges.following import Following, Question
from .journal.lines import encode
from .log import Event
from .retention import Bounds
from .segments import SEGMENT_BYTES, Appender

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from aiohttp import ClientSession

    from .journal.gauge import GaugeSample
    from .log import Log
    from .settings import Gauged, Settings

IDLE_S: Final = 10.0
"""Between two questions while nothing runs, and after a refusal: 8,640 lines a day."""
LINGER_S: Final = 10.0
"""How long after the last exchange a server still counts as busy: its gauges lag by seconds."""
BODY_BYTES: Final = 8 * 1024 * 1024
"""The longest answer. vLLM's, with all its buckets, has about 100 KB for each engine."""

_PATHS: Final = ("/metrics", "/prometheus/metrics")
"""TensorRT-LLM's first one is JSON of its iterations; its metrics are at the second."""
_HEADERS: Final = {"Accept": "text/plain;version=0.0.4", "Accept-Encoding": "identity"}


class _NothingSaidError(Exception):
    """There is no sample; `str` says why, as it stands in the journal."""


class Running:
    """Exchanges in flight, by upstream, of those that are watched. Told by the recorder's first thread."""

    def __init__(self, upstreams: Iterable[str], now: Callable[[], int]) -> None:
        self._now = now
        self._counts = dict.fromkeys(upstreams, 0)
        self._ended_ns: dict[str, int] = {}
        self.begun: Callable[[str], object] = str
        """Told an upstream whose first exchange begins. Another thread's."""

    def opened(self, upstream: str) -> None:
        """One more."""
        if upstream in self._counts:
            self._counts[upstream] += 1
            if self._counts[upstream] == 1:
                self.begun(upstream)

    def ended(self, upstream: str) -> None:
        """One less."""
        if upstream in self._counts:
            self._counts[upstream] -= 1
            self._ended_ns[upstream] = self._now()

    def count(self, upstream: str) -> int:
        """How many there are now."""
        return self._counts[upstream]

    def busy(self, upstream: str) -> bool:
        """Whether there are any, or were a short while ago."""
        if self._counts[upstream]:
            return True
        ended_ns = self._ended_ns.get(upstream)
        return ended_ns is not None and self._now() - ended_ns < LINGER_S * 1e9


class Gauge:
    """Follows all servers that are to be asked."""

    def __init__(self, settings: Settings, log: Log, running: Running) -> None:
        self._settings = settings
        self._running = running
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()
        self._file = _File(settings, log)
        self._watched = {
            gauged.upstream: _Watched(gauged, log, running, self._file)
            for gauged in settings.gauges
        }
        self._thread = threading.Thread(target=self._run, name="gauge")

    def start(self) -> None:
        """Begin to ask; nothing is begun where nobody is to be asked."""
        if self._watched:
            self._running.begun = self._begun
            self._thread.start()

    def stop(self) -> None:
        """Ask no more, and close the file. From the thread that started it."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join()
        self._running.begun = str
        self._loop.close()

    def _begun(self, upstream: str) -> None:
        with contextlib.suppress(RuntimeError):  # the loop ends before the exchanges do
            self._loop.call_soon_threadsafe(self._watched[upstream].wake.set)

    def _run(self) -> None:
        os.nice(self._settings.nice)
        try:
            self._loop.run_until_complete(self._follow_all())
        finally:
            self._file.close()

    async def _follow_all(self) -> None:
        import aiohttp  # noqa: PLC0415 - 0.2 s that only those pay who want a gauge

        read(b"")  # what reading needs is loaded now, not in the time of the first answer
        # Its total time-out, its cookies, its redirects and its ways round TLS are not what is wanted here.
        async with aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
            headers=_HEADERS,
        ) as session:
            tasks = [asyncio.ensure_future(w.follow(session)) for w in self._watched.values()]
            await self._stopped.wait()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


class _Watched:
    """One server."""

    def __init__(self, gauged: Gauged, log: Log, running: Running, file: _File) -> None:
        self._upstream = gauged.upstream
        self._interval_s = gauged.interval_s
        self._log = log
        self._running = running
        self._file = file
        self._following = Following(gauged.upstream)
        self._path: str | None = None
        """Where it answered; None: not found yet."""
        self._said: tuple[str | None, str | None] | None = None
        self.wake = asyncio.Event()
        """Set when its first exchange begins."""

    async def follow(self, session: ClientSession) -> None:
        """Ask until cancelled."""
        while True:
            began_ns = clock.monotonic_ns()
            self.wake.clear()
            await self._sample(session)
            await self._pause(began_ns)

    async def _pause(self, began_ns: int) -> None:
        """One interval between two questions; a longer one while there is nothing to see."""
        left_s = self._interval_s - (clock.monotonic_ns() - began_ns) / 1e9
        await asyncio.sleep(max(0.0, left_s))
        rest_s = IDLE_S - self._interval_s
        if rest_s <= 0:
            return
        if self._following.refused:
            await asyncio.sleep(rest_s)
        elif not self._running.busy(self._upstream):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.wake.wait(), rest_s)

    async def _sample(self, session: ClientSession) -> None:
        at_unix_ns, began_ns = clock.unix_ns(), clock.monotonic_ns()
        in_flight = self._running.count(self._upstream)
        said: Exposition | str
        try:
            async with asyncio.timeout(self._interval_s):
                said = await self._ask(session)
        except TimeoutError:
            said = "late"
        except _NothingSaidError as fault:
            said = str(fault)
        except Exception as fault:  # noqa: BLE001  a fault of ours: it must not end the asking
            said = f"failed: {type(fault).__name__}"
        took_ns = clock.monotonic_ns() - began_ns
        question = Question(at_unix_ns, took_ns, in_flight)
        self._take(said, question)

    def _take(self, said: Exposition | str, question: Question) -> None:
        if isinstance(said, str):
            sample = self._following.missed(said, question)
        else:
            sample = self._following.answered(said, question)
        if sample is not None:
            self._file.write(sample)
            self._tell(sample.engine, sample.problem)
        else:
            self._file.leave_before(question.at_unix_ns)

    async def _ask(self, session: ClientSession) -> Exposition:
        """What it says, read. Raises _NothingSaidError with the first path's reason."""
        first: _NothingSaidError | None = None
        for path in (self._path,) if self._path else _PATHS:
            try:
                said = read(await self._get(session, path))
            except _NothingSaidError as fault:
                first = first or fault
                continue
            if said is not None:
                self._path = path
                return said
            first = first or _NothingSaidError("no known metrics")
        self._path = None
        raise first or _NothingSaidError("no known metrics")

    async def _get(self, session: ClientSession, path: str) -> bytes:
        from aiohttp import ClientError, ClientSSLError  # noqa: PLC0415 - as above
        from yarl import URL  # noqa: PLC0415 - as above

        url = URL(self._upstream + path, encoded=True)
        body = bytearray()
        try:
            async with session.get(url, allow_redirects=False) as reply:
                if reply.status != 200:
                    raise _NothingSaidError(f"status {reply.status}")
                async for piece in reply.content.iter_any():
                    body += piece
                    if len(body) > BODY_BYTES:
                        raise _NothingSaidError("too long")
        except ClientSSLError:
            raise _NothingSaidError("TLS failed") from None
        except (ClientError, OSError) as fault:
            if isinstance(fault, TimeoutError):
                raise
            raise _NothingSaidError("unreachable") from None
        return bytes(body)

    def _tell(self, engine: str | None, problem: str | None) -> None:
        if self._said == (engine, problem):
            return
        self._said = engine, problem
        sentence = f"{self._upstream} says as {engine} how busy it is; that is sampled"
        if problem:
            sentence = f"{self._upstream} says nothing of itself ({problem}); {_remedy(problem)}"
        keys = {"upstream": self._upstream, "engine": engine, "problem": problem}
        self._log.say(Event.GAUGE_ASKED, sentence, **keys)


def _remedy(problem: str) -> str:
    if problem in {"status 401", "status 403"}:
        return "it wants a credential, and none is kept here: set gauge = false"
    if problem.startswith(("status", "no known")):
        return "start it with its metrics on (llama.cpp: --metrics, SGLang: --enable-metrics)"
    return "it is asked again"


class _File:
    """Where samples go. A disk that is full or gone is said once; writing resumes by itself."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self._folder = Path(settings.journal)
        self._log = log
        bounds = Bounds(settings.keep_days, settings.max_bytes)
        self._appender = Appender(self._folder, "gauge-", bounds.segment_bytes(SEGMENT_BYTES))
        self._unwritten = 0

    def write(self, sample: GaugeSample) -> None:
        """Append a line."""
        try:
            self._appender.append(encode(sample), sample.at_unix_ns)
        except OSError as fault:
            if not self._unwritten:
                self._complain(f"cannot write samples: {fault}")
            self._unwritten += 1
            return
        if self._unwritten:
            self._complain(f"writing again; {self._unwritten} samples were lost")
            self._unwritten = 0

    def leave_before(self, unix_ns: int) -> None:
        """Let go of a file of an earlier day: it may be too old to be kept."""
        self._appender.close_before(unix_ns)

    def close(self) -> None:
        """Close what is open."""
        self._appender.close()

    def _complain(self, what: str) -> None:
        sentence = f"{self._folder}: {what}"
        self._log.say(Event.JOURNAL_FAILED, sentence, detail=sentence)
