"""What of a tunnel is followed, and what its end, a gap or a broken frame leaves."""

from __future__ import annotations

import pytest

from analysis.store.base import Gap
from analysis.store.contents import gaps
from proxy.journal.load import LoadMeter
from proxy.journal.tunnel import MOST_OPEN, Tunnel, speaks
from proxy.wire.exchange import CALLER_FIRST, Note, Opening, Outcome
from proxy.wire.frame import Kind, Mark, frame
from proxy.wire.head import parse_reply_head, parse_request_head
from proxy.wire.tape import Handshake
from tests.support.tunnel import ANSWER, MS, OPENED_NS, Talk, ask, codes, created, delta, ended
from tests.support.websocket import CLOSE, MASK, sent, switched, upgrade, ws_frame

# Endings


@pytest.mark.parametrize(
    ("last", "outcome", "detail", "expected"),
    [
        ("", Outcome.client_gone, "reset", ("client_gone", "client_disconnect", "reset")),
        ("", Outcome.upstream_aborted, "reset", ("upstream_aborted", "upstream_reset", "reset")),
        ("", Outcome.shutdown, "", ("shutdown", "proxy", None)),
        ("", Outcome.complete, CALLER_FIRST, ("client_gone", "client_disconnect", CALLER_FIRST)),
        ("", Outcome.complete, "", ("upstream_aborted", "upstream_reset", None)),
        ("caller", Outcome.complete, "", ("client_gone", "client_disconnect", "the caller sent a close frame")),
        ("upstream", Outcome.complete, CALLER_FIRST, ("upstream_aborted", "upstream_reset", "the upstream sent a close frame")),
        ("both", Outcome.complete, "", ("client_gone", "client_disconnect", "the caller sent a close frame")),
    ],
)  # fmt: skip
def test_what_runs_when_the_tunnel_ends_was_cut(last, outcome, detail, expected):
    """By whoever ended the tunnel; the tunnel's own record keeps its own outcome."""
    talk = Talk().asks(100, sent(ask())).answers(200, created(), delta())
    if last in ("caller", "both"):
        talk.asks(300, ws_frame(b"", CLOSE, mask=MASK))
    if last in ("upstream", "both"):
        talk.says(310, ws_frame(b"", CLOSE))

    record, tunnel = talk.end(400, outcome, detail)

    assert (record.outcome, record.error_kind, record.error_detail) == expected
    assert (record.generation, record.timings.end_ns) == ("incomplete", 300 * MS)
    assert (record.timings.first_token_ns, record.timings.last_token_ns) == (101 * MS, 101 * MS)
    assert tunnel.outcome == outcome.name


@pytest.mark.parametrize("goodbye", [True, False])
def test_a_pipe_that_ends_seals_what_is_inside(goodbye):
    """A killed proxy leaves records of what ran in its tunnels."""
    talk = Talk().asks(100, sent(ask())).answers(200, created())
    if goodbye:
        talk.taping.take(frame(Kind.BYE, 0, OPENED_NS))

    assert talk.taping.finish() == 1
    record, tunnel = talk.records()

    outcome = "shutdown" if goodbye else "proxy_killed"
    assert [(r.id, r.outcome) for r in (record, tunnel)] == [("r-1.1", outcome), ("r-1", outcome)]


# What cannot be followed


def test_behind_a_gap_in_the_replies_nothing_is_claimed():
    """What runs is sealed as it stands, and what is asked then has no record."""
    talk = Talk().asks(100, sent(ask())).answers(200, created(), delta())
    talk.loses(300, Kind.REPLY).answers(310, delta(), ended()).asks(400, sent(ask()))

    record, tunnel = talk.end(500)

    assert (record.outcome, record.generation) == ("complete", "unknown")
    assert (record.timings.first_token_ns, record.timings.last_token_ns) == (101 * MS, None)
    assert (codes(record), codes(tunnel)) == (["content_left_out"], ["tunnel", "content_left_out"])


def test_behind_a_gap_in_the_requests_answers_still_end():
    """No more is opened; what runs has its answer."""
    talk = Talk().asks(100, sent(ask())).loses(150, Kind.REQUEST).asks(160, sent(ask()))

    record, tunnel = talk.answers(200, *ANSWER).end(300)

    assert (record.generation, record.output.tokens) == ("complete", 2)
    assert codes(tunnel) == ["tunnel", "content_left_out"]


def test_a_broken_frame_ends_reading():
    """The note stands in both records; the generation is not called incomplete."""
    talk = Talk().asks(100, sent(ask())).answers(200, created(), delta())

    record, tunnel = talk.says(300, b"\xff\xff").answers(310, ended()).end(400)

    assert record.generation == "unknown"
    assert (codes(record), codes(tunnel)) == (["websocket_broken"], ["tunnel", "websocket_broken"])


def test_a_request_that_is_too_long_to_be_kept_is_followed():
    """Its text is let go; that it asked, and when it was answered, is known."""
    talk = Talk(retain_bytes=500).asks(100, sent(ask("x" * 6_000)))

    record, tunnel = talk.answers(200, *ANSWER).end(300)

    assert (record.dialect, record.output.tokens, record.parts) == ("openai_responses", 2, [])
    assert codes(record) == ["content_left_out", "request_not_json"]
    assert codes(tunnel) == ["tunnel"]


