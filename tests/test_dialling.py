"""While the upstream is being connected to: what waits, who is still there, and what ends it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from pathlib import Path

import pytest

from proxy.wire.frame import Kind
from tests.support.bodies import reply, request
from tests.support.caller import Caller
from tests.support.edge import silent_port
from tests.support.program import eventually
from tests.support.splice import Splice
from tests.support.upstream import Await, Hang, Send, Upstream

LONG = 3_000_000
"""More than one read takes."""


def descriptors() -> int:
    """How many this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("size", [2, LONG], ids=["all read", "most of it unread"])
@pytest.mark.parametrize("fin", [False, True], ids=["", "after its FIN"])
async def test_a_caller_that_resets_is_not_dialled_for_any_longer(size: int, *, fin: bool):
    """Long before the connect time-out: it was the caller, and both descriptors are free again."""
    with silent_port() as port:
        async with Splice(f"http://127.0.0.1:{port}", connect_timeout_s=60) as splice:
            before = descriptors()
            async with await Caller.connect(splice.port) as caller:
                with contextlib.suppress(TimeoutError):
                    await caller.send(request(b"x" * size), within=0.2)
                await eventually(lambda: splice.floor.dials, "it is dialled for")
                if fin:
                    await caller.fin()
                caller.reset()

                assert ["client_gone"] == await splice.tap.ended()
            await eventually(lambda: not splice.floor.dials, "the dial has ended", 5)
            assert not splice.floor.callers
            await eventually(lambda: descriptors() == before, "its sockets are closed", 5)
            assert "Connection reset by peer" == splice.tap.endings[1].detail


async def test_one_that_resets_disturbs_no_other():
    """Each dial is one caller's own."""
    with silent_port() as port:
        async with (
            Splice(f"http://127.0.0.1:{port}", connect_timeout_s=1.0) as splice,
            await Caller.connect(splice.port) as stays,
            await Caller.connect(splice.port) as leaves,
        ):
            await stays.send(request(b"{}"))
            await eventually(lambda: 1 == len(splice.floor.dials), "it is dialled for")
            await leaves.send(request(b"{}"))
            await eventually(lambda: 2 == len(splice.floor.dials), "so is the other")
            leaves.reset()

            assert (await stays.read_all()).startswith(b"HTTP/1.1 504 ")
            assert ["upstream_unreachable", "client_gone"] == await splice.tap.ended(2)


async def test_what_waits_is_one_read():
    """Nothing more is taken from a caller that has no upstream yet: the rest stays in its kernel."""
    with silent_port() as port:
        async with (
            Splice(f"http://127.0.0.1:{port}", connect_timeout_s=0.5) as splice,
            await Caller.connect(splice.port) as caller,
        ):
            with contextlib.suppress(TimeoutError):
                await caller.send(request(b"x" * LONG), within=0.2)
            await eventually(lambda: splice.floor.dials, "it is dialled for")
            assert 0 < len(splice.tap.bytes_of(Kind.REQUEST)) <= 256 * 1024

            assert (await caller.read_all()).startswith(b"HTTP/1.1 504 ")


async def test_a_caller_that_waits_is_connected_when_it_can_be():
    """A look at it now and then takes no byte and no patience from it."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        filler = stack.enter_context(socket.create_connection(listener.getsockname()))
        port = listener.getsockname()[1]
        async with (
            Splice(f"http://127.0.0.1:{port}", host="keep") as splice,
            await Caller.connect(splice.port) as caller,
        ):
            await caller.send(request(b"{}"))
            await eventually(lambda: splice.floor.dials, "it is dialled for")
            await asyncio.sleep(0.5)  # more than two looks
            stack.enter_context(listener.accept()[0])
            assert filler.getpeername() == listener.getsockname()
            # Linux asks again 1 s after the first SYN.
            there = stack.enter_context((await asyncio.to_thread(listener.accept))[0])
            there.settimeout(5)

            assert request(b"{}") == await asyncio.to_thread(there.recv, 4096)
            there.sendall(reply(b"hi"))
            assert reply(b"hi") == await caller.read_message()
            assert ["complete"] == await splice.tap.ended()


async def test_an_address_that_fails_is_looked_up_again():
    """A server that moved is found without a restart."""
    async with (
        Upstream([Await(), Send(reply(b"hi")), Hang()]) as up,
        Splice(f"http://localhost:{up.port}") as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await eventually(lambda: splice.floor.callers, "it is accepted")
        (side,) = splice.floor.callers
        side.session._reach._addresses = ["127.0.0.9"]
        await caller.send(request(b"{}"))

        assert reply(b"hi") == await caller.read_message()
        assert "127.0.0.9" not in side.session._reach._addresses
