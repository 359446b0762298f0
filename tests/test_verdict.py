"""How an exchange turned out: the transport's end and the generation's end, told apart."""

from __future__ import annotations

import pytest

from proxy.dialects.base import Usage
from proxy.journal.verdict import error_kind, generation, reply_unread
from proxy.wire.exchange import Note, Outcome
from proxy.wire.head import ReplyHead
from tests.support.builders import asked, ending, exchange, said

CUT = {"terminal_event_ns": None, "finish_reason": None}
SILENT = {**CUT, "first_token_ns": None, "last_token_ns": None, "token_event_ns": (), "text": ""}
WHOLE = {"streamed": False, "first_token_ns": None, "token_event_ns": (), **CUT}


def head(status):
    """A reply's head with this status."""
    return ReplyHead(status, (1, 1), ())


def judge(reading, outcome=Outcome.complete, *, request=None, **changes):
    """(generation, error kind) of an exchange that ended so."""
    found = exchange(ending=ending(outcome), **changes)
    how = generation(found, request or asked(), reading)
    return how, error_kind(found, how)


@pytest.mark.parametrize(
    ("reading", "outcome", "expected"),
    [
        (said(), Outcome.complete, ("complete", None)),
        (said(terminal_event_ns=None), Outcome.complete, ("complete", None)),
        (said(finish_reason=None), Outcome.complete, ("complete", None)),
        (said(**CUT), Outcome.complete, ("incomplete", "incomplete_stream")),
        (said(**SILENT), Outcome.complete, ("incomplete", "incomplete_stream")),
        (said(**CUT, error_event=True), Outcome.complete, ("error_event", "error_event")),
        (said(error_event=True), Outcome.client_gone, ("error_event", "error_event")),
        (said(**CUT), Outcome.upstream_aborted, ("incomplete", "upstream_reset")),
        (said(), Outcome.upstream_aborted, ("complete", "upstream_reset")),
        (said(**SILENT), Outcome.client_gone, ("incomplete", "client_disconnect")),
        (said(**CUT), Outcome.client_gone, ("incomplete", "client_disconnect")),
        (said(), Outcome.client_gone, ("complete", None)),
        (said(**CUT), Outcome.upstream_timeout, ("incomplete", "upstream_timeout")),
        (said(**CUT), Outcome.shutdown, ("incomplete", "proxy")),
        (said(**CUT), Outcome.proxy_killed, ("incomplete", "proxy")),
        (said(**CUT), Outcome.proxy_error, ("incomplete", "proxy")),
    ],
)
def test_a_stream_ends_with_its_terminal_event(reading, outcome, expected):
    """Only a terminal event or a finish reason ends a stream well, whatever the transport says."""
    assert expected == judge(reading, outcome)


@pytest.mark.parametrize(
    ("reading", "outcome", "expected"),
    [
        (said(**WHOLE), Outcome.complete, ("complete", None)),
        (said(**WHOLE | {"text": "", "called": ("f",)}), Outcome.complete, ("complete", None)),
        (said(**WHOLE | {"text": ""}), Outcome.complete, ("complete", None)),
        (said(**WHOLE), Outcome.upstream_aborted, ("incomplete", "upstream_reset")),
        (
            said(**WHOLE | {"text": "", "usage": Usage()}),
            Outcome.complete,
            ("incomplete", "incomplete_stream"),
        ),
        (said(**WHOLE, error_type="overloaded"), Outcome.complete, ("error_event", "error_event")),
    ],
)
def test_a_whole_body_ends_with_its_last_byte(reading, outcome, expected):
    """An answer that is not a stream is complete when all of it came and there is an answer in it."""
    assert expected == judge(reading, outcome)


@pytest.mark.parametrize("status", [302, 400, 401, 429, 500, 503])
def test_a_failed_status_generates_nothing(status):
    """From 400 on it is the upstream's error; in either case no model ran."""
    reading = said(**WHOLE, error_type="rate_limit_error")
    expected = ("none", "http_error" if status >= 400 else None)
    assert expected == judge(reading, reply=head(status))


def test_messages_of_a_tunnel_are_answers():
    """Exchanges inside of a WebSocket stand under its 101."""
    assert judge(said(), reply=head(101)) == ("complete", None)


def test_an_unreachable_upstream_generates_nothing():
    """Without a connection no model was asked."""
    found = judge(None, Outcome.upstream_unreachable, reply=None)
    assert found == ("none", "upstream_unreachable")


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Outcome.client_gone, "client_disconnect"),
        (Outcome.upstream_aborted, "upstream_reset"),
        (Outcome.upstream_timeout, "upstream_timeout"),
    ],
)
def test_a_wait_without_a_reply_is_cut(outcome, kind):
    """Some servers send the head before they read the prompt, some after: leaving is the same."""
    assert judge(None, outcome, reply=None) == ("incomplete", kind)


def test_a_request_that_asks_no_model_generates_nothing():
    """A model list may fail as any request does."""
    models = asked(generation=False)
    assert judge(said(**WHOLE), request=models) == ("none", None)
    assert judge(said(**WHOLE), request=models, reply=head(404)) == ("none", "http_error")
    gone = judge(said(**WHOLE), Outcome.client_gone, request=models)
    assert gone == ("none", "client_disconnect")


@pytest.mark.parametrize(
    "note",
    [
        Note("content_left_out", "reply"),
        Note("reply_unframed", "reply"),
        Note("coding_unknown", "reply body", "aes"),
        Note("coding_broken", "reply body", "gzip"),
        Note("coding_too_long", "reply body", "br"),
    ],
)
def test_a_reply_not_read_to_the_end_is_unknown(note):
    """What came after the gap is not known: neither complete nor cut. What was read before counts."""
    assert judge(said(**CUT), notes=(note,)) == ("unknown", None)
    assert judge(said(), notes=(note,)) == ("complete", None)
    assert reply_unread(exchange(notes=(note,)), None)


def test_a_body_too_long_to_keep_is_unknown():
    """Its dialect says so: there may be an answer in it."""
    reading = said(**WHOLE | {"text": "", "notes": (Note("reply_too_long", "reply body"),)})
    assert judge(reading) == ("unknown", None)


def test_a_gap_in_the_request_leaves_the_reply_readable():
    """The two directions fail apart, and a coding cut at its end was read as far as it came."""
    notes = (Note("content_left_out", "request"), Note("coding_cut", "reply body", "gzip"))
    assert not reply_unread(exchange(notes=notes), said())
    assert judge(said(**CUT), notes=notes) == ("incomplete", "incomplete_stream")
