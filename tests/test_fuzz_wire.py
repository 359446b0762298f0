"""Framing, heads, codings, frames of the pipe and of WebSockets: damage, oracles and bounds."""

from __future__ import annotations

import random
import zlib

import brotli
import h11
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from proxy.wire.coding import ContentDecoder
from proxy.wire.frame import HEADER, FrameReader, Kind, frame
from proxy.wire.framing import MAX_HEAD, ReplyFraming, RequestFraming, Stage
from proxy.wire.head import parse_reply_head, parse_request_head
from proxy.wire.request_side import RequestSide
from proxy.wire.websocket import WebSocketParser
from tests.support.bodies import chunked, head
from tests.support.cuts import at_random
from tests.support.damage import damaged, examples
from tests.support.websocket import MASK, PING, Deflater, pieces, ws_frame

unhurried = examples()
SEEDS = st.integers(0, 2**32)

REQUESTS = [
    head("GET /v1/models HTTP/1.1", "Host: a.test"),
    head("POST /v1/x HTTP/1.1", "Host: a.test", "Content-Length: 5") + b"hello",
    head("POST /v1/x HTTP/1.1", "Host: a.test", "Transfer-Encoding: chunked") + chunked(b"hello", b"x" * 20),
    head("PUT / HTTP/1.0", "Content-Length: 0", "X-A: b"),
]  # fmt: skip
REPLIES = [
    head("HTTP/1.1 200 OK", "Content-Length: 5") + b"hello",
    head("HTTP/1.1 100 Continue") + head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + chunked(b"hi", b"y" * 20, trailers=b"A: b\r\n"),
    head("HTTP/1.1 204 None"),
    head("HTTP/1.1 404 Not Found", "Content-Length: 2", "X-A: b") + b"{}",
]  # fmt: skip


def by_h11(connection, data):
    """Content and end of the first message; None where h11 is not sure of one."""
    content = b""
    try:
        connection.receive_data(data)
        while type(event := connection.next_event()) is not h11.EndOfMessage:
            if event in (h11.NEED_DATA, h11.PAUSED) or type(event) is h11.ConnectionClosed:
                return None
            content += bytes(event.data) if type(event) is h11.Data else b""
    except h11.RemoteProtocolError:
        return None
    return content, len(data) - len(connection.trailing_data[0])


def ours(framing, data, seed):
    """Content and end of the first message; None where it is not framed or not whole."""
    content, before = b"", 0
    for piece in at_random(data, seed, 30):
        position = 0
        while position < len(piece) and framing.stage in (Stage.HEAD, Stage.BODY):
            spans = []
            position = framing.feed(piece, position, spans)
            content += b"".join(piece[start:end] for start, end in spans)
        if framing.stage is Stage.DONE:
            return content, before + position
        before += len(piece)
    return None


def agree(framing, connection, data, seed):
    """Two readers that are both sure of an end must mean the same one."""
    theirs, found = by_h11(connection, data), ours(framing, data, seed)
    assert theirs is None or found is None or found == theirs


@unhurried
@given(st.lists(st.sampled_from(REQUESTS), min_size=1, max_size=3), SEEDS)
def test_of_damaged_requests_no_end_is_claimed_that_h11_denies(messages, seed):
    """Where two readers could disagree about an end a request could be smuggled: doubt is no claim."""
    stream = damaged(b"".join(messages), seed, b"".join(REQUESTS))
    agree(RequestFraming(), h11.Connection(h11.SERVER), stream.lstrip(b"\r\n"), seed)


