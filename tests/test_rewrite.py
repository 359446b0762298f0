"""The only bytes that change: the value of `Host`, and an absolute-form target."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from proxy.wire.head import parse_request_head, values
from proxy.wire.rewrite import rewrite_head

UP = b"up.test:8000"
LINE = b"GET / HTTP/1.1\r\n"

HOSTS = {
    "the usual": (b"Host: a.test\r\n\r\n", b"Host: up.test:8000\r\n\r\n"),
    "another case": (b"hOsT: a.test\r\n\r\n", b"hOsT: up.test:8000\r\n\r\n"),
    "no space": (b"Host:a.test\r\n\r\n", b"Host:up.test:8000\r\n\r\n"),
    "tabs and spaces": (b"Host \t: \t a.test \t\r\n\r\n", b"Host \t: \t up.test:8000 \t\r\n\r\n"),
    "an empty value": (b"Host:\r\n\r\n", b"Host:up.test:8000\r\n\r\n"),
    "only spaces as value": (b"Host:  \r\n\r\n", b"Host:  up.test:8000\r\n\r\n"),
    "line feeds only": (b"Host: a.test\nX: y\n\n", b"Host: up.test:8000\nX: y\n\n"),
    "in the middle": (b"A: b\r\nHost: a.test\r\nX: y\r\n\r\n", b"A: b\r\nHost: up.test:8000\r\nX: y\r\n\r\n"),
    "at the end": (b"A: b\r\nHost: a.test\r\n\r\n", b"A: b\r\nHost: up.test:8000\r\n\r\n"),
    "without the empty line": (b"A: b\r\nHost: a.test", b"A: b\r\nHost: up.test:8000"),
    "two of them": (b"Host: a.test\r\nhost: b.test\r\n\r\n", b"Host: up.test:8000\r\nhost: up.test:8000\r\n\r\n"),
    "folded": (b"Host: a\r\n .test \r\nX: y\r\n\r\n", b"Host: up.test:8000 \r\nX: y\r\n\r\n"),
    "only the fold has a value": (b"Host:\r\n\ta.test\r\n\r\n", b"Host:up.test:8000\r\n\r\n"),
    "folded with line feeds": (b"Host: a\n b\n c\nX: y\n\n", b"Host: up.test:8000\nX: y\n\n"),
    "a carriage return in the value": (b"Host: a\rb\r\nX: y\r\n\r\n", b"Host: up.test:8000\r\nX: y\r\n\r\n"),
    "any bytes as value": (b"Host: \xff\\1\x00\r\n\r\n", b"Host: up.test:8000\r\n\r\n"),
}  # fmt: skip


@pytest.mark.parametrize(("fields", "rewritten"), HOSTS.values(), ids=HOSTS)
def test_the_value_of_host_changes_and_nothing_else(fields, rewritten):
    """Name, spacing, order and line ends stay as they came."""
    assert rewrite_head(LINE + fields, UP) == LINE + rewritten
    assert rewrite_head(LINE + fields, None) == LINE + fields


UNTOUCHED = {
    "no host": b"GET / HTTP/1.1\r\nAccept: */*\r\n\r\n",
    "no fields": b"GET / HTTP/1.0\r\n\r\n",
    "a name that begins like it": b"GET / HTTP/1.1\r\nHostname: a.test\r\nHost-X: b\r\n\r\n",
    "a name that ends like it": b"GET / HTTP/1.1\r\nX-Host: a.test\r\nX Host: b\r\n\r\n",
    "a fold that looks like it": b"GET / HTTP/1.1\r\nX-A: b\r\n Host: a.test\r\n\r\n",
    "a carriage return before it": b"GET / HTTP/1.1\r\nX-A: b\rHost: a.test\r\n\r\n",
    "in the target": b"GET /?Host:a.test HTTP/1.1\r\nX-A: b\r\n\r\n",
    "in a value": b"GET / HTTP/1.1\r\nX-A: Host: a.test\r\n\r\n",
    "no colon": b"GET / HTTP/1.1\r\nHost a.test\r\n\r\n",
    "a method of that name": b"HOST:x / HTTP/1.1\r\nX-A: b\r\n\r\n",
    "origin and location": b"GET / HTTP/1.1\r\nOrigin: http://a.test\r\nReferer: http://a.test/\r\n\r\n",
    "a target with an address in it": b"GET /to?u=http://a.test/x HTTP/1.1\r\nX-A: b\r\n\r\n",
    "authority form": b"CONNECT a.test:443 HTTP/1.1\r\nX-A: b\r\n\r\n",
    "asterisk form": b"OPTIONS * HTTP/1.1\r\nX-A: b\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("head", UNTOUCHED.values(), ids=UNTOUCHED)
def test_all_else_stays(head):
    """A head without `Host` gets none, and what only looks like it is not it."""
    assert rewrite_head(head, UP) == head


TARGETS = {
    "with a path": (b"http://a.test/v1/models?x=/y", b"/v1/models?x=/y"),
    "with a port": (b"http://a.test:8000/v1", b"/v1"),
    "with credentials": (b"http://me:secret@a.test/v1", b"/v1"),
    "without a path": (b"http://a.test", b"/"),
    "with a query alone": (b"http://a.test?x=y", b"/?x=y"),
    "of another scheme": (b"WSS+x://a.test/v1", b"/v1"),
    "an address of six": (b"http://[::1]:8000/v1", b"/v1"),
    "an address in its path": (b"http://a.test/to/http://b.test/", b"/to/http://b.test/"),
    "bytes as sent": (b"http://a.test/caf\xc3\xa9/%2f", b"/caf\xc3\xa9/%2f"),
}


@pytest.mark.parametrize("host", [UP, None])
@pytest.mark.parametrize(("target", "origin"), TARGETS.values(), ids=TARGETS)
def test_an_absolute_form_target_becomes_origin_form(target, origin, host):
    """Its authority is this proxy's (RFC 9112 section 3.2.2); spacing and version stay."""
    head = b"POST  %b HTTP/1.1\r\nX-A: http://a.test/\r\n\r\n"

    assert rewrite_head(head % target, host) == head % origin


