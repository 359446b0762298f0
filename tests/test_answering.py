"""The listener of our own pages, against strangers: foreign names, other methods, slow and long ones."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy import answering
from proxy.address import Address
from proxy.answering import HEAD_BYTES, Answer, Answering, names
from tests.support.own_pages import exchange, get
from tests.support.program import eventually

LISTEN = Address("127.0.0.1", 8485)


@pytest.fixture
async def pages():
    """A listener with a page that counts, one that fails and one that is long."""
    seen = []

    async def page():
        seen.append(1)
        return Answer(200, b"here\n")

    async def fails():
        raise LookupError("what nobody may see")

    async def long():
        return Answer(200, b"x" * 2**20)

    listener = Answering({"/page": page, "/fails": fails, "/long": long})
    listener.seen = seen
    await listener.start(Address("127.0.0.1", 0))
    yield listener
    await listener.stop()


@pytest.mark.parametrize(
    ("host", "right"),
    [
        ("127.0.0.1:8485", True),
        ("127.9.9.9:8485", True),
        ("localhost:8485", True),
        ("LOCALHOST:8485", True),
        ("[::1]:8485", True),
        ("127.0.0.1", False),
        ("127.0.0.1:8484", False),
        ("localhost", False),
        ("evil.example:8485", False),
        ("evil.example", False),
        ("127.0.0.1.evil.example:8485", False),
        ("localhost.evil.example:8485", False),
        ("0.0.0.0:8485", False),
        ("10.0.0.7:8485", False),
        ("me@127.0.0.1:8485", False),
        ("127.0.0.1:8485, evil.example", False),
        ("", False),
        (":8485", False),
        ("[::1:8485", False),
    ],
)
def test_only_names_that_no_stranger_can_point_here_are_ours(host, right):
    """With a loopback listener: loopback, by address or by name, with the port."""
    assert right is names(host, LISTEN, "127.0.0.1")


def test_the_configured_name_and_the_address_that_was_reached_are_ours():
    """A listener for the network is known by what it was given and by where the connection came in."""
    wide = Address("0.0.0.0", 80)

    assert names("10.0.0.7:80", wide, "10.0.0.7")
    assert names("10.0.0.7", wide, "10.0.0.7")
    assert not names("10.0.0.8", wide, "10.0.0.7")
    assert names("Box.lan:8485", Address("box.lan", 8485), "10.0.0.7")


@given(st.text())
def test_any_host_is_ours_or_not(host):
    """No text makes it raise."""
    assert names(host, LISTEN, "127.0.0.1") in {True, False}


async def test_a_page_is_given_once_with_its_length(pages):
    """The answer is whole, of one piece, and shares nothing with a page of another origin."""
    reply = await get(pages.listen.port, "/page?x=1")

    assert (200, "here\n") == (reply.status, reply.text)
    assert "content-length: 5" in reply.head
    assert "connection: close" in reply.head
    assert "access-control" not in reply.head


async def test_a_foreign_host_is_refused_before_the_page_is_made(pages):
    """DNS rebinding: the connection is right, the name is not ours."""
    port = pages.listen.port
    reply = await get(port, "/page", host=f"evil.example:{port}")

    assert 403 == reply.status
    assert str(pages.listen) in reply.text
    assert "evil" not in reply.text
    assert [] == pages.seen


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "get"])
async def test_other_methods_are_refused(pages, method):
    """Also with a body that nobody reads: the refusal arrives."""
    port = pages.listen.port
    head = f"{method} /page HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Length: 100000\r\n\r\n"
    reply = await exchange(port, head.encode() + b"x" * 100_000)

    assert 405 == reply.status
    assert "allow: get, head" in reply.head
    assert [] == pages.seen


async def test_head_gets_the_head_of_get(pages):
    """The same lines, and no body."""
    port = pages.listen.port
    got = await get(port, "/page")
    reply = await get(port, "/page", method="HEAD")

    assert (got.head, "") == (reply.head, reply.text)


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"GET /page HTTP/1.1\r\n\r\n", 400),
        (b"GET /page HTTP/1.1\r\nHost: {0}\r\nHost: {0}\r\n\r\n", 400),
        (b"GET http://evil.example/page HTTP/1.1\r\nHost: {0}\r\n\r\n", 400),
        (b"GET /nothing HTTP/1.1\r\nHost: {0}\r\n\r\n", 404),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", 400),
        (b"\r\n\r\n\r\n\r\n", 400),
        (b"GET /page HTTP/1.1\r\nHost: {0}\r\nX: " + b"x" * HEAD_BYTES + b"\r\n\r\n", 431),
        (b"GET /page HTTP/1.1\r\nX: " + b"x" * 3 * HEAD_BYTES, 431),
        (b"GET /page HTTP/1.1\r\nHost: {0}\r\n\r\nGET /page HTTP/1.1\r\n\r\n", 200),
    ],
)
async def test_what_is_no_plain_question_is_refused(pages, raw, status):
    """By the right word, and the listener lives on."""
    port = pages.listen.port
    reply = await exchange(port, raw.replace(b"{0}", str(pages.listen).encode()))

    assert status == reply.status
    assert 200 == (await get(port, "/page")).status


async def test_a_page_that_fails_says_no_more_than_that(pages):
    """The type of the fault alone."""
    reply = await get(pages.listen.port, "/fails")

    assert (500, "this page failed: LookupError\n") == (reply.status, reply.text)


async def test_a_client_that_sends_slowly_is_closed_and_costs_nobody_else(pages, monkeypatch):
    """Half a head, and nothing more."""
    monkeypatch.setattr(answering, "WHOLE_S", 0.3)
    port = pages.listen.port
    slow = asyncio.ensure_future(exchange(port, b"GET /page HTTP/1.1\r\nHost: "))
    await asyncio.sleep(0.05)

    assert 200 == (await get(port, "/page")).status
    assert not slow.done()
    assert 0 == (await asyncio.wait_for(slow, 5)).status


async def test_a_client_that_does_not_read_is_closed(pages, monkeypatch):
    """What does not go is dropped when time is up; nothing of it stays."""
    monkeypatch.setattr(answering, "WHOLE_S", 0.3)
    _reader, writer = await asyncio.open_connection("127.0.0.1", pages.listen.port, limit=1)
    writer.transport.pause_reading()
    host = str(pages.listen).encode()
    for _ in range(2):
        writer.write(b"GET /long HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
    await eventually(lambda: pages._tasks, "it is served")
    await eventually(lambda: not pages._tasks, "it is closed", 5)
    writer.transport.abort()


async def test_so_many_at_once_and_no_more(pages, monkeypatch):
    """Beyond the bound a connection ends unheard; when one of the others ends there is room again."""
    monkeypatch.setattr(answering, "MOST", 2)
    port = pages.listen.port
    held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
    await eventually(lambda: len(pages._tasks) == 2, "both are in")
    assert 0 == (await get(port, "/page")).status

    for _reader, writer in held:
        writer.close()
    await eventually(lambda: not pages._tasks, "both are gone")
    assert 200 == (await get(port, "/page")).status


async def test_its_end_is_the_end_of_those_who_wait(pages):
    """A client that holds its connection does not hold up the stop."""
    held = asyncio.ensure_future(exchange(pages.listen.port, b"GET /page"))
    await eventually(lambda: pages._tasks, "it is in")
    await asyncio.wait_for(pages.stop(), 5)

    assert 0 == (await held).status
