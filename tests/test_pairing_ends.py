"""How the exchanges of a connection end, what was measured of them, and what holds for all of them."""

from __future__ import annotations

import random
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.wire.exchange import CALLER_FIRST, Outcome
from proxy.wire.frame import Kind
from tests.support.bodies import chunked, head, reply, request
from tests.support.playbook import Playbook

GET = head("GET / HTTP/1.1", "Host: in.test")
POST = head("POST / HTTP/1.1", "Host: in.test", "Content-Length: 5")
OK = reply(b"")
REPLY = head("HTTP/1.1 200 OK", "Content-Length: 5")
TE = "Transfer-Encoding: chunked"
TLS = b"\x16\x03\x01\x02\x00"


@pytest.fixture
def play():
    """A connection; when its test is over, no exchange may still be open."""
    playing = Playbook()
    yield playing
    playing.close()
    assert playing.running == []


def test_an_early_reply_may_be_all_there_is(play):
    """A caller that reads 413 and goes has its answer: complete, whatever the end looked like."""
    play.caller(POST)
    play.upstream(OK)

    assert play.close(Outcome.client_gone, "Connection reset by peer") == [(1, "complete")]
    assert play.endings[1].detail == ""


PARTS = {
    "nothing": b"",
    "half a head": REPLY[:9],
    "half a body": REPLY + b"wor",
    "some chunks": head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + b"1\r\nw\r\n",
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_an_upstream_that_ends_before_its_reply_broke_off(play, part):
    """And if the caller was done before, it had left: servers stop for a FIN."""
    play.caller(GET)
    play.upstream(part)
    assert play.upstream_fin() == [(1, "upstream_aborted")]
    assert "closed" in play.endings[1].detail

    there = Playbook()
    there.caller(GET)
    there.caller_fin()
    there.upstream(part)
    assert there.upstream_fin() == [(1, "client_gone")]


def test_a_request_lost_in_the_keep_alive_race(play):
    """The upstream closed an idle connection while the caller asked: nobody answers, nobody is told."""
    play.caller(GET)
    play.upstream(OK)
    play.upstream_fin()
    play.caller(GET)

    assert play.close() == [(2, "upstream_aborted")]


def test_an_upgrade_that_is_declined_changes_nothing(play):
    """Java's client asks for h2c with each POST."""
    play.caller(head("POST / HTTP/1.1", "Upgrade: h2c", "Content-Length: 5") + b"hello")
    play.upstream(OK)

    assert play.caller(GET)[0] == (2, "open")


def test_a_tunnel_takes_what_the_caller_sends_from_then_on(play):
    """Also where it had begun to ask something else: its next bytes are the tunnel's."""
    play.caller(GET + GET[:9])
    play.upstream(head("HTTP/1.1 101 Switching Protocols"))

    assert play.caller(b"hello") == [(1, ">", b"hello")]


@pytest.mark.parametrize(
    ("first", "detail"), [("caller_fin", CALLER_FIRST), ("upstream_fin", ""), ("sent", "")]
)
def test_a_tunnel_ends_well_and_says_if_the_caller_ended_it(play, first, detail):
    """Whose FIN came first decides; the other's only answers it."""
    play.caller(GET)
    play.upstream(head("HTTP/1.1 101 Switching Protocols"))
    getattr(play, first)()
    play.upstream_fin()
    play.caller_fin()

    assert play.close() == [(1, "complete")]
    assert play.endings[1].detail == detail


def test_behind_the_end_of_a_tunnel_there_is_no_exchange(play):
    """Whatever the caller still sends, and however its request was framed."""
    play.caller(GET[:9])
    play.released()
    play.upstream(head("HTTP/1.1 101 Switching Protocols"))
    assert play.close() == [(1, "complete")]

    assert play.caller(b"hello") == []


def test_a_head_that_was_let_go_is_unframed(play):
    """It was held for too long; its reply ends it all the same."""
    play.caller(GET[:9])

    assert play.released() == [(1, "UNFRAMED_REQUEST")]
    assert play.caller(GET[9:]) == [(1, ">", GET[9:])]
    assert play.upstream(OK)[-1] == (1, "complete")


def test_a_reply_to_half_a_head_is_its_reply(play):
    """408 to a caller that never finished asking."""
    play.caller(GET[:9])

    assert play.upstream(OK) == [(1, "<", OK), (1, "REPLY_END")]
    assert play.close() == [(1, "complete")]


def test_a_request_is_sent_when_it_is_whole(play):
    """The kernel's having its first part says nothing yet."""
    play.caller(POST)
    assert play.sent() == []

    play.caller(b"hello")
    assert play.sent() == [(1, "SENT")]


def test_a_cut_says_who_and_why(play):
    """What was whole stays complete; all else ends as the cut says."""
    play.caller(GET + request(b"hello"))
    play.upstream(OK + REPLY)

    assert play.close(Outcome.client_gone, "Connection reset by peer") == [(2, "client_gone")]
    assert play.endings[2].detail == "Connection reset by peer"
    assert play.close(Outcome.shutdown, "twice") == []


def test_a_stall_ends_with_the_reply(play):
    """What is unread then is part of no later exchange but of one that waits for its own reply."""
    play.caller(GET + GET)
    play.stalled()
    play.upstream(OK)
    play.flowing()
    play.upstream(OK)

    assert [play.endings[n].stall_ns for n in (1, 2)] == [10, 10]


def test_a_stall_between_exchanges_counts_for_none(play):
    """The caller read late, and nothing waited for it."""
    play.caller(GET)
    play.stalled()
    play.upstream(OK)
    for _ in range(9):
        play.sent()
    play.caller(GET)
    play.flowing()
    play.upstream(OK)

    assert [play.endings[n].stall_ns for n in (1, 2)] == [10, 10]


def test_a_stall_that_the_last_piece_began_takes_no_time(play):
    """Writing a piece may fill the caller's window: the stall's stamp is then behind the piece's."""
    play.caller(GET)
    play.pairing.stalled(play.now + 15)
    play.upstream(OK)

    assert play.endings[1].stall_ns == 0


def test_a_stall_that_nothing_ended_is_counted(play):
    """A caller that stops reading and then resets has stalled to the end."""
    play.caller(GET)
    play.upstream(REPLY)
    play.stalled()
    play.close(Outcome.client_gone, "reset")

    assert play.endings[1].stall_ns == 10


def test_flows_can_be_seen_while_they_run(play):
    """The loop's lateness is noted in each, and the first is the one whose reply is due."""
    play.caller(GET + GET)
    for flow in play.pairing.open_flows():
        flow.lateness_ns = 70
    assert play.pairing.current.number == 1
    play.upstream(OK)

    assert play.pairing.current.number == 2
    assert play.endings[1].lateness_ns == 70


# Laws

METHODS = st.sampled_from(["GET", "POST", "HEAD"])
BODIES = st.binary(max_size=12)


@st.composite
def exchanges(draw):
    """Requests with their replies, as bytes: any method, any framing, interim replies first."""
    method, body, answer = draw(METHODS), draw(BODIES), draw(BODIES)
    line = f"{method} /x"
    asked = draw(
        st.sampled_from(
            [
                request(body, line=line),
                head(f"{line} HTTP/1.1", TE) + chunked(*filter(None, [body])),
            ]
        )
    )
    bare = head("HTTP/1.1 200 OK", f"Content-Length: {len(answer)}")
    whole = [bare + answer, head("HTTP/1.1 200 OK", TE) + chunked(*filter(None, [answer]))]
    said = bare if method == "HEAD" else draw(st.sampled_from(whole))
    return asked, draw(st.sampled_from([b"", head("HTTP/1.1 100 Continue")])) + said


@given(st.lists(exchanges(), min_size=1, max_size=5), st.integers(0, 2**32))
def test_every_byte_belongs_to_its_exchange(script, seed):
    """However requests and replies are cut and overlap, each exchange has its own bytes and ends once."""
    draw = random.Random(seed)
    play = Playbook()
    asked, answered = (b"".join(side) for side in zip(*script, strict=True))
    begins = accumulate((len(request) for request, _reply in script[:-1]), initial=0)
    heads = [
        begin + request.index(b"\r\n\r\n") + 4
        for begin, (request, _reply) in zip(begins, script, strict=True)
    ]
    ends = list(accumulate(len(reply) for _request, reply in script))
    came = went = 0
    while came < len(asked) or went < len(answered):
        begun = sum(end <= came for end in heads)
        room = (ends[begun - 1] if begun else 0) - went
        if room and (came == len(asked) or draw.random() < 0.5):
            size = draw.randint(1, room)
            play.upstream(answered[went : went + size])
            went += size
        else:
            size = draw.randint(1, 40)
            play.caller(asked[came : came + size])
            came += size

    assert play.running == []
    for number, (request_bytes, reply_bytes) in enumerate(script, 1):
        assert play.bytes_of(Kind.REQUEST, number) == request_bytes
        assert play.bytes_of(Kind.REPLY, number) == reply_bytes
        assert play.endings[number].outcome is Outcome.complete
    assert len(play.opened) == len(script)


ASKED = st.sampled_from(
    [GET, POST, POST + b"hello", GET[:9], b"\r\n", b"x", TLS, head("POST / HTTP/1.1", TE), b"5\r\nhello\r\n",
     b"0\r\n\r\n", head("CONNECT a.test:443 HTTP/1.1"), head("POST / HTTP/1.1", TE, "Content-Length: 1")]
)  # fmt: skip
SAID = st.sampled_from(
    [OK, REPLY, b"world", REPLY + b"world" + OK, OK[:9], head("HTTP/1.0 200 OK"), TLS, b"huh\r\n",
     head("HTTP/1.1 100 Continue"), head("HTTP/1.1 101 Switching Protocols"), head("HTTP/1.1 200 OK", TE)]
)  # fmt: skip
MOMENTS = st.sampled_from(
    ["dialled", "connected", "sent", "stalled", "flowing", "caller_fin", "upstream_fin", "released"]
)
EVENTS = st.one_of(
    st.tuples(st.just("caller"), ASKED | st.binary(max_size=9)),
    st.tuples(st.just("upstream"), SAID | st.binary(max_size=9), st.none() | st.integers(0, 9)),
    st.tuples(MOMENTS),
)


@given(st.lists(EVENTS, max_size=25), st.sampled_from(Outcome))
def test_whatever_happens_each_exchange_ends_once(events, outcome):
    """Any events in any order: what may never happen is in the playbook, and nothing raises."""
    play = Playbook()
    for name, *given_ in events:
        if name != "released" or play.side.holding:
            getattr(play, name)(*given_)
    play.close(outcome)

    assert play.running == []
    assert play.pairing.idle
    assert list(play.pairing.open_flows()) == []
