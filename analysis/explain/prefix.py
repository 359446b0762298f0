"""What stands in the prompts, by part: tokens, and the seconds that they cost.

Two prices, never mixed. Cold: what reading all of a part's tokens costs. As lived: what was paid,
cached tokens being free, over the answers whose prompt carried the part. A cache that hits hides the cold price
until it misses, so both are always given.

One rule: a part is described over the answers whose prompts carried it, and says how many those were.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import fmean, median_low
from typing import TYPE_CHECKING, NamedTuple

from .prefill import PrefillCost, engine
from .prompt import IN_FRONT, Prompts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from analysis.store.recorded import Record

    from .prefill import Cost, Engine
    from .prompt import PartName, PartTokens, Prompt
    from .source import Source


@dataclass(frozen=True, slots=True)
class Price:
    """Time that tokens cost, in ns."""

    cold_ns: int
    """All of them read: the middle one of the answers, the lower of two."""
    lived_ns: int
    """Only the uncached ones: mean of the answers."""
    source: Source
    spread: tuple[float, float] | None = None
    """Ends of the 95 % interval of what a token costs, as factors on both; None: no interval is known."""

    @property
    def cold_interval_ns(self) -> tuple[int, int] | None:
        """Of `cold_ns`, as far as the cost of a token is known."""
        return within(self.cold_ns, self.spread)

    @property
    def lived_interval_ns(self) -> tuple[int, int] | None:
        """Of `lived_ns`, as far as the cost of a token is known."""
        return within(self.lived_ns, self.spread)


def rate(cost: PrefillCost, tokens: int) -> float:
    """What a token costs in a prompt of so many that are read, in ns.

    Where a token costs more the further back it stands, each part of the prompt has its share by
    tokens, as in the budget: which part stands where is the template's own affair.
    """
    straight = not cost.stretches or not tokens
    return cost.ns_per_token if straight else cost.of(tokens) / tokens


def spread(cost: PrefillCost, tokens: int) -> tuple[float, float] | None:
    """Ends of the 95 % interval of that, as factors on it; None: no interval is known."""
    tokens = tokens or 1
    middle, (low, high) = cost.of(tokens), cost.of_range(tokens)
    return (low / middle, high / middle) if cost.interval and middle else None


def within(ns: float, factors: tuple[float, float] | None) -> tuple[int, int] | None:
    """A time between two factors on it, in ns; None without them."""
    return None if factors is None else (round(ns * factors[0]), round(ns * factors[1]))


@dataclass(frozen=True, slots=True)
class PartSummary:
    """One part over the answers whose prompts carried it."""

    part: PartName
    tokens: int
    """The middle one of the answers, the lower of two."""
    read: bool
    """False: the server's template dropped it from every prompt."""
    share: float
    """Of the tokens of all rows that were read, 0 to 1."""
    answers: int
    """Answers whose prompt carried it."""
    source: Source
    """Who counted, in most of these."""
    price: Price | None
    """None when no cost of a token is known."""


@dataclass(frozen=True, slots=True)
class FrontPart:
    """Tools or system, in the turn that stands for those that carried it."""

    counted: PartTokens
    answers: int
    """Answers whose prompt carried it."""
    price: Price | None


@dataclass(frozen=True, slots=True)
class Front:
    """What the client puts before the conversation, in one and the same turn, so that it adds up."""

    parts: tuple[FrontPart, ...]
    """With tokens, in the order of `IN_FRONT`."""
    answers: int
    """Answers of which this one is the middle by tokens in front, the smaller of two: those with tools,
    or if there are none those with a system prompt."""
    price: Price | None
    """Cold: of this answer. As lived: mean of those answers, all that stood in front of each."""

    @property
    def tokens(self) -> int:
        """All of it."""
        return sum(part.counted.tokens for part in self.parts)


