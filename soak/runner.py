"""One scenario from its start to its verdict.

One rule: what is compared is the idle program after a warm-up with the idle program at the end. What was
needed once stays in a process; what grows with each exchange shows.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from demo.child import ChildError

from . import processes
from .account import account
from .caller import Verdict
from .program import running
from .stage import Outcome, SkippedError, Stage
from .wish import Wish

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .processes import Figures
    from .program import Program
    from .scenario import Scenario

WARM_UP: Final = 0.25
"""Of a scenario's time; the other part is what it is judged by."""

_MORE_DESCRIPTORS: Final = 2
_MORE_THREADS: Final = 8
"""Deaths of children are waited for in threads that stay: asyncio keeps at most 4 more than processors."""


@dataclass(frozen=True, slots=True)
class Level:
    """What the idle program holds."""

    relay: Figures
    recorder: Figures


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a scenario."""

    name: str
    seconds: float = 0.0
    exchanges: int = 0
    records: int = 0
    lost: int = 0
    megabytes: float = 0.0
    """Through the proxy, both ways."""
    before: Level | None = None
    after: Level | None = None
    peak_relay_mb: float = 0.0
    peak_recorder_mb: float = 0.0
    faults: Sequence[str] = ()
    notes: Sequence[str] = ()
    skipped: str = ""
    """Why it could not be run here; empty if it was."""

    @property
    def verdict(self) -> str:
        """One word."""
        if self.skipped:
            return "skipped"
        return "FAULT" if self.faults else "fine"


async def run(scenario: Scenario, upstream: int, seconds: float, seed: int) -> Result:
    """Run it with that much time, in a folder of its own that is removed. Never raises for a fault."""
    begun = time.perf_counter()
    with TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name)
        try:
            with contextlib.nullcontext() if scenario.around is None else scenario.around(folder):
                setup = scenario.setup(folder)
                async with running(upstream, folder, setup) as program:
                    stage = Stage(program, upstream, Random(seed))  # noqa: S311  chance that repeats
                    levels, exchanges = await _perform(scenario, stage, seconds)
        except SkippedError as why:
            return Result(scenario.name, skipped=str(why))
        except (ChildError, OSError) as fault:
            return Result(scenario.name, time.perf_counter() - begun, faults=[str(fault)])
        return _judged(scenario, stage, levels, exchanges, time.perf_counter() - begun)


async def _perform(
    scenario: Scenario, stage: Stage, seconds: float
) -> tuple[tuple[Level, Level], int]:
    program = stage.program
    async with stage.beside(stage.watch()):
        await stage.once(Wish())
        await program.settle()
        idle = processes.figures(program.relays).descriptors
        await scenario.run(stage, seconds * WARM_UP)
        before = await _level(program, idle)
        await scenario.run(stage, seconds * (1 - WARM_UP))
        after = await _level(program, idle)
        answer = await stage.once(Wish())
        stage.expect(answer.verdict is Verdict.whole, "at the end a plain request is not served")
    stopped = await program.stop()
    return (before, after), int(stopped["exchanges"])


async def _level(program: Program, idle_descriptors: int) -> Level:
    await program.settle(idle_descriptors + _MORE_DESCRIPTORS)
    return Level(processes.figures(program.relays), processes.figures([program.recorder]))


def _judged(
    scenario: Scenario,
    stage: Stage,
    levels: tuple[Level, Level],
    exchanges: int,
    seconds: float,
) -> Result:
    known, journal = account(stage.program.journal)
    scenario.check(Outcome(stage, known, journal, exchanges))
    before, after = levels
    _judge_growth(scenario, stage, before, after)
    _judge_bytes(scenario, stage)
    if not scenario.kills_relays:
        missing = exchanges - known.known
        stage.expect(not missing, f"{missing} of {exchanges} exchanges are not accounted for")
    stage.expect(scenario.loses or not known.lost, f"{known.lost} records are lost without a cause")
    stage.expect(not known.missing, f"{known.missing} numbers are missing between others")
    stage.expect(not (trace := stage.program.tracebacks), trace)
    stage.expect(not known.wrong, "; ".join(known.wrong[:3]))
    return Result(
        name=scenario.name,
        seconds=seconds,
        exchanges=stage.tally.total() if scenario.kills_relays else exchanges,
        records=known.records,
        lost=known.lost,
        megabytes=stage.passed_bytes / 1e6,
        before=before,
        after=after,
        peak_relay_mb=stage.peaks.relay_mb,
        peak_recorder_mb=stage.peaks.recorder_mb,
        faults=stage.faults,
        notes=stage.notes,
    )


def _judge_growth(scenario: Scenario, stage: Stage, before: Level, after: Level) -> None:
    pairs = (
        ("relay", before.relay, after.relay, scenario.relay_growth_mb),
        ("recorder", before.recorder, after.recorder, scenario.recorder_growth_mb),
    )
    for name, first, last, most_mb in pairs:
        grown = last.rss_mb - first.rss_mb
        stage.expect(grown <= most_mb, f"the {name} grew by {grown:.0f} MB, {most_mb:.0f} allowed")
        more = last.descriptors - first.descriptors
        stage.expect(more <= _MORE_DESCRIPTORS, f"the {name} has {more} descriptors more")
        more = last.threads - first.threads
        stage.expect(more <= _MORE_THREADS, f"the {name} has {more} threads more")


def _judge_bytes(scenario: Scenario, stage: Stage) -> None:
    tally = stage.tally
    stage.expect(
        not tally[Verdict.wrong], f"{tally[Verdict.wrong]} replies or requests were altered"
    )
    stage.expect(not tally[Verdict.late], f"{tally[Verdict.late]} exchanges never ended")
    broken = tally[Verdict.broken] + tally[Verdict.refused]
    stage.expect(scenario.breaks or not broken, f"{broken} exchanges broke, and nothing broke them")
