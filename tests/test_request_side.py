"""The caller's half: everything goes on as it came but for `Host`, and only a head is ever held."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.wire.framing import MAX_HEAD
from proxy.wire.request_side import RequestSide, Step
from tests.support.bodies import chunked, head, request
from tests.support.cuts import at_random, every_cut, every_junk

UP = b"up.test:8000"
GET = head("GET / HTTP/1.1", "Host: in.test")
CHUNKED = head("POST / HTTP/1.1", "Host: in.test", "Transfer-Encoding: chunked")


def pass_on(side, pieces):
    """What goes on upstream, and each step with its offset in all that was fed."""
    passed, steps, before = b"", [], 0
    for piece in pieces:
        on, cuts = side.feed(piece)
        passed += b"".join(on)
        steps += [(cut.step, before + cut.offset) for cut in cuts]
        before += len(piece)
    return passed, steps


def hosted(raw):
    """What the upstream must see of what a caller sent to `in.test`."""
    return raw.replace(b"in.test", UP)


STREAMS = {
    "one request": [GET],
    "with a body": [request(b"hello")],
    "with a chunked body": [CHUNKED + chunked(b"hel", b"lo", trailers=b"X-Sum: 1\r\n")],
    "one after another": [request(b"hello"), GET, request(b""), GET],
    "lines that end in LF": [b"GET / HTTP/1.1\nHost: in.test\n\n", GET],
    "a body that looks like a head": [request(b"GET / HTTP/1.1\r\nHost: b.test\r\n\r\n"), GET],
    "no host": [head("GET / HTTP/1.0"), GET],
    "two hosts": [head("GET / HTTP/1.1", "Host: in.test", "HOST: in.test"), GET],
    "an upgrade that is not taken": [head("GET / HTTP/1.1", "Host: in.test", "Upgrade: h2c"), GET],
}


@every_cut
@pytest.mark.parametrize("messages", STREAMS.values(), ids=STREAMS)
def test_requests_go_on_with_our_host(messages, cut):
    """Pipelined heads, split names and values: each `Host` is ours, each other byte theirs."""
    side = RequestSide(UP)
    stream = b"".join(messages)

    assert pass_on(side, cut(stream))[0] == hosted(stream)
    assert side.between


@every_cut
@pytest.mark.parametrize("messages", STREAMS.values(), ids=STREAMS)
def test_each_step_lies_where_it_happened(messages, cut):
    """Offsets are in the caller's bytes, so they do not move with the length of a host."""
    expected, start = [], 0
    for message in messages:
        body = min(message.find(end) + len(end) for end in (b"\r\n\r\n", b"\n\n") if end in message)
        expected += [(Step.BEGUN, start), (Step.HEAD, start + body)]
        start += len(message)
        expected += [(Step.ENDED, start)]

    assert pass_on(RequestSide(UP), cut(b"".join(messages)))[1] == expected


def test_a_head_comes_with_its_step():
    """Whoever pairs requests with replies needs the method."""
    _pieces, cuts = RequestSide(UP).feed(request(b"hello"))

    assert [cut.head and cut.head.method for cut in cuts] == [None, "POST", None]


def test_absolute_form_goes_on_as_origin_form():
    """A client that was told to use a proxy is served all the same."""
    side = RequestSide(UP)
    raw = head("GET http://in.test/v1/models HTTP/1.1", "Host: in.test")

    assert pass_on(side, [raw])[0] == head("GET /v1/models HTTP/1.1", f"Host: {UP.decode()}")


def test_a_host_that_is_to_be_kept_is_kept():
    """`host = "keep"`: nothing at all changes."""
    assert pass_on(RequestSide(None), [GET + request(b"hello")])[0] == GET + request(b"hello")


