"""What the program says of itself: one line an event, text on a terminal, JSON otherwise.

One rule: a line is never waited for. A terminal that was stopped or a pipe that nobody reads would
otherwise stop the relay; a line that cannot go at once is left out, counted, and the count is said
with the next line that can. Nothing that others sent makes it raise.

The events are a closed list with fixed keys; a test reads all calls of `say` and holds them to it.
structlog is wired for one file descriptor and handed on as a value: its global configuration stays
untouched, so imports have no effects and a test can have a log of its own.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal

import orjson
import structlog

from . import clock

if TYPE_CHECKING:
    from structlog.typing import EventDict

LONGEST: Final = 200
"""Characters of one text value that are said."""
LONGEST_LINE: Final = select.PIPE_BUF - 1
"""Bytes of one line of text: so many go into a ready pipe in one piece."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What an event is called, how bad it is, and what is said with it."""

    name: str
    """Dotted and past tense, for machines."""
    level: Literal["info", "warning", "error"]
    keys: tuple[str, ...]
    timed: bool = False
    """True: its text begins with a time of its own, the one that is meant."""


# As proxy.journal.console gives them.
_EXCHANGE: Final = (
    *("id", "label", "route", "kind", "dialect", "method", "path", "model", "status", "outcome"),
    *("generation", "error_kind", "error_type", "error_detail"),
    *("input_tokens", "input_tokens_counted", "cached_tokens"),
    *("system_tokens", "tools_tokens", "history_tokens", "tool_results_tokens", "question_tokens"),
    *("media_tokens", "template_tokens"),
    *("output_tokens", "output_tokens_source", "ttft_ns", "end_ns", "client_tokens_per_s"),
)


class Event(Enum):
    """All that can be said."""

    PROXY_STARTED = Shape("proxy.started", "info", ("version", "pid", "journal"))
    PROXY_STOPPING = Shape("proxy.stopping", "info", ("signal", "in_flight", "grace_s"))
    PROXY_STOPPED = Shape("proxy.stopped", "info", ("exchanges", "cut", "lost"))
    ROUTE_LISTENING = Shape("route.listening", "info", ("listen", "upstream", "label", "base_url"))
    ROUTE_EXPOSED = Shape("route.exposed", "warning", ("listen", "upstream", "reason"))
    KEY_EXPOSED = Shape("key.exposed", "warning", ("listen", "file", "mode"))
    STATUS_LISTENING = Shape("status.listening", "info", ("listen",))
    STATUS_EXPOSED = Shape("status.exposed", "warning", ("listen", "reason"))
    STATUS_FAILED = Shape("status.failed", "warning", ("listen", "reason"))
    CONNECTION_REFUSED = Shape("connection.refused", "warning", ("listen", "limit", "count"))
    CALLER_REFUSED = Shape("caller.refused", "warning", ("listen", "peer", "reason", "count"))
    TLS_UNEXPECTED = Shape("tls.unexpected", "warning", ("listen", "peer", "count"))
    TAP_FAILED = Shape("tap.failed", "error", ("detail",))
    READING_FAILED = Shape("reading.failed", "error", ("exchange", "detail"))
    COUNTING_OFF = Shape("counting.failed", "warning", ("detail",))
    TOKENIZER_ASKED = Shape("tokenizer.asked", "info", ("upstream", "endpoint"))
    GAUGE_ASKED = Shape("gauge.asked", "info", ("upstream", "engine", "problem"))
    RECORDER_LOST = Shape("recorder.lost", "error", ("pid",))
    RECORDS_LOST = Shape("records.lost", "error", ("lost",))
    RECORDER_FAILED = Shape("recorder.failed", "error", ("detail",))
    RECORDER_RESTARTED = Shape("recorder.restarted", "warning", ("pid",))
    RECORDER_LAGGED = Shape("recorder.lagged", "warning", ("left_out_bytes",))
    WORKER_LOST = Shape("worker.lost", "error", ("pid",))
    RELAY_LOST = Shape("relay.lost", "error", ("cut",))
    JOURNAL_FAILED = Shape("journal.failed", "error", ("detail",))
    JOURNAL_TRIMMED = Shape("journal.trimmed", "info", ("files", "bytes"))
    EXCHANGE_ENDED = Shape("exchange.ended", "info", _EXCHANGE, timed=True)
    """Of the parts' tokens only those that the prompt has."""
    LOG_LAGGED = Shape("log.lagged", "warning", ("lines",))


