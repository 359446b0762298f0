"""The relay on real sockets: every byte, both ways, whatever shape it comes in."""

from __future__ import annotations

import pytest

from proxy.wire.frame import Kind, Mark
from tests.support.bodies import STREAM_HEAD, chunk, chunked, delta, head, reply, request, sse
from tests.support.caller import Caller
from tests.support.splice import Splice
from tests.support.upstream import Await, Fin, Hang, Pause, Send, Upstream

STREAM = STREAM_HEAD + chunked(delta("", role="assistant"), delta("Hello"), sse("[DONE]"))


def hosted(raw: bytes, up: Upstream) -> bytes:
    """What the upstream must see of a request that was sent with `Host: in.test`."""
    return raw.replace(b"Host: in.test", f"Host: 127.0.0.1:{up.port}".encode())


REQUESTS = {
    "a post with a length": request(b'{"model":"m"}'),
    "a chunked upload": head("POST /v1/x HTTP/1.1", "Host: in.test", "Transfer-Encoding: chunked")
    + chunked(b"abc", b"defghi", trailers=b"X-Sum: 1\r\n"),
    "http/1.0": head("GET /v1/models HTTP/1.0", "Host: in.test"),
    "no host at all": head("GET / HTTP/1.0"),
    "odd spelling and spacing": b"GET /a%2Fb?q=%20 HTTP/1.1\r\nhOsT:in.test\r\nX-A:  b \r\nx-a: c\r\n\r\n",
    "lines that end in LF": b"GET / HTTP/1.1\nHost: in.test\nAccept: */*\n\n",
    "a body that looks like a head": request(b"GET / HTTP/1.1\r\nHost: in.test2\r\n\r\n"),
}


