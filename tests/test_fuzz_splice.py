"""On real sockets: what one side sent arrives at the other, whatever it is and however the two end.

Identical, but for the value of `Host` and the authority of an absolute-form target in a request that
can be read; what must arrive is told by `tests.support.passing`, and looked at by h11 as well.
"""

from __future__ import annotations

import asyncio

import h11
import uvloop
from hypothesis import given
from hypothesis import strategies as st

from tests.support.bodies import chunked, head
from tests.support.damage import damaged, examples
from tests.support.passing import Passed, Sent, Side, talk
from tests.support.websocket import SWITCHED, said, sent, upgrade

SEEDS = st.integers(0, 2**32)
few = examples(0.35)

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
HELLO = b"\x16\x03\x01\x00\x0e\x01\x00\x00\x0a\x03\x03host: a\r\n\r\nhost: b"
OPAQUE = st.one_of(
    st.binary(min_size=1, max_size=2000),
    st.sampled_from([PREFACE, HELLO, b"SSH-2.0-x\r\n", b"\r\n\r\n", b"\0", b"GET", b"G", b"\r\nGET / HT"]),
    SEEDS.map(lambda seed: damaged(PREFACE + HELLO * 9, seed)),
).filter(bool)  # fmt: skip
REPLIES = [
    head("HTTP/1.1 200 OK", "Content-Length: 5") + b"hello",
    head("HTTP/1.1 100 Continue"),
    head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + chunked(b"a", b"b" * 500),
    head("HTTP/1.1 204 None", "Host: in.test"),
    head("HTTP/1.0 200 OK") + b"until the end",
]
SOUND = st.one_of(OPAQUE, st.lists(st.sampled_from(REPLIES), max_size=6).map(b"".join))
"""No 101 is among them: behind one, what has not come of a request is no request any more."""

TOLD = SOUND | (
    st.tuples(st.lists(st.sampled_from(REPLIES), min_size=1, max_size=3), SEEDS).map(
        lambda both: damaged(b"".join(both[0]), both[1], REPLIES[2])
    )
)

BLANKS = st.sampled_from(["", " ", "  ", "\t"])
BODIES = st.one_of(
    st.just(((), b"")),
    st.binary(max_size=800).map(lambda b: ((("Content-Length: ", str(len(b))),), b)),
    st.just(((("Content-Length: ", "22"),), b"POST / HTTP/1.1\r\nHost:")),
    st.lists(st.binary(min_size=1, max_size=90), max_size=4).map(
        lambda b: ((("Transfer-Encoding: ", "chunked"),), chunked(*b, trailers=b"Host: trailer\r\n"))
    ),
)  # fmt: skip
OTHERS = st.sampled_from(
    [("Accept: ", "*/*"), ("X-Host: ", "in.test"), ("X-A:", "host: in.test"), ("x-b: ", "\u00e9\u00ff"),
     ("X-Long: ", "y" * 3000), ("Connection: ", "keep-alive"), ("Authorization: ", "Bearer x")]
)  # fmt: skip


@st.composite
def requests(draw):
    """A request with one `Host` or none, in any spelling, at any place."""
    end = draw(st.sampled_from(["\r\n", "\r\n", "\n"]))
    more, body = draw(BODIES)
    lines = [
        (name, value, end, False) for name, value in [*draw(st.lists(OTHERS, max_size=4)), *more]
    ]
    if draw(st.integers(0, 5)):
        name = draw(st.sampled_from(["Host", "host", "hOST"])) + ":" + draw(BLANKS)
        value = draw(st.sampled_from(["in.test", "in.test:8484", "[::1]:1", "a b"]))
        lines.insert(draw(st.integers(0, len(lines))), (name, value, draw(BLANKS) + end, True))
    before = draw(st.sampled_from(["", "", "http://in.test", "HTTP://a:1", "https://[::1]:2"]))
    target = draw(
        st.sampled_from(["/", "/v1/chat/completions?a=http://b/c", "/caf\u00e9", "/a;b=%00"])
    )
    method = draw(st.sampled_from(["GET", "POST", "OPTIONS", "M-SEARCH", "HEAD"]))
    return Sent(method, before, target, tuple(lines), body, end)


@st.composite
def ends(draw):
    """Which of the two ends waits with its FIN for the other's, if any."""
    return draw(st.sampled_from([(False, False), (True, False), (False, True)]))


