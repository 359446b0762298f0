"""Which bytes belong to which exchange: traces of connections, event in, frames out."""

from __future__ import annotations

import pytest

from proxy.wire.exchange import Outcome
from proxy.wire.frame import Mark
from tests.support.bodies import head, reply
from tests.support.playbook import Playbook

GET = head("GET / HTTP/1.1", "Host: in.test")
HEAD = head("HEAD / HTTP/1.1", "Host: in.test")
POST = head("POST / HTTP/1.1", "Host: in.test", "Content-Length: 5")
OK = reply(b"")
REPLY = head("HTTP/1.1 200 OK", "Content-Length: 5")
UNTIL_CLOSE = head("HTTP/1.0 200 OK")
CONTINUE = head("HTTP/1.1 100 Continue")
TLS = b"\x16\x03\x01\x02\x00"
ADDRESS = b"127.0.0.1:8000"


@pytest.fixture
def play():
    """A connection; when its test is over, no exchange may still be open."""
    playing = Playbook()
    yield playing
    playing.close()
    assert playing.running == []
    assert playing.pairing.idle


def test_a_request_and_its_reply(play):
    """Heads and bodies are frames of their own, and the end is said once both are whole."""
    assert play.caller(POST + b"hello") == [
        (1, "open"),
        (1, ">", POST + b"hello"),
        (1, "REQUEST_END"),
    ]
    assert play.upstream(REPLY + b"world") == [
        (1, "<", REPLY + b"world"),
        (1, "REPLY_END"),
        (1, "complete"),
    ]
    assert play.pairing.idle
    assert play.close() == []


def test_pieces_of_a_request_and_its_reply(play):
    """What was cut on the way is one exchange all the same."""
    assert play.caller(POST[:9]) == [(1, "open"), (1, ">", POST[:9])]
    assert play.caller(POST[9:] + b"he") == [(1, ">", POST[9:] + b"he")]
    assert play.caller(b"llo") == [(1, ">", b"llo"), (1, "REQUEST_END")]
    assert play.upstream(REPLY[:9]) == [(1, "<", REPLY[:9])]
    assert play.upstream(REPLY[9:]) == [(1, "<", REPLY[9:])]
    assert play.upstream(b"world") == [(1, "<", b"world"), (1, "REPLY_END"), (1, "complete")]


def test_one_connection_dialled_for_its_first_request(play):
    """Dial, connection and hand-over to the kernel are marks with the times they happened."""
    play.caller(GET)

    assert play.dialled() == [(1, "DIAL")]
    assert play.connected() == [(1, "CONNECTED", ADDRESS)]
    assert play.sent() == [(1, "SENT")]
    assert play.sent() == []
    assert play.times_of(Mark.DIAL) == {1: 20}
    assert play.times_of(Mark.SENT) == {1: 40}


def test_keep_alive(play):
    """The next exchange is told the connection that it uses, which is older than itself."""
    play.caller(GET)
    play.connected()
    play.upstream(OK)

    assert play.caller(GET) == [
        (2, "open"),
        (2, "CONNECTED", ADDRESS),
        (2, ">", GET),
        (2, "REQUEST_END"),
    ]
    assert play.times_of(Mark.CONNECTED) == {1: 20, 2: 20}
    assert play.upstream(OK) == [(2, "<", OK), (2, "REPLY_END"), (2, "complete")]


def test_pipelining(play):
    """Replies come in the order of the requests, and a piece may hold the end of one and the next."""
    assert play.caller(GET + GET[:4]) == [
        (1, "open"),
        (1, ">", GET),
        (1, "REQUEST_END"),
        (2, "open"),
        (2, ">", GET[:4]),
    ]
    assert play.connected() == [(1, "CONNECTED", ADDRESS), (2, "CONNECTED", ADDRESS)]
    assert play.sent() == [(1, "SENT")]
    play.caller(GET[4:])
    assert play.sent() == [(2, "SENT")]
    assert play.upstream(OK + REPLY) == [
        (1, "<", OK), (1, "REPLY_END"), (1, "complete"), (2, "<", REPLY),
    ]  # fmt: skip
    assert play.upstream(b"world") == [(2, "<", b"world"), (2, "REPLY_END"), (2, "complete")]


