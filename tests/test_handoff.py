"""The hot side of the pipe: batched, bounded, never blocking, and honest about what is missing."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

import pytest

from proxy.handoff import Handoff
from proxy.lost import MOST_NAMED, Lost
from proxy.wire.exchange import Ending, Opening, Outcome
from proxy.wire.frame import ACK, Frame, FrameReader, Kind, LostBy, Mark

if TYPE_CHECKING:
    from collections.abc import Iterator

CONNECTION = Opening(0, 1, "127.0.0.1:1", "home", "http://127.0.0.1:2", "127.0.0.1:3")
COMPLETE = Ending(Outcome.complete)


class Pipe:
    """A hand-off and the recorder's end of its pipe."""

    def __init__(self, queue_bytes: int = 2**26, retain_bytes: int = 2**26) -> None:
        self.lags = 0
        self.tap = Handoff(queue_bytes, retain_bytes, lambda at: at + 1000, self._lag)
        self._reader = FrameReader()
        self.connect()

    def _lag(self) -> None:
        self.lags += 1

    def connect(self) -> None:
        """A new recorder."""
        ours, self.theirs = socket.socketpair()
        for sock in (ours, self.theirs):
            sock.settimeout(0)
        self.ours = ours
        self.tap.attach(ours)

    def cut(self) -> int:
        """The recorder dies; how many exchanges it takes with it."""
        lost = self.tap.detach()
        self.ours.close()
        self.theirs.close()
        return lost

    def close(self) -> None:
        """Both ends."""
        self.cut()

    def read(self) -> list[Frame]:
        """All frames that are in the pipe by now."""
        frames: list[Frame] = []
        while True:
            try:
                data = self.theirs.recv(1 << 20)
            except BlockingIOError:
                return frames
            frames += self._reader.feed(data)


@pytest.fixture
async def pipe() -> Iterator[Pipe]:
    """With plenty of room."""
    made = Pipe()
    yield made
    made.close()


async def test_an_exchange_is_its_frames_in_order(pipe: Pipe):
    """Numbered from 1, opened with its wall time, ended with its last word."""
    flow = pipe.tap.open(CONNECTION, 10)
    pipe.tap.put(Kind.REQUEST, flow.number, 10, b"ask")
    pipe.tap.put(Kind.REPLY, flow.number, 20, b"answer")
    pipe.tap.end(flow, COMPLETE, 30)
    pipe.tap.flush()

    frames = pipe.read()
    kinds = [(frame.kind, frame.exchange, frame.at_ns, frame.data) for frame in frames[1:3]]
    assert [(Kind.REQUEST, 1, 10, b"ask"), (Kind.REPLY, 1, 20, b"answer")] == kinds
    assert 1010 == Opening.decode(frames[0].data).at_unix_ns
    assert COMPLETE == Ending.decode(frames[3].data)


async def test_frames_leave_within_a_few_milliseconds(pipe: Pipe):
    """A killed proxy loses at most that much."""
    flow = pipe.tap.open(CONNECTION, 10)
    pipe.tap.put(Kind.REPLY, flow.number, 20, b"answer")
    assert [] == pipe.read()
    await asyncio.sleep(0.03)

    assert [Kind.OPEN, Kind.REPLY] == [frame.kind for frame in pipe.read()]


async def test_a_full_pipe_is_finished_later_and_in_order(pipe: Pipe):
    """`sendmsg` takes part of a piece; the rest follows, byte for byte."""
    flow = pipe.tap.open(CONNECTION, 0)
    pieces = [bytes([n % 256]) * 10_000 for n in range(300)]
    for at, piece in enumerate(pieces):
        pipe.tap.put(Kind.REPLY, flow.number, at, piece)
    pipe.tap.end(flow, COMPLETE, 1000)

    frames: list[Frame] = []
    async with asyncio.timeout(5):
        while not frames or frames[-1].kind is not Kind.END:
            frames += pipe.read()
            await asyncio.sleep(0.001)
    assert pieces == [frame.data for frame in frames if frame.kind is Kind.REPLY]
    assert 0 == pipe.tap.left_out_bytes


async def test_a_recorder_that_does_not_read_costs_content_and_nothing_else():
    """Requests go first, replies last, nothing of a direction comes behind its first gap."""
    pipe = Pipe(queue_bytes=1_000_000)
    flow = pipe.tap.open(CONNECTION, 0)
    for at in range(200):
        pipe.tap.put(Kind.REPLY, flow.number, at, b"r" * 20_000)
        pipe.tap.put(Kind.REQUEST, flow.number, at, b"q" * 1000)
    frames: list[Frame] = []
    while more := pipe.read():
        frames += more
        await asyncio.sleep(0.002)
    pipe.tap.put(Kind.REPLY, flow.number, 999, b"late")
    pipe.tap.end(flow, COMPLETE, 1000)
    pipe.tap.flush()
    frames += pipe.read()
    pipe.close()

    replies = [frame for frame in frames if frame.kind is Kind.REPLY]
    requests = [frame for frame in frames if frame.kind is Kind.REQUEST]
    assert [20_000] * 200 + [4] == [frame.length for frame in replies]
    for direction in (replies, requests):
        gone = [frame.left_out for frame in direction]
        assert gone == sorted(gone), "content stood behind a gap"
        assert any(gone)
        assert not all(gone)
    assert sum(f.left_out for f in requests) > sum(f.left_out for f in replies)
    assert Kind.END == frames[-1].kind
    assert 1 == pipe.lags
    assert pipe.tap.left_out_bytes == sum(f.length for f in frames if f.left_out)


