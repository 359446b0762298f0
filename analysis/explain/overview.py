"""All that one report says of a journal, as values.

One rule: everything that is printed stands here first, so text and JSON cannot say different things.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from analysis.store.recorded import decode_ns

from .asked import Asked
from .brief import brief
from .budget import summed
from .census import census
from .findings.base import Seen
from .findings.found import findings
from .misses import misses
from .outlook import outlook
from .prefill import prefill_costs
from .prefix import prefix
from .prompt import Prompts
from .savings import savings
from .speeds import speeds, step
from .speedup import ceiling, whole_turn
from .steps import carried, step_costs
from .tools import tools
from .turn_budget import split, turn_budget
from .turn_times import Known
from .turns import median_turn, standing, threaded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from analysis.store.base import Journal
    from analysis.store.recorded import Record

    from .brief import Brief
    from .budget import Budget, Sum
    from .census import Census
    from .findings.base import Finding
    from .misses import Misses
    from .outlook import Outlook
    from .prefill import Cost, Engine
    from .prefix import Prefix
    from .savings import Savings
    from .source import Refusal
    from .speeds import Speed, Step
    from .steps import Carried, StepCost
    from .tools import Tools
    from .turns import Turn

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
    """The turn that stands for all: a real one, in the middle of those with a split."""

    among: int
    """Turns that it is the middle one of: those whose decoding took time that was seen or said, or
    all if there are none. The others have no split."""
    turn: Turn
    brief: Brief
    """Of the exchange of the turn that decoded longest; there may be no other."""
    budget: Budget
    """Of the whole turn."""
    speeds: tuple[Speed, ...]
    step: Step | None
    """Its decode step; None where TPOT is refused or events were not counted."""
    faster: tuple[WhatIf, ...]
    """Empty when its decode time is not known."""
    ceiling: float | None
    """What a decode that costs nothing would bring; None when its decode time is not known, or
    when nothing but decode was seen."""
    carried: Carried | None
    """What the prefix added to its decode; None: not known."""


@dataclass(frozen=True, slots=True)
class Overview:
    """The whole report."""

    census: Census
    turns: int
    answers: int
    """Whole answers in all turns."""
    median: MedianTurn | None
    """None when there is no turn."""
    waits: tuple[Brief, Brief] | None
    """The answers that waited least and longest for their first token; None when they waited alike."""
    spent: Sum
    """Where the time of all turns went, whatever the median turn is."""
    costs: Mapping[Engine, Cost]
    """What a prompt token costs on each engine that was asked for output."""
    steps: Mapping[Engine, StepCost | Refusal]
    """What a token of context costs each generated one, on the same."""
    prefix: Prefix
    tools: Tools
    savings: Savings
    """What the tools cost that were never called."""
    misses: Misses
    outlook: Outlook
    findings: tuple[Finding, ...]
    """Most seconds first; empty when all is well."""
    last: tuple[Brief, ...]
    """The last exchanges, oldest first."""


def overview(journal: Journal, asked: Asked | None = None) -> Overview:
    """The report of a journal; `asked`: what its reader supposes, if anything."""
    records = journal.records
    answers = [r for r in records if standing(r) == "turn"]
    turns = [t for t in threaded(records) if t.standing == "turn"]
    generations = [r for r in records if r.kind != "not_generation"]
    costs, steps = prefill_costs(generations), step_costs(generations)
    prompts = Prompts()
    each = [(t, split(t, costs, prompts)) for t in turns]
    budgets = [turn_budget(t, costs, spent) for t, spent in each]
    exact = None if journal.sampling is None else journal.tallies
    used = tools(records, journal.tool_sets, costs, exact, prompts)
    known = Known(costs, journal.tool_sets, {t.name for t in used.never_called()})
    ahead = outlook(journal, each, answers, known, asked or Asked())
    parts, missed = prefix(answers, costs, prompts), misses(records, costs, exact)
    saved = savings(used, ahead.what_ifs)
    told = list(zip(turns, budgets, strict=True))
    seen = Seen(told, records, answers, parts, used, saved, missed, ahead)
    return Overview(
        census=census(journal, len(turns)),
        turns=len(turns),
        answers=len(answers),
        median=_median(turns, budgets, answers, steps),
        waits=_waits(answers),
        spent=summed(budgets),
        costs=costs,
        steps=steps,
        prefix=parts,
        tools=used,
        savings=saved,
        misses=missed,
        outlook=ahead,
        findings=findings(seen),
        last=tuple(brief(r) for r in records[-LAST:]),
    )


def _median(
    turns: Sequence[Turn],
    budgets: Sequence[Budget],
    answers: Sequence[Record],
    steps: Mapping[Engine, StepCost | Refusal],
) -> MedianTurn | None:
    """The median turn, None without turns.

    A turn without decode time can stand for no other: one client that does not stream would leave the
    report without a split although most turns have one.
    """
    spent_by = {turn.id: spent for turn, spent in zip(turns, budgets, strict=True)}
    decoded = [turn for turn in turns if spent_by[turn.id].decode_ns] or turns
    turn = median_turn(decoded)
    if turn is None:
        return None
    spent = spent_by[turn.id]
    faster, most = _faster(spent)
    longest = max(turn.exchanges, key=lambda r: decode_ns(r.timings) or 0)
    return MedianTurn(
        len(decoded),
        turn,
        brief(longest),
        spent,
        speeds(longest, answers),
        step(longest),
        faster,
        most,
        carried(turn.exchanges, steps),
    )


def _waits(answers: Sequence[Record]) -> tuple[Brief, Brief] | None:
    lines = [brief(answer) for answer in answers]
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