class Log:
    """Says events on one file descriptor, which stays its owner's."""

    def __init__(self, fd: int, form: Literal["auto", "text", "json"] = "auto") -> None:
        text = form == "text" or (form == "auto" and os.isatty(fd))
        self._lines: Final = _Lines(fd)
        self._lock: Final = threading.Lock()
        """The recorder's two threads say things, and a poll object serves one at a time."""
        self._logger: Final = structlog.wrap_logger(
            self._lines,
            processors=[_stamp, _as_text if text else _as_json],
            wrapper_class=structlog.BoundLogger,
        )

    def say(self, event: Event, text: str = "", /, **keys: object) -> None:
        """Say an event with its keys. `text` is the sentence for a person; JSON leaves it out."""
        with self._lock:
            if self._lines.left_out and self._lines.ready():
                lines, self._lines.left_out = self._lines.left_out, 0
                self._put(Event.LOG_LAGGED, f"{lines} lines were left out here", {"lines": lines})
            self._put(event, text, keys)

    def _put(self, event: Event, text: str, keys: dict[str, object]) -> None:
        shape = event.value
        values = {key: _plain(value) for key, value in keys.items()}
        write = getattr(self._logger, shape.level)
        write(shape.name, shape=shape, text=text, keys=values)


class _Lines:
    """The far end of the logger: writes a line if that needs no waiting."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)
        self.left_out = 0

    def ready(self) -> bool:
        """Whether a line can go now. For pipes that means PIPE_BUF bytes, all or nothing."""
        return [state for _, state in self._poll.poll(0)] == [select.POLLOUT]

    def info(self, line: bytes) -> None:
        """Write one line, of any level."""
        if not self.ready():
            self.left_out += 1
            return
        with contextlib.suppress(OSError):  # the terminal or the reader has gone: nothing to tell
            os.write(self._fd, line)

    warning = error = info


def _stamp(_logger: object, _method: str, event: EventDict) -> EventDict:
    seconds = clock.unix_ns() / 1e9
    event["at"] = datetime.fromtimestamp(seconds, tz=UTC)
    return event


def _as_json(_logger: object, _method: str, event: EventDict) -> bytes:
    at = event["at"].isoformat(timespec="milliseconds").replace("+00:00", "Z")
    line = {"at": at, "level": event["shape"].level, "event": event["event"], **event["keys"]}
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def _as_text(_logger: object, _method: str, event: EventDict) -> bytes:
    """`19:22:41 what happened`, in local time; `warning:` before what is more than news."""
    shape, said = event["shape"], event["text"]
    if not said:
        pairs = (f"{key}={value}" for key, value in event["keys"].items())
        said = "  ".join([shape.name, *pairs])
    level = "" if shape.level == "info" else f"{shape.level}: "
    time = "" if shape.timed and event["text"] else f"{event['at'].astimezone():%H:%M:%S} "
    line = f"{time}{level}{_printable(said)}"
    cut = line.encode("utf-8", "backslashreplace")[:LONGEST_LINE]
    return cut.decode("utf-8", "ignore").encode() + b"\n"


def _plain(value: object) -> str | int | float | bool | None:
    """What any JSON writer takes: others' text may hold lone surrogates and be of any length."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else "beyond 64 bits"
    return str(value)[:LONGEST].encode("utf-8", "replace").decode()


def _printable(text: str) -> str:
    """No control characters: a model's name comes from the client, the screen is the operator's."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
