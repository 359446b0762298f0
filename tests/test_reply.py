"""The reader of reply bodies: which form, which objects, which errors, at every cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.dialects.reply import BODY_BOUND, JsonReply, error_name, labelled_stream, says_error
from proxy.wire.head import ReplyHead
from proxy.wire.sse import SseEvent
from tests.support.cuts import every_cut, every_junk


class Heard:
    """Keeps what it is given, and takes each object for a token."""

    def __init__(self):
        self.objects = []

    def event(self, name, value, tally):
        """One event of a stream."""
        self.objects.append((name, value))
        tally.add("text", "x")

    def body(self, value, tally):
        """A whole body."""
        self.objects.append(("body", value))
        tally.add("text", "x")


def head(content_type=None, status=200):
    """A reply's head."""
    fields = () if content_type is None else (("Content-Type", content_type),)
    return ReplyHead(status, (1, 1), fields)


def hear(pieces, content_type=None, status=200):
    """What the interpreter heard, and the reading."""
    heard = Heard()
    reader = JsonReply(head(content_type, status), heard)
    for n, piece in enumerate(pieces, 1):
        reader.feed(piece, n)
    reader.close()
    return heard.objects, reader.reading()


STREAM = b'data: {"a":1}\n\nevent: x\ndata: {"b":2}\n\ndata: [DONE]\n\n'
STREAM_HEARD = [("message", {"a": 1}), ("x", {"b": 2})]
BODY = b'\r\n{"a": 1, "text": "data: x"}\n'
BODY_HEARD = [("body", {"a": 1, "text": "data: x"})]
TYPES = (
    None,
    "text/event-stream",
    "application/json",
    "text/plain; charset=x",
    "TEXT/Event-Stream;x=y",
)

every_type = pytest.mark.parametrize("content_type", TYPES)


@every_cut
@every_type
def test_a_stream_is_known_by_its_bytes(cut, content_type):
    """A stream is one whatever its label says."""
    objects, reading = hear(cut(STREAM), content_type)

    assert objects == STREAM_HEARD
    assert reading.streamed
    assert len(reading.token_event_ns) == 2
    assert reading.terminal_event_ns is not None
    assert reading.notes == ()


@every_cut
@every_type
def test_a_body_is_known_by_its_bytes(cut, content_type):
    """So is one whole object, which has no times."""
    objects, reading = hear(cut(BODY), content_type)

    assert objects == BODY_HEARD
    assert not reading.streamed
    assert (reading.first_event_ns, reading.token_event_ns, reading.terminal_event_ns) == (
        None,
        (),
        None,
    )


@pytest.mark.parametrize("start", [b": hi\n\n", b"id: 1\n", b"retry: 9\n", b"event: x\n", b"\xef\xbb\xbf", b"\n\n", b" \n"])  # fmt: skip
@every_cut
def test_streams_begin_in_several_ways(start, cut):
    """Comments, other fields, a byte order mark and blank lines come before the first event."""
    objects, reading = hear(cut(start + STREAM))

    assert [value for _, value in objects] == [{"a": 1}, {"b": 2}]
    assert reading.streamed


@every_cut
def test_a_stream_of_unknown_lines_needs_its_label(cut):
    """A field nobody knows begins a stream only where the head says that it is one."""
    odd = b"odd: 1\n" + STREAM

    assert hear(cut(odd), "text/event-stream")[0] == STREAM_HEARD
    assert hear(cut(odd), "text/plain")[0] == []


@every_cut
def test_an_array_of_objects_is_each_of_them(cut):
    """Some formats send an array where others send an object."""
    assert hear(cut(b'[{"a":1},{"b":2}]'))[0] == [("body", {"a": 1}), ("body", {"b": 2})]
    assert hear(cut(b'data: [{"a":1},{"b":2}]\n\n'))[0] == [
        ("message", {"a": 1}),
        ("message", {"b": 2}),
    ]


@every_cut
@every_junk
def test_junk_behind_a_body_is_passed_over(cut, junk):
    """The object is read, whatever stands behind it."""
    assert hear(cut(BODY.strip() + junk))[0] == BODY_HEARD


@every_cut
@pytest.mark.parametrize("body", [b"", b" \n", b"\xef\xbb\xbf"])
def test_an_empty_body_is_nothing(body, cut):
    """No bytes, no note."""
    objects, reading = hear(cut(body))

    assert objects == []
    assert reading.notes == ()


@every_cut
@pytest.mark.parametrize(
    "body", [b"Not Found", b"d", b"{", b'{"a": ', b"12", b"null", b"[]", b'"data: x"']
)
def test_what_is_no_object_is_noted(body, cut):
    """A body without an object gives one note with its length, and no words of it."""
    objects, reading = hear(cut(body))

    assert objects == []
    assert [str(note) for note in reading.notes] == [
        f"reply_not_json: reply body, {len(body)} bytes"
    ]


@every_cut
def test_unreadable_events_are_noted_once(cut):
    """The first event that is no object is noted; empty ones are keep-alives and no events."""
    stream = b"data:\n\ndata: {}\n\ndata: hello\n\ndata: 7\n\n" + STREAM
    objects, reading = hear(cut(stream))

    assert objects == [("message", {}), *STREAM_HEARD]
    assert [str(note) for note in reading.notes] == ["event_not_json: event 2, 5 bytes"]


