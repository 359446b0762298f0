"""JSON as others send it: read where any reader could, never raising, safe to write again."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.dialects.json_text import compact, read_json

READ = {
    "plain": (b'{"a": [1, 2.5, true, null]}', {"a": [1, 2.5, True, None]}),
    "null": (b"null", None),
    "half a surrogate pair": (rb'"\ud83d"', "\ufffd"),
    "the other half": (rb'"a\ude00b"', "a\ufffdb"),
    "halves in the wrong order": (rb'"\ude00\ud83d"', "\ufffd\ufffd"),
    "a pair beside a half": (rb'"\ud83d\ude00 \ud83d"', "\U0001f600 \ufffd"),
    "a backslash before u": (rb'"\\ud83d \ud83d"', r"\ud83d " + "\ufffd"),
    "NaN and infinities": (b"[NaN, Infinity, -Infinity, 1]", [None, None, None, 1]),
    "bytes that are not utf-8": (b'"caf\xe9"', "caf\ufffd"),
    "a line end in a string": (b'"a\nb"', "a\nb"),
    "a byte order mark": (b'\xef\xbb\xbf{"a":1}', {"a": 1}),
    "junk behind": (b'{"a":1}\0\0 and more', {"a": 1}),
    "blanks in front": (b' \r\n\t{"a":NaN}', {"a": None}),
    "a number of 400 digits": (b"1" * 400, int("1" * 400)),
    "nothing": (b"", None),
    "blanks": (b"  ", None),
    "text": (b"hello", None),
    "cut": (b'{"a": [1, ', None),
    "a number of 5000 digits": (b"1" * 5000, None),
    "nested too deep": (b"[" * 500_000 + b"]" * 500_000, None),
    "objects nested too deep": (b'{"a":' * 100_000, None),
}


@pytest.mark.parametrize(("data", "expected"), READ.values(), ids=READ)
def test_reads_what_any_reader_could(data, expected):
    """Each way of real senders is read; what nobody can read is None."""
    assert read_json(data) == expected


@given(st.binary())
def test_no_bytes_raise(data):
    """Whatever the bytes are, nothing raises."""
    read_json(data)


@given(
    st.lists(st.sampled_from([r"\ud83d", r"\ude00", r"\n", "\\\\", "u", "d800", "a", r"\u00e9"]))
)
def test_no_text_holds_half_a_pair(escapes):
    """All that comes out can be encoded again."""
    read_json(f'"{"".join(escapes)}"'.encode()).encode()


scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=5)


@given(st.recursive(scalars, lambda x: st.lists(x) | st.dictionaries(st.text(), x), max_leaves=9))
def test_compact_is_read_back(value):
    """Compact JSON holds the value."""
    assert read_json(compact(value).encode()) == value


def test_compact_keeps_the_order_and_has_no_spaces():
    """Keys stay where they were: a prefix cache sees their order."""
    assert compact({"b": 1, "a": ["é", None]}) == '{"b":1,"a":["é",null]}'


def nested(depth):
    """A list in a list in a list."""
    value = []
    for _ in range(depth):
        value = [value]
    return value


def test_compact_of_deep_nesting():
    """What orjson refuses is written otherwise, and what no one can write is empty."""
    assert compact(nested(300)) == "[" * 301 + "]" * 301
    assert compact(nested(100_000)) == ""
    assert compact({"a": object()}) == ""


def test_reads_as_orjson_does():
    """The first reading is orjson's own, to the type."""
    text = b'{"a":1.0,"b":18446744073709551615,"c":"\\u00e9"}'

    assert read_json(text) == orjson.loads(text)
