"""Exchanges inside of a WebSocket: opened by what is asked, ended by what answers, one record for each."""

from __future__ import annotations

import orjson

from proxy.journal.timing import ttft_ns
from tests.support.cuts import every_cut, every_junk
from tests.support.tunnel import ANSWER, MS, Talk, ask, codes, created, delta, ended, event
from tests.support.websocket import MASK, PING, Deflater, pieces, said, sent, ws_frame

DEFLATE = "Sec-WebSocket-Extensions: permessage-deflate"


# Two messages, two records


@every_cut
def test_each_message_that_asks_is_an_exchange_of_its_own(cut):
    """u0 is the end of the caller's message; the record has the upgrade's head and the tunnel's number."""
    talk = Talk(cut=cut).asks(100, sent(ask())).answers(150, *ANSWER)
    talk.asks(1_000, sent(ask("And?", stream=False))).answers(1_300, *ANSWER[1:])

    first, second, tunnel = talk.end(2_000)

    assert [r.id for r in (first, second, tunnel)] == ["r-1.1", "r-1.2", "r-1"]
    for record, ms, ttft_ms in ((first, 100, 51), (second, 1_000, 300)):
        assert (record.kind, record.dialect, record.status) == ("turn", "openai_responses", 101)
        assert (record.request.method, record.request.path) == ("GET", "/v1/responses")
        assert (record.request.model, record.request.stream) == ("m-1", True)
        assert record.client == "test/1.0"
        assert record.at_unix_ns == 1_000 + ms * MS
        assert ttft_ns(record.timings) == ttft_ms * MS
        assert record.timings.first_byte_ns == (50 if ms == 100 else 300) * MS
        assert (record.timings.request_end_ns, record.timings.upstream_dial_ns) == (0, None)
        assert record.timings.upstream_connected_ns == -ms * MS
        assert record.backend == "127.0.0.1:8000"
        assert (record.usage.input, record.output.tokens, record.output.events) == (9, 2, 2)
        assert (record.outcome, record.generation, record.error_kind) == ("complete",) * 2 + (None,)
        assert record.notes == []
    assert first.timings.end_ns == 53 * MS
    assert first.request.bytes == len(sent(ask()))
    assert first.reply_bytes == sum(len(said(message)) for message in ANSWER)
    assert (tunnel.kind, tunnel.dialect, tunnel.notes) == ("not_generation", "opaque", ["tunnel: reply"])  # fmt: skip
    assert tunnel.timings.end_ns == 2_000 * MS


@every_cut
@every_junk
def test_messages_in_pieces_masked_compressed_and_with_junk_behind(cut, junk):
    """Fragments with pings between them, contexts carried over in both directions, and then nonsense."""
    asks, says = Deflater(), Deflater()
    talk = Talk(DEFLATE, cut=cut)
    talk.asks(100, asks.message(ask("x" * 90), MASK, 5, 7) + ws_frame(b"?", PING, mask=MASK))
    for n, message in enumerate(ANSWER):
        talk.says(150 + n, says.message(message, b"", 3) + ws_frame(b"!", PING))
    talk.asks(200, asks.message(ask("x" * 90), MASK))
    for n, message in enumerate(ANSWER[1:]):
        talk.says(250 + n, says.message(message))

    first, second, tunnel = talk.says(300, junk).end(400)

    assert [ttft_ns(r.timings) for r in (first, second)] == [51 * MS, 50 * MS]
    assert [r.generation for r in (first, second)] == ["complete", "complete"]
    assert tunnel.notes[0] == "tunnel: reply"


@every_cut
def test_what_comes_in_one_read_is_told_apart(cut):
    """An answer and the start of the next request's, two questions at once, their answers in turn."""
    talk = Talk(cut=cut).asks(100, sent(ask("1")), pieces(ask("2"), 4, mask=MASK))
    talk.says(200, *map(said, (*ANSWER, created("resp_2"), delta("c"), ended("resp_2", tokens=7))))

    first, second, _ = talk.end(300)

    assert [r.output.tokens for r in (first, second)] == [2, 7]
    assert [r.output.events for r in (first, second)] == [2, 1]


