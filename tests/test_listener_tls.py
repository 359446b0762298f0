"""TLS on a listener: the same bytes, the same ends as far as TLS has them, and faults that are named."""

from __future__ import annotations

import asyncio
import os
import ssl
from functools import partial
from typing import TYPE_CHECKING

import pytest

from proxy.address import Network
from proxy.listening import MOST_HANDSHAKES
from tests.support.bodies import STREAM_HEAD, chunk, chunked, delta, head, reply, request, sse
from tests.support.caller import Caller
from tests.support.edge import refusing_port
from tests.support.splice import Splice
from tests.support.tls import self_signed
from tests.support.upstream import Await, Call, Close, Fin, Hang, Pause, Reset, Send, Upstream

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.tls import Certificate

WHOLE = STREAM_HEAD + chunked(delta("Hello"), sse("[DONE]"))
HALF = STREAM_HEAD + chunk(delta("Hel"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """A certificate with its key."""
    return self_signed(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def tls(made: Certificate) -> Callable[..., Splice]:
    """A route with a TLS listener."""
    return partial(Splice, tls_cert=made.certificate, tls_key=made.key)


@pytest.mark.parametrize("piece", [0, 1])
async def test_tls_on_this_side_is_plain_on_the_other(made: Certificate, tls, piece: int):
    """Not a byte differs, either way, however it is cut; a second exchange uses the same connection."""
    asked = request(b'{"a": 1}' * 40)
    async with (
        Upstream([Await(), Send(WHOLE, split=piece), Await(), Send(reply(b"hi")), Hang()]) as up,
        tls(up.url) as splice,
        await Caller.connect(splice.port, tls=made.client()) as caller,
    ):
        await caller.send(asked, piece=piece)
        assert WHOLE == await caller.read_message()
        await caller.send(asked)
        assert reply(b"hi") == await caller.read_message()

        there = await up.connection(0)
        assert 2 * asked.replace(b"in.test", up.authority.encode()) == bytes(there.received)
        assert ["complete", "complete"] == await splice.tap.ended(2)


async def test_tls_on_both_sides(made: Certificate, tls, monkeypatch: pytest.MonkeyPatch):
    """Each side has a TLS of its own; the bytes inside are the same."""
    monkeypatch.setenv("SSL_CERT_FILE", str(made.certificate))
    async with (
        Upstream([Await(), Send(WHOLE), Hang()], tls=made) as up,
        tls(up.url) as splice,
        await Caller.connect(splice.port, tls=made.client()) as caller,
    ):
        await caller.send(request(b"{}"))

        assert WHOLE == await caller.read_message()


async def test_large_bodies_pass_both_ways(made: Certificate, tls):
    """Eight megabytes up and down, with both ends slower than the proxy."""
    up_body, down_body = os.urandom(8 << 20), os.urandom(8 << 20)
    steps = [Await(within=20), Send(reply(down_body), within=20), Hang()]
    async with (
        Upstream(steps) as up,
        tls(up.url) as splice,
        await Caller.connect(splice.port, tls=made.client(), receive_buffer=4096) as caller,
    ):
        await caller.send(request(up_body), within=20)

        assert reply(down_body) == await caller.read_message(within=20)
        assert bytes((await up.connection(0)).received).endswith(up_body)


@pytest.mark.parametrize(
    ("offered", "agreed"),
    [(["h2", "http/1.1"], "http/1.1"), (["h2"], None), ([], None)],
    ids=["both", "h2 alone", "none"],
)
async def test_only_http_1_1_is_agreed_on(made: Certificate, tls, offered, agreed):
    """The upstream is spoken to in HTTP/1.1, so nobody may be told that this side is HTTP/2."""
    context = made.client()
    if offered:
        context.set_alpn_protocols(offered)
    async with (
        tls("http://127.0.0.1:1") as splice,
        await Caller.connect(splice.port, tls=context) as caller,
    ):
        assert agreed == caller._tls.alpn


@pytest.mark.filterwarnings("ignore:.*TLSv1:DeprecationWarning")
async def test_old_versions_are_refused(made: Certificate, tls):
    """TLS 1.1 gets no connection, 1.2 does."""
    context = made.client()
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    async with tls("http://127.0.0.1:1") as splice:
        context.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.open_connection("127.0.0.1", splice.port, ssl=context)
        assert 1 == splice.doorway.no_handshake.total, "it was the client that would not"

        context.maximum_version = ssl.TLSVersion.TLSv1_2
        async with await Caller.connect(splice.port, tls=context):
            assert 1 == splice.doorway.no_handshake.total


async def test_who_may_not_come_in_is_reset_before_the_handshake(made: Certificate, tls):
    """The allow-list stands before TLS: not a byte of the hello is read."""
    nobody = (Network.parse("10.0.0.7"),)
    async with tls("http://127.0.0.1:1", allow=nobody) as splice:
        with pytest.raises(ConnectionError):
            await asyncio.open_connection("127.0.0.1", splice.port, ssl=made.client())

        assert 1 == splice.floor.turned_away
        assert 0 == splice.floor.connections


async def test_idle_handshakes_do_not_keep_others_out_for_ever(made: Certificate, tls, monkeypatch):
    """More silent callers than may shake hands at once: the next one waits until they are let go."""
    monkeypatch.setattr("proxy.listening.HANDSHAKE_S", 0.5)
    async with Upstream([Await(), Send(reply(b"hi")), Hang()]) as up, tls(up.url) as splice:
        idle = [await Caller.connect(splice.port) for _ in range(MOST_HANDSHAKES + 5)]
        await asyncio.sleep(0.1)
        assert MOST_HANDSHAKES == len(splice._server._shaking)
        async with await Caller.connect(splice.port, tls=made.client()) as caller:
            await caller.send(request(b"{}"))

            assert reply(b"hi") == await caller.read_message()
        for each in idle:
            each.close()


async def test_a_reply_that_ends_with_its_connection_is_whole(made: Certificate, tls):
    """The upstream's FIN becomes close_notify behind the last byte."""
    said = head("HTTP/1.1 200 OK") + b"x" * 300_000
    async with (
        Upstream([Await(), Send(said), Close()]) as up,
        tls(up.url) as splice,
        await Caller.connect(splice.port, tls=made.client()) as caller,
    ):
        await caller.send(request(b"{}"))

        assert said == await caller.read_all()
        assert "fin" == caller.ended
        assert caller._tls.closed, "no close_notify came"
        assert ["complete"] == await splice.tap.ended()


async def test_a_slow_caller_gets_the_end_of_a_reply(made: Certificate, tls, monkeypatch):
    """The upstream has ended and the proxy waits for nothing else: all of it arrives nevertheless."""
    monkeypatch.setattr("proxy.listening.GOODBYE_S", 0.05)
    monkeypatch.setattr("proxy.relay.HALF_CLOSED_S", 0.05)
    said = head("HTTP/1.1 200 OK") + b"x" * (4 << 20)
    async with (
        Upstream([Await(), Send(said, within=20), Close()]) as up,
        tls(up.url) as splice,
        await Caller.connect(splice.port, tls=made.client(), receive_buffer=4096) as caller,
    ):
        await caller.send(request(b"{}"))
        await caller.read_until(b"x")
        (side,) = splice.floor.callers
        while not side.transport.is_closing():
            caller.start_reading()
            await asyncio.sleep(0.001)
            caller.stop_reading()
        await asyncio.sleep(0.5)
        caller.start_reading()

        await caller.wait_end(within=20)
        assert said == bytes(caller.received)
        assert ["complete"] == await splice.tap.ended()


async def test_a_caller_that_does_not_answer_the_end_of_tls_is_closed(
    made: Certificate, tls, monkeypatch
):
    """It has all that it is owed; its place is needed."""
    monkeypatch.setattr("proxy.listening.GOODBYE_S", 0.05)
    monkeypatch.setattr("proxy.relay.HALF_CLOSED_S", 0.05)
    async with (
        Upstream([Await(), Send(head("HTTP/1.1 200 OK") + b"hi"), Close()]) as up,
        tls(up.url) as splice,
        await Caller.connect(splice.port, tls=made.client()) as caller,
    ):
        await caller.send(request(b"{}"))
        await caller.read_until(b"hi")

        async with asyncio.timeout(2):
            while splice.floor.callers:  # noqa: ASYNC110 - there is no event for this
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("notify", [True, False], ids=["close_notify", "FIN alone"])
async def test_a_caller_that_leaves_closes_the_upstream(made: Certificate, tls, notify, caplog):
    """TLS cannot half-close: who leaves is gone, stops the work at once and is named in the record."""
    async with (
        Upstream([Await(), Send(HALF), Call(lambda there: there.wait_end())]) as up,
        tls(up.url) as splice,
    ):
        async with await Caller.connect(splice.port, tls=made.client()) as caller:
            await caller.send(request(b"{}"))
            await caller.read_until(b"Hel")
            if notify:
                await caller.fin()
                await caller.wait_end()

        await (await up.connection(0)).wait_end(within=1)
        assert ["client_gone"] == await splice.tap.ended()
    assert [] == caplog.records, "the loop has something to complain of"


async def test_a_caller_that_resets_resets_the_upstream(made: Certificate, tls):
    """A reset is passed on as a reset."""
    async with (
        Upstream([Await(), Send(HALF), Call(lambda there: there.wait_end())]) as up,
        tls(up.url) as splice,
    ):
        caller = await Caller.connect(splice.port, tls=made.client())
        await caller.send(request(b"{}"))
        await caller.read_until(b"Hel")
        caller.reset()

        assert "reset" == await (await up.connection(0)).wait_end(within=1)
        assert ["client_gone"] == await splice.tap.ended()


@pytest.mark.parametrize(
    ("end", "size"), [(Reset(), 0), (Reset(), 1 << 20), (Fin(), 0)], ids=["reset", "far", "fin"]
)
async def test_an_upstream_that_breaks_off_looks_broken(made: Certificate, tls, end, size: int):
    """What came before arrives, and then no close_notify after a reset: a cut reply looks cut."""
    cut = HALF + b"x" * size
    async with (
        Upstream([Await(), Send(cut), Pause(0.3), end]) as up,  # a reset drops what is not out yet
        tls(up.url) as splice,
        await Caller.connect(splice.port, tls=made.client()) as caller,
    ):
        await caller.send(request(b"{}"))

        assert cut == await caller.read_all()
        assert ("reset" if isinstance(end, Reset) else "fin") == caller.ended
        assert ["upstream_aborted"] == await splice.tap.ended()


async def test_nobody_at_the_upstream_is_a_502_over_tls(made: Certificate, tls):
    """The error goes the way the request came."""
    with refusing_port() as port:
        async with (
            tls(f"http://127.0.0.1:{port}") as splice,
            await Caller.connect(splice.port, tls=made.client()) as caller,
        ):
            await caller.send(request(b"{}"))

            assert (await caller.read_all()).startswith(b"HTTP/1.1 502 ")
            assert ["upstream_unreachable"] == await splice.tap.ended()


async def test_a_caller_that_does_not_read_stops_the_upstream(made: Certificate, tls):
    """Back-pressure reaches through TLS: the proxy does not take in what it cannot hand on."""
    size = 32 << 20
    async with (
        Upstream([Await(), Send(head("HTTP/1.1 200 OK") + b"x" * size, within=30), Close()]) as up,
        tls(up.url) as splice,
        await Caller.connect(splice.port, tls=made.client(), receive_buffer=4096) as caller,
    ):
        await caller.send(request(b"{}"))
        await caller.read_until(b"x")
        caller.stop_reading()
        there = await up.connection(0)
        await asyncio.sleep(0.5)
        assert not there.script_over.is_set(), "all of it was taken in"
        (side,) = splice.floor.callers
        assert side.transport.get_write_buffer_size() < 1 << 20
        caller.start_reading()

        await caller.read_all(within=30)
        assert bytes(caller.received).endswith(b"x" * size)
