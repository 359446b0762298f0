"""The parser of newline-delimited JSON: lines at every cut, their times, and what it does with the outsized."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.wire.ndjson import NdjsonParser
from proxy.wire.sse import SseEvent
from tests.support.cuts import at_random, every_cut, every_junk


def parse(pieces, bound=2**20):
    """The complete lines, then the unfinished one."""
    parser = NdjsonParser(bound)
    events = [event for piece in pieces for event in parser.feed(piece, 0)]
    return [e.data for e in events], [e.data for e in parser.close()]


STREAMS = {
    "line feeds": (b'{"a":1}\n{"b":2}\n', [b'{"a":1}', b'{"b":2}']),
    "carriage returns and line feeds": (b'{"a":1}\r\n{"b":2}\r\n', [b'{"a":1}', b'{"b":2}']),
    "a carriage return alone ends nothing": (b'{"a":\r1}\n', [b'{"a":\r1}']),
    "blank lines": (b"\n\r\n \t\n1\n\n\n", [b"1"]),
    "white space around": (b"  1\t \n", [b"1"]),
    "a byte order mark": (b"\xef\xbb\xbf1\n2\n", [b"1", b"2"]),
    "a mark further on is no mark": (b"1\n\xef\xbb\xbf2\n", [b"1", b"\xef\xbb\xbf2"]),
    "unicode line ends are text": ("a\u2028b\u2029c\x85d\x0be\n".encode(), ["a\u2028b\u2029c\x85d\x0be".encode()]),
    "nothing": (b"", []),
}  # fmt: skip


@every_cut
@pytest.mark.parametrize(("stream", "expected"), STREAMS.values(), ids=STREAMS)
def test_lines_are_events(stream, expected, cut):
    """Each line that holds something is one event, wherever the bytes are cut."""
    assert parse(cut(stream)) == (expected, [])


@every_cut
@every_junk
def test_junk_behind_leaves_what_came_before(cut, junk):
    """Whatever stands behind two lines, those two are read, and nothing raises."""
    events, _ = parse(cut(b'{"a":1}\n{"b":2}\n' + junk))

    assert events[:2] == [b'{"a":1}', b'{"b":2}']


@every_cut
def test_a_last_line_without_an_end_is_told_apart(cut):
    """It is given by close, once, and says that its end did not come."""
    parser = NdjsonParser()
    for piece in cut(b"1\n2\r"):
        parser.feed(piece, 7)

    assert parser.close() == [SseEvent("message", b"2", 7, complete=False)]
    assert parser.close() == []


def test_time_is_that_of_the_last_byte():
    """A line arrives with its end, not with what stands in it."""
    parser = NdjsonParser()

    seen = [
        parser.feed(b"1\n2", 10),
        parser.feed(b"", 20),
        parser.feed(b"\n3\n4\n", 30),
    ]

    assert seen == [
        [SseEvent("message", b"1", 10)],
        [],
        [SseEvent("message", data, 30) for data in (b"2", b"3", b"4")],
    ]


@every_cut
def test_an_outsized_line_is_dropped_and_parsing_goes_on(cut):
    """A line of the bound is kept; longer ones are left out and noted, the last one of them too."""
    stream = b"1" * 8 + b"\n" + b"2" * 9 + b"\n" + b"3" * 50 + b"\n4\n" + b"5" * 20
    parser = NdjsonParser(bound=8)

    events = [event for piece in cut(stream) for event in parser.feed(piece, 0)]

    assert [event.data for event in events] == [b"1" * 8, b"4"]
    assert parser.close() == []
    assert [str(n) for n in parser.notes] == ["event_too_long: reply events, 3 longer than 8 bytes"]


def test_without_drops_there_is_no_note():
    """What is within the bound is worth no word."""
    parser = NdjsonParser()
    parser.feed(b"1\n", 0)

    assert parser.notes == ()


@given(st.lists(st.text("ab\u2028 \r", max_size=5)), st.integers(0, 99), st.integers(1, 9))
def test_lines_are_those_between_line_feeds(lines, seed, longest):
    """For any lines and cuts: what comes out is what went in, without what is blank."""
    stream = "".join(f"{line}\n" for line in lines).encode()

    events, rest = parse(at_random(stream, seed, longest))

    assert events == [line.strip(" \t\r").encode() for line in lines if line.strip(" \t\r")]
    assert rest == []


def test_a_long_line_in_small_pieces_is_read_once():
    """Time grows with the bytes, not with their square: 8 MB in 8,000 pieces."""
    parser = NdjsonParser()
    begun = time.perf_counter()
    for _ in range(8000):
        parser.feed(b"x" * 1000, 0)

    assert [len(event.data) for event in parser.feed(b"\n", 0)] == [8_000_000]
    assert time.perf_counter() - begun < 2
