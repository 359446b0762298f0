"""All that one report says of a journal, as values.

One rule: everything that is printed stands here first, so text and JSON cannot say different things.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .brief import brief
from .budget import budget, summed
from .census import census
from .prefill import engine, prefill_costs
from .prefix import prefix
from .speeds import speeds
from .speedup import ceiling, whole_turn
from .tools import tools
from .turns import median_turn, standing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from analysis.store.base import Journal
    from analysis.store.recorded import Record

    from .brief import Brief
    from .budget import Budget, Sum
    from .census import Census
    from .prefill import Cost, Engine
    from .prefix import Prefix
    from .speeds import Speed
    from .tools import Tools

LAST: Final = 10
"""Exchanges shown one by one."""

FASTER: Final = (1.5, 2.0, 3.0)
"""Engines, by how many times as fast they decode, that the median turn is put through."""

ALIKE: Final = 1.2
"""Longest wait over shortest: below this there is nothing to tell."""

NS_PER_S: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The median turn with an engine that decodes faster."""

    decode_speedup: float
    turn_speedup: float
    turn_ns: int


@dataclass(frozen=True, slots=True)
class MedianTurn:
    """The turn that stands for all: a real exchange, in the middle of those with a split."""

    among: int
    """Turns that it is the middle one of: those whose decoding took time that was seen or said, or
    all if there are none. The others have no split."""
    brief: Brief
    budget: Budget
    speeds: tuple[Speed, ...]
    faster: tuple[WhatIf, ...]
    """Empty when its decode time is not known."""
    ceiling: float | None
    """What a decode that costs nothing would bring; None when its decode time is not known, or
    when nothing but decode was seen."""


@dataclass(frozen=True, slots=True)
class Overview:
    """The whole report."""

    census: Census
    turns: int
    median: MedianTurn | None
    """None when there is no turn."""
    waits: tuple[Brief, Brief] | None
    """The turns that waited least and longest for their first token; None when they waited alike."""
    spent: Sum
    """Where the time of all turns went, whatever the median turn is."""
    costs: Mapping[Engine, Cost]
    """What a prompt token costs on each engine that was asked for output."""
    prefix: Prefix
    tools: Tools
    last: tuple[Brief, ...]
    """The last exchanges, oldest first."""


def overview(journal: Journal) -> Overview:
    """The report of a journal."""
    records = journal.records
    turns = [r for r in records if standing(r) == "turn"]
    costs = prefill_costs(r for r in records if r.kind != "not_generation")
    budgets = [budget(t, costs[engine(t)]) for t in turns]
    return Overview(
        census=census(journal),
        turns=len(turns),
        median=_median(turns, budgets),
        waits=_waits(turns),
        spent=summed(budgets),
        costs=costs,
        prefix=prefix(turns, costs),
        tools=tools(records, journal.tool_sets, costs),
        last=tuple(brief(r) for r in records[-LAST:]),
    )


def _median(turns: Sequence[Record], budgets: Sequence[Budget]) -> MedianTurn | None:
    """The median turn, None without turns.

    A turn without decode time can stand for no other: one client that does not stream would leave the
    report without a split although most turns have one.
    """
    spent_by = {turn.id: spent for turn, spent in zip(turns, budgets, strict=True)}
    split = [turn for turn in turns if spent_by[turn.id].decode_ns] or turns
    turn = median_turn(split)
    if turn is None:
        return None
    spent = spent_by[turn.id]
    faster, most = _faster(spent)
    return MedianTurn(len(split), brief(turn), spent, speeds(turn, turns), faster, most)


def _waits(turns: Sequence[Record]) -> tuple[Brief, Brief] | None:
    lines = [brief(turn) for turn in turns]
    waited = sorted(((w, n) for n, line in enumerate(lines) if (w := line.ttft_ns) is not None))
    if not waited or waited[-1][0] < ALIKE * waited[0][0]:
        return None
    return lines[waited[0][1]], lines[waited[-1][1]]


def _faster(spent: Budget) -> tuple[tuple[WhatIf, ...], float | None]:
    """What-ifs and ceiling: the journal is the slow side, the faster engine is to come."""
    if not spent.decode_ns or spent.fixed_ns is None:
        return (), None
    fixed_s, decode_s = spent.fixed_ns / NS_PER_S, spent.decode_ns / NS_PER_S
    gains = [(s, whole_turn(fixed_s, decode_s, s, measured="before")) for s in FASTER]
    what_ifs = tuple(WhatIf(s, gain, round(spent.whole_ns / gain)) for s, gain in gains)
    return what_ifs, ceiling(fixed_s, decode_s) if fixed_s else None
