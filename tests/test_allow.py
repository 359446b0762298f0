"""Who may come in at a listener: the allow-list, and what is said of those who are not on it."""

from __future__ import annotations

import asyncio
import resource
import socket
import time
from typing import TYPE_CHECKING

import pytest

from proxy.address import Network, UnusableError
from proxy.config import Flags
from proxy.configfile import load
from proxy.doorway import Seldom
from tests.support.bodies import reply, request
from tests.support.caller import Caller
from tests.support.program import Program, eventually
from tests.support.refusal import faults, written
from tests.support.splice import Splice
from tests.support.upstream import Await, Hang, Send, Upstream

if TYPE_CHECKING:
    from pathlib import Path


def allow(*texts: str) -> tuple[Network, ...]:
    """An allow-list."""
    return tuple(map(Network.parse, texts))


async def turned_away(port: int) -> bool:
    """Whether a caller is reset before anything else; that may be as early as in its connect."""

    def call() -> bool:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
                sock.recv(1)
                return False  # bytes, or a FIN
        except ConnectionResetError:
            return True

    return await asyncio.to_thread(call)


@pytest.mark.parametrize(
    ("network", "host", "inside"),
    [
        ("10.0.0.7", "10.0.0.7", True),
        ("10.0.0.7", "10.0.0.8", False),
        ("192.168.1.0/24", "192.168.1.255", True),
        ("192.168.1.0/24", "192.168.2.0", False),
        ("10.0.0.7", "::ffff:10.0.0.7", True),
        ("::ffff:10.0.0.7", "10.0.0.7", True),
        ("::ffff:10.0.0.0/120", "10.0.0.9", True),
        ("::ffff:10.0.0.0/120", "10.0.1.9", False),
        ("fd00::/8", "fd12::1", True),
        ("fd00::/8", "fe80::1", False),
        ("fe80::/10", "fe80::1%eth0", True),
        ("0.0.0.0/0", "203.0.113.9", True),
        ("0.0.0.0/0", "2001:db8::1", False),
        ("::/0", "10.0.0.7", False),
        ("127.0.0.0/8", "::1", False),
        ("10.0.0.7", "", False),
        ("10.0.0.7", "no address", False),
    ],
)
def test_a_network_holds_its_addresses_and_no_other(network: str, host: str, *, inside: bool):
    """IPv4 in IPv6's clothes is IPv4; what cannot be read is nowhere inside."""
    assert inside is Network.parse(network).holds(host)


@pytest.mark.parametrize(
    ("text", "plain"),
    [("10.0.0.7/32", "10.0.0.7"), ("::ffff:10.0.0.0/104", "10.0.0.0/8"), ("FD00::/8", "fd00::/8")],
)
def test_a_network_is_said_in_its_shortest_form(text: str, plain: str):
    """As the log and `--check` print it; read again it is the same."""
    assert plain == str(Network.parse(text))
    assert Network.parse(text) == Network.parse(plain)


@pytest.mark.parametrize("text", ["localhost", "", "10.0.0", "10.0.0.7:80", "1.2.3.4/33", "*"])
def test_what_is_no_address_is_refused(text: str):
    """Names too: an allow-list that asks the DNS is one that others can change."""
    with pytest.raises(UnusableError, match="no IP address and no network"):
        Network.parse(text)


def test_an_address_with_the_size_of_a_network_is_refused(tmp_path: Path):
    """`192.168.1.5/24` may mean one or 256: both ways to write it are given."""
    file = written(tmp_path, '[[route]]\nallow = ["192.168.1.5/24", "x", "y", "10.0.0.0/8"]')

    assert faults(file) == [
        (
            "route[0].allow: 192.168.1.5/24 is one address with the size of a network; "
            "write 192.168.1.0/24 for the network, or the address alone"
        ),
        (
            "route[0].allow: holds something that is no IP address and no network (names are not "
            "looked up); write an address or a network, such as 10.0.0.7, 192.168.1.0/24 or fd00::/8"
        ),
    ]


@pytest.mark.parametrize(
    ("value", "what"),
    [('"10.0.0.7"', "is no array of strings"), ("[7]", "is no array"), ("[]", "lets nobody in")],
)
def test_a_list_that_is_none_is_refused(tmp_path: Path, value: str, what: str):
    """An empty one too: it would read as everybody to one person and as nobody to another."""
    (fault,) = faults(written(tmp_path, f"[[route]]\nallow = {value}"))

    assert fault.startswith(f"route[0].allow: {what}")


