"""The SSE parser: the standard's rules, at every cut, and what it does with the outsized."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.wire.sse import SseEvent, SseParser
from tests.support.cuts import at_random, every_cut, every_junk


def parse(pieces, bound=2**20):
    """Name and data of each complete event, then of the unfinished one."""
    parser = SseParser(bound)
    events = [event for piece in pieces for event in parser.feed(piece, 0)]
    return [(e.name, e.data) for e in events], [(e.name, e.data) for e in parser.close()]


STREAMS = {
    "line feeds": (b"data: a\n\ndata: b\n\n", [("message", b"a"), ("message", b"b")]),
    "carriage returns and line feeds": (b"data: a\r\n\r\ndata: b\r\n\r\n", [("message", b"a"), ("message", b"b")]),
    "carriage returns": (b"data: a\r\rdata: b\r\r", [("message", b"a"), ("message", b"b")]),
    "mixed line ends": (b"data: a\n\r\ndata: b\r\r\n", [("message", b"a"), ("message", b"b")]),
    "no space after the colon": (b'data:{"a":1}\n\n', [("message", b'{"a":1}')]),
    "only one space is taken": (b"data:  a \n\n", [("message", b" a ")]),
    "several data lines": (b"data: a\ndata:\ndata: b\n\n", [("message", b"a\n\nb")]),
    "a name": (b"event: error\ndata: a\n\ndata: b\n\n", [("error", b"a"), ("message", b"b")]),
    "the last name counts": (b"event: x\nevent: y\ndata: a\n\n", [("y", b"a")]),
    "a name that is not utf-8": (b"event: \xff\ndata: a\n\n", [("\ufffd", b"a")]),
    "a name without data": (b"event: ping\n\ndata: a\n\n", [("message", b"a")]),
    "a field without a colon": (b"data\n\n", [("message", b"")]),
    "fields of no interest": (b"id: 1\nretry: 3000\nfoo: bar\ndata: a\n\n", [("message", b"a")]),
    "a byte order mark": (b"\xef\xbb\xbfdata: a\n\n", [("message", b"a")]),
    "a mark further on is no mark": (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [("message", b"a")]),
    "unicode line ends are text": (
        "data: a\u2028b\u2029c\x85d\x0be\n\n".encode(),
        [("message", "a\u2028b\u2029c\x85d\x0be".encode())],
    ),
    "comments": (b": hello\n\n:\ndata: a\n: in between\ndata: b\n\n", [("message", b"a\nb")]),
    "blank lines": (b"\n\n\r\n\rdata: a\n\n\n\n", [("message", b"a")]),
    "nothing": (b"", []),
}  # fmt: skip


@every_cut
@pytest.mark.parametrize(("stream", "expected"), STREAMS.values(), ids=STREAMS)
def test_dispatches_by_the_standard(stream, expected, cut):
    """Each rule of the standard holds wherever the bytes are cut."""
    assert parse(cut(stream)) == (expected, [])


@every_cut
@every_junk
def test_junk_behind_leaves_what_came_before(cut, junk):
    """Whatever stands behind two events, those two are read, and nothing raises."""
    stream = b"event: a\ndata: 1\n\n: ping\n\ndata: 2\r\n\r\n"

    events, _ = parse(cut(stream + junk))

    assert events[:2] == [("a", b"1"), ("message", b"2")]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\ndata: b", [("message", b"b")]),
        (b"data: a\n\ndata: b\n", [("message", b"b")]),
        (b"event: x\ndata: b\n", [("x", b"b")]),
        (b"data: a\n\nevent: x\n", []),
        (b"data: a\n\n: comm", []),
    ],
)
@every_cut
def test_an_unfinished_event_is_told_apart(stream, expected, cut):
    """What the stream ended inside of is given by close, and says that it is not complete."""
    parser = SseParser()
    for piece in cut(stream):
        assert all(event.complete for event in parser.feed(piece, 7))

    last = parser.close()

    assert [(e.name, e.data, e.at_ns, e.complete) for e in last] == [
        (*e, 7, False) for e in expected
    ]
    assert parser.close() == []


def test_time_is_that_of_the_last_byte():
    """An event arrives with the line end that dispatches it, not with its data."""
    parser = SseParser()

    seen = [
        parser.feed(b"data: a\nda", 10),
        parser.feed(b"ta: b\n", 20),
        parser.feed(b"", 25),
        parser.feed(b"\r", 30),
        parser.feed(b"\ndata: c\n\ndata: d\n\n", 40),
        parser.feed(b"data: e", 50),
        parser.close(),
    ]

    assert seen == [
        [],
        [],
        [],
        [SseEvent("message", b"a\nb", 30)],
        [SseEvent("message", b"c", 40), SseEvent("message", b"d", 40)],
        [],
        [SseEvent("message", b"e", 50, complete=False)],
    ]


@every_cut
def test_comments_are_counted(cut):
    """Comments are no events, but a count of them tells a silent server from a pinging one."""
    parser = SseParser()
    for piece in cut(b": a\n\n:\r\n\r\ndata: x\n: b\n\n"):
        parser.feed(piece, 0)

    assert parser.comments == 3
    assert parser.notes == ()


@every_cut
def test_an_outsized_event_is_dropped_and_parsing_goes_on(cut):
    """Beyond the bound an event is left out and noted; the next one is read as ever."""
    lines = b"data: " + b"a" * 30 + b"\ndata: " + b"b" * 30 + b"\n\n"
    stream = b"data: 1\n\n" + lines + b"event: x\ndata: " + b"c" * 200 + b"\n\ndata: 2\n\n"
    parser = SseParser(bound=64)

    events = [event for piece in cut(stream) for event in parser.feed(piece, 0)]

    assert [event.data for event in events] == [b"1", b"2"]
    assert [str(n) for n in parser.notes] == [
        "event_too_long: reply events, 2 longer than 64 bytes"
    ]


@every_cut
def test_the_bound_itself_is_allowed(cut):
    """An event of exactly the bound is kept, one byte more is not, wherever it is cut."""
    at_bound, above = b"data: " + b"a" * 58, b"data: " + b"a" * 59

    assert parse(cut(at_bound + b"\n\n"), bound=64) == ([("message", b"a" * 58)], [])
    assert parse(cut(above + b"\n\n"), bound=64) == ([], [])


@every_cut
def test_a_long_comment_costs_no_event(cut):
    """A comment longer than the bound is passed over; the event around it stays."""
    stream = b"data: 1\n: " + b"z" * 500 + b"\ndata: 2\n\n"

    assert parse(cut(stream), bound=64) == ([("message", b"1\n2")], [])


def test_cut_inside_an_outsized_event():
    """An event that is both cut and too long is dropped, and counted."""
    parser = SseParser(bound=10)
    parser.feed(b"data: " + b"a" * 50, 0)

    assert parser.close() == []
    assert len(parser.notes) == 1


@pytest.mark.parametrize("size", [700, 64 * 1024])
def test_ten_megabytes_in_one_event_cost_no_rescan(size):
    """Time grows with the bytes, not with the pieces times the bytes."""
    event = b"data: " + b"thinking " * (10 * 2**20 // 9) + b"\n\n"
    parser = SseParser()

    started = time.process_time()
    found = [e for n in range(0, len(event), size) for e in parser.feed(event[n : n + size], 0)]
    took_s = time.process_time() - started

    assert [len(e.data) for e in found] == [len(event) - 8]
    assert took_s < 2  # some 0.02 s; a parser that looks again from the start needs minutes


@given(st.lists(st.sampled_from([b"data", b"event", b":", b" ", b"\n", b"\r", b"\r\n", b"\xef\xbb\xbf", b"a", b"\xff"])).map(b"".join), st.integers(0, 99))  # fmt: skip
def test_every_cut_gives_the_same(stream, seed):
    """No cut of any bytes changes what is read."""
    assert parse(at_random(stream, seed, 4)) == parse([stream])
