"""Our framing against h11 and httptools: on well-formed messages all three see the same.

One rule: an oracle is asked only what it can say. h11 reads one message at a time and tells where it
ended by what it left over. httptools tells no offsets, cannot know that a reply answers HEAD, and takes
each 1xx for a message of its own: from it come the bodies of a whole connection, in order.
"""

from __future__ import annotations

import h11
import httptools
from hypothesis import given
from hypothesis import strategies as st

from proxy.wire.framing import ReplyFraming, RequestFraming, Stage
from tests.support.bodies import head
from tests.support.cuts import at_random

METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])
TARGETS = st.sampled_from(["/", "/v1/chat/completions?a=b", "/caf%C3%A9", "*", "http://a.test/x"])
FIELDS = st.lists(
    st.sampled_from(
        [
            "Accept: */*",
            "X-A:b",
            "X-Empty:",
            "X-Long: " + "y" * 300,
            "x-a:  c ",
            "Content-Type: a/b",
        ]
    ),
    max_size=3,
)
CONTENTS = st.binary(max_size=50) | st.sampled_from([b"GET / HTTP/1.1\r\n\r\n", b"0\r\n\r\n"])
EXTENSIONS = st.sampled_from(["", ";a", ";a=b", ';a="b c"'])
TRAILERS = st.lists(st.sampled_from(["X-Sum: 1", "X-T: a b"]), max_size=2)
SEEDS = st.integers(0, 2**32)


def chunks(draw, content):
    """A chunked form of some content: any sizes, extensions, trailers."""
    body, position = b"", 0
    while position < len(content):
        piece = content[position : position + draw(st.integers(1, 20))]
        body += b"%x%b\r\n%b\r\n" % (len(piece), draw(EXTENSIONS).encode(), piece)
        position += len(piece)
    return body + head("0", *draw(TRAILERS))


@st.composite
def requests(draw):
    """A request as bytes, and its content."""
    start, own = f"{draw(METHODS)} {draw(TARGETS)} HTTP/1.1", ["Host: a.test", *draw(FIELDS)]
    how, content = draw(st.sampled_from(["none", "length", "chunked"])), draw(CONTENTS)
    if how == "length":
        return head(start, *own, f"Content-Length: {len(content)}") + content, content
    if how == "chunked":
        return head(start, "Transfer-Encoding: chunked", *own) + chunks(draw, content), content
    return head(start, *own), b""


STATUSES = st.sampled_from(
    ["200 OK", "201 Created", "400 Bad Request", "503 ", "204 None", "304 Same"]
)
INTERIM = st.lists(
    st.sampled_from(["100 Continue", "102 Processing", "103 Early Hints"]), max_size=2
)


@st.composite
def replies(draw, methods=METHODS):
    """The method that was asked with, the whole reply with its interim ones, and its content."""
    method, status, content = draw(methods), draw(STATUSES), draw(CONTENTS)
    before = b"".join(head(f"HTTP/1.1 {line}", "Link: </a>") for line in draw(INTERIM))
    start, own = f"HTTP/1.1 {status}", draw(FIELDS)
    bare = method == "HEAD" or status[:3] in {"204", "304"}
    if draw(st.booleans()):
        raw = head(start, f"Content-Length: {len(content)}", *own) + (b"" if bare else content)
    else:
        raw = head(start, *own, "Transfer-Encoding: chunked")
        raw += b"" if bare else chunks(draw, content)
    return method, before + raw, b"" if bare else content


def ours(framings, pieces):
    """Content of each message of a connection, and the offset behind it."""
    ended, content, before = [], b"", 0
    framing = next(framings)
    for piece in pieces:
        position = 0
        while position < len(piece):
            spans = []
            position = framing.feed(piece, position, spans)
            content += b"".join(piece[start:end] for start, end in spans)
            assert framing.stage in (Stage.HEAD, Stage.BODY, Stage.DONE)
            if framing.stage is Stage.DONE:
                ended.append((content, before + position))
                framing, content = next(framings), b""
        before += len(piece)
    return ended


def by_h11(connection, data):
    """Content of one message, and the offset behind it."""
    connection.receive_data(data)
    content = b""
    while type(event := connection.next_event()) is not h11.EndOfMessage:
        assert event not in (h11.NEED_DATA, h11.PAUSED), "the message is not whole for h11"
        content += bytes(event.data) if type(event) is h11.Data else b""
    return content, len(data) - len(connection.trailing_data[0])


