"""Reaching an upstream over TLS, and addresses tried in turn."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from proxy.address import Origin
from proxy.upstream import refusal
from proxy.wire.exchange import Outcome
from tests.support.bodies import STREAM_HEAD, chunk, chunked, delta, reply, request, sse
from tests.support.caller import Caller
from tests.support.splice import Splice
from tests.support.tls import self_signed
from tests.support.upstream import Await, Call, Close, Fin, Hang, Pause, Reset, Send, Upstream

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.tls import Certificate

WHOLE = STREAM_HEAD + chunked(delta("Hello"), sse("[DONE]"))
HALF = STREAM_HEAD + chunk(delta("Hel"))


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Certificate:
    """A certificate that this process trusts."""
    made = self_signed(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.certificate))
    return made


async def test_plain_on_this_side_is_tls_on_the_other(trusted: Certificate):
    """Bytes are the same on both sides, Host is the upstream's, and only http/1.1 is offered."""
    async with (
        Upstream([Await(), Send(WHOLE), Hang()], tls=trusted) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"{}"))

        assert WHOLE == await caller.read_message()
        there = await up.connection(0)
        assert bytes(there.received) == request(b"{}").replace(b"in.test", up.authority.encode())
        assert "http/1.1" == there.alpn
        assert ["complete"] == await splice.tap.ended()


async def test_an_untrusted_certificate_is_a_502_that_speaks_of_tls(tmp_path: Path):
    """Verified by default: nothing is sent to a server that cannot be told from another."""
    async with (
        Upstream([Await(), Send(WHOLE)], tls=self_signed(tmp_path)) as up,
        Splice(up.url) as splice,
    ):
        async with await Caller.connect(splice.port) as caller:
            await caller.send(request(b"{}"))
            answer = await caller.read_all()

        assert answer.startswith(b"HTTP/1.1 502 ")
        assert b"certificate" in answer
        assert ["upstream_unreachable"] == await splice.tap.ended()


async def test_a_port_that_speaks_no_tls_is_a_502():
    """`https://` to a plain server."""
    async with (
        Upstream([Await(size=10), Send(b"HTTP/1.1 400 no\r\n\r\n"), Close()]) as up,
        Splice(f"https://127.0.0.1:{up.port}") as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"{}"))

        assert (await caller.read_all()).startswith(b"HTTP/1.1 502 ")
        assert ["upstream_unreachable"] == await splice.tap.ended()


async def test_over_tls_a_fin_of_the_caller_closes_the_upstream(trusted: Certificate):
    """TLS cannot half-close: who leaves before the first token stops the work at once."""
    async with (
        Upstream([Await(), Call(lambda there: there.wait_end())], tls=trusted) as up,
        Splice(up.url) as splice,
    ):
        async with await Caller.connect(splice.port) as caller:
            await caller.send(request(b"{}"))
            there = await up.connection(0)
            await asyncio.sleep(0.1)

        await there.wait_end(within=1)
        assert ["client_gone"] == await splice.tap.ended()


@pytest.mark.parametrize("end", [Reset(), Fin()], ids=["reset", "close"])
async def test_an_upstream_that_breaks_off_over_tls_looks_broken(trusted: Certificate, end):
    """In mid stream: what came arrives, and the end is no good end."""
    async with (
        Upstream([Await(), Send(HALF), Pause(0.05), end], tls=trusted) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"{}"))

        assert HALF == await caller.read_all()
        assert ["upstream_aborted"] == await splice.tap.ended()


async def test_addresses_are_tried_in_turn():
    """`localhost` may lead to ::1 first, where nobody listens."""
    async with (
        Upstream([Await(), Send(reply(b"hi")), Hang()], host="127.0.0.1") as up,
        Splice(f"http://localhost:{up.port}") as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"{}"))

        assert reply(b"hi") == await caller.read_message()


@pytest.mark.parametrize(
    ("fault", "status"),
    [(ConnectionRefusedError(111, "Connection refused"), 502), (TimeoutError(), 504)],
)
def test_a_refusal_is_whole_http(fault: OSError, status: int):
    """Its length is right, and its connection ends."""
    said = refusal(Origin.parse("http://127.0.0.1:9", "http://127.0.0.1:8484"), fault, 10.0)

    start, _, body = said.reply.partition(b"\r\n\r\n")
    assert start.startswith(b"HTTP/1.1 %d " % status)
    assert b"Content-Length: %d" % len(body) in start
    assert b"Connection: close" in start
    assert said.outcome is Outcome.upstream_unreachable
