"""The dialect of last resort: times, an error's name, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.dialects.base import ReplyReading, RequestReading
from proxy.dialects.opaque import Opaque
from proxy.wire.head import ReplyHead, RequestHead
from tests.support.cuts import every_cut, every_junk

HEAD = RequestHead("GET", "/v1/models", (1, 1), ())


def hear(pieces, content_type="application/json", status=200):
    """The reading of a reply that came in these pieces, at 1, 2, ... ns."""
    reader = Opaque().reply_reader(
        HEAD, ReplyHead(status, (1, 1), (("content-type", content_type),))
    )
    for n, piece in enumerate(pieces, 1):
        reader.feed(piece, n)
    reader.close()
    return reader.reading()


def test_it_always_bids_and_never_claims():
    """Whatever the request is, it bids the least there is, and says that no model was asked."""
    dialect = Opaque()

    assert dialect.bid(HEAD, b"") == dialect.bid(HEAD, b"\xff") == 1
    assert dialect.read_request(HEAD, b'{"model":"m"}') == RequestReading(generation=False)


@every_cut
@pytest.mark.parametrize("body", [b"", b'{"choices":[{"message":{"content":"x"}}],"usage":{}}', b"<html>", b"\0\xff"])  # fmt: skip
def test_a_body_says_nothing(body, cut):
    """No body of a good reply is read, so none is worth a note."""
    assert hear(cut(body)) == ReplyReading()


def test_the_first_event_is_timed():
    """Of a stream the first event has a time; a comment is none, and what is in it does not matter."""
    pieces = [b": hi\n\n", b"data: {", b"}\n\n", b'data: {"error": {"type": "x"}}\n\n']

    assert hear(pieces, "text/event-stream") == ReplyReading(streamed=True, first_event_ns=3)


@every_cut
@every_junk
def test_an_error_has_a_name(cut, junk):
    """Under an error status the server's name of it is kept, whatever stands behind."""
    body = b'{"error":{"code":404,"message":"secret","type":"not_found_error"}}'
    reading = hear(cut(body + junk), status=404)

    assert reading == ReplyReading(error_type="not_found_error")


@pytest.mark.parametrize("body", [b"", b"Not Found", b"[1]", b'{"detail":"Not Found"}', b'{"error":"Not Found"}'])  # fmt: skip
def test_an_error_may_have_no_name(body):
    """A page, a list, a text: nothing to keep and nothing to note."""
    assert hear([body], status=404) == ReplyReading()


def test_an_endless_error_is_not_held():
    """Only the first bytes of an error body are looked at."""
    assert (
        hear([b'{"error":{"type":"' + b"x" * 2**16] * 50 + [b'"}}'], status=500) == ReplyReading()
    )


@given(
    st.lists(st.binary()),
    st.sampled_from(["text/event-stream", "", "x"]),
    st.sampled_from([200, 500]),
)
def test_no_bytes_raise(pieces, content_type, status):
    """Whatever comes, nothing raises."""
    hear(pieces, content_type, status)
