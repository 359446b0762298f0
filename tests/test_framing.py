"""Where messages end: RFC 9112 section 6.3 rule by rule, at every cut, and where nobody can tell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.wire.framing import (
    MAX_HEAD,
    Body,
    ReplyFraming,
    RequestFraming,
    Stage,
    reply_body,
    request_body,
)
from proxy.wire.head import parse_reply_head, parse_request_head
from tests.support.bodies import chunked, head, reply, request
from tests.support.cuts import JUNK, at_random, every_cut

GET, HTTP_1_0 = "GET / HTTP/1.1", "GET / HTTP/1.0"
TE, CL = "Transfer-Encoding: ", "Content-Length: "

REQUESTS = {
    "nothing said": (GET, [], (Body.NONE, 0)),
    "a length": (GET, [CL + "5"], (Body.LENGTH, 5)),
    "a length of nothing": (GET, [CL + "0"], (Body.NONE, 0)),
    "a length in HTTP/1.0": (HTTP_1_0, [CL + "5"], (Body.LENGTH, 5)),
    "chunked": (GET, [TE + "chunked"], (Body.CHUNKED, 0)),
    "chunked in another case": (GET, ["TRANSFER-encoding:\t cHUNKED "], (Body.CHUNKED, 0)),
    "equal lengths": (GET, [CL + "5", CL + "5"], (Body.LENGTH, 5)),
    "equal lengths in one field": (GET, [CL + "5, 5"], (Body.LENGTH, 5)),
    "zeroes before it": (GET, [CL + "005"], (Body.LENGTH, 5)),
    "different lengths": (GET, [CL + "5", CL + "6"], (Body.DOUBT, 0)),
    "lengths spelled differently": (GET, [CL + "5, 05"], (Body.DOUBT, 0)),
    "chunked and a length": (GET, [TE + "chunked", CL + "5"], (Body.DOUBT, 0)),
    "another coding first": (GET, [TE + "gzip, chunked"], (Body.DOUBT, 0)),
    "another coding alone": (GET, [TE + "gzip"], (Body.DOUBT, 0)),
    "chunked not last": (GET, [TE + "chunked, gzip"], (Body.DOUBT, 0)),
    "chunked twice": (GET, [TE + "chunked", TE + "chunked"], (Body.DOUBT, 0)),
    "a coding of no name": (GET, [TE, CL + "5"], (Body.DOUBT, 0)),
    "chunked before HTTP/1.1": (HTTP_1_0, [TE + "chunked"], (Body.DOUBT, 0)),
    "a plus": (GET, [CL + "+5"], (Body.DOUBT, 0)),
    "a minus": (GET, [CL + "-5"], (Body.DOUBT, 0)),
    "an underscore": (GET, [CL + "1_0"], (Body.DOUBT, 0)),
    "hexadecimal": (GET, [CL + "0x5"], (Body.DOUBT, 0)),
    "a fraction": (GET, [CL + "5.0"], (Body.DOUBT, 0)),
    "a space inside": (GET, [CL + "5 0"], (Body.DOUBT, 0)),
    "no number": (GET, [CL], (Body.DOUBT, 0)),
    "a number and nothing": (GET, [CL + "5,"], (Body.DOUBT, 0)),
    "digits of another script": (GET, [CL + "\xb2"], (Body.DOUBT, 0)),
    "longer than anything": (GET, [CL + "9" * 19], (Body.DOUBT, 0)),
    "as long as can be": (GET, [CL + "9" * 18], (Body.LENGTH, 10**18 - 1)),
    "prior-knowledge HTTP/2": ("PRI * HTTP/2.0", [], (Body.DOUBT, 0)),
    "no version": ("GET /", [], (Body.DOUBT, 0)),
    "an upgrade changes nothing": (GET, ["Upgrade: h2c", CL + "5"], (Body.LENGTH, 5)),
    "nor does CONNECT": ("CONNECT a.test:443 HTTP/1.1", [], (Body.NONE, 0)),
}  # fmt: skip


@pytest.mark.parametrize(("line", "fields", "framed"), REQUESTS.values(), ids=REQUESTS)
def test_what_ends_a_request(line, fields, framed):
    """Rules 4 to 7; where two servers could disagree there is doubt, not a guess."""
    assert request_body(parse_request_head(head(line, *fields))) == framed


REPLIES = {
    "nothing said": ("GET", "200 OK", [], (Body.CLOSE, 0)),
    "a length": ("GET", "200 OK", [CL + "5"], (Body.LENGTH, 5)),
    "a length of nothing": ("GET", "200 OK", [CL + "0"], (Body.NONE, 0)),
    "chunked": ("GET", "200 OK", [TE + "chunked"], (Body.CHUNKED, 0)),
    "chunked overrides a length": ("GET", "200 OK", [CL + "5", TE + "chunked"], (Body.CHUNKED, 0)),
    "another coding first": ("GET", "200 OK", [TE + "gzip, chunked"], (Body.CHUNKED, 0)),
    "another coding last": ("GET", "200 OK", [TE + "chunked, gzip", CL + "5"], (Body.CLOSE, 0)),
    "chunked and an empty element": ("GET", "200 OK", [TE + "chunked,"], (Body.CHUNKED, 0)),
    "a coding of no name": ("GET", "200 OK", [TE, CL + "5"], (Body.LENGTH, 5)),
    "equal lengths": ("GET", "200 OK", [CL + "5", CL + "5"], (Body.LENGTH, 5)),
    "different lengths": ("GET", "200 OK", [CL + "5", CL + "6"], (Body.DOUBT, 0)),
    "no number": ("GET", "200 OK", [CL + "five"], (Body.DOUBT, 0)),
    "an error": ("POST", "503 Busy", [CL + "5"], (Body.LENGTH, 5)),
    "to HEAD": ("HEAD", "200 OK", [CL + "5"], (Body.NONE, 0)),
    "to HEAD, chunked": ("HEAD", "200 OK", [TE + "chunked"], (Body.NONE, 0)),
    "to a method like HEAD": ("head", "200 OK", [CL + "5"], (Body.LENGTH, 5)),
    "no content": ("GET", "204 No Content", [CL + "5"], (Body.NONE, 0)),
    "not modified": ("GET", "304 Not Modified", [TE + "chunked"], (Body.NONE, 0)),
    "reset content has a body": ("GET", "205 Reset Content", [CL + "5"], (Body.LENGTH, 5)),
    "switching protocols": ("GET", "101 Switching Protocols", [CL + "5"], (Body.TUNNEL, 0)),
    "connected": ("CONNECT", "200 OK", [CL + "5"], (Body.TUNNEL, 0)),
    "connected in other words": ("CONNECT", "299 OK", [TE + "chunked"], (Body.TUNNEL, 0)),
    "not connected": ("CONNECT", "407 No", [CL + "5"], (Body.LENGTH, 5)),
}  # fmt: skip


@pytest.mark.parametrize(("method", "status", "fields", "framed"), REPLIES.values(), ids=REPLIES)
def test_what_ends_a_reply(method, status, fields, framed):
    """Rules 1 to 8: the request's method counts as much as the reply's own fields."""
    raw = head(f"HTTP/1.1 {status}", *fields)

    assert reply_body(parse_reply_head(raw), method) == framed


def follow(framing, pieces):
    """Feed a message to its end: its content, and the offsets at which `feed` stopped."""
    content, stops, before = b"", [], 0
    for piece in pieces:
        position = 0
        while position < len(piece) and framing.stage in (Stage.HEAD, Stage.BODY):
            spans = []
            position = framing.feed(piece, position, spans)
            content += b"".join(piece[start:end] for start, end in spans)
            stops.append(before + position)
        before += len(piece)
    return content, stops


OK = "HTTP/1.1 200 OK"
MESSAGES = {
    "a request with a length": (RequestFraming, request(b"hello"), b"hello"),
    "a request without a body": (RequestFraming, head(GET, "Host: a.test"), b""),
    "a chunked request": (RequestFraming, head(GET, TE + "chunked") + chunked(b"hel", b"lo"), b"hello"),
    "a request of line feeds": (RequestFraming, b"GET / HTTP/1.1\nContent-Length: 2\n\nhi", b"hi"),
    "an odd method": (RequestFraming, b"M-SEARCH! * HTTP/1.1\r\n\r\n", b""),
    "a target in utf-8": (RequestFraming, "GET /café HTTP/1.1\r\n\r\n".encode(), b""),
    "a folded field": (RequestFraming, b"GET / HTTP/1.1\r\nContent-Length:\r\n 2\r\n\r\nhi", b"hi"),
    "a reply with a length": (lambda: ReplyFraming("GET"), reply(b"hello"), b"hello"),
    "a chunked reply": (lambda: ReplyFraming("GET"), head(OK, TE + "chunked") + chunked(b"hello"), b"hello"),
    "a reply to HEAD": (lambda: ReplyFraming("HEAD"), head(OK, CL + "9"), b""),
    "interim replies first": (
        lambda: ReplyFraming("GET"),
        head("HTTP/1.1 100 Continue") + head("HTTP/1.1 102 Processing", CL + "7") + reply(b"hello"),
        b"hello",
    ),
}  # fmt: skip


@every_cut
@pytest.mark.parametrize(("make", "message", "content"), MESSAGES.values(), ids=MESSAGES)
def test_a_message_ends_where_it_ends(make, message, content, cut):
    """At every cut, and whatever stands behind it."""
    for junk in (b"", *JUNK.values()):
        framing = make()
        got, stops = follow(framing, cut(message + junk))

        assert (framing.stage, got, stops[-1]) == (Stage.DONE, content, len(message))
        assert framing.close()


def test_feed_stops_behind_each_head_and_behind_the_message():
    """So whoever moves the bytes can act there."""
    interim, final = head("HTTP/1.1 103 Early Hints", "Link: </a>"), reply(b"hello")
    framing = ReplyFraming("GET")
    _content, stops = follow(framing, [interim + final + b"junk"])

    assert stops == [len(interim), len(interim + final) - 5, len(interim + final)]
    assert framing.raw_head == final[:-5]


def test_an_interim_head_is_not_the_messages():
    """`head` is the one that the body belongs to: a reply that ends after 100 had none."""
    framing = ReplyFraming("GET")
    follow(framing, [head("HTTP/1.1 100 Continue")])

    assert (framing.stage, framing.head) == (Stage.HEAD, None)
    follow(framing, [reply(b"hello")])
    assert framing.head.status == 200


def test_offsets_are_those_of_the_piece():
    """Reading begins where it is told, and spans say where the content lies."""
    framing, spans = RequestFraming(), []
    data = b"...." + request(b"hello") + b"...."
    position = framing.feed(data, 4)

    assert framing.feed(data, position, spans) == len(data) - 4
    assert spans == [(position, position + 5)]


def test_without_spans_it_only_finds_the_end():
    """The byte path needs no content."""
    framing, data = RequestFraming(), request(b"hello")

    assert framing.feed(data + b"junk", framing.feed(data, 0)) == len(data)
    assert framing.stage is Stage.DONE


@every_cut
def test_a_reply_without_a_length_ends_with_the_connection(cut):
    """Rule 8, HTTP/1.0's way: all that comes is content, and the end is no fault."""
    framing = ReplyFraming("GET")
    got, _stops = follow(framing, cut(head("HTTP/1.0 200 OK") + b"all of it"))

    assert (framing.stage, got) == (Stage.BODY, b"all of it")
    assert framing.close()
    assert framing.stage is Stage.DONE