@every_cut
def test_empty_lines_before_a_request_belong_to_nobody(cut):
    """They go on at once, and the request begins behind them (RFC 9112 section 2.2)."""
    side = RequestSide(UP)
    passed, steps = pass_on(side, cut(b"\r\n\n" + GET + b"\r\n"))

    assert passed == b"\r\n\n" + hosted(GET) + b"\r\n"
    assert [offset for step, offset in steps if step is Step.BEGUN] == [3]
    assert side.between


@pytest.mark.parametrize("length", range(1, len(GET)))
def test_part_of_a_head_is_held(length):
    """At whichever byte it stops; and it may be let go, unchanged, for good."""
    side = RequestSide(UP)

    assert pass_on(side, [GET[:length]]) == (b"", [(Step.BEGUN, 0)])
    assert (side.holding, side.between, side.raw) == (True, False, False)
    assert side.release() == [GET[:length]]
    assert (side.holding, side.between, side.raw) == (False, False, True)
    assert side.feed(GET[length:]) == ([GET[length:]], [])
    assert side.release() == []


def test_a_body_is_never_held():
    """Body bytes go on in the very piece that brought them, uncopied."""
    side = RequestSide(UP)
    side.feed(head("POST / HTTP/1.1", "Content-Length: 10"))
    first, last = b"12345", b"67890"

    assert side.feed(first)[0][0] is first
    assert (side.holding, side.between) == (False, False)
    assert side.feed(last)[0][0] is last
    assert side.between


def test_release_between_requests_has_nothing_to_give():
    """A tunnel: the framing ends, and no byte is made up."""
    side = RequestSide(UP)
    side.feed(GET)

    assert side.release() == []
    assert not side.between
    assert side.feed(GET) == ([GET], [])


