"""What stands in the prompts, by part: tokens, and the seconds that they cost.

Two prices, never mixed. Cold: what reading all of a part's tokens costs. As lived: what was paid,
cached tokens being free, over the turns that carried the part. A cache that hits hides the cold price
until it misses, so both are always given.

One rule: a part is described over the turns that carried it, and says how many those were.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import fmean, median_low
from typing import TYPE_CHECKING

from .prefill import PrefillCost, engine
from .prompt import IN_FRONT, prompt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from analysis.store.recorded import Record

    from .prefill import Cost, Engine
    from .prompt import PartName, PartTokens
    from .source import Source


@dataclass(frozen=True, slots=True)
class Price:
    """Time that tokens cost, in ns."""

    cold_ns: int
    """All of them read: the middle one of the turns, the lower of two."""
    lived_ns: int
    """Only the uncached ones: mean of the turns."""
    source: Source


@dataclass(frozen=True, slots=True)
class PartSummary:
    """One part over the turns that carried it."""

    part: PartName
    tokens: int
    """The middle one of the turns, the lower of two."""
    read: bool
    """False: the server's template dropped it from every prompt."""
    share: float
    """Of the tokens of all parts that were read, 0 to 1."""
    turns: int
    """Turns that carried it."""
    source: Source
    """Who counted, in most of these turns."""
    price: Price | None
    """None when no cost of a token is known."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """What stands in the prompts."""

    parts: tuple[PartSummary, ...]
    """In template order."""
    turns: int
    """Turns whose prompt was counted."""
    cached: int | None
    """Tokens from a cache over those turns that speak of it; None when none does."""
    cached_of: int
    """Prompt tokens of the turns that speak of a cache."""

    def front(self) -> tuple[PartSummary, ...]:
        """The parts that the client puts before the conversation."""
        return tuple(p for p in self.parts if p.part in IN_FRONT)


@dataclass(frozen=True, slots=True)
class _Carried:
    part: PartTokens
    cost: Cost


def prefix(turns: Sequence[Record], costs: Mapping[Engine, Cost]) -> Prefix:
    """Parts over turns; empty when no prompt was counted."""
    prompts = [(t, p) for t in turns if (p := prompt(t))]
    carried: dict[PartName, list[_Carried]] = {}
    for turn, counted in prompts:
        for part in counted.parts:
            carried.setdefault(part.part, []).append(_Carried(part, costs[engine(turn)]))
    read = sum(median_low([c.part.billed for c in each]) for each in carried.values())
    spoken = [p for _, p in prompts if p.cached is not None]
    return Prefix(
        parts=_in_order(_summary(name, each, read) for name, each in carried.items()),
        turns=len(prompts),
        cached=sum(min(p.cached or 0, p.tokens) for p in spoken) if spoken else None,
        cached_of=sum(p.tokens for p in spoken),
    )


def _summary(name: PartName, carried: list[_Carried], read: int) -> PartSummary:
    billed = median_low([c.part.billed for c in carried])
    return PartSummary(
        part=name,
        tokens=median_low([c.part.tokens for c in carried]),
        read=any(c.part.read for c in carried),
        share=billed / read if read else 0.0,
        turns=len(carried),
        source=Counter(c.part.source for c in carried).most_common(1)[0][0],
        price=_price(carried),
    )


def _price(carried: Iterable[_Carried]) -> Price | None:
    priced = [(c.part, c.cost) for c in carried if isinstance(c.cost, PrefillCost)]
    if not priced:
        return None
    cold = median_low([cost.of(part.billed) for part, cost in priced])
    lived = fmean([cost.of(part.uncached) for part, cost in priced])
    source = Counter(cost.estimate for _, cost in priced).most_common(1)[0][0]
    return Price(cold, round(lived), source)


def _in_order(parts: Iterable[PartSummary]) -> tuple[PartSummary, ...]:
    order = ("tools", "system", "history", "tool_results", "question", "media", "template")
    return tuple(sorted(parts, key=lambda p: order.index(p.part)))
