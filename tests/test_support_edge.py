"""The test kit itself: what it says of times, bytes and endings has to be true on a real socket."""

from __future__ import annotations

import asyncio
import itertools
import random

import pytest

from tests.support.bodies import reply, request
from tests.support.caller import Caller
from tests.support.edge import EndedError, refusing_port, silent_port
from tests.support.tls import self_signed
from tests.support.upstream import (
    Await,
    Call,
    Close,
    Fin,
    Hang,
    Pause,
    Reset,
    Send,
    StartReading,
    StopReading,
    Upstream,
)


async def test_script_is_played_and_both_sides_keep_what_they_saw() -> None:
    """Awaits take in order, sends arrive, and each side has all bytes and the peer's FIN."""
    script = [Await(3), Await(until=b"\r\n"), Await(), Send(b"first "), Send(b"second"), Close()]
    async with Upstream(script) as up, await Caller.connect(up.port) as caller:
        await caller.send(b"abcdef\r\n")
        await caller.send(request(b"{}"))

        assert await caller.read_until(b" ") == b"first "
        assert await caller.read_exactly(2) == b"se"
        assert await caller.read_all() == b"cond"
        assert caller.ended == "fin"
        connection = await up.connection(0)
        assert connection.received == b"abcdef\r\n" + request(b"{}")
        assert connection.steps_done == len(script)
        assert caller.received == b"first second"


async def test_stamps_are_in_order_and_near_to_the_truth() -> None:
    """Pieces arrive after they were sent, hardly later, and a pause apart."""
    async with (
        Upstream([Await(), Send(b"abc", split=1, pause=0.06), Close()]) as up,
        await Caller.connect(up.port) as caller,
    ):
        await caller.send(request())
        await caller.read_all()
        connection = await up.connection(0)

        assert [(p.data, s.size) for p, s in zip(caller.pieces, connection.sent, strict=True)] == [
            (b"a", 1),
            (b"b", 1),
            (b"c", 1),
        ]
        lags = [p.at_ns - s.at_ns for p, s in zip(caller.pieces, connection.sent, strict=True)]
        assert min(lags) >= 0
        assert min(lags) < 50e6  # of three: a busy machine may hold up one
        assert all(sent.at_ns <= sent.done_ns for sent in connection.sent)
        gaps = [b.at_ns - a.at_ns for a, b in itertools.pairwise(connection.sent)]
        assert min(gaps) > 58e6  # the loop's timers may be early by their resolution
        assert caller.sent[0].at_ns <= connection.pieces[0].at_ns
        assert caller.pieces[-1].at_ns <= (caller.fin_ns or 0)


@pytest.mark.parametrize(
    ("last", "ended"), [(Fin(), "fin"), (Close(), "fin"), (Reset(), "reset")], ids=repr
)
async def test_caller_tells_how_the_upstream_ended(last: Fin | Close | Reset, ended: str) -> None:
    """A FIN, a close and a reset are told apart, and the bytes before them are not lost."""
    script = [Send(b"cut"), Call(lambda c: c.read_until(b"!")), last]
    async with Upstream(script) as up, await Caller.connect(up.port) as caller:
        assert await caller.read_exactly(3) == b"cut"
        await caller.send(b"!")

        assert await caller.wait_end() == ended
        assert caller.ended_ns is not None


@pytest.mark.parametrize("step", [Hang(), Pause(5), Await(9), Call(lambda c: c.wait_end())])
@pytest.mark.parametrize("how", ["fin", "reset", "close"])
async def test_upstream_sees_the_callers_end_whatever_it_is_doing(
    step: Hang | Pause | Await | Call, how: str
) -> None:
    """The peer's end is stamped at once, also while the script waits or sleeps."""
    async with Upstream([step]) as up, await Caller.connect(up.port) as caller:
        connection = await up.connection(0)
        if how == "fin":
            await caller.fin()
        else:
            getattr(caller, how)()

        assert await connection.wait_end(within=1) == ("reset" if how == "reset" else "fin")


async def test_caller_that_half_closes_still_gets_its_reply() -> None:
    """After a FIN the other direction goes on."""
    async with (
        Upstream([Hang(), Send(b"late"), Close()]) as up,
        await Caller.connect(up.port) as caller,
    ):
        await caller.send(b"x")
        await caller.fin()

        assert await caller.read_all() == b"late"


async def test_a_reset_after_a_fin_counts_as_a_reset() -> None:
    """A peer that half-closes and then resets is seen to have done both, in that order."""
    async with (
        Upstream([Hang(), Pause(0.05), Send(b"a"), Pause(0.05), Send(b"b")]) as up,
        await Caller.connect(up.port) as caller,
    ):
        await caller.fin()
        connection = await up.connection(0)
        await connection.wait_end()
        caller.reset()
        await connection.script_over.wait()

        assert connection.ended == "reset"
        assert (connection.fin_ns or 0) < (connection.reset_ns or 0)
        assert isinstance(connection.fault, ConnectionError)


async def test_a_side_that_stops_reading_is_felt_by_the_other() -> None:
    """Back-pressure is real: what is not read fills the kernel's buffers and then blocks."""
    much = random.Random(1).randbytes(1 << 23)
    script = [StopReading(), Pause(0.3), StartReading(), Await(len(much)), Send(b"got it")]
    async with (
        Upstream(script, receive_buffer=1 << 16) as up,
        await Caller.connect(up.port) as caller,
    ):
        connection = await up.connection(0)
        await asyncio.sleep(0.05)
        with pytest.raises(TimeoutError, match="did not take"):
            await caller.send(much, within=0.1)
        assert not connection.received

    async with Upstream(script) as up, await Caller.connect(up.port) as caller:
        await caller.send(much)

        assert await caller.read_exactly(6) == b"got it"
        assert (await up.connection(0)).received == much