@dataclass(frozen=True, slots=True)
class Prefix:
    """What stands in the prompts."""

    parts: tuple[PartSummary, ...]
    """In template order; `unexplained`, if there is any, last."""
    front: Front | None
    """None when the client puts nothing there, or when no prompt was counted."""
    answers: int
    """Answers whose prompt was counted."""
    cached: int | None
    """Tokens from a cache over those answers that speak of it; None when none does."""
    cached_of: int
    """Prompt tokens of the answers that speak of a cache."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """One prompt and what a token of it costs."""

    counted: Prompt
    cost: Cost
    tokens: int
    cold: float
    """ns a token with nothing cached; 0 where no cost is known."""
    lived: float
    """ns an uncached token."""


class _Carried(NamedTuple):
    """A part in one prompt."""

    part: PartTokens
    sent: _Sent


def prefix(
    answers: Sequence[Record], costs: Mapping[Engine, Cost], known: Prompts | None = None
) -> Prefix:
    """Parts over answers, each to one request of a turn; empty when no prompt was counted."""
    known = known or Prompts()
    prompts = [_sent(p, costs[engine(a)]) for a in answers if (p := known.of(a))]
    carried: dict[PartName, list[_Carried]] = {}
    for sent in prompts:
        rest = (sent.counted.unexplained,) if sent.counted.unexplained else ()
        for part in (*sent.counted.parts, *rest):
            carried.setdefault(part.part, []).append(_Carried(part, sent))
    read = sum(median_low([c.part.billed for c in each]) for each in carried.values())
    spoken = [(p, sent.tokens) for sent in prompts if (p := sent.counted).cached is not None]
    return Prefix(
        parts=_in_order(_summary(name, each, read) for name, each in carried.items()),
        front=_front(prompts),
        answers=len(prompts),
        cached=sum(min(p.cached or 0, tokens) for p, tokens in spoken) if spoken else None,
        cached_of=sum(tokens for _, tokens in spoken),
    )


def _sent(counted: Prompt, cost: Cost) -> _Sent:
    tokens = counted.tokens
    if not isinstance(cost, PrefillCost):
        return _Sent(counted, cost, tokens, 0.0, 0.0)
    return _Sent(counted, cost, tokens, rate(cost, tokens), rate(cost, counted.uncached))


def _front(prompts: Sequence[_Sent]) -> Front | None:
    """Of the middle one of the answers with tools, else a system prompt."""
    fronts = [
        [
            _Carried(p, sent)
            for name in IN_FRONT
            if (p := sent.counted.part(name)) is not None and p.tokens
        ]
        for sent in prompts
    ]
    for name in IN_FRONT:
        chosen = [front for front in fronts if any(c.part.part == name for c in front)]
        if chosen:
            chosen.sort(key=lambda front: sum(c.part.tokens for c in front))
            middle = chosen[(len(chosen) - 1) // 2]
            carried_by = Counter(c.part.part for front in fronts for c in front)
            parts = (FrontPart(c.part, carried_by[c.part.part], _price([c])) for c in middle)
            return Front(tuple(parts), len(chosen), _front_price(middle, chosen))
    return None


def _front_price(middle: Sequence[_Carried], chosen: Sequence[Sequence[_Carried]]) -> Price | None:
    """Parts of one front are on one engine, so all of them have a price or none has."""
    prices = [price for c in middle if (price := _price([c]))]
    if not prices:
        return None
    lived = [
        sum(c.part.uncached * c.sent.lived for c in front)
        for front in chosen
        if isinstance(front[0].sent.cost, PrefillCost)
    ]
    cold_ns = sum(p.cold_ns for p in prices)
    return Price(cold_ns, round(fmean(lived)), prices[0].source, prices[0].spread)


def _summary(name: PartName, carried: list[_Carried], read: int) -> PartSummary:
    billed = median_low([c.part.billed for c in carried])
    return PartSummary(
        part=name,
        tokens=median_low([c.part.tokens for c in carried]),
        read=any(c.part.read for c in carried),
        share=billed / read if read else 0.0,
        answers=len(carried),
        source=Counter(c.part.source for c in carried).most_common(1)[0][0],
        price=_price(carried),
    )


def _price(carried: Iterable[_Carried]) -> Price | None:
    priced = [
        (c.part, c.sent, c.sent.cost) for c in carried if isinstance(c.sent.cost, PrefillCost)
    ]
    if not priced:
        return None
    priced.sort(key=lambda p: p[0].billed * p[1].cold)
    part, sent, cost = priced[(len(priced) - 1) // 2]
    costs = {id(cost): cost for _, _, cost in priced}
    usual = Counter(id(cost) for _, _, cost in priced).most_common(1)[0][0]
    return Price(
        cold_ns=round(part.billed * sent.cold),
        lived_ns=round(fmean([part.uncached * sent.lived for part, sent, _ in priced])),
        source=costs[usual].estimate,
        spread=spread(cost, sent.tokens),
    )


def _in_order(parts: Iterable[PartSummary]) -> tuple[PartSummary, ...]:
    order = (
        "tools",
        "system",
        "history",
        "tool_results",
        "question",
        "media",
        "template",
        "unexplained",
    )
    return tuple(sorted(parts, key=lambda p: order.index(p.part)))