def test_what_all_open_requests_keep_is_bounded():
    """The third is too much: its text is let go, its times are kept."""
    talk = Talk(retain_bytes=10_000)
    for _ in range(3):
        talk.asks(100, sent(ask("x" * 4_500)))
    for n in range(3):
        talk.answers(200, created(f"r{n}"), delta(), ended(f"r{n}"))

    *inside, _ = talk.end(300)

    assert [codes(record)[:1] for record in inside] == [[], [], ["content_left_out"]]
    assert [record.output.tokens for record in inside] == [2, 2, 2]


def test_not_more_than_so_many_are_followed_at_a_time():
    """A caller that never waits costs a bounded memory."""
    talk = Talk().asks(100, *[sent(ask())] * (MOST_OPEN + 1))

    *inside, tunnel = talk.end(200)

    assert len(inside) == MOST_OPEN
    assert codes(tunnel) == ["tunnel", "message_not_followed"]


def test_load_is_what_runs_and_not_the_tunnel():
    """An idle tunnel is no load; two lanes at once are two."""
    talk = Talk().asks(100, sent(ask(stream_id="a"))).asks(150, sent(ask(stream_id="b")))
    talk.answers(200, ended("r1", stream_id="a"), ended("r2", stream_id="b"))

    first, second, tunnel = talk.end(900)

    assert [r.load.in_flight_at_arrival for r in (first, second, tunnel)] == [1, 2, 1]
    assert [r.load.in_flight_peak for r in (first, second, tunnel)] == [2, 2, 1]


# Which tunnels


@pytest.mark.parametrize("path", ["/v1/chat", "/v1/realtime?model=m"])
def test_other_tunnels_have_their_own_record_alone(path):
    """Whatever flows in them."""
    [tunnel] = Talk(path=path).asks(100, sent(ask())).answers(200, *ANSWER).end(300)

    assert (tunnel.id, tunnel.notes) == ("r-1", ["tunnel: reply"])


def handshake(reply=b"HTTP/1.1 101 S\r\nUpgrade: WebSocket\r\n\r\n", path="/v1/responses"):
    """Of a connection that was upgraded."""
    opening = Opening(0, 1, "", "", "", "")
    heads = parse_request_head(upgrade(path)), parse_reply_head(reply)
    return Handshake(1, opening, 0, *heads, None, None)


@pytest.mark.parametrize(
    ("shake", "spoken"),
    [
        (handshake(), True),
        (handshake(path="/backend-api/codex/responses?x=1"), True),
        (handshake(path="/v1/models"), False),
        (handshake(b"HTTP/1.1 101 S\r\nUpgrade: h2c\r\n\r\n"), False),
        (handshake(b"HTTP/1.1 101 S\r\n\r\n"), False),
        (handshake(b"HTTP/1.1 200 S\r\nUpgrade: websocket\r\n\r\n"), False),
    ],
)
def test_only_websockets_of_this_api_are_read(shake, spoken):
    """By the reply's head and the request's path."""
    assert speaks(shake) is spoken


def test_frames_without_bytes_say_nothing():
    """Marks in a tunnel are passed over."""
    tunnel = Tunnel(handshake(), None, LoadMeter(), 0, body_bound=10)

    assert list(tunnel.take(frame(Kind.MARK, 1, 0, code=Mark.SENT))) == []
    assert tunnel.notes == ()


def test_a_tunnel_whose_heads_nobody_read_is_not_followed():
    """Its request came while the recorder lagged: what is in it cannot be told apart."""
    talk = Talk()
    talk.taping.take(frame(Kind.OPEN, 2, OPENED_NS, Opening(1, 2, "", "", "", "").encode()))
    for kind, data in ((Kind.REPLY, switched()), (Kind.MARK, b""), (Kind.REQUEST, sent(ask()))):
        code = Mark.TUNNEL if kind is Kind.MARK else 0
        talk.taping.take(frame(kind, 2, OPENED_NS, data, code))

    assert talk.taping.finish() == 2
    assert [one.exchange.name for one in talk.sealed()] == ["1", "2"]


# Numbers


def test_numbers_inside_neither_make_a_gap_nor_fill_one():
    """Only the tunnel's own record says that the tunnel was recorded."""
    assert list(gaps(["r-1", "r-2.1", "r-2", "r-2.7", "r-3"])) == []
    assert list(gaps(["r-1", "r-2.1", "r-3"])) == [Gap("r", 2, 2)]


def test_notes_of_the_tunnel_are_its_own():
    """They name what could not be followed, in each direction, once."""
    tunnel = Tunnel(handshake(), None, LoadMeter(), 0, body_bound=10)
    for kind in (Kind.REQUEST, Kind.REPLY, Kind.REQUEST, Kind.REPLY):
        assert list(tunnel.take(frame(kind, 1, 0, b"\xb1\x00"))) == []

    assert tunnel.notes == tuple(
        Note("websocket_broken", where, "a reserved bit") for where in ("request", "reply")
    )