async def test_a_caller_that_stops_reading_is_felt_by_the_upstream() -> None:
    """The same from the other side: with a small receive buffer a step runs into its time-out."""
    up = Upstream([Send(bytes(1 << 24), within=0.2)])
    await up.__aenter__()
    async with await Caller.connect(up.port, receive_buffer=4096) as caller:
        caller.stop_reading()
        await (await up.connection(0)).script_over.wait()

    with pytest.raises(TimeoutError, match="did not take"):
        await up.__aexit__(None)


async def test_scripts_are_dealt_out_in_order_and_the_last_repeats() -> None:
    """The n-th connection plays the n-th script; later ones the last."""
    async with Upstream([Send(b"1"), Close()], [Send(b"2"), Close()]) as up:
        got = []
        for _ in range(4):
            async with await Caller.connect(up.port) as caller:
                got.append(await caller.read_all())

        assert got == [b"1", b"2", b"2", b"2"]
        assert [c.number for c in up.connections] == [0, 1, 2, 3]


async def test_keep_alive_messages_are_taken_one_by_one() -> None:
    """`read_message` takes exactly one of several that came in one piece."""
    script = [Await(), Await(), Send(reply(b"a") + reply(b"bc"))]
    async with Upstream(script) as up, await Caller.connect(up.port) as caller:
        await caller.send(request(b"1") + request(b"2"))

        assert await caller.read_message() == reply(b"a")
        assert await caller.read_message() == reply(b"bc")


async def test_nothing_waits_for_ever() -> None:
    """A wait that is in vain says what had come: by time-out, or at once when the peer has ended."""
    script = [Send(b"half a rep"), Await(1), Close()]
    async with Upstream(script) as up, await Caller.connect(up.port) as caller:
        with pytest.raises(TimeoutError, match=r"a whole message.*half a rep.* within 0.1 s"):
            await caller.read_message(within=0.1)
        await caller.send(b"x")
        with pytest.raises(EndedError, match=r"20 bytes.*half a rep.*peer's fin"):
            await caller.read_exactly(20)


async def test_a_fault_of_the_script_fails_the_test() -> None:
    """An error in a call is raised where the block ends."""

    def wrong(_: object) -> None:
        raise ValueError("wrong request")

    up = Upstream([Await(1), Call(wrong)])
    await up.__aenter__()
    async with await Caller.connect(up.port) as caller:
        await caller.send(b"x")
        await (await up.connection(0)).script_over.wait()

    with pytest.raises(ValueError, match="wrong request"):
        await up.__aexit__(None)


async def test_a_peer_that_goes_is_no_fault_of_the_script() -> None:
    """A script whose peer left stops, keeps why, and the block ends well."""
    async with Upstream([Await(5), Send(b"never")]) as up:
        async with await Caller.connect(up.port) as caller:
            await caller.send(b"abc")
        connection = await up.connection(0)
        await connection.script_over.wait()

        assert isinstance(connection.fault, EndedError)
        assert connection.steps_done == 0
        assert connection.received == b"abc"


@pytest.mark.parametrize("last", [Close(), Fin(), Reset()], ids=repr)
async def test_tls_carries_the_same_scripts(tmp_path, last) -> None:
    """Over TLS the same steps work, h2 is refused by not being offered, and endings are told."""
    certificate = self_signed(tmp_path)
    much = random.Random(2).randbytes(300_000)
    script = [Await(), Send(much), Call(lambda c: c.read_until(b"!")), last]
    async with (
        Upstream(script, tls=certificate) as up,
        await Caller.connect(up.port, tls=certificate.client()) as caller,
    ):
        await caller.send(request(b"{}"), piece=7)
        assert await caller.read_exactly(len(much)) == much
        await caller.send(b"!")

        assert await caller.wait_end() == ("reset" if last == Reset() else "fin")
        connection = await up.connection(0)
        assert connection.received == request(b"{}") + b"!"
        assert connection.alpn is None
        assert up.url == f"https://127.0.0.1:{up.port}"


async def test_tls_shows_a_client_that_offers_h2(tmp_path) -> None:
    """A client that offers h2 gets it, so that a test can see the offer."""
    certificate = self_signed(tmp_path)
    client = certificate.client()
    client.set_alpn_protocols(["h2", "http/1.1"])
    async with (
        Upstream([Hang()], tls=certificate) as up,
        await Caller.connect(up.port, tls=client),
    ):
        assert (await up.connection(0)).alpn == "h2"


async def test_ipv6_is_served_too() -> None:
    """An upstream on ::1 has a bracketed authority."""
    async with Upstream([Send(b"6"), Close()], host="::1") as up:
        async with await Caller.connect(up.port, "::1") as caller:
            assert await caller.read_all() == b"6"
        assert up.authority == f"[::1]:{up.port}"


async def test_refusing_and_silent_ports_do_as_they_are_named() -> None:
    """One refuses at once, the other never answers."""
    with refusing_port() as port, pytest.raises(ConnectionRefusedError):
        await Caller.connect(port)
    with silent_port() as port, pytest.raises(TimeoutError):
        await Caller.connect(port, within=0.3)
