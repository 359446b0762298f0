"""Reads a reply's body, streamed or whole, and hands its JSON objects to a dialect.

One rule: how the bytes begin decides how they are read; the content type only where they do not tell.
Servers label streams as JSON and errors as streams, but no event stream begins with a brace.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from proxy.wire.head import value
from proxy.wire.sse import SseParser

from .fields import JsonObject, as_number, as_object, as_objects, as_text
from .json_text import read_json
from .tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.wire.exchange import Note
    from proxy.wire.head import ReplyHead
    from proxy.wire.sse import SseEvent

    from .base import ReplyReading

BODY_BOUND: Final = 32 * 2**20
"""Bytes of a whole JSON body held until its end; a longer one is not read."""

_START_BOUND: Final = 4096
"""Bytes of blanks after which the label decides. Some servers send line feeds while they compute."""

_BLANK: Final = b"\xef\xbb\xbf \t\r\n"
_BEGINNINGS: Final = (b"data:", b"event:", b"id:", b"retry:", b":")
_ERROR_NAME: Final = re.compile(r"[\w.:/ -]{1,100}")


class Interpreter(Protocol):
    """A dialect's view of the JSON objects of a reply. It never raises on their content."""

    def event(self, name: str, value: JsonObject, tally: Tally) -> None:
        """One event of a stream; `name` is its SSE name, `message` if it had none."""

    def body(self, value: JsonObject, tally: Tally) -> None:
        """A whole reply of a status below 400."""


class EventParser(Protocol):
    """A push parser of one way to put JSON objects in a stream."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """What it had to drop."""

    def feed(self, data: bytes, at_ns: int) -> list[SseEvent]:
        """The events that a piece completes."""

    def close(self) -> list[SseEvent]:
        """What the stream ended inside of."""


class JsonReply:
    """A `ReplyReader` for every format whose replies are JSON objects."""

    def __init__(
        self,
        reply: ReplyHead,
        interpreter: Interpreter,
        parser: EventParser | None = None,
        shortcut: Callable[[bytes, Tally], bool] | None = None,
    ) -> None:
        """Give a `parser` where the dialect knows the stream's form; else it is SSE or one object.

        `shortcut` reads an event from its bytes if that is of a common kind, as the interpreter would; it
        says whether it was.
        """
        self._reply = reply
        self._interpreter = interpreter
        self._shortcut = shortcut
        self._tally = Tally(reply.status)
        self._parser = parser
        self._streamed = parser is not None
        self._undecided = parser is None
        self._held = bytearray()
        self._oversize = False
        self._events = 0

    def feed(self, data: bytes, at_ns: int) -> None:
        """Take a piece of the decoded body."""
        if self._undecided:
            self._held += data
            data = self._decide()
        if self._parser is not None:
            for event in self._parser.feed(data, at_ns):
                self._take(event)
        elif not self._undecided:
            self._hold(data)

    def close(self) -> None:
        """No more will come: read a whole body, or what a stream ended inside of."""
        if self._parser is not None:
            for event in self._parser.close():
                self._take(event)
        elif self._oversize:
            self._tally.note("reply_too_long", "reply body", f"more than {BODY_BOUND} bytes")
        elif self._held.strip(_BLANK):
            self._read_whole()
        self._held.clear()

    def reading(self) -> ReplyReading:
        """What was understood so far; of a whole body nothing before its end."""
        reading = self._tally.reading(streamed=self._streamed)
        dropped = self._parser.notes if self._parser is not None else ()
        return replace(reading, notes=reading.notes + dropped)

    def _decide(self) -> bytes:
        """Choose the form if the bytes tell by now; return those that have waited for it."""
        start = bytes(self._held[:_START_BOUND]).lstrip(_BLANK)
        labelled = labelled_stream(self._reply)
        open_ = not start or (not labelled and any(f.startswith(start) for f in _BEGINNINGS))
        if open_ and len(self._held) < _START_BOUND:
            return b""
        self._undecided = False
        held = bytes(self._held)
        self._held.clear()
        if not start.startswith((b"{", b"[")) and (labelled or start.startswith(_BEGINNINGS)):
            self._streamed = True
            self._parser = SseParser()
        return held

    def _hold(self, data: bytes) -> None:
        if len(self._held) + len(data) > BODY_BOUND:
            self._oversize = True
            self._held.clear()
        if not self._oversize:
            self._held += data

    def _read_whole(self) -> None:
        tally = self._tally
        tally.begin(None)
        objects = _objects(read_json(bytes(self._held)))
        for item in objects:
            if says_error(item):
                tally.error(error_name(item))
            if self._reply.status < 400:
                self._interpreter.body(item, tally)
        if not objects:
            tally.note("reply_not_json", "reply body", f"{len(self._held)} bytes")
        tally.end()

    def _take(self, event: SseEvent) -> None:
        data = event.data.strip()
        if not data:
            return
        tally = self._tally
        self._events += 1
        tally.begin(event.at_ns)
        if not event.complete:
            tally.note("event_cut", f"event {self._events}", "the stream ended inside it")
        if data == b"[DONE]":  # OpenAI's end mark; no other format sends such an event
            tally.finish()
        else:
            self._interpret(event, data)
        tally.end()

    def _interpret(self, event: SseEvent, data: bytes) -> None:
        tally = self._tally
        if self._shortcut is not None and event.name != "error" and self._shortcut(data, tally):
            return
        objects = _objects(read_json(data))
        for item in objects:
            if event.name == "error" or says_error(item):
                tally.error(error_name(item))
            self._interpreter.event(event.name, item, tally)
        if not objects and event.complete:
            tally.note("event_not_json", f"event {self._events}", f"{len(data)} bytes")


def labelled_stream(reply: ReplyHead) -> bool:
    """True when the content type is that of server-sent events, whatever its parameters and case."""
    kind = value(reply.headers, "content-type") or ""
    return kind.partition(";")[0].strip().lower() == "text/event-stream"


def says_error(item: JsonObject) -> bool:
    """True for `error` as an object or a text, and where the whole object says that it is one."""
    return bool(item.get("error")) or "error" in (item.get("type"), item.get("object"))


def error_name(item: JsonObject) -> str | None:
    """The error's type, else its code or status; None if there is none that looks like a name.

    Never the message, which may hold what the caller sent, keys included.
    """
    error = as_object(item.get("error")) or item
    given = [error.get(key) for key in ("type", "code", "status")]
    names = [as_text(name) for name in given if name != "error"]
    numbers = [str(number) for number in given if as_number(number) is not None]
    return next((name for name in names + numbers if _ERROR_NAME.fullmatch(name)), None)


def _objects(found: Any) -> list[JsonObject]:
    """The objects of a JSON value: itself, or those in an array."""
    return [found] if isinstance(found, dict) else as_objects(found)