UNFRAMED = {
    "a TLS hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "an SSH banner": b"SSH-2.0-OpenSSH_9.6\r\n",
    "no version": b"GET /\r\nHost: in.test\r\n\r\n",
    "an HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


@pytest.mark.parametrize("before", [b"", GET, request(b"hello") + b"\r\n"])
@pytest.mark.parametrize("longest", [1, 7, 70_000])
@pytest.mark.parametrize("stranger", UNFRAMED.values(), ids=UNFRAMED)
def test_what_is_no_request_goes_on_as_it_came(stranger, longest, before):
    """From there on nothing is rewritten, held or told apart, not even what looks like a request."""
    side = RequestSide(UP)
    passed, steps = pass_on(side, at_random(before + stranger + GET, 1, longest))

    assert passed == hosted(before) + stranger + GET
    assert [step for step, _ in steps].count(Step.UNFRAMED) == 1
    assert steps[-1][0] is Step.UNFRAMED
    assert (side.raw, side.holding, side.between) == (True, False, False)


@pytest.mark.parametrize("longest", [100, 70_000])
def test_a_head_without_end_is_not_held_for_ever(longest):
    """Beyond 64 KiB it goes on as it came, `Host` included."""
    side = RequestSide(UP)
    raw = b"GET / HTTP/1.1\r\nHost: in.test\r\nX-A: " + b"x" * MAX_HEAD
    passed, steps = pass_on(side, at_random(raw, 1, longest))

    assert (passed, side.raw) == (raw, True)
    assert [step for step, _ in steps] == [Step.BEGUN, Step.UNFRAMED]


DOUBTFUL = {
    "two lengths": head(
        "POST / HTTP/1.1", "Host: in.test", "Content-Length: 5", "Content-Length: 6"
    ),
    "chunked and a length": head(
        "POST / HTTP/1.1", "Host: in.test", "Content-Length: 5", "Transfer-Encoding: chunked"
    ),
    "two codings": head("POST / HTTP/1.1", "Host: in.test", "Transfer-Encoding: gzip, chunked"),
}


@every_cut
@pytest.mark.parametrize("doubtful", DOUBTFUL.values(), ids=DOUBTFUL)
def test_a_head_whose_end_is_in_doubt_is_the_last_one(doubtful, cut):
    """Its own `Host` is ours; behind it nothing is claimed to be a head."""
    passed, steps = pass_on(RequestSide(UP), cut(doubtful + GET))

    assert passed == hosted(doubtful) + GET
    end = len(doubtful)
    assert steps == [(Step.BEGUN, 0), (Step.HEAD, end), (Step.UNFRAMED, end)]


@every_cut
def test_a_chunk_that_is_none_ends_the_framing_in_mid_body(cut):
    """All bytes go on, in order."""
    stream = CHUNKED + b"5\r\nhello!\r\n" + GET
    side = RequestSide(UP)
    passed, steps = pass_on(side, cut(stream))

    assert passed == hosted(CHUNKED) + stream[len(CHUNKED) :]
    assert steps[-1][0] is Step.UNFRAMED
    assert side.raw


@every_cut
@every_junk
def test_junk_behind_a_request_goes_on(junk, cut):
    """Whole or held, nothing is lost and nothing is made up."""
    side = RequestSide(UP)
    passed, _steps = pass_on(side, cut(GET + junk))

    assert passed + b"".join(side.release()) == hosted(GET) + junk


HEADS = st.builds(
    lambda line, before, after, end: end.join([line, *before, b"Host: in.test", *after, b"", b""]),
    st.sampled_from([b"GET / HTTP/1.1", b"POST /caf\xc3\xa9 HTTP/1.0", b"M-X * HTTP/1.1"]),
    st.lists(
        st.sampled_from([b"X-A: b", b"hOsT:in.test ", b"X-B:\r\n c", b"Hosts: d"]), max_size=2
    ),
    st.sampled_from([[], [b"Content-Length: 0"]]),
    st.sampled_from([b"\r\n", b"\n"]),
)
REQUESTS = st.one_of(
    HEADS, st.binary(max_size=30).map(request), st.just(CHUNKED + chunked(b"hello"))
)


@given(st.lists(REQUESTS, max_size=5), st.integers(0, 2**32), st.integers(1, 40))
def test_all_that_came_goes_on_but_for_host(messages, seed, longest):
    """Any requests, cut anywhere: the pieces are the input with our host in it, and nothing waits."""
    side = RequestSide(UP)
    stream = b"".join(messages)

    assert pass_on(side, at_random(stream, seed, longest))[0] == hosted(stream)
    assert side.between


PARTS = st.sampled_from(
    [b"GET / HTTP/1.1\r\n", b"Host: in.test\r\n", b"Host:", b" in.test", b"Content-Length: 3\r\n",
     b"Transfer-Encoding: chunked\n", b"\r\n", b"\n", b"abc", b"3\r\nabc\r\n", b"0\r\n", b" ", b"\x80"]
)  # fmt: skip


@given(st.lists(PARTS).map(b"".join) | st.binary(max_size=60), st.integers(0, 2**32))
def test_a_cut_changes_no_byte(data, seed):
    """Nonsense too: what goes on is the same for every cut, and without a host it is what came."""
    whole, by_pieces, kept = RequestSide(UP), RequestSide(UP), RequestSide(None)
    pieces = at_random(data, seed, 6)
    at_once = pass_on(whole, [data])[0] + b"".join(whole.release())

    assert pass_on(by_pieces, pieces)[0] + b"".join(by_pieces.release()) == at_once
    assert pass_on(kept, pieces)[0] + b"".join(kept.release()) == data


@pytest.mark.parametrize(
    ("data", "hello"),
    [
        (b"\x16\x03\x01\x02\x00\x01", True),
        (b"\x16", True),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", False),
        (b"GET", False),
        (b"\x15\x03\x03\x00\x02", False),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n\x15\x16\x03", False),
        (b"", False),
    ],
)
def test_a_tls_hello_is_known_by_its_first_byte(data: bytes, *, hello: bool):
    """`https://` at a listener that speaks plain HTTP; anything else that is no HTTP is not taken for it."""
    side = RequestSide(None)
    side.feed(data)

    assert hello is side.tls_hello