async def test_one_request_that_is_too_long_is_not_kept():
    """The bound of one exchange is applied here, before the pipe."""
    pipe = Pipe(retain_bytes=100)
    flow = pipe.tap.open(CONNECTION, 0)
    for at in range(3):
        flow.request_bytes += 80
        pipe.tap.put(Kind.REQUEST, flow.number, at, b"q" * 80)
    pipe.tap.flush()

    assert [False, True, True] == [f.left_out for f in pipe.read() if f.kind is Kind.REQUEST]
    assert 0 == pipe.lags
    pipe.close()


async def test_a_new_recorder_is_told_what_runs_and_what_is_lost(pipe: Pipe):
    """Ended and not acknowledged is lost; still open goes on."""
    written, lost, running = (pipe.tap.open(CONNECTION, at) for at in (1, 2, 3))
    pipe.tap.end(written, COMPLETE, 10)
    pipe.tap.acknowledged([written.number])
    pipe.tap.end(lost, COMPLETE, 11)
    running.request_bytes, running.reply_bytes = 70, 700
    assert 1 == pipe.cut()
    pipe.tap.put(Kind.REPLY, running.number, 12, b"meanwhile")
    pipe.connect()

    said_lost, resumed, meanwhile = pipe.read()
    assert (Kind.LOST, ACK.pack(lost.number)) == (said_lost.kind, said_lost.data)
    assert (Kind.RESUME, running.number, 3) == (resumed.kind, resumed.exchange, resumed.at_ns)
    opening = Opening.decode(resumed.data)
    assert (70, 700) == (opening.request_bytes, opening.reply_bytes)
    assert (Kind.REPLY, b"meanwhile") == (meanwhile.kind, meanwhile.data)


async def test_losses_are_told_until_they_are_written(pipe: Pipe):
    """A second recorder that dies at once does not make them forgotten."""
    flow = pipe.tap.open(CONNECTION, 1)
    pipe.tap.end(flow, COMPLETE, 2)
    for _ in range(2):
        pipe.cut()
        pipe.connect()
    assert {1} == pipe.tap.lost
    pipe.tap.acknowledged([0])

    assert set() == pipe.tap.lost
    assert 1 == pipe.tap.lost_in_all
    assert pipe.tap.drained


async def test_an_exchange_between_two_recorders_is_not_lost(pipe: Pipe):
    """Its frames wait for the next one, within the bound for all that waits."""
    pipe.cut()
    flow = pipe.tap.open(CONNECTION, 1)
    pipe.tap.put(Kind.REQUEST, flow.number, 1, b"ask")
    pipe.tap.end(flow, COMPLETE, 2)
    assert not pipe.tap.drained
    pipe.connect()

    assert [Kind.OPEN, Kind.REQUEST, Kind.END] == [frame.kind for frame in pipe.read()]
    assert (set(), 0) == (pipe.tap.lost, pipe.tap.lost_in_all)


async def test_without_a_recorder_memory_is_bounded_and_what_has_no_room_is_counted(pipe: Pipe):
    """Pieces beyond the bound are told as one, exchanges beyond it not at all; none is forgotten."""
    bound = 200_000
    tap = Handoff(bound, 2**26, lambda at: at)
    stream = tap.open(CONNECTION, 0)
    for at in range(50_000):
        stream.reply_bytes += 10
        tap.put(Kind.REPLY, stream.number, at, b"r" * 10)
    for at in range(5000):
        tap.end(tap.open(CONNECTION, at), COMPLETE, at)
    running = tap.open(CONNECTION, 7)
    tap.put(Kind.MARK, stream.number, 60_000, b"", Mark.REPLY_END)
    tap.end(stream, COMPLETE, 60_000)
    assert bound < tap.queued_bytes < bound + 1000
    assert 5000 == tap.lost_in_all

    pipe.cut()
    pipe.tap = tap
    pipe.connect()
    frames: list[Frame] = []
    async with asyncio.timeout(5):
        while not frames or frames[-1].kind is not Kind.RESUME:
            frames += pipe.read()
            await asyncio.sleep(0.001)
    assert 500_000 == sum(frame.length for frame in frames if frame.kind is Kind.REPLY)
    told = {frame.exchange for frame in frames if frame.kind in (Kind.OPEN, Kind.RESUME)}
    (lost,) = (frame for frame in frames if frame.kind is Kind.LOST)
    assert (LostBy.recorder_lagged, 5000) == (lost.code, len(lost.data) // ACK.size)
    assert {stream.number, running.number} == told
    end = [frame.kind for frame in frames if frame.exchange == stream.number][-3:]
    assert [Kind.REPLY, Kind.MARK, Kind.END] == end, "a mark must stand behind the bytes before it"


def test_losses_of_two_kinds_are_acknowledged_one_by_one():
    """What is lost while a list is being written is not taken for written with it."""
    lost = Lost()
    lost.add(LostBy.recorder_died, [1, 2])
    assert [(LostBy.recorder_died, ACK.pack(1) + ACK.pack(2))] == list(lost.tell())
    lost.add(LostBy.recorder_lagged, [3])
    lost.written()
    assert {3} == lost.numbers
    assert [(LostBy.recorder_lagged, ACK.pack(3))] == list(lost.tell())
    lost.recorder_died()
    assert not lost.named
    assert [(LostBy.recorder_lagged, ACK.pack(3))] == list(lost.tell())
    lost.written()

    assert lost.named
    assert 3 == lost.in_all


def test_numbers_that_are_named_are_bounded():
    """Beyond it they are counted, and show as gaps."""
    lost = Lost()
    lost.add(LostBy.recorder_died, range(1, MOST_NAMED + 500))

    assert MOST_NAMED == len(lost.numbers)
    assert MOST_NAMED + 499 == lost.in_all
