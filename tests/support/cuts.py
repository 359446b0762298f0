"""The ways a network may cut bytes: every push parser is run through all of them.

One rule: a cut never changes the bytes, only where the pieces end. A parser that gives another result
for another cut is wrong; so is one that raises on what stands behind its message.

    @every_cut
    def test_reads_two_events(cut):
        events = [event for piece in cut(STREAM) for event in parser.feed(piece, 0)]

    @every_cut
    @every_junk
    def test_survives_junk(cut, junk): ...
"""

from __future__ import annotations

import random
from functools import partial
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Cut = Callable[[bytes], list[bytes]]


def whole(data: bytes) -> list[bytes]:
    """One piece."""
    return [data]


def byte_by_byte(data: bytes) -> list[bytes]:
    """A piece for each byte."""
    return [data[n : n + 1] for n in range(len(data))]


def at_random(data: bytes, seed: int, longest: int) -> list[bytes]:
    """Pieces of 0 to `longest` bytes: an empty piece is a cut like any other."""
    draw = random.Random(seed)
    pieces = []
    position = 0
    while position < len(data):
        end = position + draw.randint(0, longest)
        pieces.append(data[position:end])
        position = end
    return pieces


CUTS: Final[dict[str, Cut]] = {
    "whole": whole,
    "byte by byte": byte_by_byte,
    "random 1-3": partial(at_random, seed=1, longest=3),
    "random 2-20": partial(at_random, seed=2, longest=20),
    "random 3-200": partial(at_random, seed=3, longest=200),
    "random 4-5000": partial(at_random, seed=4, longest=5000),
}
"""Every cut under its name; the random ones are seeded, so a failure can be had again."""

JUNK: Final[dict[str, bytes]] = {
    "zeroes": b"\0" * 7,
    "not utf-8": b"\xff\xfe\x80\xc3",
    "line ends": b"\r\n\r\n\n\n\r\r",
    "open json": b'{"a": [[[{"b": "',
    "another message": b'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{"a":1}',
    "an event": b'data: {"junk": true}\n\n',
}
"""What may stand behind a message that a parser was made for."""

every_cut = pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
"""Runs a test once for each cut; the test takes `cut`, bytes to pieces."""

every_junk = pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
"""Runs a test once for each kind of junk; the test takes `junk`, bytes."""