def test_a_pre_warm_is_an_exchange_without_output():
    """Codex sends one first: it costs a prefill, and the record says what it is."""
    talk = Talk().asks(100, sent(ask([], generate=False))).answers(200, created(), ended(tokens=0))

    warm, _ = talk.end(300)

    assert (warm.kind, warm.generation, warm.output.tokens) == ("turn", "complete", 0)
    assert ttft_ns(warm.timings) is None
    assert codes(warm) == ["prewarm"]


def test_a_wrapped_request_is_read_too():
    """Some gateways expect the body inside of `response`."""
    inner = {"model": "m-2", "instructions": "Be brief.", "input": "Hi", "max_output_tokens": 5}
    message = orjson.dumps({"type": "response.create", "response": inner})

    record, _ = Talk().asks(100, sent(message)).answers(200, *ANSWER).end(300)

    assert (record.request.model, record.request.max_tokens) == ("m-2", 5)
    assert [part.part for part in record.parts] == ["system", "question"]


# Lanes


def test_lanes_run_side_by_side():
    """Events name the lane that the request named; in a lane answers come in turn."""
    talk = Talk().asks(
        100, sent(ask(stream_id="a")), sent(ask(stream_id="b")), sent(ask(stream_id="a"))
    )
    talk.answers(200, created("r1", stream_id="a"), created("r2", stream_id="b"))
    talk.answers(300, delta(stream_id="b"), delta(stream_id="a"))
    talk.answers(400, ended("r2", stream_id="b", tokens=22), ended("r1", stream_id="a", tokens=11))
    talk.answers(500, delta(stream_id="a"), ended("r3", stream_id="a", tokens=33))

    *inside, _ = talk.end(600)

    assert [(r.id, r.output.tokens) for r in inside] == [
        ("r-1.2", 22),
        ("r-1.1", 11),
        ("r-1.3", 33),
    ]
    assert [ttft_ns(r.timings) for r in inside] == [200 * MS, 201 * MS, 400 * MS]


def test_a_server_that_knows_no_lanes_is_read_in_turn():
    """Its events name none: they are the oldest request's."""
    talk = Talk().asks(100, sent(ask(stream_id="a")), sent(ask(stream_id="b")))
    talk.answers(200, *ANSWER, created("resp_2"), ended("resp_2", tokens=7))

    first, second, _ = talk.end(300)

    assert [(r.id, r.output.tokens) for r in (first, second)] == [("r-1.1", 2), ("r-1.2", 7)]


def test_an_error_ends_its_exchange_and_what_still_comes_of_it_is_dropped():
    """`error`, then `response.failed` for the same response: the next request's answer is its own."""
    talk = Talk().asks(100, sent(ask()), sent(ask()))
    talk.answers(200, created("r1"), event("error", status=429, error={"type": "slow_down"}))
    talk.answers(210, ended("r1", "response.failed"), created("r2"), delta(), ended("r2"))

    first, second, tunnel = talk.end(300)

    assert (first.generation, first.error_type) == ("error_event", "slow_down")
    assert (second.generation, second.output.events) == ("complete", 1)
    assert tunnel.notes == ["tunnel: reply"]


def test_what_nobody_asked_for_is_no_exchange():
    """A steered response's successor, rate limits, text that is no JSON: none has a record."""
    talk = Talk().asks(90, sent(event("response.steer", previous_response_id="r0", input="Stop.")))
    talk.answers(100, event("codex.rate_limits"), b"no JSON", created("r9"), ended("r9"))

    [tunnel] = talk.end(200)

    assert tunnel.notes[1:] == ["response_unasked: tunnel, no open request of its lane"]
