"""WebSocket frames to messages: whole, at every cut, masked, compressed, in pieces, and broken."""

from __future__ import annotations

import random
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.wire.head import ReplyHead
from proxy.wire.websocket import Deflate, WebSocketParser, agreed_deflate
from tests.support.cuts import at_random, byte_by_byte, every_cut, every_junk
from tests.support.websocket import (
    CLOSE,
    CONTINUATION,
    MASK,
    PING,
    PONG,
    TEXT,
    Deflater,
    pieces,
    said,
    sent,
    ws_frame,
)

BOUND = 200_000


def parser(*, deflated=False, takeover=True, bound=BOUND):
    """A parser of replies."""
    return WebSocketParser("reply", deflated=deflated, takeover=takeover, bound=bound)


def read(stream, cut=lambda data: [data], reader=None):
    """The messages of a stream, all its pieces at the time 7."""
    reader = reader or parser()
    return [m.data for piece in cut(stream) for m in reader.feed(piece, 7)]


def codes(reader):
    """The codes of its notes, with the direction."""
    return [(note.code, note.where) for note in reader.notes]


# Sound frames


@every_cut
@pytest.mark.parametrize("size", [0, 1, 125, 126, 127])
def test_each_length_is_read(cut, size):
    """7 and 16 bit lengths, and what comes behind them."""
    payload = random.Random(size).randbytes(size)

    assert read(said(payload) + said(b"next"), cut) == [payload, b"next"]


@pytest.mark.parametrize("size", [65535, 65536, 70000])
def test_long_lengths_are_read(size):
    """16 and 64 bit lengths, whole, and with the header cut at every byte."""
    payload = random.Random(size).randbytes(size)
    stream = said(payload) + said(b"next")

    assert read(stream) == [payload, b"next"]
    assert read(stream, lambda data: [*byte_by_byte(data[:12]), data[12:]]) == [payload, b"next"]


@every_cut
def test_masked_messages_are_unmasked(cut):
    """Wherever the network cuts, the mask goes on at its place; each frame has its own."""
    long = bytes(range(256)) * 5
    other = ws_frame(b"other", mask=b"\x01\x02\x03\x04")

    assert read(sent(long) + other + pieces(long, 3, 500, mask=MASK), cut) == [long, b"other", long]


@every_cut
def test_fragments_make_one_message(cut):
    """Control frames may stand between them; empty fragments are fragments."""
    ping = ws_frame(b"?", PING) + ws_frame(b"!" * 125, PONG, mask=MASK)

    assert read(pieces(b"one message", 3, 0, 4, between=ping) + said(b"2"), cut) == [
        b"one message",
        b"2",
    ]


@every_cut
@pytest.mark.parametrize("takeover", [True, False])
def test_compressed_messages_are_inflated(cut, takeover):
    """With and without a context that is carried over; others may stand uncompressed between them."""
    deflate = Deflater(takeover=takeover)
    texts = [b'{"delta":"word"}' * 20, b'{"delta":"word"}' * 3, b"", b'{"delta":"x"}']
    stream = b"".join(deflate.message(text, MASK) for text in texts[:2]) + said(b"plain")
    stream += deflate.message(texts[2]) + deflate.message(texts[3], b"", 3, 2)

    found = read(stream, cut, parser(deflated=True, takeover=takeover))

    assert found == [*texts[:2], b"plain", *texts[2:]]


def test_a_smaller_window_needs_no_telling():
    """What was compressed with 9 bits is read with 15."""
    deflate = Deflater(window=9)
    text = random.Random(1).randbytes(700) * 3

    assert read(deflate.message(text) * 1, reader=parser(deflated=True)) == [text]


@every_cut
def test_a_message_may_end_its_deflate_stream(cut):
    """RFC 7692 section 7.2.3.4: a final block inside a message, and more behind it."""

    def final(text):
        stream = zlib.compressobj(wbits=-15)
        return stream.compress(text) + stream.flush()

    stream = ws_frame(final(b"one ") + final(b"two") + b"\x00", TEXT, rsv=4)
    stream += ws_frame(final(b"three") + b"\x00", TEXT, rsv=4)

    assert read(stream, cut, parser(deflated=True)) == [b"one two", b"three"]


def test_a_message_has_its_times_and_its_size():
    """First byte, last byte, and all its frames' bytes, but none of a ping between them."""
    reader = parser()
    stream = pieces(b"hello", 2, between=ws_frame(b"?", PING))
    assert reader.feed(said(b"x") + stream[:1], 10)[0].at_ns == 10

    [message] = [m for n, p in enumerate(byte_by_byte(stream[1:])) for m in reader.feed(p, 20 + n)]

    assert (message.first_ns, message.at_ns) == (10, 20 + len(stream) - 2)
    assert message.wire_bytes == len(stream) - len(ws_frame(b"?", PING))


@every_cut
@every_junk
def test_behind_the_closing_frame_there_is_no_data(cut, junk):
    """RFC 6455 section 5.5.1: what stands behind it is not read, whatever it is."""
    reader = parser()

    assert read(said(b"last") + ws_frame(b"\x03\xe8", CLOSE) + junk + said(b"x"), cut, reader) == [
        b"last"
    ]
    assert (reader.closed_ns, reader.broken, reader.notes) == (7, False, [])


