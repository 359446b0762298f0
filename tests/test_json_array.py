"""The splitter of a JSON array in pieces: elements at every cut, their times, and what is no element."""

from __future__ import annotations

import time

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.wire.json_array import JsonArrayParser
from proxy.wire.sse import SseEvent
from tests.support.cuts import at_random, every_cut, every_junk


def parse(pieces, bound=2**20):
    """The complete elements, then the unfinished one."""
    parser = JsonArrayParser(bound)
    events = [event for piece in pieces for event in parser.feed(piece, 0)]
    return [e.data for e in events], [e.data for e in parser.close()]


ARRAYS = {
    "as Gemini sends it": (b'[{"a":1}\n,\r\n{"b":2}\n]\n', [b'{"a":1}', b'{"b":2}']),
    "all in one": (b'[{"a":1},{"b":2}]', [b'{"a":1}', b'{"b":2}']),
    "brackets inside": (b'[{"a":[{"b":[]}]},{}]', [b'{"a":[{"b":[]}]}', b"{}"]),
    "arrays as elements": (b"[[1,[2]],[]]", [b"[1,[2]]", b"[]"]),
    "brackets in strings": (b'[{"a]}":"}]{["},{"b":"]"}]', [b'{"a]}":"}]{["}', b'{"b":"]"}']),
    "escaped quotes": (b'[{"a":"\\"}\\\\"},{"b":"\\\\\\"]"}]', [b'{"a":"\\"}\\\\"}', b'{"b":"\\\\\\"]"}']),
    "a mark and blanks in front": (b'\xef\xbb\xbf \n[{"a":1}]', [b'{"a":1}']),
    "words beside elements": (b'[1,"]{",null,{"a":1},true]', [b'{"a":1}']),
    "an empty array": (b"[ ]", []),
    "a second array behind it": (b'[{"a":1}][{"b":2}]', [b'{"a":1}']),
    "closed before it is open": (b'][{"a":1}]', []),
    "nothing": (b"", []),
}  # fmt: skip


@every_cut
@pytest.mark.parametrize(("array", "expected"), ARRAYS.values(), ids=ARRAYS)
def test_elements_are_events(array, expected, cut):
    """Each object or array in the array is one event, wherever the bytes are cut."""
    assert parse(cut(array)) == (expected, [])


@every_cut
@every_junk
def test_junk_behind_the_array_is_none_of_it(cut, junk):
    """What stands behind the closing bracket changes nothing."""
    assert parse(cut(b'[{"a":1},{"b":2}]' + junk)) == ([b'{"a":1}', b'{"b":2}'], [])


UNFINISHED = {
    "in an object": (b'[{"a":1},{"b":', [b'{"b":']),
    "in a string": (b'[{"a":1},{"b":"x}', [b'{"b":"x}']),
    "in an escape": (b'[{"a":1},{"b":"\\', [b'{"b":"\\']),
    "behind a comma": (b'[{"a":1}\n,', []),
    "behind an element": (b'[{"a":1}', []),
}


@every_cut
@pytest.mark.parametrize(("array", "rest"), UNFINISHED.values(), ids=UNFINISHED)
def test_an_unfinished_element_is_told_apart(array, rest, cut):
    """What the array ended inside of is given by close, once, and says that it is not complete."""
    parser = JsonArrayParser()
    events = [event for piece in cut(array) for event in parser.feed(piece, 7)]

    assert [event.data for event in events] == [b'{"a":1}']
    assert parser.close() == [SseEvent("message", data, 7, complete=False) for data in rest]
    assert parser.close() == []


def test_time_is_that_of_the_last_byte():
    """An element arrives with its closing bracket, not with the comma that comes later."""
    parser = JsonArrayParser()

    seen = [parser.feed(b'[{"a":', 10), parser.feed(b"1}", 20), parser.feed(b"", 25)]
    seen.append(parser.feed(b"\n,{},{", 30))

    assert seen == [
        [],
        [SseEvent("message", b'{"a":1}', 20)],
        [],
        [SseEvent("message", b"{}", 30)],
    ]


@every_cut
def test_an_outsized_element_is_dropped_and_parsing_goes_on(cut):
    """An element of the bound is kept; longer ones are left out and noted, an unfinished one too."""
    array = b'[{"a":123},{"a":1234},[' + b"1," * 30 + b'1],{},{"long": "unfinished'
    parser = JsonArrayParser(bound=9)

    events = [event for piece in cut(array) for event in parser.feed(piece, 0)]

    assert [event.data for event in events] == [b'{"a":123}', b"{}"]
    assert parser.close() == []
    assert [str(n) for n in parser.notes] == ["event_too_long: reply events, 3 longer than 9 bytes"]


def test_without_drops_there_is_no_note():
    """What is within the bound is worth no word."""
    parser = JsonArrayParser()
    parser.feed(b"[{}]", 0)

    assert parser.notes == ()


texts = st.text('a"\\[]{},\u2028', max_size=6)
objects_in_arrays = st.lists(
    st.dictionaries(texts, texts | st.lists(texts, max_size=2), max_size=3), max_size=4
)


@given(objects_in_arrays, st.integers(0, 99), st.integers(1, 9))
def test_what_goes_in_comes_out(objects, seed, longest):
    """For any objects and cuts: the elements are those that a whole reading finds."""
    array = b"[" + b"\n,\r\n".join(orjson.dumps(one) for one in objects) + b"]"

    events, rest = parse(at_random(array, seed, longest))

    assert [orjson.loads(event) for event in events] == objects
    assert rest == []


def test_a_long_element_in_small_pieces_is_read_once():
    """Time grows with the bytes, not with their square: 8 MB in 8,000 pieces."""
    parser = JsonArrayParser()
    parser.feed(b'[{"a":"', 0)
    begun = time.perf_counter()
    for _ in range(8000):
        parser.feed(b"x" * 1000, 0)

    assert [len(event.data) for event in parser.feed(b'"}', 0)] == [8_000_008]
    assert time.perf_counter() - begun < 2
