"""Connections that break, processes that die or hang, descriptors that run out."""

from __future__ import annotations

import asyncio
import math
import os
import resource
import signal
import time
from typing import TYPE_CHECKING, Final

from soak import processes
from soak.caller import Caller, Verdict
from soak.program import Setup, eventually
from soak.scenario import Scenario
from soak.wish import Wish

if TYPE_CHECKING:
    from soak.stage import Outcome, Stage

_EVERY_S: Final = 5.0
_UNTOLD_S: Final = 0.03
"""How long an exchange may be over before the recorder hears of it: a flush of 20 ms, and a loaded loop."""
_FEW: Final = 128
"""File descriptors: with two for each caller and 32 pairs in reserve, room for 32 callers."""
_ROOM: Final = 32
_TURNED_AWAY: Final = "turnscope_turned_away_total"


async def _mixed(stage: Stage, seconds: float, streams: int = 24) -> None:
    """Short requests and streams of a few hundred milliseconds, at the same time."""

    async def some() -> None:
        await stage.once(Wish(events=stage.chance.randint(5, 60), gap_ms=10))
        await stage.once(Wish())

    await stage.repeat(seconds, streams, some)


async def _resets(stage: Stage, seconds: float) -> None:
    async def one() -> None:
        side = stage.chance.choice(("caller", "upstream", "neither"))
        events = stage.chance.randint(2, 40)
        if side == "upstream":
            wish = Wish(events=events, gap_ms=5, reset_after=stage.chance.randint(1, events))
            answer = await stage.once(wish)
            whole = answer.verdict is Verdict.whole
            stage.expect(not whole, "a reply that the upstream broke off looked whole")
        elif side == "caller":
            await _reset_by_caller(stage, Wish(events=events, gap_ms=5))
        else:
            answer = await stage.once(Wish(events=events, gap_ms=5))
            stage.expect(answer.verdict is Verdict.whole, "a stream that nobody reset was broken")

    await stage.repeat(seconds, 48, one)


async def _reset_by_caller(stage: Stage, wish: Wish) -> None:
    async with stage.caller() as caller:
        asking = asyncio.ensure_future(stage.ask(caller, wish))
        await asyncio.sleep(stage.chance.random() * 0.15)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        caller.reset()


async def _recorder_killed(stage: Stage, seconds: float) -> None:
    async def kill() -> None:
        while True:
            await asyncio.sleep(min(_EVERY_S, seconds / 3))
            if recorder := stage.program.recorder:
                os.kill(recorder, signal.SIGKILL)

    async with stage.beside(kill()):
        await _mixed(stage, seconds)
    await eventually(lambda: stage.program.recorder, "no new recorder came", 20)


async def _recorder_stopped(stage: Stage, seconds: float) -> None:
    recorder = stage.program.recorder
    start_mb = processes.figures(stage.program.relays).rss_mb
    os.kill(recorder, signal.SIGSTOP)
    try:
        await _mixed(stage, seconds * 0.6, streams=48)
        held = processes.figures(stage.program.relays).rss_mb - start_mb
    finally:
        os.kill(recorder, signal.SIGCONT)
    stage.expect(held < 48, f"the relay held {held:.0f} MB more for a recorder that hung")
    await _mixed(stage, seconds * 0.4, streams=4)


def _pause_s(seconds: float) -> float:
    return min(_EVERY_S, seconds / 3)


async def _worker_killed(stage: Stage, seconds: float) -> None:
    async def kill() -> None:
        while True:
            before = stage.tally.total()
            await asyncio.sleep(_pause_s(seconds))
            a_second = (stage.tally.total() - before) / _pause_s(seconds)
            for worker in processes.workers(stage.program.pid):
                stage.untold += math.ceil(a_second * _UNTOLD_S)
                os.kill(worker, signal.SIGKILL)

    async with stage.beside(kill()):
        await _mixed(stage, seconds)
    await eventually(
        lambda: processes.workers(stage.program.pid), "a worker was not started again", 20
    )