@given(st.lists(st.binary(max_size=300), max_size=6), st.integers(0, 9), st.booleans())
def test_what_is_sent_is_read(payloads, seed, compressed):
    """Any messages, in any fragments, at any cuts, masked or not, compressed or not."""
    draw = random.Random(seed)
    deflate = Deflater()
    stream = b""
    for payload in payloads:
        mask = draw.choice([b"", MASK])
        sizes = [draw.randint(0, 9) for _ in range(draw.randint(0, 3))]
        stream += deflate.message(payload, mask, *sizes) if compressed else pieces(payload, *sizes, mask=mask)  # fmt: skip

    reader = parser(deflated=compressed)

    assert read(stream, lambda data: at_random(data, seed, 40), reader) == payloads
    assert reader.notes == []


# Broken ones


BROKEN = {
    "a reserved bit": ws_frame(b"x", rsv=1),
    "compressed, and nobody agreed": ws_frame(b"x", rsv=4),
    "an unknown kind": ws_frame(b"x", 3),
    "an unknown control frame": ws_frame(b"x", 11),
    "a continuation of nothing": ws_frame(b"x", CONTINUATION),
    "a message inside a message": ws_frame(b"x", last=False) + said(b"y"),
    "a control frame in pieces": ws_frame(b"x", PING, last=False),
    "a long control frame": ws_frame(b"x" * 126, PING),
    "a compressed control frame": ws_frame(b"x", PING, rsv=4),
    "no frame at all": b"HTTP/1.1 200 OK\r\n\r\n",
}


@every_cut
@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_nothing_is_read_behind_a_broken_frame(cut, broken):
    """One note; what was whole before it stays."""
    reader = parser()

    assert read(said(b"good") + broken + said(b"bad"), cut, reader) == [b"good"]
    assert (reader.broken, codes(reader)) == (True, [("websocket_broken", "reply")])


@every_cut
def test_what_does_not_inflate_is_broken(cut):
    """The note says so, and the compressed messages behind it are not guessed at."""
    reader = parser(deflated=True)
    bad = ws_frame(b"\xff" * 40, rsv=4)

    assert read(Deflater().message(b"ok") + bad + said(b"x"), cut, reader) == [b"ok"]
    assert codes(reader) == [("websocket_broken", "reply")]


@every_cut
def test_reading_ends_at_a_message_that_is_too_long(cut):
    """At its bound it is still read; with one byte more nothing is, nor behind it."""
    reader = parser(bound=300)
    stream = said(b"x" * 300) + pieces(b"x" * 301, 200) + said(b"y")

    assert read(stream, cut, reader) == [b"x" * 300]
    assert codes(reader) == [("message_too_long", "reply")]


@every_cut
def test_a_bomb_is_not_inflated(cut):
    """1 MB of zeroes in 1 kB: no more is made of them than the bound allows."""
    reader = parser(deflated=True, bound=300)

    assert read(Deflater().message(bytes(1_000_000)) + said(b"y"), cut, reader) == []
    assert codes(reader) == [("message_too_long", "reply")]


def test_the_end_of_a_compressed_message_counts_too():
    """The four bytes that a sender takes off are put back: here they are the rest of a stored block."""
    stored = b"\x00" + struct.pack("<HH", 304, 304 ^ 0xFFFF) + bytes(300)
    reader = parser(deflated=True, bound=300)

    assert read(ws_frame(stored, rsv=4) + said(b"y"), reader=reader) == []
    assert codes(reader) == [("message_too_long", "reply")]


def test_behind_missing_bytes_nothing_is_read():
    """Whoever knows of the gap notes it; half a message is none."""
    reader = parser()
    assert read(said(b"one") + said(b"two")[:3], reader=reader) == [b"one"]

    reader.lost()

    assert read(b"o" + said(b"three"), reader=reader) == []
    assert (reader.broken, reader.notes) == (True, [])


@every_junk
@every_cut
def test_junk_never_raises(cut, junk):
    """Whatever comes, some messages come out, or a note."""
    read(said(b"x") + junk * 3, cut, parser(deflated=True))


@given(st.binary(max_size=400), st.booleans())
def test_any_bytes_are_survived(data, deflated):
    """The same at every cut."""
    whole, cut = parser(deflated=deflated), parser(deflated=deflated)

    assert read(data, reader=whole) == read(data, byte_by_byte, cut)
    assert (whole.notes, whole.broken, whole.closed_ns) == (cut.notes, cut.broken, cut.closed_ns)


# What was agreed on


@pytest.mark.parametrize(
    ("said_by", "agreed"),
    [
        ([], Deflate()),
        (["permessage-deflate"], Deflate(offered=True)),
        (
            [
                "x-other; a=1, Permessage-Deflate; SERVER_no_context_takeover ;client_max_window_bits=9"
            ],
            Deflate(offered=True, server_takeover=False),
        ),
        (
            ["x-other", "permessage-deflate; client_no_context_takeover"],
            Deflate(offered=True, client_takeover=False),
        ),
        (["permessage-deflated"], Deflate()),
    ],
)
def test_the_reply_says_what_is_compressed(said_by, agreed):
    """By RFC 7692 section 7.1, in whatever case, among other extensions."""
    headers = tuple(("Sec-WebSocket-Extensions", value) for value in said_by)

    assert agreed_deflate(ReplyHead(101, (1, 1), headers)) == agreed
