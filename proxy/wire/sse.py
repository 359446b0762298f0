"""Server-sent events: pieces of a decoded body in, events with their time of arrival out.

One rule: bytes are looked at once. Lines end as the WHATWG standard says (section 9.2.5: LF, CR LF or
CR) and at nothing else: U+2028, U+2029 and U+0085 are legal inside JSON, so a Unicode line splitter
would tear events. Nothing is decoded here but an event's name; `data` stays bytes for the JSON reader.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from .held import dropped_notes

if TYPE_CHECKING:
    from .exchange import Note

EVENT_BOUND: Final = 32 * 2**20
"""Bytes of one event, all its lines together, beyond which it is dropped. Whole answers of several
hundred kB in one event are common; a model's whole context as JSON is far below this."""

_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_WHOLE: Final = re.compile(rb"data: ([^\r\n]+)\n\n")
"""An event of one line of data: nearly all of what models stream."""
_BOM: Final = b"\xef\xbb\xbf"


class SseEvent(NamedTuple):
    """One dispatched event."""

    name: str
    """The `event` field; `message` when there was none, as browsers call it."""
    data: bytes
    """Its `data` lines, joined by LF."""
    at_ns: int
    """Arrival of its last byte: the line end that dispatched it."""
    complete: bool = True
    """False when the stream ended inside it. A browser would drop it; a measurement must not."""


class SseParser:
    """Push parser. It never raises; what it had to drop is in `notes`."""

    def __init__(self, bound: int = EVENT_BOUND) -> None:
        self.comments = 0
        """Comment lines so far: keep-alives that are no events."""
        self._bound = bound
        self._partial = bytearray()
        self._after_cr = False
        self._at_start = True
        self._between = False
        """True where an event begins, and nothing of it has come."""
        self._at_ns = 0
        self._events = 0
        self._dropped = 0
        self._begin()

    def _begin(self) -> None:
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0
        self._oversize = False

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was dropped so far."""
        return dropped_notes(self._dropped, self._bound)

    def feed(self, data: bytes, at_ns: int) -> list[SseEvent]:
        """The events that this piece completes."""
        if self._between and (whole := _WHOLE.fullmatch(data)) is not None:
            line = whole[1]
            if len(line) + 5 < self._bound:
                self._at_ns = at_ns
                self._events += 1
                return [SseEvent("message", line, at_ns)]
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
            self._after_cr = False
        if not data:
            return []
        self._at_ns = at_ns
        self._after_cr = data.endswith(b"\r")
        *lines, rest = _LINE_END.split(data) if b"\r" in data else data.split(b"\n")
        events = []
        for line in lines:
            event = self._end_line(line)
            if event is not None:
                events.append(event)
        if rest:
            self._hold(rest)
        self._between = not (rest or self._partial or self._after_cr) and self._fresh
        return events

    @property
    def _fresh(self) -> bool:
        return not (self._data or self._size or self._name or self._oversize or self._at_start)

    def close(self) -> list[SseEvent]:
        """The event in which the stream ended, if there is one."""
        if self._partial:
            self._end_line(b"")
        event = self._dispatch(complete=False)
        return [] if event is None else [event]

    def _end_line(self, line: bytes) -> SseEvent | None:
        if self._partial:
            self._partial += line
            line = bytes(self._partial)
            self._partial.clear()
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch(complete=True)
        if line.startswith(b":"):
            self.comments += 1
        else:
            self._field(line)
        return None

    def _field(self, line: bytes) -> None:
        self._size += len(line)
        if self._size > self._bound:
            self._drop()
        if self._oversize:
            return
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        elif name == b"event":
            self._name = value.removeprefix(b" ").decode("utf-8", "replace")

    def _hold(self, rest: bytes) -> None:
        """Keep an unfinished line; of one that is too long only its first byte, which tells a comment."""
        partial = self._partial
        partial += rest
        if self._at_start and partial.startswith(_BOM):
            self._at_start = False
            del partial[: len(_BOM)]
        if self._size + len(partial) > self._bound:
            if not partial.startswith(b":"):
                self._drop()
            del partial[1:]

    def _drop(self) -> None:
        self._oversize = True
        self._data.clear()

    def _dispatch(self, *, complete: bool) -> SseEvent | None:
        """End the event. Without a `data` line it is none (same section, "dispatch the event")."""
        self._events += 1 if self._data or self._oversize else 0
        self._dropped += self._oversize
        event = None
        if self._data:
            data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            event = SseEvent(self._name or "message", data, self._at_ns, complete)
        self._begin()
        return event