def _others_went_on(outcome: Outcome) -> None:
    """A worker that dies ends its own connections: some break, and by far not all."""
    stage, tally = outcome.stage, outcome.stage.tally
    asked = tally.total()
    stage.notes.append(f"{tally[Verdict.broken]} of {asked} broken")
    stage.expect(tally[Verdict.broken] * 3 < asked, "most connections broke, not a worker's alone")
    killed = sum(record.outcome == "proxy_killed" for record in outcome.journal.records)
    short = asked - outcome.account.known
    stage.notes.append(
        f"{killed} sealed as proxy_killed, {short} unheard, {stage.untold} may be untold"
    )
    # What never left the dead worker, or never reached it, was broken for its caller as well; but for what was
    # whole and not told yet.
    fits = 0 <= short <= tally[Verdict.broken] - killed + outcome.account.lost + stage.untold
    stage.expect(fits, f"{asked} asked, {outcome.account.known} known: not what the deaths explain")


async def _descriptors(stage: Stage, seconds: float) -> None:
    deadline = time.perf_counter() + seconds
    while True:
        await _crowd(stage)
        if time.perf_counter() > deadline - 1:
            break
    await _no_descriptors_left(stage)


async def _crowd(stage: Stage) -> None:
    """Twice as many as fit: so many are served, the others are turned away; afterwards there is room."""
    wish = Wish(events=20, gap_ms=20)
    before = await stage.program.counted(_TURNED_AWAY)
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(stage.once(wish)) for _ in range(2 * _ROOM)]
    whole = sum(task.result().verdict is Verdict.whole for task in asked)
    turned_away = await stage.program.counted(_TURNED_AWAY) - before
    stage.expect(whole >= _ROOM - 2, f"{whole} callers were served, and there is room for {_ROOM}")
    counted = whole + turned_away == len(asked)
    stage.expect(counted, f"{whole} served, {turned_away} counted as turned away: not {len(asked)}")
    stage.expect(await _served(stage), "behind the crowd nobody is served")


async def _no_descriptors_left(stage: Stage) -> None:
    """The limit falls while callers are there: what they ask then is refused, and later it is served."""
    callers: list[Caller] = []
    try:
        for _ in range(8):
            callers.append(stage.caller())
            await callers[-1].__aenter__()
        await asyncio.sleep(0.2)
        used = processes.figures([stage.program.pid]).descriptors
        _allow(stage.program.pid, used)
        answers = [await stage.ask(caller, Wish()) for caller in callers]
        refused = all(answer.verdict is Verdict.refused for answer in answers)
        stage.expect(refused, "without a descriptor for the upstream a caller is not told 502")
    finally:
        _allow(stage.program.pid, _FEW)
        for caller in callers:
            caller.close()
    stage.expect(await _served(stage), "with descriptors again nobody is served")


async def _served(stage: Stage) -> bool:
    """Whether a caller is served soon: the program may not have seen yet that the others are gone."""
    for _ in range(20):
        if (await stage.once(Wish())).verdict is Verdict.whole:
            return True
        await asyncio.sleep(0.2)
    return False


def _allow(pid: int, descriptors: int) -> None:
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (descriptors, _FEW))


BREAKING: Final = (
    Scenario("resets", "random resets on either side", _resets, breaks=True),
    Scenario(
        "recorder-killed",
        "the recorder is killed each 5 s",
        _recorder_killed,
        loses=True,
        relay_growth_mb=32,
    ),
    Scenario(
        "recorder-hangs",
        "the recorder is stopped, and goes on later",
        _recorder_stopped,
        loses=True,
        setup=lambda _: Setup("[recorder]\nqueue_bytes = 1048576\n"),
    ),
    Scenario(
        "workers-killed",
        "one of two relay processes is killed each 5 s",
        _worker_killed,
        breaks=True,
        loses=True,
        kills_relays=True,
        setup=lambda _: Setup("[relay]\nworkers = 2\n"),
        check=_others_went_on,
    ),
    Scenario(
        "descriptors",
        "more callers than file descriptors",
        _descriptors,
        seconds=15,
        breaks=True,
        setup=lambda _: Setup(descriptors=_FEW),
    ),
)
