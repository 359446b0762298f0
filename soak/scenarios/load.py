"""Load without a fault: streams, bodies, events and requests in numbers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from soak.caller import Pace
from soak.scenario import Scenario
from soak.wish import Wish, head

if TYPE_CHECKING:
    from collections.abc import Iterator

    from soak.stage import Outcome, Stage

_BOUNDED_MB: Final = 96.0
"""What a relay may hold beyond its start, whatever waits on either side of it."""
_RETAINED_MB: Final = 400.0
"""What a recorder may hold: some requests of 64 MiB that are kept to be read, and their text."""
_STALLING_BYTES: Final = 10_000_000
_PIECE: Final = bytes(range(256)) * 4096


async def _paced(stage: Stage, seconds: float) -> None:
    wish = Wish(events=int(seconds * 1000 / 20), gap_ms=20)
    await _streams(stage, 64, wish)


async def _slow(stage: Stage, seconds: float) -> None:
    wish = Wish(events=max(2, int(seconds)), gap_ms=1000)
    await _streams(stage, 1000, wish)


async def _streams(stage: Stage, count: int, wish: Wish) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(stage.once(wish))
            await asyncio.sleep(0.001)


async def _slow_readers(stage: Stage, seconds: float) -> None:
    """Each has more to read than the kernel's buffers hold, which are 4 MB a socket at the most."""
    size = max(_STALLING_BYTES, int(seconds * 500_000))
    pace = Pace(read_bytes=64 * 1024, pause_s=seconds * 64 * 1024 / size)
    wish = Wish(events=size // 50_000, size=50_000)

    async def one() -> None:
        async with stage.caller(receive_buffer=64 * 1024) as caller:
            await stage.ask(caller, wish, pace)

    start = stage.peaks.relay_mb
    async with asyncio.TaskGroup() as group:
        for _ in range(16):
            group.create_task(one())
    grown = stage.peaks.relay_mb - start
    stage.expect(grown < _BOUNDED_MB, f"the relay held {grown:.0f} MB more for slow readers")


def _stalls(outcome: Outcome) -> None:
    stalled = [r.stall_ns for r in outcome.journal.records if r.reply_bytes > 1_000_000]
    least = min(stalled, default=0) / 1e9
    outcome.stage.notes.append(f"least stall {least:.1f} s")
    outcome.stage.expect(least > 0, "a caller that read slowly has no stall in its record")


async def _upload(stage: Stage, seconds: float) -> None:
    pieces = max(1, int(seconds * 25))
    await _send_upload(stage, pieces)
    peaks = stage.peaks
    stage.expect(peaks.relay_mb < 200, f"the relay held {peaks.relay_mb:.0f} MB in an upload")
    held = f"the recorder held {peaks.recorder_mb:.0f} MB in an upload"
    stage.expect(peaks.recorder_mb < _RETAINED_MB, held)


async def _send_upload(stage: Stage, pieces: int) -> None:
    start = head(Wish(), f"127.0.0.1:{stage.upstream}", pieces * len(_PIECE), "/v1/files")

    def parts() -> Iterator[bytes]:
        yield start
        for _ in range(pieces):
            yield _PIECE

    async with stage.caller() as caller:
        await stage.send(caller, parts())


async def _large_events(stage: Stage, seconds: float) -> None:
    wish = Wish(events=3, size=10_000_000)
    await stage.repeat(seconds, 2, lambda: stage.once(wish))


async def _short(stage: Stage, seconds: float) -> None:
    """Half of them on connections that are kept, half on fresh ones."""
    count = int(seconds * 250)

    async def kept() -> None:
        async with stage.caller() as caller:
            for _ in range(count // 32):
                await stage.ask(caller, Wish())

    async def fresh() -> None:
        for _ in range(count // 32):
            await stage.once(Wish())

    async with asyncio.TaskGroup() as group:
        for _ in range(16):
            group.create_task(kept())
            group.create_task(fresh())


LOAD: Final = (
    Scenario("paced", "64 streams of an event each 20 ms", _paced),
    Scenario("slow-streams", "1,000 streams of an event a second", _slow),
    Scenario(
        "slow-readers",
        "callers that read slowly",
        _slow_readers,
        check=_stalls,
        recorder_growth_mb=_RETAINED_MB,
    ),
    Scenario("upload", "a body of 1 GB", _upload, recorder_growth_mb=_RETAINED_MB),
    Scenario("large-events", "events of 10 MB", _large_events, recorder_growth_mb=_RETAINED_MB),
    Scenario("short", "10,000 short requests, kept and fresh connections", _short),
)
