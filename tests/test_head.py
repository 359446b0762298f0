"""Heads as a lenient server reads them: whatever can be understood is, and nothing raises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.wire.head import (
    ReplyHead,
    RequestHead,
    parse_reply_head,
    parse_request_head,
    value,
    values,
)

HEADERS = (("Host", "a.test"), ("X-A", "1"))

REQUESTS = {
    "the usual": (b"GET / HTTP/1.1\r\nHost: a.test\r\nX-A: 1\r\n\r\n", ("GET", "/", (1, 1))),
    "without its empty line": (b"GET / HTTP/1.1\r\nHost: a.test\r\nX-A: 1", ("GET", "/", (1, 1))),
    "line feeds only": (b"GET / HTTP/1.1\nHost: a.test\nX-A: 1\n\n", ("GET", "/", (1, 1))),
    "mixed line ends": (b"GET / HTTP/1.1\nHost: a.test\r\nX-A: 1\n\r\n", ("GET", "/", (1, 1))),
    "empty lines before": (b"\r\n\nGET / HTTP/1.1\r\nHost: a.test\r\nX-A:1\r\n\r\n", ("GET", "/", (1, 1))),
    "no space after the colon": (b"GET / HTTP/1.1\r\nHost:a.test\r\nX-A:1\r\n\r\n", ("GET", "/", (1, 1))),
    "spaces around": (b"GET / HTTP/1.1\r\nHost : \t a.test \t\r\nX-A:  1 \r\n\r\n", ("GET", "/", (1, 1))),
    "a line without a colon": (b"GET / HTTP/1.1\r\nHost: a.test\r\nnonsense\r\nX-A: 1\r\n\r\n", ("GET", "/", (1, 1))),
    "an odd method": (b"M-SEARCH! * HTTP/1.1\r\nHost: a.test\r\nX-A: 1\r\n\r\n", ("M-SEARCH!", "*", (1, 1))),
    "spaces in the line": (b"GET   /   HTTP/1.0  \r\nHost: a.test\r\nX-A: 1\r\n\r\n", ("GET", "/", (1, 0))),
    "no version": (b"GET /\r\nHost: a.test\r\nX-A: 1\r\n\r\n", ("GET", "/", (0, 9))),
    "another version": (b"PRI * HTTP/2.0\r\nHost: a.test\r\nX-A: 1\r\n\r\n", ("PRI", "*", (2, 0))),
    "utf-8 in the target": ("GET /café HTTP/1.1\r\nHost: a.test\r\nX-A: 1\r\n\r\n".encode(), ("GET", "/cafÃ©", (1, 1))),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "line"), REQUESTS.values(), ids=REQUESTS)
def test_a_request_head_is_read(raw, line):
    """Line and fields come out as sent, in order, however they are spaced."""
    assert parse_request_head(raw) == RequestHead(*line, HEADERS)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b" GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1 and more\r\n\r\n",
        b"GET / HTTP/11\r\n\r\n",
        b"GET / http/1.1\r\n\r\n",
        b"GET /a b HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n Host: a.test\r\n\r\n",
        b"G\xc3\xa9T / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01",
    ],
)
def test_what_is_no_request_line_is_none(raw):
    """Not understood is said plainly: the bytes flow all the same."""
    assert parse_request_head(raw) is None


REPLIES = {
    "the usual": (b"HTTP/1.1 200 OK\r\nHost: a.test\r\nX-A: 1\r\n\r\n", (200, (1, 1))),
    "no reason": (b"HTTP/1.1 200 \r\nHost: a.test\r\nX-A: 1\r\n\r\n", (200, (1, 1))),
    "nothing behind the status": (b"HTTP/1.1 200\r\nHost: a.test\r\nX-A: 1\r\n\r\n", (200, (1, 1))),
    "HTTP/1.0 and line feeds": (b"HTTP/1.0 404 Not Found\nHost: a.test\nX-A: 1\n\n", (404, (1, 0))),
    "any bytes as reason": (b"HTTP/1.1 599 \xff\xfe\t!\r\nHost: a.test\r\nX-A: 1\r\n\r\n", (599, (1, 1))),
    "two spaces": (b"HTTP/1.1  299 Odd\r\nHost: a.test\r\nX-A: 1\r\n\r\n", (299, (1, 1))),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "line"), REPLIES.values(), ids=REPLIES)
def test_a_reply_head_is_read(raw, line):
    """Status, version and fields."""
    assert parse_reply_head(raw) == ReplyHead(*line, HEADERS)


@pytest.mark.parametrize(
    "raw",
    [b"", b"\n", b"HTTP/1.1\r\n\r\n", b"HTTP/1.1 20\r\n\r\n", b"HTTP/1.1 2000 OK\r\n\r\n",
     b"ICY 200 OK\r\n\r\n", b"HTTP/2 200\r\n\r\n", b"{}"],
)  # fmt: skip
def test_what_is_no_status_line_is_none(raw):
    """The same for replies."""
    assert parse_reply_head(raw) is None


def test_a_folded_value_is_one_value():
    """Obs-fold (RFC 9112 section 5.2): a line that begins with space goes on with the one before."""
    head = parse_request_head(b"GET / HTTP/1.1\r\nX-A: one\r\n two\n\t three\r\nX-B: 1\r\n\r\n")

    assert head.headers == (("X-A", "one two three"), ("X-B", "1"))


def test_bytes_of_a_value_survive():
    """Obs-text (RFC 9110 section 5.5) is kept byte for byte, as Latin-1."""
    every = bytes(n for n in range(0x21, 0x100))
    head = parse_reply_head(b"HTTP/1.1 200 OK\r\nX-A: " + every + b"\r\n\r\n")

    assert value(head.headers, "x-a").encode("latin-1") == every


def test_values_are_found_by_lower_case_name_in_order():
    """Names are compared without case; none is None, and none is not empty."""
    headers = (("Via", "a"), ("VIA", "b"), ("Empty", ""), ("via", "c"))

    assert values(headers, "via") == ["a", "b", "c"]
    assert value(headers, "via") == "a"
    assert value(headers, "empty") == ""
    assert value(headers, "absent") is None
    assert values(headers, "absent") == []


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/v1/chat/completions", "/v1/chat/completions"),
        ("/v1/models?limit=3", "/v1/models"),
        ("/a%2Fb;c?d", "/a%2Fb;c"),
        ("/go?to=http://b.test/x", "/go"),
        ("/to/http://b.test/x", "/to/http://b.test/x"),
        ("http://a.test:8000/v1/models?limit=3", "/v1/models"),
        ("http://a.test", "/"),
        ("http://a.test?at=/x", "/"),
        ("ws://a.test/x", "/x"),
        ("a.test:443", "a.test:443"),
        ("*", "*"),
    ],
)
def test_the_path_is_the_targets(target, path):
    """Neither query nor authority, and nothing decoded."""
    assert RequestHead("GET", target, (1, 1), ()).path == path


@pytest.mark.parametrize(
    ("status", "interim"), [(100, True), (102, True), (103, True), (199, True), (101, False), (200, False)]
)  # fmt: skip
def test_interim_is_1xx_but_not_101(status, interim):
    """101 is the last thing said in HTTP, so it is an answer."""
    assert ReplyHead(status, (1, 1), ()).interim is interim


LINES = st.lists(
    st.binary(max_size=20) | st.sampled_from([b"GET / HTTP/1.1", b"HTTP/1.1 200 OK", b" x", b"a: b"])
).map(b"\r\n".join)  # fmt: skip


@given(st.binary(max_size=200) | LINES)
def test_never_raises(raw):
    """Any bytes give a head or None, and what a head says are str and int."""
    for head in (parse_request_head(raw), parse_reply_head(raw)):
        assert head is None or all(isinstance(text, str) for pair in head.headers for text in pair)


@pytest.mark.parametrize(
    "raw",
    [b"A" * 60_000, b"A " + b" " * 60_000 + b"x y", b"GET /" + b"x" * 60_000 + b" y",
     b"HTTP/1.1 " + b" " * 60_000, b"GET / HTTP/1.1\r\nA:" + b" " * 60_000 + b"b",
     b"GET / HTTP/1.1" + b"\r\n " * 20_000 + b"b"],
)  # fmt: skip
@pytest.mark.timeout(2)
def test_no_head_takes_long(raw):
    """Reading takes time by the length of a head, never by its square."""
    parse_request_head(raw)
    parse_reply_head(raw)