@pytest.mark.parametrize(
    "part",
    [b"", b"HTT", head(OK)[:-2], reply(b"hello")[:-1], head(OK, TE + "chunked") + b"5\r\nhello\r\n0\r\n"],
)  # fmt: skip
def test_a_message_that_is_cut_is_not_whole(part):
    """The end of the connection before the end of the message."""
    framing = ReplyFraming("GET")
    follow(framing, [part])

    assert not framing.close()


STRANGERS = {
    "a TLS hello": (RequestFraming, bytes.fromhex("16030100c8010000c40303") + bytes(200)),
    "an SSH banner": (RequestFraming, b"SSH-2.0-OpenSSH_9.6\r\n"),
    "a Redis command": (RequestFraming, b"*1\r\n$4\r\nPING\r\n"),
    "a line of one word": (RequestFraming, b"QUIT\n"),
    "a space first": (RequestFraming, b" GET / HTTP/1.1\r\n\r\n"),
    "a method without end": (RequestFraming, b"A" * 65),
    "a control byte in the target": (RequestFraming, b"GET /\x01 HTTP/1.1\r\n\r\n"),
    "an HTTP/2 preface": (RequestFraming, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "a line that only looks like one": (RequestFraming, b"hello dear server\r\n\r\n"),
    "a length in doubt": (RequestFraming, head(GET, CL + "5", CL + "6")),
    "a chunk that is none": (RequestFraming, head(GET, TE + "chunked") + b"5\r\nhello!\r\n"),
    "a reply of another kind": (lambda: ReplyFraming("GET"), b"220 mail.test ESMTP\r\n"),
    "a reply with a strange status": (lambda: ReplyFraming("GET"), b"HTTP/1.1 OK\r\n\r\n"),
    "a reply with a length in doubt": (lambda: ReplyFraming("GET"), head(OK, CL + "x")),
}


@every_cut
@pytest.mark.parametrize(("make", "data"), STRANGERS.values(), ids=STRANGERS)
def test_what_cannot_be_told_apart_is_unframed(make, data, cut):
    """For good: what comes later is claimed by nobody."""
    for junk in (b"", *JUNK.values()):
        framing = make()
        follow(framing, cut(data + junk))

        assert framing.stage is Stage.UNFRAMED
        assert framing.feed(request(b"hello"), 3) == len(request(b"hello"))
        assert not framing.close()


@every_cut
def test_behind_a_tunnels_head_there_is_no_http(cut):
    """101: the head is read, and what follows is not looked at."""
    framing = ReplyFraming("GET")
    switching = head("HTTP/1.1 101 Switching Protocols", "Upgrade: websocket")
    _content, stops = follow(framing, cut(switching + b"\x81\x05hello"))

    assert (framing.stage, stops[-1]) == (Stage.TUNNEL, len(switching))
    assert framing.head.status == 101
    assert framing.feed(b"\x81\x05hello", 0) == 7


@pytest.mark.parametrize("longest", [100, 5_000, 100_000])
@pytest.mark.parametrize("make", [RequestFraming, lambda: ReplyFraming("GET")])
@pytest.mark.parametrize(("more", "stage"), [(0, Stage.DONE), (1, Stage.UNFRAMED)])
def test_a_head_has_a_bound(make, more, stage, longest):
    """64 KiB and no byte more is held, wherever it is cut."""
    framing = make()
    start = (
        b"HTTP/1.1 204 \r\nX-A: "
        if isinstance(framing, ReplyFraming)
        else b"GET / HTTP/1.1\r\nX-A: "
    )
    data = start + b"x" * (MAX_HEAD + more - len(start) - 4) + b"\r\n\r\n"
    follow(framing, at_random(data, 1, longest))

    assert (framing.stage, len(framing.raw_head)) == (stage, MAX_HEAD)


PARTS = st.sampled_from(
    [b"GET / HTTP/1.1\r\n", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 \n", b"Content-Length: 3\r\n",
     b"Transfer-Encoding: chunked\n", b"X: y\r\n", b"\r\n", b"\n", b"3\r\nabc\r\n", b"0\r\n", b" ", b"\xff"]
)  # fmt: skip


@pytest.mark.parametrize("make", [RequestFraming, lambda: ReplyFraming("GET")])
@given(data=st.lists(PARTS).map(b"".join) | st.binary(max_size=60), seed=st.integers(0, 2**32))
def test_a_cut_never_changes_what_is_read(make, data, seed):
    """Nonsense too: stage, head and content are the same, and nothing raises."""
    whole, by_pieces = make(), make()
    content, _stops = follow(whole, [data])

    assert follow(by_pieces, at_random(data, seed, 6))[0] == content
    assert (by_pieces.stage, by_pieces.head) == (whole.stage, whole.head)


def test_an_empty_piece_says_nothing():
    """A framing that has heard nothing yet waits on."""
    framing = RequestFraming()

    assert framing.feed(b"", 0) == 0
    assert framing.stage is Stage.HEAD
