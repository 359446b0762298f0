"""The whole program: started, used, hurt and stopped, and what its journal then says."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

from proxy.journal.timing import ttft_ns
from tests.support.bodies import reply, request
from tests.support.caller import Caller
from tests.support.edge import refusing_port, silent_port
from tests.support.program import Program, eventually
from tests.support.talk import ASK, BODY, SECRET, WORDS, stream, whole
from tests.support.upstream import Await, Hang, Send, Upstream

if TYPE_CHECKING:
    from pathlib import Path


async def test_a_record_agrees_with_the_clients_own_stopwatch(tmp_path: Path):
    """TTFT is within 2 ms of what the caller saw, and the role opener is no token.

    Of seven exchanges the second closest is taken: other processes of a busy machine come between.
    """
    script = [step for _ in range(7) for step in stream(["one", "two", "three"], 0.05)]
    seen_ns = []
    async with Upstream([*script, Hang()]) as up, Program(up.url, tmp_path) as proxy:
        async with await Caller.connect(proxy.port) as caller:
            for _ in range(7):
                caller.pieces.clear()
                await caller.send(ASK)
                asked_ns = caller.sent[-1].done_ns
                await caller.read_message()
                token = next(p for p in caller.pieces if b'"one"' in p.data)
                seen_ns.append(token.at_ns - asked_ns)
        records = await proxy.wait_records(7)
        assert 0 == await proxy.stop()

    measured_ns = [ttft_ns(record.timings) or 0 for record in records]
    apart_ns = [abs(ours - theirs) for ours, theirs in zip(measured_ns, seen_ns, strict=True)]
    assert sorted(apart_ns)[1] < 2e6
    for record in records:
        assert record.timings.first_event_ns < record.timings.first_token_ns
        assert ("turn", "openai_chat") == (record.kind, record.dialect)
        assert ("complete", "complete") == (record.outcome, record.generation)
        assert (30, 3, "usage") == (record.usage.input, record.output.tokens, record.output.source)
        assert 30 == sum(part.tokens for part in record.parts)


async def test_nothing_that_is_written_holds_a_secret_or_a_prompt(tmp_path: Path):
    """No prompt, no answer, no credential: not in the journal, not on the console."""
    ask = request(
        BODY, f"Authorization: Bearer {SECRET}", line=f"POST /v1/chat/completions?k={SECRET}"
    )
    async with (
        Upstream([*stream(["mellifluous"], 0.0), Hang()]) as up,
        Program(up.url, tmp_path) as proxy,
    ):
        async with await Caller.connect(proxy.port) as caller:
            await caller.send(ask)
            await caller.read_message()
        await proxy.wait_records(1)
        await proxy.stop()

    written = bytes(proxy.output) + b"".join(p.read_bytes() for p in proxy.journal.iterdir())
    for text in (SECRET, WORDS, "Be kind", "mellifluous"):
        assert text.encode() not in written
    assert all(path.stat().st_mode & 0o077 == 0 for path in proxy.journal.iterdir())


async def test_a_killed_recorder_costs_no_byte_and_the_stream_keeps_its_record(tmp_path: Path):
    """Kill -9 in mid stream: a new recorder takes over, and what is missing is named."""
    words = [f"w{n}" for n in range(30)]
    async with Upstream([*stream(words, 0.03), Hang()]) as up, Program(up.url, tmp_path) as proxy:
        async with await Caller.connect(proxy.port) as caller:
            await caller.send(ASK)
            await caller.read_until(b"w3")
            os.kill(proxy.recorder, signal.SIGKILL)

            await eventually_received(caller, len(whole(words)))
            assert whole(words) == bytes(caller.received)
        (record,) = await proxy.wait_records(1)
        assert 0 == await proxy.stop()

    assert "complete" == record.outcome
    assert any(note.startswith("resumed") for note in record.notes)
    assert record.timings.first_token_ns is None, "what was lost must not be guessed"
    assert proxy.event("recorder.lost") is not None
    assert proxy.event("recorder.restarted") is not None


async def eventually_received(caller: Caller, size: int) -> None:
    """Wait until so many bytes have come in all."""
    async with asyncio.timeout(10):
        while len(caller.received) < size:  # noqa: ASYNC110 - the kit has no event for this
            await asyncio.sleep(0.005)


async def test_exchanges_lost_with_a_recorder_are_named(tmp_path: Path):
    """What had ended but was not written yet is in the loss file, and the rest has its records."""
    script = [step for _ in range(20) for step in (Await(), Send(reply(b"{}")))]
    async with Upstream([*script, Hang()]) as up, Program(up.url, tmp_path) as proxy:
        async with await Caller.connect(proxy.port) as caller:
            for n in range(20):
                if n == 10:
                    os.kill(proxy.recorder, signal.SIGSTOP)
                if n == 15:
                    await asyncio.sleep(0.2)  # by now all of them are in the recorder's pipe
                    os.kill(proxy.recorder, signal.SIGKILL)
                    await eventually(lambda: proxy.event("recorder.restarted"), "a new one")
                await caller.send(request(b"{}"))
                await caller.read_message()
        await proxy.stop()

    ids = {record.id.rpartition("-")[2] for record in proxy.records()}
    lost = {id_.rpartition("-")[2] for loss in proxy.losses() for id_ in loss.ids}
    assert {str(n) for n in range(1, 21)} == ids | lost
    assert not ids & lost
    assert {"11", "12", "13", "14", "15"} <= lost
    assert len(lost) == proxy.event("proxy.stopped")["lost"]


async def test_a_killed_proxy_leaves_records_of_what_it_was_doing(tmp_path: Path):
    """Kill -9 of the relay: the unfinished exchange is sealed with that outcome."""
    async with (
        Upstream([*stream([f"w{n}" for n in range(50)], 0.03), Hang()]) as up,
        Program(up.url, tmp_path) as proxy,
    ):
        async with await Caller.connect(proxy.port) as caller:
            await caller.send(ASK)
            await caller.read_until(b"w3")
            proxy.process.kill()
            await caller.wait_end()  # the kernel's choice: FIN, or RST if bytes were unread
            came = bytes(caller.received)
        (record,) = await proxy.wait_records(1)

    assert whole([f"w{n}" for n in range(50)]).startswith(came)
    assert ("proxy_killed", "incomplete", "proxy") == (
        record.outcome,
        record.generation,
        record.error_kind,
    )
    assert record.timings.first_token_ns is not None


async def test_a_recorder_that_lags_costs_content_and_never_time(tmp_path: Path):
    """A stopped recorder: the caller's stream goes on, the record keeps what needs no content."""
    words = [f"w{n}" + "x" * 100_000 for n in range(60)]
    config = "[recorder]\nqueue_bytes = 65536\n"
    async with (
        Upstream([*stream(words, 0.01), Hang()]) as up,
        Program(up.url, tmp_path, config=config) as proxy,
    ):
        async with await Caller.connect(proxy.port) as caller:
            os.kill(proxy.recorder, signal.SIGSTOP)
            await caller.send(ASK)
            await eventually_received(caller, len(whole(words)))
            os.kill(proxy.recorder, signal.SIGCONT)
        await proxy.wait_records(1)
        await proxy.stop()

    record = proxy.records()[0]
    assert any(note.startswith("content_left_out") for note in record.notes)
    assert record.self.left_out_bytes > 0
    assert record.timings.first_byte_ns is not None
    assert record.timings.last_token_ns is None, "a token that was not seen is not guessed"
    assert "unknown" == record.generation
    assert {"system", "question"} <= {part.part for part in record.parts if part.tokens}
    assert proxy.event("recorder.lagged") is not None


