"""TLS where it is due and where it is not, through the whole program: what it says, and that it stops."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING

import pytest

from tests.support.bodies import reply, request
from tests.support.caller import Caller
from tests.support.program import Program, eventually
from tests.support.tls import self_signed
from tests.support.upstream import Await, Close, Send, Upstream

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.tls import Certificate

PLAIN = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """A certificate with its key."""
    return self_signed(tmp_path_factory.mktemp("certificate"))


def config(made: Certificate, more: str = "") -> str:
    """A file with one TLS route."""
    return (
        f'[[route]]\nlisten = "127.0.0.1:0"\ntls_cert = "{made.certificate}"\n'
        f'tls_key = "{made.key}"\n{more}'
    )


async def test_the_base_url_is_https(made: Certificate, tmp_path: Path):
    """What goes into the client says so, and the stop does not wait for an idle one."""
    async with Program("", tmp_path, config=config(made)) as proxy:
        listening = proxy.event("route.listening")
        async with await Caller.connect(proxy.port, tls=made.client()):
            began = asyncio.get_running_loop().time()
            assert 0 == await proxy.stop()
            assert asyncio.get_running_loop().time() - began < 5

    assert f"https://127.0.0.1:{proxy.port}/v1" == listening["base_url"]
    assert b"Traceback" not in proxy.output


async def test_plain_http_at_a_tls_port_is_named_with_the_remedy(made: Certificate, tmp_path: Path):
    """The caller is closed without an answer; the log says why, once."""
    async with Program("", tmp_path, config=config(made)) as proxy:
        for _ in range(3):
            async with await Caller.connect(proxy.port) as caller:
                await caller.send(PLAIN)
                assert b"" == await caller.read_all()
        said = await eventually(lambda: proxy.event("caller.refused"), "it is said")
        await proxy.stop()

    assert "plain_http" == said["reason"]
    assert 1 == sum(line["event"] == "caller.refused" for line in proxy.said)
    assert len(proxy.said) == len(proxy.output.splitlines()), "a line that is none of ours"


async def test_workers_share_a_tls_port(made: Certificate, tmp_path: Path):
    """Each of them has the certificate and the allow-list."""
    async with Upstream([Await(), Send(reply(b"hi")), Close()]) as up:
        more = f'upstream = "{up.url}"\nallow = ["127.0.0.1"]\n[relay]\nworkers = 2\n'
        async with Program("", tmp_path, config=config(made, more)) as proxy:
            for _ in range(12):  # of which both get some, but for once in 2,000 runs
                async with await Caller.connect(proxy.port, tls=made.client()) as caller:
                    await caller.send(request(b"{}"))
                    assert reply(b"hi") == await caller.read_message()
            assert 12 == len(await proxy.wait_records(12))
            assert 0 == await proxy.stop()


async def test_an_untrusted_certificate_is_named(made: Certificate, tmp_path: Path):
    """A client that does not know the certificate breaks off: the log says what to look at."""
    async with Program("", tmp_path, config=config(made)) as proxy:
        with pytest.raises(ssl.SSLError):
            await asyncio.open_connection("127.0.0.1", proxy.port, ssl=ssl.create_default_context())
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.close()  # a health check: no line
        await reader.read()
        # An alert, as a client sends it that does not trust what it got.
        _, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(b"\x15\x03\x03\x00\x02\x02\x30")
        await writer.drain()
        said = await eventually(lambda: proxy.event("caller.refused"), "it is said")
        writer.close()
        await proxy.stop()

    assert "no_handshake" == said["reason"]
    assert len(proxy.said) == len(proxy.output.splitlines()), "a line that is none of ours"


async def test_tls_at_a_plain_port_is_named_and_passed_on(tmp_path: Path):
    """`https://` in the client by mistake: the hello passes as it is, and the log says what to write."""
    hello = b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"
    async with (
        Upstream([Await(size=len(hello)), Send(b"no"), Close()]) as up,
        Program(up.url, tmp_path) as proxy,
    ):
        for _ in range(2):
            async with await Caller.connect(proxy.port) as caller:
                await caller.send(hello)
                assert b"no" == await caller.read_all()
        said = await eventually(lambda: proxy.event("tls.unexpected"), "it is said")
        await proxy.stop()

        assert hello == bytes(up.connections[0].received)
    assert f"127.0.0.1:{proxy.port}" == said["listen"]
    assert 1 == sum(line["event"] == "tls.unexpected" for line in proxy.said)
