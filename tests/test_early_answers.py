"""An upstream that answers before the request's end, as servers do that refuse a long upload."""

from __future__ import annotations

import contextlib

import pytest

from tests.support.bodies import head, reply, request
from tests.support.caller import Caller
from tests.support.splice import Splice
from tests.support.upstream import Await, Close, Fin, Hang, Send, StopReading, Upstream


async def test_an_early_answer_to_a_long_upload_is_complete():
    """401 or 413 before the request's end is legal (RFC 9112 section 9.5): the reply is whole."""
    no = reply(b"too large", status="413 Content Too Large")
    async with (
        Upstream([Await(until=b"\r\n\r\n"), Send(no), Fin(), Hang()]) as up,
        Splice(up.url) as splice,
        await Caller.connect(splice.port) as caller,
    ):
        await caller.send(head("POST / HTTP/1.1", "Host: in.test", "Content-Length: 1000") + b"x")

        assert no == await caller.read_all()
        await caller.fin()
        assert ["complete"] == await splice.tap.ended()


@pytest.mark.parametrize("size", [300_000, 3_000_000])
async def test_an_early_answer_survives_a_failed_upload(size: int):
    """The upstream says 413 and closes with the upload unread: its answer still arrives, each time."""
    no = reply(b"too large", "Connection: close", status="413 Content Too Large")
    refuses = [Await(until=b"\r\n\r\n"), StopReading(), Send(no), Close()]
    async with Upstream(refuses) as up, Splice(up.url) as splice:
        for turn in range(1, 11):
            async with await Caller.connect(splice.port) as caller:
                with contextlib.suppress(ConnectionError):
                    await caller.send(request(b"x" * size))
                await caller.wait_end()
                assert bytes(caller.received).startswith(no)
            assert ["complete"] * turn == await splice.tap.ended(turn)