async def test_stop_lets_a_stream_finish(tmp_path: Path):
    """SIGTERM: no new callers, idle connections close at once, the stream has its grace."""
    words = [f"w{n}" for n in range(20)]
    async with (
        Upstream([*stream(words, 0.03), Hang()], [Await(), Send(reply(b"{}")), Hang()]) as up,
        Program(up.url, tmp_path) as proxy,
        await Caller.connect(proxy.port) as caller,
        await Caller.connect(proxy.port) as idle,
    ):
        await caller.send(ASK)
        await caller.read_until(b"w2")
        await idle.send(request(b"{}"))
        await idle.read_message()
        proxy.process.terminate()

        assert "fin" == await idle.wait_end(within=1)
        await eventually_received(caller, len(whole(words)))
        assert 0 == await proxy.wait(5)

    assert ["complete", "complete"] == [record.outcome for record in proxy.records()]


async def test_a_second_signal_means_now(tmp_path: Path):
    """Streams are cut so that the caller can tell, and recorded as cut by us."""
    async with (
        Upstream([*stream(["one"], 0.0)[:-3], Hang()]) as up,
        Program(up.url, tmp_path) as proxy,
        await Caller.connect(proxy.port) as caller,
    ):
        await caller.send(ASK)
        await caller.read_until(b"one")
        proxy.process.send_signal(signal.SIGINT)
        await eventually(lambda: proxy.event("proxy.stopping"), "it stops")
        proxy.process.send_signal(signal.SIGINT)

        assert "reset" == await caller.wait_end(within=2)
        assert 0 == await proxy.wait(5)

    (record,) = proxy.records()
    assert ("shutdown", "incomplete", "proxy") == (
        record.outcome,
        record.generation,
        record.error_kind,
    )


async def test_an_unreachable_upstream_has_its_record(tmp_path: Path):
    """With the reason, and no status: that was ours, not the upstream's."""
    with refusing_port() as port:
        async with Program(f"http://127.0.0.1:{port}", tmp_path) as proxy:
            async with await Caller.connect(proxy.port) as caller:
                await caller.send(ASK)
                assert (await caller.read_all()).startswith(b"HTTP/1.1 502")
            (record,) = await proxy.wait_records(1)
            await proxy.stop()

    assert ("upstream_unreachable", "upstream_unreachable", None, None) == (
        record.outcome,
        record.error_kind,
        record.status,
        record.backend,
    )


async def test_a_stop_does_not_wait_for_a_connection_that_is_being_made(tmp_path: Path):
    """An upstream that does not answer the connect holds nobody up at the second signal."""
    with silent_port() as port:
        async with Program(f"http://127.0.0.1:{port}", tmp_path) as proxy:
            async with await Caller.connect(proxy.port) as caller:
                await caller.send(ASK)
                await asyncio.sleep(0.2)
                proxy.process.send_signal(signal.SIGINT)
                await eventually(lambda: proxy.event("proxy.stopping"), "it stops")
                proxy.process.send_signal(signal.SIGINT)

                assert 0 == await proxy.wait(4)
            (record,) = proxy.records()

    assert "shutdown" == record.outcome