@unhurried
@given(st.lists(st.sampled_from(REPLIES), min_size=1, max_size=3), SEEDS)
def test_of_damaged_replies_no_end_is_claimed_that_h11_denies(messages, seed):
    """The same of what answers a GET."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "a.test")]))
    connection.send(h11.EndOfMessage())
    agree(ReplyFraming("GET"), connection, damaged(b"".join(messages), seed, REPLIES[1]), seed)


@unhurried
@given(st.lists(st.sampled_from(REQUESTS), max_size=3), st.binary(max_size=300), SEEDS)
def test_a_caller_s_bytes_go_on_whatever_they_are(messages, junk, seed):
    """With `Host` kept every byte arrives, for every cut, and never more than a head waits."""
    stream = damaged(b"".join(messages) + junk, seed, b"".join(REQUESTS))
    side, passed, given_ = RequestSide(None), b"", 0
    for piece in at_random(stream, seed, 40):
        given_ += len(piece)
        passed += b"".join(side.feed(piece)[0])
        assert given_ - len(passed) <= MAX_HEAD
    held = b"".join(side.release())

    assert passed + held == stream


FIELDS = st.lists(
    st.tuples(
        st.from_regex(rb"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,20}", fullmatch=True),
        st.from_regex(rb"([!-~\x80-\xff]([ \t!-~\x80-\xff]{0,20}[!-~\x80-\xff])?)?", fullmatch=True),
    ),
    max_size=8,
)  # fmt: skip


@unhurried
@given(
    FIELDS, st.sampled_from([b"\r\n", b"\n"]), st.sampled_from([b"", b" ", b" \t "]), st.booleans()
)
def test_the_fields_of_a_head_are_read_as_they_were_sent(fields, end, space, ended):
    """Any names and values, either line end, any blanks around a value, the empty line there or not."""
    lines = [name + b":" + space + value + space for name, value in fields]
    wanted = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in fields)
    tail = end + end if ended else end
    request = parse_request_head(end.join([b"GET /a?b HTTP/1.1", *lines]) + tail)
    reply = parse_reply_head(end.join([b"HTTP/1.1 299 Some \xff reason", *lines]) + tail)

    assert (request.method, request.target, request.version) == ("GET", "/a?b", (1, 1))
    assert (reply.status, reply.version) == (299, (1, 1))
    assert request.headers == reply.headers == wanted


def zstd(data):
    """One frame."""
    return zstandard.ZstdCompressor().compress(data)


def bare(data):
    """Deflate without its header, as some send it."""
    coder = zlib.compressobj(wbits=-15)
    return coder.compress(data) + coder.flush()


def gzip(data):
    """One member."""
    coder = zlib.compressobj(wbits=31)
    return coder.compress(data) + coder.flush()


CODERS = {
    "gzip": gzip,
    "x-gzip": gzip,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd,
}
CHAINS = st.lists(st.sampled_from([*CODERS, "identity"]), max_size=3)
CONTENTS = st.binary(max_size=400) | st.binary(min_size=1, max_size=20).map(lambda b: b * 2000)


def coded(content, chain):
    """The content in codings, in the order in which a header names them."""
    for name in chain:
        content = CODERS.get(name, bytes)(content)
    return content


def decoded(data, chain, seed, **bound):
    """All that comes out, and the codes of the notes."""
    decoder = ContentDecoder(chain, **bound)
    out = b"".join(decoder.feed(piece) for piece in at_random(data, seed, 50)) + decoder.close()
    return out, [note.code for note in decoder.notes]


@unhurried
@given(CONTENTS, CHAINS, SEEDS)
def test_what_was_coded_is_decoded(content, chain, seed):
    """Any content in any codings, for any cut; cut off, what comes is its beginning, with a note."""
    data = coded(content, chain)
    end = seed % (len(data) + 1)
    part, notes = decoded(data[:end], chain, seed)

    assert decoded(data, chain, seed) == (content, [])
    assert content.startswith(part)
    assert notes in ([], ["coding_cut"])
    assert notes or part == content or not end or set(chain) <= {"identity"}


@unhurried
@given(CONTENTS, CHAINS, SEEDS, SEEDS)
def test_no_cut_makes_another_content_of_damaged_codings(content, chain, seed, other):
    """More or less of it may come, never something else; and why it ends is said once."""
    data = damaged(coded(content, chain), seed)
    (one, said), (two, heard) = decoded(data, chain, seed), decoded(data, chain, other)

    assert one.startswith(two) or two.startswith(one)
    assert len(said) <= 1
    assert len(heard) <= 1


@unhurried
@given(CONTENTS, CHAINS, SEEDS, st.integers(0, 3000))
def test_no_more_comes_out_than_the_bound(content, chain, seed, bound):
    """Of every step between two codings too; and what is left out is told."""
    data = coded(content, chain)
    out, notes = decoded(data, chain, seed, bound=bound)
    assert (out, notes) == (content, []) or notes == ["coding_too_long"]
    if any(name in CODERS for name in chain):
        assert len(out) <= bound
        assert len(decoded(damaged(data, seed), chain, seed, bound=bound)[0]) <= bound


FRAMES = [frame(Kind.REPLY, n, n, b"x" * n * 9) for n in range(1, 6)]
SENT = [one.encode() for one in FRAMES]


@unhurried
@given(SEEDS, SEEDS, SEEDS)
def test_damage_on_the_pipe_costs_no_frame_before_it(which, seed, cut):
    """And no cut changes what is read of it; `broken` keeps nothing."""
    at = which % len(SENT)
    data = b"".join([*SENT[:at], damaged(SENT[at], seed), *SENT[at + 1 :]])
    whole, by_pieces = FrameReader(), FrameReader()
    found = list(whole.feed(data))

    assert found[:at] == FRAMES[:at]
    assert [f for piece in at_random(data, cut, 50) for f in by_pieces.feed(piece)] == found
    assert (by_pieces.broken, by_pieces.pending) == (whole.broken, whole.pending)
    assert sum(len(f.data) + HEADER.size for f in found) + whole.pending <= len(data)
    assert not (whole.broken and whole.pending)


def messages_of(parser, data, seed):
    """Payloads of whole messages, with what is held looked at after each piece."""
    found = []
    for at, piece in enumerate(at_random(data, seed, 40)):
        found += [message.data for message in parser.feed(piece, at)]
        assert len(parser._data) <= 4000
    return found


@unhurried
@given(st.lists(st.binary(max_size=300), min_size=1, max_size=5), SEEDS, SEEDS, st.booleans(), st.booleans())  # fmt: skip
def test_damage_to_a_message_costs_no_message_before_it(payloads, seed, cut, masked, compressed):
    """Masked or not, compressed or not, in fragments with pings between; one note at most."""
    mask = MASK if masked else b""
    deflater = Deflater()
    draw = random.Random(seed)
    frames = []
    for payload in payloads:
        sizes = sorted(draw.choices(range(len(payload) + 1), k=draw.randint(0, 2)))
        ping = ws_frame(b"p", PING, mask=mask)
        plain = pieces(payload, *sizes[:1], mask=mask, between=ping)
        frames.append(deflater.message(payload, mask, *sizes[:1]) if compressed else plain)
    at = draw.randrange(len(frames))
    data = b"".join([*frames[:at], damaged(frames[at], seed), *frames[at + 1 :]])
    sound = WebSocketParser("request", deflated=compressed, takeover=True, bound=4000)
    whole = WebSocketParser("request", deflated=compressed, takeover=True, bound=4000)
    by_pieces = WebSocketParser("request", deflated=compressed, takeover=True, bound=4000)
    found = [message.data for message in whole.feed(data, 0)]

    assert messages_of(sound, b"".join(frames), cut) == payloads
    assert found[:at] == payloads[:at]
    assert messages_of(by_pieces, data, cut) == found
    assert [n.code for n in by_pieces.notes] == [n.code for n in whole.notes]
    assert len(whole.notes) <= 1


@pytest.mark.parametrize("coder", [gzip, zlib.compress, bare, brotli.compress, zstd])
def test_a_bomb_costs_its_bound(coder):
    """Zeroes a thousand times as long as the bound: no more than the bound comes out, and it says so."""
    name = {gzip: "gzip", brotli.compress: "br", zstd: "zstd"}.get(coder, "deflate")
    out, notes = decoded(coder(bytes(20_000_000)), [name], 1, bound=20_000)

    assert len(out) <= 20_000
    assert notes == ["coding_too_long"]
