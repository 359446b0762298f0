"""Readers of streams against models that see all bytes at once: events, what is dropped, what is held."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxy.wire.held import dropped_notes
from proxy.wire.json_array import JsonArrayParser
from proxy.wire.ndjson import NdjsonParser
from proxy.wire.sse import SseParser
from tests.support.cuts import at_random, byte_by_byte
from tests.support.damage import damaged, examples

unhurried = examples()
SEEDS = st.integers(0, 2**32)
BOUNDS = st.integers(3, 40)
BOM = b"\xef\xbb\xbf"

SSE = st.lists(
    st.sampled_from(
        [b"data: a", b"data:", b"data", b"data : b", b"event: e\xff", b"event", b"id: 1", b": remark",
         b":", b"x" * 30, b"data: " + b"y" * 30, b":" + b"z" * 50, BOM, b"\n", b"\n", b"\r", b"\r\n",
         b"\n\n", b"\r\r", b"\r\n\r\n", b"\0", b"\xe2\x80\xa8", b"{}", b""]
    )
).map(b"".join)  # fmt: skip
LINES = st.lists(
    st.sampled_from([b'{"a":1}', b"x" * 25, b"\n", b"\r\n", b" ", b"\r", b"\t", BOM, b"\xe2\x80\xa8", b"7"])
).map(b"".join)  # fmt: skip
ARRAYS = st.lists(
    st.sampled_from(
        [b"[", b"]", b"{", b"}", b",", b'"', b"\\", b'"a"', b'{"a":"]}"}', b"[[1],[2]]", b"1", b" ",
         BOM, b'"\\""', b"x" * 25]
    )
).map(b"".join)  # fmt: skip


def sse_model(stream, bound):
    """Name, data and wholeness of each event, and how many were too long (WHATWG HTML, 9.2.6)."""
    *lines, rest = re.split(rb"\r\n|\r|\n", stream.removeprefix(BOM))
    if stream.endswith(b"\r\n") or not rest:
        rest = b""
    events, dropped = [], 0
    name, data, size = b"", [], 0
    for line in [*lines, *([rest] if rest else []), None]:
        if line:
            if not line.startswith(b":"):
                field, _, value = line.partition(b":")
                value = value.removeprefix(b" ")
                size += len(line)
                data += [value] if field == b"data" else []
                name = value if field == b"event" and size <= bound else name
            continue
        if size > bound:
            dropped += 1
        elif data:
            text = name.decode("utf-8", "replace") or "message"
            events.append((text, b"\n".join(data), line is not None))
        name, data, size = b"", [], 0
    return events, dropped


def lines_model(stream, bound):
    """Lines that are not blank, and how many were too long."""
    *whole, rest = stream.split(b"\n")
    events, dropped = [], 0
    for number, line in enumerate([*whole, rest]):
        if len(line) > bound:
            dropped += 1
            continue
        text = (line.removeprefix(BOM) if number == 0 else line).strip(b" \t\r")
        if text:
            events.append(("message", text, number < len(whole)))
    return events, dropped


def read(parser, pieces, held=lambda _parser: 0, bound=0):
    """Events with the number of the piece that brought each; what is held is looked at after each."""
    events = []
    for at, piece in enumerate(pieces):
        events += [(e.name, e.data, e.complete, e.at_ns) for e in parser.feed(piece, at)]
        assert held(parser) <= bound
    return events + [(e.name, e.data, e.complete, e.at_ns) for e in parser.close()]


def sse_held(parser):
    """Bytes of an event that an SSE parser holds."""
    return max(len(parser._partial) - 1, 0) + sum(map(len, parser._data))


def held(parser):
    """Bytes of an event that the other parsers hold."""
    return len(parser._held._bytes)


def untimed(events):
    """Events without the last item, their time."""
    return [event[:-1] for event in events]


@unhurried
@given(SSE, SEEDS, BOUNDS)
@example(BOM + b":" + b"z" * 50 + b"\ndata: a\n\n", 1, 20)
@example(BOM + b"data: " + b"y" * 14 + b"\n\n", 1, 20)
def test_server_sent_events_are_those_of_the_standard(stream, seed, bound):
    """Names, data, what is dropped and what is held, for any bytes, cut and bound."""
    parser = SseParser(bound)
    events = read(parser, at_random(stream, seed, 7), sse_held, bound)
    expected, dropped = sse_model(stream, bound)

    assert untimed(events) == expected
    assert parser.notes == dropped_notes(dropped, bound)


@unhurried
@given(LINES, SEEDS, BOUNDS)
def test_lines_are_those_of_the_model(stream, seed, bound):
    """The same of newline-delimited JSON."""
    parser = NdjsonParser(bound)
    events = read(parser, at_random(stream, seed, 7), held, bound)
    expected, dropped = lines_model(stream, bound)

    assert untimed(events) == expected
    assert parser.notes == dropped_notes(dropped, bound)


@unhurried
@given(ARRAYS, SEEDS, BOUNDS)
def test_no_cut_changes_the_elements_of_what_is_hardly_an_array(stream, seed, bound):
    """Elements and what is dropped are those of a whole reading; no more than the bound is held."""
    whole, cut = JsonArrayParser(bound), JsonArrayParser(bound)
    expected = read(whole, [stream])

    assert untimed(read(cut, at_random(stream, seed, 7), held, bound)) == untimed(expected)
    assert cut.notes == whole.notes


@pytest.mark.parametrize(("parser", "streams"), [(SseParser, SSE), (NdjsonParser, LINES), (JsonArrayParser, ARRAYS)])  # fmt: skip
def test_an_event_has_the_time_of_its_last_byte(parser, streams):
    """Byte by byte: an event is there with the byte that ends it, and no later byte is needed."""

    @unhurried
    @given(streams)
    def law(stream):
        found = read(parser(), byte_by_byte(stream))
        for end in {at for *_, complete, at in found if complete}:
            early = read(parser(), [stream[:end]])
            ended = [event for event in found if event[2] and event[3] < end]
            assert untimed(e for e in early if e[2]) == untimed(ended)

    law()


@unhurried
@given(st.lists(st.sampled_from([b"data: one", b"event: x\ndata: two", b'data: {"a":1}']), min_size=2), SEEDS)  # fmt: skip
def test_damage_to_an_event_costs_no_event_before_it_nor_much_behind(events, seed):
    """Whatever one event becomes: those before come, and those behind from the next empty line on."""
    at = seed % len(events)
    stream = [event + b"\n\n" for event in events]
    whole = untimed(read(SseParser(), [b"".join(stream)]))
    bad = damaged(stream[at], seed)
    found = untimed(read(SseParser(), [b"".join([*stream[:at], bad, b"\n\n", *stream[at + 1 :]])]))

    assert found[:at] == whole[:at]
    assert found[len(found) - (len(whole) - at - 1) :] == whole[at + 1 :]