def test_replies_are_read_by_their_requests_methods(play):
    """A reply to HEAD has a length and no body: the next byte is the next reply's."""
    play.caller(HEAD + GET)

    assert play.upstream(REPLY + OK)[:3] == [(1, "<", REPLY), (1, "REPLY_END"), (1, "complete")]


def test_an_early_reply_ends_with_its_request(play):
    """401 before the body is in: the exchange is over when both are whole."""
    play.caller(POST)
    assert play.upstream(OK) == [(1, "<", OK), (1, "REPLY_END")]
    assert not play.pairing.idle
    assert [flow.number for flow in play.pairing.open_flows()] == [1]

    assert play.caller(b"hello" + GET)[:3] == [
        (1, ">", b"hello"),
        (1, "REQUEST_END"),
        (1, "complete"),
    ]


def test_an_early_reply_to_a_request_that_cannot_be_read(play):
    """It has its reply, and no end of it will be seen: it is over, and what follows is another."""
    play.caller(head("POST / HTTP/1.1", "Transfer-Encoding: chunked"))
    play.upstream(OK)

    assert play.caller(b"huh\r\n") == [
        (1, "UNFRAMED_REQUEST"),
        (1, "complete"),
        (2, "open"),
        (2, "UNFRAMED_REQUEST"),
        (2, ">", b"huh\r\n"),
    ]


@pytest.mark.parametrize(
    "interim", [CONTINUE, head("HTTP/1.1 102 Processing"), CONTINUE + CONTINUE]
)
def test_interim_replies_end_nothing(play, interim):
    """They belong to the exchange whose reply they come before."""
    play.caller(POST)
    assert {what for _number, what, _data in play.upstream(interim)} == {"<"}

    play.caller(b"hello")
    assert play.upstream(OK)[-1] == (1, "complete")


def test_empty_lines_between_requests_belong_to_nobody(play):
    """Some clients send one behind a body: it opens no exchange."""
    play.caller(GET)
    play.upstream(OK)

    assert play.caller(b"\r\n") == []
    assert play.caller(b"\r\n" + GET) == [(2, "open"), (2, ">", GET), (2, "REQUEST_END")]


def test_a_connection_that_asked_nothing_is_no_exchange(play):
    """Idle closes and unasked replies (408) are heard by nobody."""
    assert play.dialled() + play.connected() + play.sent() == []
    assert play.upstream(head("HTTP/1.1 408 Request Timeout", "Connection: close")) == []
    assert play.upstream_fin() + play.close() == []
    assert play.pairing.current is None


# Where HTTP ends


@pytest.mark.parametrize(
    ("asked", "switched"),
    [
        (head("GET / HTTP/1.1", "Upgrade: websocket"), head("HTTP/1.1 101 Switching Protocols")),
        (head("CONNECT a.test:443 HTTP/1.1"), head("HTTP/1.1 200 OK")),
    ],
)
def test_a_tunnel_is_one_exchange_to_its_end(play, asked, switched):
    """Whatever flows in it, in both directions; a FIN of one side is not its end."""
    play.caller(asked)

    assert play.upstream(switched + b"\x81\x00") == [
        (1, "<", switched),
        (1, "TUNNEL"),
        (1, "<", b"\x81\x00"),
    ]
    assert play.pairing.tunnel
    assert play.caller(GET) == [(1, ">", GET)]
    assert play.upstream(OK) == [(1, "<", OK)]
    assert play.upstream_fin() == []
    assert play.caller(GET) == [(1, ">", GET)]
    assert play.close() == [(1, "complete")]
    assert play.caller(GET) == []