def asked(method):
    """h11 as a client that has sent a request."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method=method, target="/", headers=[("Host", "a.test")]))
    connection.send(h11.EndOfMessage())
    return connection


class Heard:
    """What httptools reports, message by message."""

    def __init__(self) -> None:
        self.bodies = []
        self._body = b""

    def on_message_begin(self) -> None:
        """A message begins."""
        self._body = b""

    def on_body(self, body: bytes) -> None:
        """A piece of its body."""
        self._body += body

    def on_message_complete(self) -> None:
        """A message is whole."""
        self.bodies.append(self._body)


@given(st.lists(requests(), min_size=1, max_size=4), SEEDS, st.integers(1, 40))
def test_requests_end_where_h11_says(messages, seed, longest):
    """Pipelined and cut anywhere: the same content, the same offsets."""
    stream = b"".join(raw for raw, _content in messages)
    expected, start = [], 0
    for _ in messages:
        content, size = by_h11(h11.Connection(h11.SERVER), stream[start:])
        start += size
        expected.append((content, start))

    assert ours(iter(RequestFraming, None), at_random(stream, seed, longest)) == expected
    assert [content for content, _end in expected] == [content for _raw, content in messages]


@given(st.lists(requests(), min_size=1, max_size=4), SEEDS, st.integers(1, 40))
def test_requests_hold_what_httptools_says(messages, seed, longest):
    """The same number of messages, with the same bodies."""
    pieces = at_random(b"".join(raw for raw, _content in messages), seed, longest)
    heard = Heard()
    parser = httptools.HttpRequestParser(heard)
    for piece in pieces:
        parser.feed_data(piece)

    assert [content for content, _end in ours(iter(RequestFraming, None), pieces)] == heard.bodies


@given(st.lists(replies(), min_size=1, max_size=4), SEEDS, st.integers(1, 40))
def test_replies_end_where_h11_says(messages, seed, longest):
    """HEAD, 204, 304 and interim replies included."""
    stream = b"".join(raw for _method, raw, _content in messages)
    expected, start = [], 0
    for method, _raw, _content in messages:
        content, size = by_h11(asked(method), stream[start:])
        start += size
        expected.append((content, start))
    framings = iter([ReplyFraming(method) for method, _raw, _content in messages] + [None])

    assert ours(framings, at_random(stream, seed, longest)) == expected
    assert [content for content, _end in expected] == [content for *_, content in messages]


@given(st.lists(replies(st.just("GET")), min_size=1, max_size=4), SEEDS, st.integers(1, 40))
def test_replies_hold_what_httptools_says(messages, seed, longest):
    """All but the interim ones, which it takes for messages; and never to HEAD."""
    stream = b"".join(raw for _method, raw, _content in messages)
    pieces = at_random(stream, seed, longest)
    heard = Heard()
    statuses = []
    heard.on_headers_complete = lambda: statuses.append(parser.get_status_code())
    parser = httptools.HttpResponseParser(heard)
    for piece in pieces:
        parser.feed_data(piece)
    final = [body for status, body in zip(statuses, heard.bodies, strict=True) if status >= 200]
    framings = iter([ReplyFraming("GET") for _ in messages] + [None])

    assert [content for content, _end in ours(framings, pieces)] == final


@given(FIELDS, CONTENTS, SEEDS)
def test_a_reply_that_ends_with_the_connection_holds_what_h11_says(fields, content, seed):
    """Without a length all that comes is content, until the end."""
    raw = head("HTTP/1.0 200 OK", *fields) + content
    connection = asked("GET")
    connection.receive_data(raw)
    connection.receive_data(b"")
    data = []
    while type(event := connection.next_event()) is not h11.EndOfMessage:
        data += [bytes(event.data)] if type(event) is h11.Data else []
    framing, got = ReplyFraming("GET"), b""
    for piece in at_random(raw, seed, 20):
        position = 0
        while position < len(piece):
            spans = []
            position = framing.feed(piece, position, spans)
            got += b"".join(piece[start:end] for start, end in spans)

    assert framing.close()
    assert got == b"".join(data) == content
