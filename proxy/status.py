"""The proxy's own pages, on a listener of their own: `/healthz`, and `/metrics` for Prometheus.

One rule: it tells and does nothing. The relay's figures are read where they lie, the recorder is asked, and
a recorder that is dead or late costs its own part of the page alone.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

import orjson

from . import __version__, clock
from .answering import Answer, Answering
from .config import STATUS_LISTEN
from .greeting import exposure_of_status
from .log import Event
from .serving import StartError
from .vitals import Vitals, exposition

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .address import Address
    from .config import Route
    from .log import Log
    from .recording import Recording
    from .slots import Slots
    from .workers import Workers

ANSWER_S: Final = 1.0
"""How long the recorder may take to say what it has counted."""

_INDEX: Final = f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>turnscope</title>
<h1>turnscope {__version__}</h1>
<ul>
<li><a href="/healthz">/healthz</a>: whether it works, as JSON</li>
<li><a href="/metrics">/metrics</a>: its figures, for Prometheus</li>
</ul>
</html>
"""
_REMEDY: Final = "choose another with --status HOST:PORT, or do without: --status off"
_TEXT_FORMAT: Final = "text/plain; version=0.0.4; charset=utf-8"


class Status:
    """What the pages say."""

    def __init__(
        self,
        slots: Callable[[], Slots],
        recording: Recording,
        workers: Workers,
        routes: Sequence[Route],
    ) -> None:
        """`slots`: with the figures of this moment."""
        self._slots = slots
        self._recording = recording
        self._workers = workers
        self._routes = tuple(
            {"listen": str(r.listen), "upstream": str(r.upstream), "label": r.label} for r in routes
        )
        self._started_ns = clock.monotonic_ns()
        self._unanswered = 0
        pages = {"/": self._index, "/healthz": self._healthz, "/metrics": self._metrics}
        self._answering = Answering(pages)
        self._why = ""
        """Why there are none."""

    async def start(self, listen: Address | None) -> None:
        """Listen there; None: at the default, or nowhere if that is taken. Raises StartError."""
        wanted = listen or STATUS_LISTEN
        try:
            await self._answering.start(wanted)
        except OSError as fault:
            taken = fault.errno == errno.EADDRINUSE
            self._why = "is in use already" if taken else f"cannot be had ({fault.strerror})"
            if listen is not None:
                sentence = f"the address of the status pages, {wanted}, {self._why}; {_REMEDY}"
                raise StartError(sentence) from fault

    def greet(self, log: Log) -> None:
        """Say where the pages are, or why there are none."""
        if self._why:
            listen = str(STATUS_LISTEN)
            sentence = f"there are no status pages: {listen} {self._why}; {_REMEDY}"
            log.say(Event.STATUS_FAILED, sentence, listen=listen, reason=self._why)
            return
        got = self._answering.listen
        sentence = f"status pages: {got.client_url}/healthz and {got.client_url}/metrics"
        log.say(Event.STATUS_LISTENING, sentence, listen=str(got))
        if risk := exposure_of_status(got):
            log.say(Event.STATUS_EXPOSED, f"{got}: {risk}", listen=str(got), reason=risk)

    async def stop(self) -> None:
        """There are no pages any more."""
        await self._answering.stop()

    def _look(self) -> Vitals:
        slots = self._slots()  # before the clock: no pulse is from the future
        return Vitals(
            figures=tuple(slots.all()),
            total=slots.total(),
            at_ns=clock.monotonic_ns(),
            started_ns=self._started_ns,
            recorder_up=self._recording.process is not None,
            recorder_restarts=self._recording.restarts,
            worker_restarts=self._workers.restarts,
            unanswered=self._unanswered,
            routes=self._routes,
        )

    async def _index(self) -> Answer:
        return Answer(200, _INDEX.encode(), "text/html; charset=utf-8")

    async def _healthz(self) -> Answer:
        vitals = self._look()
        body = orjson.dumps(vitals.report, option=orjson.OPT_APPEND_NEWLINE)
        return Answer(503 if vitals.stuck else 200, body, "application/json")

    async def _metrics(self) -> Answer:
        counted = await self._recording.counted(ANSWER_S)
        if counted is None:
            self._unanswered += 1
        return Answer(200, exposition(self._look()) + (counted or b""), _TEXT_FORMAT)