def test_another_protocol_is_one_exchange(play):
    """TLS passed through: nothing is told apart on either side, and its end is no fault."""
    assert play.caller(TLS) == [(1, "open"), (1, ">", TLS), (1, "UNFRAMED_REQUEST")]
    assert play.upstream(TLS) == [(1, "<", TLS), (1, "UNFRAMED_REPLY")]
    assert play.caller(TLS) == [(1, ">", TLS)]
    assert play.upstream_fin() == []
    assert play.close() == [(1, "complete")]


def test_an_unframed_request_ends_with_its_reply(play):
    """Two lengths: where it ends is not known, but that it was answered is."""
    doubtful = head("POST / HTTP/1.1", "Content-Length: 5", "Content-Length: 6")
    assert play.caller(doubtful + b"hello") == [
        (1, "open"), (1, ">", doubtful), (1, "UNFRAMED_REQUEST"), (1, ">", b"hello"),
    ]  # fmt: skip
    assert play.upstream(OK) == [(1, "<", OK), (1, "REPLY_END"), (1, "complete")]
    assert play.caller(GET) == [(2, "open"), (2, "UNFRAMED_REQUEST"), (2, ">", GET)]
    assert play.caller(GET) == [(2, ">", GET)]
    assert play.upstream(OK)[-1] == (2, "complete")


def test_a_reply_that_cannot_be_read_takes_all_that_follows(play):
    """From the bad chunk on, bytes count for the exchange that they came in."""
    play.caller(GET + GET)
    start = head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked")

    assert play.upstream(start + b"huh\r\n" + OK) == [
        (1, "<", start + b"huh\r\n" + OK), (1, "UNFRAMED_REPLY"),
    ]  # fmt: skip
    assert play.upstream(OK) == [(1, "<", OK)]
    assert play.upstream_fin() == []
    assert play.close() == [(1, "complete"), (2, "complete")]


# How it ends, and what was measured


def test_a_reply_that_ends_with_the_connection_is_whole(play):
    """And a request behind it was never answered."""
    play.caller(GET + GET)
    assert play.upstream(UNTIL_CLOSE + b"all") == [(1, "<", UNTIL_CLOSE + b"all")]

    assert play.upstream_fin() == [(1, "REPLY_END"), (1, "complete"), (2, "upstream_aborted")]
    assert play.times_of(Mark.REPLY_END) == {1: 30}


def test_a_caller_that_closed_its_half_still_gets_its_reply(play):
    """A FIN says "I have asked everything", not "I am gone"."""
    play.caller(GET)
    play.caller_fin()

    assert play.upstream(OK)[-1] == (1, "complete")


def test_what_comes_behind_the_end_of_its_exchange_is_nobodys(play):
    """The rest of a body whose upstream has gone."""
    play.caller(POST)
    play.upstream_fin()

    assert play.caller(b"hello") == []
    assert play.upstream(OK) == []


def test_a_stall_is_the_time_in_which_the_caller_did_not_read(play):
    """All stalls of an exchange, added up."""
    play.caller(GET)
    play.upstream(REPLY)
    play.stalled()
    play.flowing()
    play.stalled()
    play.upstream(b"w")
    play.flowing()
    play.flowing()
    play.upstream(b"orld")

    assert play.endings[1].stall_ns == 10 + 20


@pytest.mark.parametrize(
    ("owns", "first", "worst"),
    [([7, 9, 8], 7, 9), ([9, 7], 9, 9), ([None, 8], None, 8), ([7, None], 7, 7), ([0], 0, 0), ([None], None, None)],
)  # fmt: skip
def test_own_delays(play, owns, first, worst):
    """Of the first piece and of the worst; unknown where the caller was not reading."""
    play.caller(GET)
    for own in owns:
        play.upstream(head("HTTP/1.1 103 Early Hints"), own)
    play.close(Outcome.client_gone)

    assert (play.endings[1].self_first_ns, play.endings[1].self_worst_ns) == (first, worst)
