"""Rules of the splice that no other file holds: bounds of endings, and what the recorder's process stands."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from proxy import caller as caller_side
from proxy import closing, relay
from tests.support.bodies import STREAM_HEAD, head, reply, request
from tests.support.caller import Caller
from tests.support.edge import refusing_port
from tests.support.program import ROOT, Program, eventually
from tests.support.splice import Splice
from tests.support.talk import ASK, stream, whole
from tests.support.upstream import (
    Await,
    Call,
    Fin,
    Hang,
    Pause,
    Reset,
    Send,
    StartReading,
    StopReading,
    Upstream,
)

if TYPE_CHECKING:
    from pathlib import Path

BIG = head("HTTP/1.1 200 OK", "Content-Length: 20000000") + b"x" * 10_000_000


@pytest.mark.parametrize(
    ("host", "says"), [("127.0.0.1", "itself listens"), ("0x7f.1", "own list")]
)
def test_an_upstream_that_is_the_proxy_itself_is_refused(host: str, says: str, tmp_path: Path):
    """A request would go round for ever: it does not start, whether read so or looked up."""
    with refusing_port() as port:
        where, there = f"127.0.0.1:{port}", f"http://{host}:{port}"
        flags = ["--listen", where, "--upstream", there, "--journal", str(tmp_path)]
        done = subprocess.run(
            [sys.executable, "-m", "proxy", *flags],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    assert 2 == done.returncode
    assert says in done.stderr


async def test_a_reset_is_heard_late_where_nothing_is_read():
    """The upstream does not read, so neither is the caller: its reset is heard once it is."""
    reads = asyncio.Event()
    script = [Await(until=b"\r\n\r\n"), StopReading(), Call(lambda _: reads.wait())]
    async with (
        Upstream([*script, StartReading(), Hang()], receive_buffer=5000) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        with contextlib.suppress(TimeoutError):
            await caller.send(request(b"x" * 20_000_000), within=0.5)
        there = await up.connection(0)
        caller.reset()
        await asyncio.sleep(0.2)
        assert not splice.tap.endings
        reads.set()

        assert ["client_gone"] == await splice.tap.ended()
        assert "reset" == await there.wait_end()


async def test_a_caller_that_never_reads_does_not_hold_up_its_reset(
    monkeypatch: pytest.MonkeyPatch,
):
    """What came before a reset may take so long to leave, and no longer."""
    monkeypatch.setattr(closing, "FLUSH_S", 0.3)
    async with (
        Upstream([Await(), Send(BIG[:1_000_000]), Pause(0.05), Reset()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port, receive_buffer=5000) as caller,
    ):
        caller.stop_reading()
        await caller.send(request(b"{}"))

        # With the upstream's reset, or with the first write behind it.
        assert ["upstream_aborted"] == await splice.tap.ended()
        await eventually(lambda: not splice.floor.callers, "the pair is gone", 3)
        assert not splice.floor.tasks


async def test_a_refused_caller_that_goes_on_is_closed(monkeypatch: pytest.MonkeyPatch):
    """It may send the rest of its request for so long, and no longer."""
    monkeypatch.setattr(caller_side, "LINGER_S", 0.3)
    with refusing_port() as port:
        async with (
            Splice(f"http://127.0.0.1:{port}") as splice,
            await Caller.connect(splice.port) as caller,
        ):
            await caller.send(request(b"{}"))
            assert (await caller.read_all()).startswith(b"HTTP/1.1 502 ")
            assert splice.floor.callers

            await eventually(lambda: not splice.floor.callers, "it is closed", 3)


async def test_a_caller_that_keeps_its_half_is_closed(monkeypatch: pytest.MonkeyPatch):
    """The upstream has ended and owes nothing: nobody waits for ever for the caller's FIN."""
    monkeypatch.setattr(relay, "HALF_CLOSED_S", 0.3)
    async with (
        Upstream([Await(), Send(reply(b"hi")), Fin(), Hang()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"{}"))
        assert reply(b"hi") == await caller.read_all()

        await eventually(lambda: not splice.floor.callers, "the pair is closed", 3)
        there = await up.connection(0)
        assert "fin" == await there.wait_end()
        assert ["complete"] == splice.tap.outcomes


async def test_where_there_is_no_room_a_caller_is_closed_at_once():
    """Each takes two descriptors: the bound is kept before they run out, and no upstream is asked."""
    async with (
        Upstream([Await(), Send(reply(b"hi")), Hang()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as first,
    ):
        await eventually(lambda: splice.floor.callers, "the first has its place")
        splice.floor.connections_limit = 1
        async with await Caller.connect(splice.port) as second:
            await second.wait_end()
        assert not up.connections
        await first.send(request(b"{}"))

        assert reply(b"hi") == await first.read_message()
        assert 1 == splice.tap.opened


async def test_a_tunnel_is_never_idle():
    """A stop gives it its grace, however quiet it is; between two exchanges it gives none."""
    ask = head("GET /ws HTTP/1.1", "Host: in.test", "Connection: Upgrade", "Upgrade: websocket")
    yes = head("HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: websocket")
    async with (
        Upstream([Await(), Send(reply(b"hi")), Await(until=b"\r\n\r\n"), Send(yes), Hang()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"{}"))
        await caller.read_message()
        (side,) = splice.floor.callers
        assert side.idle
        await caller.send(ask)
        assert yes == await caller.read_until(b"\r\n\r\n")

        assert not side.idle


async def test_its_own_delay_is_measured_only_where_the_caller_reads():
    """Read to write returned: a piece that could not be written whole is a stall and no delay."""
    async with (
        Upstream([Await(), Send(STREAM_HEAD), Pause(0.1), Send(BIG), Fin()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port, receive_buffer=5000) as caller,
    ):
        await caller.send(request(b"{}"))
        await caller.read_until(b"\r\n\r\n")
        caller.stop_reading()
        await asyncio.sleep(0.3)
        caller.reset()
        await splice.tap.ended()

        ending = splice.tap.endings[1]
        assert ending.self_first_ns is not None
        assert 0 < ending.self_first_ns <= ending.self_worst_ns < 0.1e9
        assert ending.stall_ns > 0.1e9


async def test_the_recorder_stands_back_and_outlives_signals(tmp_path: Path):
    """Ctrl-C reaches its whole group: it goes on to the end of its pipe, at its own priority."""
    words = ["one", "two"]
    again = [Await(within=60), *stream(words, 0.3)[1:]]
    async with (
        Upstream([*stream(words, 0.0), *again, Hang()]) as up,
        Program(up.url, tmp_path) as proxy,
        await Caller.connect(proxy.port) as caller,
    ):
        await caller.send(ASK)
        assert whole(words) == await caller.read_message()
        await proxy.wait_records(1)  # it has started: until then a signal ends it, as any program
        recorder = proxy.recorder
        niceness = os.getpriority(os.PRIO_PROCESS, recorder)
        for number in (signal.SIGINT, signal.SIGTERM):
            os.kill(recorder, number)
        await caller.send(ASK)
        assert whole(words) == await caller.read_message()
        _, record = await proxy.wait_records(2)

        assert recorder == proxy.recorder
        assert os.getpriority(os.PRIO_PROCESS, proxy.process.pid) + 5 == niceness
        assert ("complete", "complete") == (record.outcome, record.generation)
        assert None not in (record.self.first_ns, record.self.lateness_ns)
        assert 0 == await proxy.stop()