def test_options_of_a_whole_server_becomes_the_asterisk():
    """RFC 9112 section 3.2.4: the last proxy writes `*` where there is neither path nor query."""
    head = b"OPTIONS %b HTTP/1.1\r\n\r\n"

    assert rewrite_head(head % b"http://a.test", UP) == head % b"*"
    assert rewrite_head(head % b"http://a.test/", UP) == head % b"/"
    assert rewrite_head(head % b"http://a.test?x", UP) == head % b"/?x"


def test_target_and_host_change_together():
    """What a client that was told to use a proxy sends."""
    head = b"GET http://a.test/v1 HTTP/1.1\r\nHost: a.test\r\n\r\n"

    assert rewrite_head(head, UP) == b"GET /v1 HTTP/1.1\r\nHost: up.test:8000\r\n\r\n"


NAMES = st.sampled_from([b"Host", b"hOST", b"X-Host", b"Hostess", b"Accept", b" Host", b"host "])
VALUES = st.binary(max_size=12).filter(lambda v: b"\n" not in v)
FIELDS = st.lists(st.tuples(NAMES, st.sampled_from([b":", b": ", b" :\t"]), VALUES), max_size=6)
ENDS = st.sampled_from([b"\r\n", b"\n"])


def head_of(fields, end):
    """A head of fields as they are spelled."""
    return end.join([b"GET /a HTTP/1.1", *map(b"".join, fields), b"", b""])


@given(FIELDS, ENDS)
def test_a_head_without_host_does_not_change(fields, end):
    """Whatever else is in it."""
    others = [field for field in fields if field[0].strip().lower() != b"host"]
    head = head_of(others, end)

    assert rewrite_head(head, UP) == head


@given(FIELDS, ENDS)
def test_every_host_is_ours_and_the_rest_is_theirs(fields, end):
    """A server reads the upstream's authority and, of all other fields, what was sent."""
    assume(not fields or not fields[0][0].startswith(b" "))
    sent = parse_request_head(head_of(fields, end))
    seen = parse_request_head(rewrite_head(head_of(fields, end), UP))

    assert set(values(seen.headers, "host")) <= {UP.decode()}
    assert len(values(seen.headers, "host")) == len(values(sent.headers, "host"))
    assert [h for h in seen.headers if h[0].lower() != "host"] == [
        h for h in sent.headers if h[0].lower() != "host"
    ]


@given(FIELDS, ENDS)
def test_rewriting_twice_is_rewriting_once(fields, end):
    """And the second time changes nothing, so two proxies in a row do no more than one."""
    once = rewrite_head(head_of(fields, end), UP)

    assert rewrite_head(once, UP) == once


@pytest.mark.parametrize(
    "head",
    [
        LINE + b"Host: a" + b" " * 60_000 + b"b\r\n\r\n",
        LINE + b"Host:" + b" " * 60_000 + b"b\r\n\r\n",
        LINE + b"Host" + b" " * 60_000 + b"\r\n\r\n",
        LINE + b"Host: a\r\n " * 6_000 + b"\r\n\r\n",
        LINE + b"\nhost" * 12_000,
        b"GET " + b"a" * 60_000,
        b"GET" + b" " * 60_000,
        b"GET a://" + b"a" * 60_000 + b" x\r\n\r\n",
    ],
)
@pytest.mark.timeout(2)
def test_no_head_takes_long(head):
    """This runs on the byte path: time by the length of a head, never by its square."""
    assert not re.search(rb"(?m)^Host: a", rewrite_head(head, UP))
