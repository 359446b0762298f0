"""What the tap hears on real sockets, and what its own faults cost: nothing that flows."""

from __future__ import annotations

from proxy.wire.frame import Kind, Mark
from tests.support.bodies import STREAM_HEAD, chunk, chunked, delta, reply, request, sse
from tests.support.caller import Caller
from tests.support.splice import Splice
from tests.support.upstream import Await, Hang, Pause, Send, Upstream

STREAM = STREAM_HEAD + chunked(delta("", role="assistant"), delta("Hello"), sse("[DONE]"))


async def test_a_failing_tap_changes_no_byte():
    """A fault of ours makes the connection opaque to the tap; it is counted; the bytes flow."""
    async with (
        Upstream([Await(), Send(STREAM), Await(), Send(STREAM), Hang()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        splice.tap.failing_kinds = set(Kind)
        for _ in range(2):
            await caller.send(request(b"{}"))
            assert STREAM == await caller.read_message()

        there = await up.connection(0)
        assert (
            bytes(there.received) == request(b"{}").replace(b"in.test", up.authority.encode()) * 2
        )
        assert 1 == splice.floor.tap_failures


async def test_what_was_open_when_the_tap_failed_ends_as_our_fault():
    """Its bytes arrive, and its record says whose fault the missing rest is."""
    async with (
        Upstream([Await(), Send(STREAM_HEAD), Pause(0.05), Send(chunk(delta("x"))), Hang()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"{}"))
        await caller.read_until(b"\r\n\r\n")
        splice.tap.failing_kinds = {Kind.REPLY}
        await caller.read_until(b'"x"')

        assert ["proxy_error"] == await splice.tap.ended()
        assert "RuntimeError" == splice.tap.endings[1].detail


async def test_marks_lie_in_the_order_of_things():
    """Dialled, connected, sent, request over, reply over; the origin of waiting is the request's end."""
    async with (
        Upstream([Await(), Pause(0.05), Send(reply(b"hi")), Hang()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"x" * 1000), piece=300, pause=0.01)
        await caller.read_message()
        await splice.tap.ended()

        marks = [Mark.DIAL, Mark.CONNECTED, Mark.REQUEST_END, Mark.SENT, Mark.REPLY_END]
        times = [splice.tap.mark(mark) for mark in marks]
        assert None not in times
        assert times == sorted(times)  # type: ignore[type-var]
        assert times[4] - times[2] > 45e6