def test_without_a_list_everybody_may_come(tmp_path: Path):
    """The default is none, and a list is kept as it is meant."""
    assert load(None, Flags()).route[0].allow is None
    file = written(tmp_path, '[[route]]\nallow = ["10.0.0.7", "192.168.1.0/24"]')
    assert allow("10.0.0.7", "192.168.1.0/24") == load(file).route[0].allow


async def test_who_is_on_the_list_is_served():
    """A listener with a list passes the same bytes as one without."""
    async with (
        Upstream([Await(), Send(reply(b"hi")), Hang()]) as up,
        Splice(up.url, allow=allow("10.0.0.7", "127.0.0.1")) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"{}"), piece=1)

        assert reply(b"hi") == await caller.read_message()
        assert ["complete"] == await splice.tap.ended()


async def test_who_is_not_on_the_list_is_reset_before_a_byte():
    """Loopback is not on it by itself; nothing is dialled and there is no exchange."""
    async with (
        Upstream([Await()]) as up,
        Splice(up.url, allow=allow("10.0.0.0/8", "::1")) as splice,
    ):
        assert await turned_away(splice.port)
        assert 1 == splice.floor.turned_away
        assert (0, []) == (splice.tap.opened, up.connections)


async def test_a_flood_at_the_door_is_one_line_with_the_next_one_counted(tmp_path: Path):
    """The first is said with its peer and the remedy; those in the same minute are not."""
    config = '[[route]]\nlisten = "127.0.0.1:0"\nallow = ["10.0.0.7"]\n'
    async with Program("", tmp_path, config=config) as proxy:
        for _ in range(20):
            assert await turned_away(proxy.port)
        said = await eventually(lambda: proxy.event("caller.refused"), "it is said")
        await proxy.stop()

    assert 1 == sum(line["event"] == "caller.refused" for line in proxy.said)
    assert ("not_allowed", 1, f"127.0.0.1:{proxy.port}") == (
        said["reason"],
        said["count"],
        said["listen"],
    )
    assert said["peer"].startswith("127.0.0.1:")
    assert [] == proxy.records()


async def test_without_descriptors_nobody_is_taken_in_and_nothing_turns(monkeypatch):
    """The listener stays readable then: it rests instead of asking again at once, and goes on later."""
    monkeypatch.setattr("proxy.listening._PAUSE_S", 0.3)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with (
        Upstream([Await(), Send(reply(b"hi")), Hang()]) as up,
        Splice(up.url, allow=allow("127.0.0.1")) as splice,
    ):
        # The kernel takes it in while the loop has no turn.
        sock = socket.create_connection(("127.0.0.1", splice.port), timeout=5)
        resource.setrlimit(resource.RLIMIT_NOFILE, (_next_descriptor(), hard))
        try:
            began = time.process_time()
            await asyncio.sleep(0.2)
            assert (0, False) == (splice.floor.connections, splice._server._accepting)
            assert time.process_time() - began < 0.1
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        sock.settimeout(0)
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(sock, request(b"{}"))
        async with asyncio.timeout(5):
            assert reply(b"hi") == await loop.sock_recv(sock, 1000)
        sock.close()


def _next_descriptor() -> int:
    """The lowest one that is free."""
    with socket.socket() as sock:
        return sock.fileno()


async def test_a_stop_ends_a_listener_with_a_list(tmp_path: Path):
    """The port is free again and nobody gets in."""
    config = '[[route]]\nlisten = "127.0.0.1:0"\nallow = ["127.0.0.1"]\n'
    async with Program("", tmp_path, config=config) as proxy:
        assert 0 == await proxy.stop()

        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", proxy.port), timeout=5)


async def test_what_goes_on_is_said_once_a_period():
    """At once, then the number of the rest at the end of the period, then nothing while nothing happens."""
    said: list[tuple[str, int]] = []
    seldom = Seldom(lambda peer, count: said.append((peer, count)), period_s=0.05)
    for number in range(5):
        seldom.happened(f"p{number}")
    assert said == [("p0", 1)]

    await asyncio.sleep(0.2)
    assert said == [("p0", 1), ("p4", 4)]

    seldom.happened("p5")
    assert said == [("p0", 1), ("p4", 4), ("p5", 1)]
    assert 6 == seldom.total