@every_cut
@pytest.mark.parametrize("rest", [b"", b"\n"])
def test_a_whole_event_without_its_blank_line_counts(rest, cut):
    """What the stream ended inside of is read if it is whole, and noted either way."""
    objects, reading = hear(cut(b'data: {"a":1}\n\ndata: {"b":2}' + rest))

    assert [value for _, value in objects] == [{"a": 1}, {"b": 2}]
    assert [note.code for note in reading.notes] == ["event_cut"]

    objects, reading = hear(cut(b'data: {"a":1}\n\ndata: {"b":'))

    assert [value for _, value in objects] == [{"a": 1}]
    assert [note.code for note in reading.notes] == ["event_cut"]


def test_a_reading_may_be_asked_for_at_any_time():
    """While it runs the reading grows, by times of arrival; asking changes nothing."""
    reader = JsonReply(head(), Heard())
    counts = []
    for n, piece in enumerate([b"da", b'ta: {"a":1}\n\n', b"data: {", b"}\n\n"], 1):
        reader.feed(piece, n)
        counts.append(reader.reading().token_event_ns)
        assert reader.reading() == reader.reading()

    assert counts == [(), (2,), (2,), (2, 4)]


def test_closing_twice_changes_nothing():
    """A second close finds nothing left."""
    for data in (STREAM[:-2], BODY):
        reader = JsonReply(head(), Heard())
        reader.feed(data, 1)
        reader.close()
        once = reader.reading()
        reader.close()

        assert reader.reading() == once


def test_an_outsized_event_is_noted():
    """The event parser's notes are the reading's."""
    objects, reading = hear([b"data: ", b"x" * (33 * 2**20), b"\n\n", STREAM])

    assert objects == STREAM_HEARD
    assert [note.code for note in reading.notes] == ["event_too_long"]


def test_an_outsized_body_is_not_held():
    """A body beyond the bound is dropped and noted, also when more comes."""
    block = b'{"a": "' + b"x" * (BODY_BOUND // 2)
    objects, reading = hear([block, block, block, b'"}'])

    assert objects == []
    assert [note.code for note in reading.notes] == ["reply_too_long"]


class Lines:
    """A parser of a dialect's own: each piece is an event."""

    notes = ()

    def feed(self, data, at_ns):
        """One event."""
        return [SseEvent("line", data, at_ns)]

    def close(self):
        """Nothing is left."""
        return []


def test_a_dialect_may_bring_its_own_parser():
    """Where the dialect knows the stream's form nothing is guessed."""
    heard = Heard()
    reader = JsonReply(head("application/x-ndjson"), heard, Lines())
    reader.feed(b'{"a":1}', 5)
    reader.close()

    assert heard.objects == [("line", {"a": 1})]
    assert (reader.reading().streamed, reader.reading().token_event_ns) == (True, (5,))


ERRORS = {
    "OpenAI": ({"error": {"message": "m", "type": "invalid_request_error", "code": "x"}}, "invalid_request_error"),
    "a code alone": ({"error": {"code": "rate_limit_exceeded"}}, "rate_limit_exceeded"),
    "a code as a number": ({"error": {"code": 503, "message": "m"}}, "503"),
    "Google": ({"error": {"code": 404, "message": "m", "status": "NOT_FOUND"}}, "NOT_FOUND"),
    "Anthropic": ({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}, "overloaded_error"),
    "responses": ({"type": "error", "code": "server_error", "message": "m"}, "server_error"),
    "older vLLM": ({"object": "error", "type": "BadRequestError", "message": "m", "code": 400}, "BadRequestError"),
    "a text": ({"error": "model 'x' not found"}, None),
    "a type that is no name": ({"error": {"type": "key sk-123!\n was", "code": "c"}}, "c"),
    "a name of another type": ({"error": {"type": ["x"], "code": None}}, None),
    "an empty type": ({"error": {"type": "", "code": "c"}}, "c"),
    "a name of endless length": ({"error": {"type": "x" * 5000}}, None),
}  # fmt: skip


@pytest.mark.parametrize(("item", "name"), ERRORS.values(), ids=ERRORS)
def test_each_shape_of_error_is_seen(item, name):
    """Every server's way to say that it failed gives the name and never the message."""
    assert says_error(item)
    assert error_name(item) == name


@pytest.mark.parametrize("item", [{}, {"error": None}, {"error": {}}, {"error": ""}, {"type": "ping"}, {"object": "list"}])  # fmt: skip
def test_no_error_is_no_error(item):
    """An empty error field is none."""
    assert not says_error(item)


@every_cut
def test_an_error_body_is_not_interpreted(cut):
    """Under an error status only the error's name is read."""
    objects, reading = hear(cut(b'{"error":{"type":"overloaded"},"choices":[1]}'), status=529)

    assert objects == []
    assert (reading.error_type, reading.error_event) == ("overloaded", False)


@every_cut
def test_an_error_in_a_stream_is_told_apart(cut):
    """An error inside a good reply: by its shape, or by the event's name."""
    shape = b'data: {"a":1}\n\ndata: {"error":{"type":"overloaded"}}\n\n'
    named = b'event: error\ndata: {"code":"overloaded"}\n\n'

    for stream in (shape, named):
        _, reading = hear(cut(stream))
        assert (reading.error_type, reading.error_event) == ("overloaded", True)


@pytest.mark.parametrize(("content_type", "expected"), [(t, "event-stream" in (t or "").lower()) for t in TYPES])  # fmt: skip
def test_the_label_of_a_stream(content_type, expected):
    """Case and parameters do not matter, and a missing type is none."""
    assert labelled_stream(head(content_type)) == expected


@given(st.lists(st.binary()), st.sampled_from(TYPES), st.sampled_from([200, 404]))
def test_no_bytes_raise(pieces, content_type, status):
    """Whatever comes, nothing raises, and a reading can be had."""
    hear(pieces, content_type, status)
