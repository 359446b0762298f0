"""Newline-delimited JSON: pieces of a decoded body in, lines with their time of arrival out.

One rule: a line ends with LF and with nothing else; a CR before it is white space of JSON's, and U+2028
and its like are legal inside of strings. Lines stay bytes for the JSON reader. The events are those of
`SseParser`, so that one reader of replies serves both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .held import Held
from .sse import EVENT_BOUND, SseEvent

if TYPE_CHECKING:
    from .exchange import Note

_BLANK: Final = b" \t\r"
_BOM: Final = b"\xef\xbb\xbf"


class NdjsonParser:
    """Push parser. It never raises; what it had to drop is in `notes`."""

    def __init__(self, bound: int = EVENT_BOUND) -> None:
        self._held = Held(bound)
        self._at_start = True
        self._at_ns = 0

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was dropped so far."""
        return self._held.notes

    def feed(self, data: bytes, at_ns: int) -> list[SseEvent]:
        """The lines that this piece completes, one event each; blank lines are none."""
        if not data:
            return []
        self._at_ns = at_ns
        *lines, rest = data.split(b"\n")
        events = []
        for line in lines:
            self._held.add(line)
            events += self._end_line(complete=True)
        self._held.add(rest)
        return events

    def close(self) -> list[SseEvent]:
        """The line in which the stream ended. It may be whole: not all servers end their last one."""
        return self._end_line(complete=False)

    def _end_line(self, *, complete: bool) -> list[SseEvent]:
        line = self._held.take()
        if self._at_start:
            line = line.removeprefix(_BOM)
        line = line.strip(_BLANK)
        self._at_start = False
        return [SseEvent("message", line, self._at_ns, complete)] if line else []
