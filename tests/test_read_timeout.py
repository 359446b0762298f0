"""The configured read time-out counts silence of the upstream, and nobody else's."""

from __future__ import annotations

import asyncio
import contextlib

from tests.support.bodies import head, reply, request
from tests.support.caller import Caller
from tests.support.splice import Splice
from tests.support.upstream import Await, Hang, Pause, Send, StopReading, Upstream


async def test_time_between_exchanges_does_not_count():
    """A request on a connection that was idle for long has all of the time for itself."""
    script = [Await(), Send(reply(b"one")), Await(), Pause(0.5), Send(reply(b"two")), Hang()]
    async with (
        Upstream(script) as up,
        Splice(up.url, read_timeout_s=1.0) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"{}"))
        assert reply(b"one") == await caller.read_message()
        # The clock of an idle connection is looked at each second: the next look falls into the wait.
        await asyncio.sleep(1.6)
        await caller.send(request(b"{}"))

        assert reply(b"two") == await caller.read_message()
        assert ["complete", "complete"] == await splice.tap.ended(2)


async def test_a_caller_that_does_not_read_is_not_the_upstreams_silence():
    """What is not read cannot be heard: that is the caller's stall."""
    big = b"x" * 20_000_000
    answer = head("HTTP/1.1 200 OK", f"Content-Length: {len(big)}") + big
    async with (
        Upstream([Await(), Send(answer, within=20)]) as up,
        Splice(up.url, read_timeout_s=0.5) as splice,
        await Caller.connect(splice.port, receive_buffer=50_000) as caller,
    ):
        caller.stop_reading()
        await caller.send(request(b"{}"))
        await asyncio.sleep(1.3)
        assert not splice.tap.endings
        caller.start_reading()

        assert len(answer) == len(await caller.read_message(within=20))
        assert ["complete"] == await splice.tap.ended()


async def test_a_slow_upload_is_not_the_upstreams_silence():
    """Servers answer a request when it is whole."""
    async with (
        Upstream([Await(), Send(reply(b"hi")), Hang()]) as up,
        Splice(up.url, read_timeout_s=0.4) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        whole = request(b"x" * 100)
        await caller.send(whole[:-50])
        await asyncio.sleep(1.0)
        await caller.send(whole[-50:])

        assert reply(b"hi") == await caller.read_message()
        assert ["complete"] == await splice.tap.ended()


async def test_an_upstream_that_takes_nothing_is_silent():
    """It is its turn as long as bytes for it wait here."""
    async with (
        Upstream([Await(until=b"\r\n\r\n"), StopReading(), Pause(60)], receive_buffer=5000) as up,
        Splice(up.url, read_timeout_s=0.4) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        with contextlib.suppress(ConnectionError):
            await caller.send(request(b"x" * 20_000_000))

        assert "reset" == await caller.wait_end()
        assert ["upstream_timeout"] == await splice.tap.ended()
        assert "silent for 0.4 s" == splice.tap.endings[1].detail
