"""How fast the turns of a journal are together, and what would make them faster.

One rule: what must be exact comes from tallies over all exchanges, or is not said of a sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .speeds import aggregate
from .turn_times import Known, turn_times
from .whatif import median_ceiling, switched, what_ifs
from .working_point import working_point

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.store.base import Journal
    from analysis.store.recorded import Record

    from .asked import Asked
    from .segment import Budget
    from .speeds import Aggregate
    from .turns import Turn
    from .whatif import Switched, WhatIf
    from .working_point import WorkingPoint


@dataclass(frozen=True, slots=True)
class Outlook:
    """How fast the turns are together, and what would make them faster."""

    turns: int
    what_ifs: tuple[WhatIf, ...]
    """Empty without a turn."""
    ceiling: float | None
    """Median over the turns of (F + D) / F; None without a turn whose decode time is known."""
    switched: Switched | None
    """None when no switch was named, or without a turn."""
    working_point: WorkingPoint | None
    """None without a request that asked a model."""
    aggregate: Aggregate | None
    """None without an answer whose tokens were counted, or when records are a sample of them."""


def outlook(
    journal: Journal,
    turns: Sequence[tuple[Turn, Sequence[Budget]]],
    answers: Sequence[Record],
    known: Known,
    asked: Asked,
) -> Outlook:
    """Of a journal's turns with the budgets of their exchanges, and of its answers one by one."""
    times = [turn_times(turn, known, budgets) for turn, budgets in turns]
    return Outlook(
        turns=len(times),
        what_ifs=what_ifs(times) if times else (),
        ceiling=median_ceiling(times),
        switched=switched(times, asked.switch) if asked.switch and times else None,
        working_point=working_point(
            asked.working_point,
            journal.gauges,
            journal.records,
            None if journal.tallies is None else journal.tallies.in_flight,
        ),
        # The wall clock of a sample is that of all, its tokens are not.
        aggregate=aggregate(answers) if journal.sampling is None else None,
    )
