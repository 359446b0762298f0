"""Tunnels through the hand-off, the relay and the whole program: each message leaves a record."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from proxy.handoff import Handoff
from proxy.journal.timing import ttft_ns
from proxy.wire.exchange import Ending, Opening, Outcome
from proxy.wire.frame import FrameReader, Kind, Mark
from tests.support.caller import Caller
from tests.support.program import Program, eventually
from tests.support.tunnel import MS, ask, created, delta, ended
from tests.support.upstream import Await, Hang, Pause, Send, Upstream
from tests.support.websocket import said, sent, switched, upgrade

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.upstream import Step


async def test_the_bound_of_a_request_is_not_that_of_a_tunnel():
    """Many messages flow in one exchange: none of them is left out for those before it."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(0)
        tap = Handoff(1_000_000, 10, lambda at: at)
        tap.attach(ours)
        tunnel, other = (tap.open(Opening(0, n, "", "", "", ""), 1) for n in (1, 2))
        tap.put(Kind.MARK, tunnel.number, 2, b"", Mark.TUNNEL)
        for flow in (tunnel, other):
            flow.request_bytes = 11
            tap.put(Kind.REQUEST, flow.number, 3, b"more")
            tap.end(flow, Ending(Outcome.complete), 4)
        tap.flush()
        frames = [f for f in FrameReader().feed(theirs.recv(100_000)) if f.kind is Kind.REQUEST]

    assert [(f.exchange, f.left_out) for f in frames] == [(1, False), (2, True)]


def answer(wait_s: float) -> list[Step]:
    """Wait for a question, and answer it with one word after so long."""
    steps: list[Step] = [Await(size=len(sent(ask()))), Send(said(created())), Pause(wait_s)]
    return [*steps, Send(said(delta("first"))), Pause(0.03), Send(said(ended()))]


async def test_two_messages_on_one_websocket_are_two_records(tmp_path: Path):
    """With TTFT as the caller's own clock saw it; a third that it does not wait for is cut by it."""
    begun: list[Step] = [Await(size=len(sent(ask()))), Send(said(created()))]
    script = [Await(), Send(switched()), *answer(0.08), *answer(0.2), *begun, Hang()]
    seen_ns = []
    async with Upstream(script) as up, Program(up.url, tmp_path) as proxy:
        async with await Caller.connect(proxy.port) as caller:
            await caller.send(upgrade())
            await caller.read_until(b"\r\n\r\n")
            for _ in range(2):
                caller.pieces.clear()
                await caller.send(sent(ask()))
                asked_ns = caller.sent[-1].done_ns
                await caller.read_until(b"response.completed")
                await eventually(lambda: caller.received.endswith(said(ended())), "its end")
                token = next(p for p in caller.pieces if b'"first"' in p.data)
                seen_ns.append(token.at_ns - asked_ns)
            await caller.send(sent(ask()))
            await caller.read_until(b"response.created")
        records = await proxy.wait_records(4)
        assert await proxy.stop() == 0

    inside = {record.id.rpartition("-")[2]: record for record in records}
    assert sorted(inside) == ["1", "1.1", "1.2", "1.3"]
    for name, theirs_ns in zip(("1.1", "1.2"), seen_ns, strict=True):
        record = inside[name]
        assert abs((ttft_ns(record.timings) or 0) - theirs_ns) < 20 * MS
        assert (record.kind, record.dialect) == ("turn", "openai_responses")
        assert (record.outcome, record.generation) == ("complete", "complete")
        assert sum(part.tokens for part in record.parts) == record.usage.input
    assert (inside["1.3"].outcome, inside["1.3"].generation) == ("client_gone", "incomplete")
    assert (inside["1"].kind, inside["1"].outcome) == ("not_generation", "complete")
