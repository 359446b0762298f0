"""What a scenario has: the program, its upstream, time, chance, and a tally of what callers saw.

One rule: a scenario makes load and faults, and says what it expects beyond the rules for all of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from . import processes
from .caller import FAST, Answer, Caller, Verdict
from .wish import Wish, chat, request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
    from random import Random

    from analysis.store.base import Journal

    from .account import Account
    from .caller import Pace
    from .program import Program

_LOOK_S: Final = 0.2


class SkippedError(Exception):
    """This machine cannot do it: the message says why."""


@dataclass(slots=True)
class Peaks:
    """The largest that was seen."""

    relay_mb: float = 0.0
    recorder_mb: float = 0.0


@dataclass(slots=True)
class Stage:
    """One run of one scenario."""

    program: Program
    upstream: int
    chance: Random
    tally: Counter[Verdict] = field(default_factory=Counter)
    passed_bytes: int = 0
    faults: list[str] = field(default_factory=list)
    peaks: Peaks = field(default_factory=Peaks)
    untold: int = 0
    """Exchanges that processes which were killed may have had whole and not told yet, at most."""
    notes: list[str] = field(default_factory=list)
    """Figures of this scenario alone, for the table's last column."""

    def expect(self, ok: object, otherwise: str) -> None:
        """Note a fault unless it is so."""
        if not ok and otherwise not in self.faults:
            self.faults.append(otherwise)

    def caller(self, receive_buffer: int = 0) -> Caller:
        """A new connection, opened as the block begins."""
        return Caller(self.program.port, receive_buffer)

    def request(self, wish: Wish, body: bytes | None = None) -> bytes:
        """A chat request with that wish."""
        body = chat(f"Question {self.chance.random()}?") if body is None else body
        return request(wish, f"127.0.0.1:{self.upstream}", body)

    async def ask(self, caller: Caller, wish: Wish, pace: Pace = FAST) -> Answer:
        """One exchange on that connection, counted."""
        return await self.send(caller, [self.request(wish)], pace)

    async def send(self, caller: Caller, pieces: Iterable[bytes], pace: Pace = FAST) -> Answer:
        """One exchange with a request of one's own making, counted."""
        answer = await caller.ask(pieces, pace)
        self.count(answer)
        return answer

    def count(self, answer: Answer) -> None:
        """Take it into the tally."""
        self.tally[answer.verdict] += 1
        self.passed_bytes += answer.bytes

    async def once(self, wish: Wish) -> Answer:
        """One exchange on a connection of its own. One that cannot be made is a broken one."""
        try:
            async with self.caller() as caller:
                return await self.ask(caller, wish)
        except OSError:
            answer = Answer(Verdict.broken, 0)
            self.count(answer)
            return answer

    async def repeat(self, seconds: float, count: int, do: Callable[[], Awaitable[object]]) -> None:
        """Do it over and over in `count` tasks, until time is up."""
        deadline = time.perf_counter() + seconds

        async def again() -> None:
            while time.perf_counter() < deadline:
                await do()

        async with asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(again())

    @contextlib.asynccontextmanager
    async def beside(self, work: Awaitable[None]) -> AsyncIterator[None]:
        """Something that goes on while the block runs, and is ended with it."""
        task = asyncio.ensure_future(work)
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def watch(self) -> None:
        """Look at the memory of all processes for ever."""
        while True:
            relay = processes.figures(self.program.relays).rss_mb
            recorder = processes.figures([self.program.recorder]).rss_mb
            self.peaks.relay_mb = max(self.peaks.relay_mb, relay)
            self.peaks.recorder_mb = max(self.peaks.recorder_mb, recorder)
            await asyncio.sleep(_LOOK_S)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a scenario's own check may look at, when the program has ended."""

    stage: Stage
    account: Account
    journal: Journal
    exchanges: int
    """By the program's own count."""