@pytest.mark.parametrize("piece", [0, 1, 7])
@pytest.mark.parametrize("raw", REQUESTS.values(), ids=REQUESTS)
async def test_a_request_arrives_as_it_was_sent_but_for_host(raw: bytes, piece: int):
    """Head and body reach the upstream byte for byte, however they are cut."""
    async with (
        Upstream([Await(until=b"\n\n" if b"\r" not in raw else b"\r\n\r\n"), Hang()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(raw, piece=piece)
        await caller.fin()
        there = await up.connection(0)
        await there.wait_end()

        assert bytes(there.received) == raw.replace(
            b"in.test\r", b"127.0.0.1:%d\r" % up.port
        ).replace(b"in.test\n", b"127.0.0.1:%d\n" % up.port)
        assert there.ended == "fin"


REPLIES = {
    "an event stream": STREAM,
    "plain JSON": reply(b'{"ok":true}', "Content-Type: application/json"),
    "a body that ends with the connection": head("HTTP/1.0 200 OK", "X: y") + b"all of it",
    "interim responses first": head("HTTP/1.1 103 Early Hints", "Link: </a>") + reply(b"hi"),
    "trailers": head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked")
    + chunked(b"abc", trailers=b"Server-Timing: a;dur=1\r\n"),
    "no reason phrase and odd case": b"HTTP/1.1 299 \r\ncontent-LENGTH: 2\r\n\r\nok",
    "no HTTP at all": b"\x16\x03\x01\x02\x00 whatever\r\n\r\n",
}


@pytest.mark.parametrize("split", [0, 1, 11])
@pytest.mark.parametrize("answer", REPLIES.values(), ids=REPLIES)
async def test_a_reply_arrives_as_it_was_sent(answer: bytes, split: int):
    """Head, framing and body reach the caller byte for byte, and so does the end."""
    async with (
        Upstream([Await(), Send(answer, split=split), Fin()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"{}"))

        assert answer == await caller.read_all()
        assert caller.ended == "fin"
        await caller.fin()
        assert await splice.tap.ended() == ["complete"]
        assert splice.tap.bytes_of(Kind.REPLY) == answer


async def test_a_hundred_requests_share_a_connection_and_each_is_an_exchange():
    """Keep-alive: one upstream connection for one of the caller's, in step."""
    answers = [reply(b"answer %d" % n) for n in range(100)]
    script = [step for answer in answers for step in (Await(), Send(answer))]
    async with (
        Upstream([*script, Hang()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        for answer in answers:
            await caller.send(request(b"{}"))
            assert answer == await caller.read_message()

        assert ["complete"] * 100 == await splice.tap.ended(100)
        assert 1 == len(up.connections)


async def test_pipelined_requests_get_their_own_replies():
    """Two requests in one piece are two exchanges, each with its own Host put in."""
    both = request(b"one", line="POST /1") + request(b"two", line="POST /2")
    async with (
        Upstream([Await(), Await(), Send(reply(b"first") + reply(b"second")), Hang()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(both)

        assert reply(b"first") == await caller.read_message()
        assert reply(b"second") == await caller.read_message()
        there = await up.connection(0)
        assert bytes(there.received) == hosted(both, up)
        assert ["complete", "complete"] == await splice.tap.ended(2)
        assert splice.tap.bytes_of(Kind.REPLY, 2) == reply(b"second")


async def test_a_reply_to_head_has_no_body_and_the_next_request_is_heard():
    """A Content-Length in answer to HEAD promises nothing (RFC 9110 section 9.3.2)."""
    no_body = head("HTTP/1.1 200 OK", "Content-Length: 500")
    async with (
        Upstream([Await(), Send(no_body), Await(), Send(reply(b"hi")), Hang()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(head("HEAD / HTTP/1.1", "Host: in.test"))
        assert no_body == await caller.read_until(b"\r\n\r\n")
        await caller.send(request(b"{}"))

        assert reply(b"hi") == await caller.read_message()
        assert ["complete", "complete"] == await splice.tap.ended(2)
        assert splice.tap.bytes_of(Kind.REPLY, 1) == no_body


async def test_expect_continue_is_the_two_ends_own_affair():
    """The 100 comes from the upstream, not from us, and does not end the exchange."""
    start = head("POST / HTTP/1.1", "Host: in.test", "Content-Length: 4", "Expect: 100-continue")
    go_on = head("HTTP/1.1 100 Continue")
    async with (
        Upstream([Await(until=b"\r\n\r\n"), Send(go_on), Await(size=4), Send(reply(b"ok"))]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(start)
        assert go_on == await caller.read_until(b"\r\n\r\n")
        await caller.send(b"body")

        assert reply(b"ok") == await caller.read_message()
        assert ["complete"] == await splice.tap.ended()
        assert splice.tap.bytes_of(Kind.REPLY) == go_on + reply(b"ok")


async def test_an_upgraded_connection_carries_anything_both_ways():
    """After 101 nothing is held or told apart, and both directions belong to one exchange."""
    ask = head("GET /ws HTTP/1.1", "Host: in.test", "Connection: Upgrade", "Upgrade: websocket")
    yes = head("HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: websocket")
    async with (
        Upstream([Await(until=b"\r\n\r\n"), Send(yes), Await(size=3), Send(b"\x81\x02hi")]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(ask)
        assert yes == await caller.read_until(b"\r\n\r\n")
        await caller.send(b"GET")  # looks like the start of a head, and must not be held

        assert b"\x81\x02hi" == await caller.read_exactly(4)
        await caller.fin()
        assert ["complete"] == await splice.tap.ended()
        assert splice.tap.bytes_of(Kind.REQUEST) == ask + b"GET"


async def test_a_refused_upgrade_leaves_http_as_it_was():
    """Java's client sends `Upgrade: h2c` with each POST: only a 101 makes a tunnel."""
    async with (
        Upstream([Await(), Send(reply(b"no")), Await(), Send(reply(b"again")), Hang()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"{}", "Connection: Upgrade", "Upgrade: h2c"))
        assert reply(b"no") == await caller.read_message()
        await caller.send(request(b"{}"))
        assert reply(b"again") == await caller.read_message()

        there = await up.connection(0)
        assert 2 == there.received.count(b"Host: 127.0.0.1:%d" % up.port)
        assert ["complete", "complete"] == await splice.tap.ended(2)


async def test_what_is_no_http_passes_unchanged():
    """A TLS hello, say: nothing is held, nothing rewritten, the exchange is opaque but complete."""
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03Host: in.test\r\n"
    async with (
        Upstream([Await(size=len(hello)), Send(b"\x15\x03\x01"), Fin()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(hello, piece=1)
        assert b"\x15\x03\x01" == await caller.read_all()
        await caller.fin()

        there = await up.connection(0)
        assert bytes(there.received) == hello
        assert ["complete"] == await splice.tap.ended()
        assert splice.tap.mark(Mark.UNFRAMED_REQUEST) is not None


async def test_part_of_a_head_goes_on_after_a_second():
    """A peer that speaks slowly, or no HTTP, is not held for ever."""
    async with (
        Upstream([Await(size=8), Send(b"ok"), Hang()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(b"HELLO me")

        assert b"ok" == await caller.read_exactly(2, within=3)
        there = await up.connection(0)
        assert bytes(there.received) == b"HELLO me"


async def test_a_caller_that_says_nothing_takes_no_upstream():
    """Scanners and pre-connects reach nobody, and leave no exchange."""
    async with Upstream([Hang()]) as up, Splice(up.url) as splice:
        async with await Caller.connect(splice.port) as caller:
            await caller.fin()
            assert "fin" == await caller.wait_end()

        assert 0 == len(up.connections)
        assert 0 == splice.tap.opened


async def test_an_idle_close_is_no_exchange():
    """The upstream's FIN between two requests is passed on and recorded nowhere."""
    async with (
        Upstream([Await(), Send(reply(b"hi")), Fin(), Hang()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"{}"))
        assert reply(b"hi") == await caller.read_message()

        assert "fin" == await caller.wait_end()
        assert ["complete"] == splice.tap.outcomes


async def test_bytes_do_not_wait_for_the_rest_of_an_event():
    """Each piece of a slow stream is with the caller within 20 ms of being sent."""
    pieces = [STREAM_HEAD, *(chunk(delta(f"{n}")) for n in range(5)), b"0\r\n\r\n"]
    steps = [step for piece in pieces for step in (Pause(0.03), Send(piece))]
    async with (
        Upstream([Await(), *steps]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"{}"))
        await caller.read_message()

        there = await up.connection(0)
        for sent, piece in zip(there.sent, caller.pieces, strict=True):
            assert piece.at_ns - sent.at_ns < 20e6


async def test_host_can_be_kept():
    """`host = "keep"`: not a byte of the request changes."""
    async with (
        Upstream([Await(), Send(reply(b"hi")), Hang()]) as up,
        Splice(up.url, host="keep") as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"{}"))
        await caller.read_message()

        there = await up.connection(0)
        assert bytes(there.received) == request(b"{}")
