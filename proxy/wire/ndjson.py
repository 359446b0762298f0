"""Newline-delimited JSON: pieces of a decoded body in, lines with their time of arrival out.

One rule: a line ends with LF and with nothing else; a CR before it is white space of JSON's, and U+2028
and its like are legal inside of strings. Lines stay bytes for the JSON reader. The events are those of
`SseParser`, so that one reader of replies serves both.
"""

from __future__ import annotations

from typing import Final

from .exchange import Note
from .sse import EVENT_BOUND, SseEvent

_BLANK: Final = b" \t\r"
_BOM: Final = b"\xef\xbb\xbf"


class NdjsonParser:
    """Push parser. It never raises; what it had to drop is in `notes`."""

    def __init__(self, bound: int = EVENT_BOUND) -> None:
        self._bound = bound
        self._partial = bytearray()
        self._oversize = False
        self._at_start = True
        self._at_ns = 0
        self._dropped = 0

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was dropped so far."""
        if not self._dropped:
            return ()
        detail = f"{self._dropped} longer than {self._bound} bytes"
        return (Note("event_too_long", "reply events", detail),)

    def feed(self, data: bytes, at_ns: int) -> list[SseEvent]:
        """The lines that this piece completes, one event each; blank lines are none."""
        if not data:
            return []
        self._at_ns = at_ns
        *lines, rest = data.split(b"\n")
        events = []
        for line in lines:
            self._hold(line)
            events += self._end_line(complete=True)
        self._hold(rest)
        return events

    def close(self) -> list[SseEvent]:
        """The line in which the stream ended. It may be whole: not all servers end their last one."""
        return self._end_line(complete=False)

    def _hold(self, piece: bytes) -> None:
        if len(self._partial) + len(piece) > self._bound:
            self._oversize = True
            self._partial.clear()
        if not self._oversize:
            self._partial += piece

    def _end_line(self, *, complete: bool) -> list[SseEvent]:
        line = bytes(self._partial)
        if self._at_start:
            line = line.removeprefix(_BOM)
        line = line.strip(_BLANK)
        self._dropped += self._oversize
        self._at_start = False
        self._oversize = False
        self._partial.clear()
        return [SseEvent("message", line, self._at_ns, complete)] if line else []
