"""How exchanges end: what each side sees of the other's end, and what is said of it."""

from __future__ import annotations

import asyncio
import contextlib

import orjson
import pytest

from proxy.wire.frame import Kind
from tests.support.bodies import STREAM_HEAD, chunk, chunked, delta, head, reply, request, sse
from tests.support.caller import Caller
from tests.support.edge import refusing_port, silent_port
from tests.support.splice import Splice
from tests.support.upstream import (
    Await,
    Call,
    Close,
    Fin,
    Hang,
    Pause,
    Reset,
    Send,
    Upstream,
)

HALF = STREAM_HEAD + chunk(delta("Hel"))
WHOLE = STREAM_HEAD + chunked(delta("Hello"), sse("[DONE]"))


async def test_a_caller_that_resets_takes_the_upstream_with_it_at_once():
    """Before the first token nothing is written, so only the reset itself can tell."""
    async with (
        Upstream([Await(), Hang()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"{}"))
        there = await up.connection(0)
        await asyncio.sleep(0.05)
        caller.reset()

        assert "reset" == await there.wait_end(within=0.5)
        assert ["client_gone"] == await splice.tap.ended()


async def test_a_caller_that_leaves_with_a_fin_is_heard_upstream_at_once():
    """`close()` sends FIN: the upstream sees it and can stop working for nobody."""
    async with (
        Upstream([Await(), Call(lambda there: there.wait_end()), Close()]) as up,
        Splice(up.url) as splice,
    ):
        async with await Caller.connect(splice.port) as caller:
            await caller.send(request(b"{}"))
            there = await up.connection(0)
            await asyncio.sleep(0.05)

        assert "fin" == await there.wait_end(within=0.5)
        assert ["client_gone"] == await splice.tap.ended()


async def test_a_caller_that_closed_only_its_half_still_gets_its_reply():
    """A FIN says "I have asked everything", not "I am gone"."""
    async with (
        Upstream([Await(), Pause(0.05), Send(WHOLE), Fin()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"{}"))
        await caller.fin()

        assert WHOLE == await caller.read_all()
        assert "fin" == caller.ended
        assert ["complete"] == await splice.tap.ended()


async def test_a_caller_that_leaves_in_mid_stream_is_client_gone():
    """The next write meets its reset, and the upstream is told."""
    more = [step for _ in range(50) for step in (Pause(0.01), Send(chunk(delta("x"))))]
    async with Upstream([Await(), Send(HALF), *more, Hang()]) as up, Splice(up.url) as splice:
        async with await Caller.connect(splice.port) as caller:
            await caller.send(request(b"{}"))
            await caller.read_until(b"Hel")

        there = await up.connection(0)
        await there.wait_end(within=1)
        assert ["client_gone"] == await splice.tap.ended()


@pytest.mark.parametrize("answer", [HALF, head("HTTP/1.0 200 OK") + b"so far"])
async def test_an_upstream_that_resets_looks_reset_to_the_caller(answer: bytes):
    """What came before arrives whole; then the caller sees a reset, not an end."""
    async with (
        Upstream([Await(), Send(answer), Pause(0.05), Reset()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"{}"))

        assert answer == await caller.read_all()
        assert "reset" == caller.ended
        assert ["upstream_aborted"] == await splice.tap.ended()


async def test_all_that_came_before_a_reset_arrives_even_at_a_slow_caller():
    """The reset waits for bytes already taken from the upstream."""
    body = b"x" * 300_000
    answer = head("HTTP/1.1 200 OK", "Content-Length: 400000") + body
    async with (
        Upstream([Await(), Send(answer), Pause(0.3), Reset()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port, receive_buffer=20_000) as caller,
    ):
        await caller.send(request(b"{}"))
        caller.stop_reading()
        await asyncio.sleep(0.2)
        caller.start_reading()

        assert answer == await caller.read_all()
        assert "reset" == await caller.wait_end()
        assert ["upstream_aborted"] == await splice.tap.ended()


async def test_an_early_fin_of_the_upstream_is_an_early_fin_at_the_caller():
    """A reply that says it is longer than it is stays recognisably cut."""
    cut = head("HTTP/1.1 200 OK", "Content-Length: 100") + b"only this"
    async with (
        Upstream([Await(), Send(cut), Fin()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"{}"))

        assert cut == await caller.read_all()
        assert "fin" == caller.ended
        assert ["upstream_aborted"] == await splice.tap.ended()


async def test_a_reused_connection_that_dies_under_a_request_is_upstream_aborted():
    """The keep-alive race: the request was lost, the caller sees what it would see without us."""
    async with (
        Upstream([Await(), Send(reply(b"hi")), Await(), Reset()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"{}"))
        await caller.read_message()
        await caller.send(request(b"{}"))

        assert "reset" == await caller.wait_end()
        assert ["complete", "upstream_aborted"] == await splice.tap.ended(2)


async def test_nobody_upstream_is_a_502_that_says_what_to_do():
    """JSON with the address tried, the reason and the remedy; then the connection ends."""
    with refusing_port() as port:
        async with Splice(f"http://127.0.0.1:{port}") as splice:
            async with await Caller.connect(splice.port) as caller:
                await caller.send(request(b"{}"))
                answer = await caller.read_all()

            start, _, body = answer.partition(b"\r\n\r\n")
            error = orjson.loads(body)["error"]
            assert start.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
            assert "upstream_unreachable" == error["type"]
            assert f"http://127.0.0.1:{port}" in error["message"]
            assert "refused" in error["message"]
            assert "--upstream" in error["message"]
            assert ["upstream_unreachable"] == await splice.tap.ended()
            assert request(b"{}") == splice.tap.bytes_of(Kind.REQUEST)


@pytest.mark.parametrize("size", [10, 3_000_000])
async def test_a_refused_caller_gets_its_answer_however_much_it_sends(size: int):
    """The 502 comes after the head, and the rest of the body is taken until the caller ends."""
    with refusing_port() as port:
        async with Splice(f"http://127.0.0.1:{port}") as splice:
            async with await Caller.connect(splice.port) as caller:
                with contextlib.suppress(ConnectionError):
                    await caller.send(request(b"x" * size))
                answer = await caller.read_all()

            assert answer.startswith(b"HTTP/1.1 502 ")
            assert "fin" == caller.ended


async def test_a_head_that_comes_late_is_still_answered_with_502():
    """Never before the head is in: a caller that is still speaking would not listen."""
    raw = request(b"{}")
    with refusing_port() as port:
        async with Splice(f"http://127.0.0.1:{port}") as splice:
            async with await Caller.connect(splice.port) as caller:
                await caller.send(raw[:20])
                await asyncio.sleep(0.1)
                assert not caller.received
                await caller.send(raw[20:])

                assert (await caller.read_all()).startswith(b"HTTP/1.1 502 ")
            assert ["upstream_unreachable"] == await splice.tap.ended()


async def test_an_upstream_that_does_not_answer_the_connect_is_a_504():
    """The connect time-out is the operator's, and the caller is told how long it was."""
    with silent_port() as port:
        async with Splice(f"http://127.0.0.1:{port}", connect_timeout_s=0.3) as splice:
            async with await Caller.connect(splice.port) as caller:
                await caller.send(request(b"{}"))
                answer = await caller.read_all()

            assert answer.startswith(b"HTTP/1.1 504 ")
            assert b"no connection within 0.3 s" in answer
            assert ["upstream_unreachable"] == await splice.tap.ended()


async def test_a_name_that_leads_nowhere_is_a_502():
    """The remedy speaks of the name."""
    async with Splice("http://nowhere.invalid:80") as splice:
        async with await Caller.connect(splice.port) as caller:
            await caller.send(request(b"{}"))
            answer = await caller.read_all()

        assert answer.startswith(b"HTTP/1.1 502 ")
        assert b"host name" in answer
        assert ["upstream_unreachable"] == await splice.tap.ended()


async def test_bytes_that_are_no_http_get_no_http_answer():
    """Nobody upstream, and the caller does not speak HTTP: the connection just ends."""
    with refusing_port() as port:
        async with Splice(f"http://127.0.0.1:{port}") as splice:
            async with await Caller.connect(splice.port) as caller:
                await caller.send(b"\x16\x03\x01\x02\x00")
                assert b"" == await caller.read_all()
            assert ["upstream_unreachable"] == await splice.tap.ended()


async def test_a_configured_read_timeout_ends_a_silent_upstream():
    """Only if configured; the caller sees a broken reply, the upstream a reset."""
    async with (
        Upstream([Await(), Send(HALF), Hang()]) as up,
        Splice(up.url, read_timeout_s=0.3) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(request(b"{}"))

        assert HALF == await caller.read_all()
        assert "reset" == caller.ended
        there = await up.connection(0)
        assert "reset" == await there.wait_end()
        assert ["upstream_timeout"] == await splice.tap.ended()


async def test_a_caller_that_does_not_read_slows_the_upstream_and_not_the_memory():
    """Back-pressure passes through; the time in which nobody read is the exchange's stall."""
    big = b"x" * 20_000_000
    answer = head("HTTP/1.1 200 OK", f"Content-Length: {len(big)}") + big
    async with (
        Upstream([Await(), Send(answer, within=20)]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port, receive_buffer=50_000) as caller,
    ):
        caller.stop_reading()
        await caller.send(request(b"{}"))
        await asyncio.sleep(0.5)
        there = await up.connection(0)
        assert not there.sent, "the upstream could send everything though nobody read"
        waiting = sum(
            side.transport.get_write_buffer_size()
            for side in splice.floor.callers
            if side.transport is not None
        )
        assert waiting < 600_000
        caller.start_reading()

        assert len(answer) == len(await caller.read_message(within=20))
        await splice.tap.ended(within=10)
        ending = splice.tap.endings[1]
        assert 0.3e9 < ending.stall_ns < 3e9
