"""Chunked transfer coding: where its data lies and where it ends (RFC 9112 section 7.1).

One rule: offsets out, never a copy and never an exception. Tolerant of LF-only lines, chunk extensions
and trailers, which are all passed over; bytes that cannot be chunked coding set `broken`.
"""

from __future__ import annotations

import re
from typing import Final

Spans = list[tuple[int, int]]
"""Where content lies in the piece just fed: (start, end) offsets."""

MAX_LINE: Final = 16 * 1024
"""A size line or trailer line longer than this is no chunked coding that a server would take."""

_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?", re.DOTALL)

_PLAIN: Final = re.compile(rb"([0-9A-Fa-f]{1,15})\r\n")


class ChunkedFraming:
    """One chunked body. Feed it until `done` or `broken`."""

    __slots__ = ("_after_data", "_in_trailers", "_left", "_line", "broken", "done")

    def __init__(self) -> None:
        self._left = 0
        self._line = b""
        self._after_data = False
        self._in_trailers = False
        self.done = False
        self.broken = False

    def feed(self, data: bytes, start: int, spans: Spans | None = None) -> int:
        """Read `data` from `start`; return the offset where reading stopped.

        That is `len(data)`, or the first byte behind the body when `done`, or the start of the line
        that could not be read when `broken`. Content is reported into `spans` if given.
        """
        position, end = start, len(data)
        if self._between:
            position = self._pass_whole(data, position, spans)
        while position < end and not self.done:
            if self._left:
                position = self._pass_content(position, end, spans)
                continue
            newline = data.find(b"\n", position)
            if newline < 0:
                self._line += data[position:]
                self.broken = len(self._line) > MAX_LINE
                return position if self.broken else end
            line = data[position:newline]
            if self._line:
                line, self._line = self._line + line, b""
            if len(line) > MAX_LINE:
                self.broken = True
            else:
                self._take(line[:-1] if line.endswith(b"\r") else line)
            if self.broken:
                return position
            position = newline + 1
        return position

    def whole(self, data: bytes) -> tuple[int, int] | None:
        """Where the content lies if this piece is one chunk, from its first byte to its last.

        Most pieces of a stream are. None: it is something else, and nothing was read; feed it.
        """
        if not self._between:
            return None
        line = _PLAIN.match(data)
        if line is None:
            return None
        begin = line.end()
        after = begin + int(line[1], 16)
        if after == begin or after + 2 != len(data) or not data.endswith(b"\r\n"):
            return None
        return begin, after

    @property
    def _between(self) -> bool:
        """True where a size line begins."""
        return not (self._left or self._after_data or self._line or self._in_trailers)

    def _pass_whole(self, data: bytes, position: int, spans: Spans | None) -> int:
        """Pass over chunks that are here from their first byte to their last, as nearly all are."""
        while (line := _PLAIN.match(data, position)) is not None:
            begin = line.end()
            after = begin + int(line[1], 16)
            if after == begin or not data.startswith(b"\r\n", after):
                break
            if spans is not None:
                spans.append((begin, after))
            position = after + 2
        return position

    def _pass_content(self, position: int, end: int, spans: Spans | None) -> int:
        after = min(end, position + self._left)
        self._left -= after - position
        if spans is not None:
            spans.append((position, after))
        return after

    def _take(self, line: bytes) -> None:
        if self._after_data:
            self._after_data = False
            self.broken = bool(line)
        elif self._in_trailers:
            self.done = not line
        elif (size := _SIZE.fullmatch(line)) is None:
            self.broken = True
        else:
            self._left = int(size[1], 16)
            self._after_data = self._left > 0
            self._in_trailers = self._left == 0
