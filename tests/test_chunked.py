"""Chunked coding: where the content lies, where it ends, and what is no chunked coding at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.wire.chunked import MAX_LINE, ChunkedFraming
from tests.support.cuts import at_random, every_cut, every_junk


def read(pieces):
    """The content, the offset behind the last byte read, and what the framing says then."""
    framing = ChunkedFraming()
    content, reached = b"", 0
    for piece in pieces:
        spans = []
        stopped = framing.feed(piece, 0, spans)
        content += b"".join(piece[start:end] for start, end in spans)
        reached += stopped
        if framing.done or framing.broken:
            break
    return content, reached, framing


BODIES = {
    "one chunk": (b"5\r\nhello\r\n0\r\n\r\n", b"hello"),
    "several": (b"1\r\nh\r\n4\r\nello\r\n0\r\n\r\n", b"hello"),
    "none": (b"0\r\n\r\n", b""),
    "line feeds only": (b"5\nhello\n0\n\n", b"hello"),
    "mixed line ends": (b"5\nhello\r\n0\r\n\n", b"hello"),
    "extensions": (b'5;a=b;c="d e"\r\nhello\r\n0;last\r\n\r\n', b"hello"),
    "an extension behind spaces": (b"5 \t;a\r\nhello\r\n0\r\n\r\n", b"hello"),
    "spaces behind the size": (b"5  \r\nhello\r\n0 \r\n\r\n", b"hello"),
    "any bytes in an extension": (b"5;\xff\x00\r\r\nhello\r\n0\r\n\r\n", b"hello"),
    "trailers": (b"5\r\nhello\r\n0\r\nX-Sum: 1\r\nX-B:\r\n\r\n", b"hello"),
    "hexadecimal": (b"a\r\n0123456789\r\nB\r\n01234567890\r\n0\r\n\r\n", b"012345678901234567890"),
    "leading zeroes": (b"0005\r\nhello\r\n000\r\n\r\n", b"hello"),
    "content like framing": (b"7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n", b"\r\n0\r\n\r\n"),
}


@every_cut
@pytest.mark.parametrize(("body", "content"), BODIES.values(), ids=BODIES)
def test_a_body_is_read(body, content, cut):
    """Content and end are found wherever the body is cut."""
    got, reached, framing = read(cut(body))

    assert (got, reached, framing.done, framing.broken) == (content, len(body), True, False)


@every_cut
@every_junk
def test_reading_stops_exactly_behind_the_end(junk, cut):
    """What stands behind the body belongs to another message: not a byte of it is taken."""
    body = b"5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"
    got, reached, framing = read(cut(body + junk))

    assert (got, reached, framing.done) == (b"hello", len(body), True)


BROKEN = {
    "a sign": b"+5\r\nhello\r\n",
    "negative": b"-5\r\nhello\r\n",
    "a prefix": b"0x5\r\nhello\r\n",
    "an underscore": b"1_0\r\nhello\r\n",
    "empty": b"\r\nhello\r\n",
    "no number": b"hello\r\n",
    "a leading space": b" 5\r\nhello\r\n",
    "two numbers": b"5 5\r\nhello\r\n",
    "too large for anyone": b"1000000000000000\r\nhello\r\n",
    "digits of another script": b"\xd9\xa5\r\nhello\r\n",
    "a carriage return alone": b"5\r\r\nhello\r\n",
}


@every_cut
@pytest.mark.parametrize("line", BROKEN.values(), ids=BROKEN)
def test_a_size_that_servers_would_not_take_breaks(line, cut):
    """`int` would take several of these. What came before the line stays content."""
    good = b"2\r\nhi\r\n"
    content, reached, framing = read(cut(good + line))

    assert (content, framing.broken, framing.done) == (b"hi", True, False)
    assert len(good) <= reached <= len(good) + line.index(b"\n")


@every_cut
def test_bytes_behind_a_chunk_break(cut):
    """A chunk that is longer than it said is no chunk; the fault stands at its first extra byte."""
    content, _reached, framing = read(cut(b"5\r\nhello!\r\n0\r\n\r\n"))

    assert (content, framing.broken, framing.done) == (b"hello", True, False)


def test_broken_stands_at_the_line_that_could_not_be_read():
    """So whoever passes the bytes on knows from where nothing is told apart."""
    _content, reached, framing = read([b"2\r\nhi\r\nhuh\r\nmore"])

    assert (reached, framing.broken) == (len(b"2\r\nhi\r\n"), True)


def test_the_largest_size_is_counted_not_kept():
    """Sizes are numbers, not memory."""
    framing = ChunkedFraming()
    spans = []

    assert framing.feed(b"fffffffffffffff\r\nabc", 0, spans) == 20
    assert spans == [(17, 20)]
    assert not framing.done
    assert not framing.broken


@every_cut
@pytest.mark.parametrize("start", [b"5;", b"0\r\nX-A: "])
def test_a_line_without_end_breaks(start, cut):
    """Size lines and trailers are bounded, and the bound does not depend on the cut."""
    room = MAX_LINE - len(start.rpartition(b"\n")[2]) - 1
    fits, too_long = (start + b"x" * n + b"\r\n" for n in (room, room + 1))

    assert not read(cut(fits))[2].broken
    assert read(cut(too_long))[2].broken


def test_a_line_that_only_grows_breaks_before_its_end():
    """Nothing is kept for longer than the bound allows."""
    _content, _reached, framing = read([b"5;"] + [b"x" * 1000] * 20)

    assert framing.broken


def test_reads_from_where_it_is_told():
    """Offsets are those of the piece, whatever stands before the start."""
    framing = ChunkedFraming()
    spans = []

    assert framing.feed(b"....5\r\nhello\r\n0\r\n\r\n....", 4, spans) == 19
    assert spans == [(7, 12)]
    assert framing.done


def test_without_spans_it_only_finds_the_end():
    """The byte path needs no content."""
    framing = ChunkedFraming()

    assert framing.feed(b"5\r\nhello\r\n0\r\n\r\n...", 0) == 15
    assert framing.done


def test_nothing_is_read_behind_the_end():
    """A framing that is done stays where it is."""
    _content, _reached, framing = read([b"0\r\n\r\n"])

    assert framing.feed(b"5\r\nhello\r\n", 3) == 3


CHUNKS = st.lists(st.binary(min_size=1, max_size=40), max_size=6)
EXTENSIONS = st.sampled_from([b"", b";a", b" ;a=b", b';q="\xc3\xa9"'])
TRAILERS = st.lists(st.sampled_from([b"X-A: 1", b"X-B:", b"junk"]), max_size=3)


@st.composite
def coded(draw):
    """Some content, and one of its chunked forms."""
    chunks, extension, trailers = draw(CHUNKS), draw(EXTENSIONS), draw(TRAILERS)
    end = draw(st.sampled_from([b"\r\n", b"\n"]))
    lines = [b"%X%b%b%b%b" % (len(c), extension, end, c, end) for c in chunks]
    last = [b"0", extension, end, *(line + end for line in trailers), end]
    return b"".join(chunks), b"".join(lines + last)


@given(coded(), st.binary(max_size=20), st.integers(0, 2**32), st.integers(1, 30))
def test_what_was_encoded_is_read(both, junk, seed, longest):
    """Any content in any chunks comes out whole, and reading stops behind its last byte."""
    content, body = both
    got, reached, framing = read(at_random(body + junk, seed, longest))

    assert (got, reached, framing.done) == (content, len(body), True)


PARTS = st.sampled_from([b"5\r\n", b"hello", b"\r\n", b"0", b"\n", b";x", b"ffff", b"\r", b" "])


@given(st.lists(PARTS).map(b"".join) | st.binary(max_size=60), st.integers(0, 2**32))
def test_a_cut_never_changes_what_is_read(data, seed):
    """Nonsense too: content and verdict are the same, and nothing raises."""
    whole, _, by_one = read([data])
    cut, _, by_many = read(at_random(data, seed, 5))

    assert (cut, by_many.done, by_many.broken) == (whole, by_one.done, by_one.broken)