def over(
    asked: bytes,
    told: bytes,
    seed: int,
    order: tuple[bool, bool],
    *,
    behind: bytes = b"",
    **how: str,
) -> Passed:
    """The two sides' bytes over a relay; the upstream says nothing before `behind` has come."""
    longest = 1 + seed % 60 if len(asked) + len(told) < 3000 else 3000
    asking = Side(asked, seed, longest, last=order[0])
    telling = Side(told, seed + 1, longest, order[1], behind)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(talk(asking, telling, **how))


def check(found: Passed, asked: bytes, told: bytes) -> None:
    """All arrived, in both directions, and every exchange that began has ended once."""
    assert found.asked == asked
    assert found.told == told
    assert found.ends == ("fin", "fin")
    assert len(found.outcomes) == found.opened


@few
@given(OPAQUE, TOLD, SEEDS, ends())
def test_what_is_no_http_arrives_as_it_is(asked, told, seed, order):
    """TLS and HTTP/2 from their first byte, part of a head, any bytes at all."""
    check(over(asked, told, seed, order), asked, told)


@few
@given(st.lists(requests(), min_size=1, max_size=4), SOUND, SEEDS, ends())
def test_requests_arrive_with_the_upstream_s_host(messages, told, seed, order):
    """Pipelined: all that is no value of `Host` and no authority of a target is what was sent."""
    found = over(b"".join(message.wire() for message in messages), told, seed, order)
    host = f"127.0.0.1:{found.port}".encode()

    check(found, b"".join(message.wire(host) for message in messages), told)
    as_h11_reads(found.asked, messages, host)


def as_h11_reads(stream, messages, host):
    """A server that reads what arrived sees what was meant, and the upstream's authority."""
    for message in messages:
        connection = h11.Connection(h11.SERVER)
        connection.receive_data(stream)
        try:
            event = connection.next_event()
        except h11.RemoteProtocolError:
            return  # stricter than the relay: no Host, bytes above 0x7f in a target
        if type(event) is not h11.Request:
            return
        assert event.method == message.method.encode()
        assert event.target == message.target.encode("latin-1")
        assert [value for name, value in event.headers if name == b"host"] in ([], [host])
        body = b""
        while type(event := connection.next_event()) is h11.Data:
            body += bytes(event.data)
        stream = connection.trailing_data[0]


@few
@given(st.lists(requests(), min_size=1, max_size=3), TOLD, SEEDS, SEEDS, ends())
def test_damaged_requests_arrive_as_they_are_where_host_is_kept(messages, told, seed, where, order):
    """Nothing is rewritten there but an absolute-form target, and none is sent: all is identical."""
    clean = [Sent(m.method, "", m.target, m.fields, m.body, m.end) for m in messages]
    asked = damaged(b"".join(message.wire() for message in clean), where, HELLO)
    if asked.strip(b"\r\n"):
        check(over(asked, told, seed, order, host="keep"), asked, told)


PAYLOADS = st.lists(st.binary(max_size=300), max_size=5)


@few
@given(PAYLOADS, PAYLOADS, st.binary(max_size=50), SEEDS, ends())
def test_a_websocket_arrives_as_it_is(asks, tells, junk, seed, order):
    """Frames both ways behind the heads, and bytes that are no frame: no `Host` in them is touched."""
    behind = b"".join(map(sent, [*asks, b"\r\nHost: in.test\r\n\r\n"])) + junk
    told = SWITCHED + b"".join(map(said, tells)) + junk
    found = over(upgrade() + behind, told, seed, order, behind=b"\r\n\r\n")
    host = f"127.0.0.1:{found.port}".encode()

    check(found, upgrade().replace(b"Host: in.test", b"Host: " + host) + behind, told)


def test_the_oracle_s_bytes_are_those_of_the_sentence():
    """What is expected, for one request that everybody can read."""
    fields = (("A: ", "b", "\r\n", False), ("hOST:\t", "x", " \r\n", True))
    message = Sent("GET", "http://x", "/y", fields, b"z")

    assert message.wire() == b"GET http://x/y HTTP/1.1\r\nA: b\r\nhOST:\tx \r\n\r\nz"
    assert message.wire(b"up:1") == b"GET /y HTTP/1.1\r\nA: b\r\nhOST:\tup:1 \r\n\r\nz"
