"""One JSON array that comes in pieces: its elements out, each as soon as its last byte is there.

One rule: nothing is parsed. Only strings and brackets are told apart, which is all that it takes to
know where an element ends; the JSON reader judges what is in it. The events are those of `SseParser`,
so that one reader of replies serves both.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .held import Held
from .sse import EVENT_BOUND, SseEvent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .exchange import Note

_OUTSIDE: Final = re.compile(rb'["{}\[\]]')
_INSIDE: Final = re.compile(rb'["\\]')
_ELEMENT: Final = 2
"""Depth inside of an element: the array is the first."""


class JsonArrayParser:
    """Push parser. It never raises; what it had to drop is in `notes`.

    Elements are objects or arrays. Numbers and words beside them are passed over, and so is everything
    behind the array.
    """

    def __init__(self, bound: int = EVENT_BOUND) -> None:
        self._held = Held(bound)
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._ended = False
        self._at_ns = 0

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was dropped so far."""
        return self._held.notes

    def feed(self, data: bytes, at_ns: int) -> list[SseEvent]:
        """The elements that this piece completes."""
        if self._ended or not data:
            return []
        self._at_ns = at_ns
        events = []
        begun = 0
        for place in self._brackets(data):
            opens = data[place] in b"[{"
            self._depth += 1 if opens else -1
            if opens and self._depth == _ELEMENT:
                begun = place
            elif not opens and self._depth == _ELEMENT - 1:
                self._held.add(data[begun : place + 1])
                events += self._end_element(complete=True)
            elif self._depth <= 0:
                self._ended = True
                break
        if self._depth >= _ELEMENT:
            self._held.add(data[begun:])
        return events

    def close(self) -> list[SseEvent]:
        """The element in which the stream ended, if there is one."""
        return self._end_element(complete=False)

    def _brackets(self, data: bytes) -> Iterator[int]:
        """Places of the brackets that stand outside of strings."""
        place = int(self._escaped)
        self._escaped = False
        while found := (_INSIDE if self._in_string else _OUTSIDE).search(data, place):
            place = found.end()
            if found[0] == b'"':
                self._in_string = not self._in_string
            elif found[0] == b"\\":
                self._escaped = place == len(data)
                place += 1
            else:
                yield place - 1

    def _end_element(self, *, complete: bool) -> list[SseEvent]:
        element = self._held.take()
        return [SseEvent("message", element, self._at_ns, complete)] if element else []
