"""Times to first token over uncached prompt tokens, one dot an exchange, with the line that was fitted.

One rule: dots are what was seen; where there are more than a picture can hold an even selection stands for all.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from .prefill import PrefillCost, engine
from .readings import observed, quiet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from analysis.store.recorded import Record

    from .prefill import Cost, Engine

MOST_DOTS: Final = 600
STEPS: Final = 24
"""Places at which the line is drawn."""


class Dot(NamedTuple):
    """One exchange."""

    tokens: int
    """Uncached prompt tokens."""
    ttft_ns: int
    quiet: bool
    """No other exchange ran through this proxy meanwhile."""


class Place(NamedTuple):
    """The line at one prompt length, in ns after the request."""

    tokens: int
    ns: int
    low_ns: int
    high_ns: int


@dataclass(frozen=True, slots=True)
class Scatter:
    """One engine's exchanges."""

    engine: Engine
    """The one with most of them."""
    dots: tuple[Dot, ...]
    of: int
    """Exchanges that the dots stand for."""
    line: tuple[Place, ...]
    """Empty when what a token costs is not known, or what stands before it is not."""


def scatter(records: Iterable[Record], costs: Mapping[Engine, Cost]) -> Scatter | None:
    """Of the engine with most exchanges; None when no wait goes with a number of tokens."""
    seen = [(engine(r), r, reading) for r in records if (reading := observed(r))]
    if not seen:
        return None
    usual = Counter(name for name, _, _ in seen).most_common(1)[0][0]
    mine = [Dot(t.tokens, t.ns, quiet(r)) for name, r, t in seen if name == usual]
    return Scatter(usual, _even(mine), len(mine), _line(costs.get(usual), mine))


def _even(dots: Sequence[Dot]) -> tuple[Dot, ...]:
    if len(dots) <= MOST_DOTS:
        return tuple(dots)
    step = len(dots) / MOST_DOTS
    return tuple(dots[int(n * step)] for n in range(MOST_DOTS))


def _line(cost: Cost | None, dots: Sequence[Dot]) -> tuple[Place, ...]:
    if not isinstance(cost, PrefillCost) or not cost.interval:
        return ()
    base, ends = cost.base_ns or 0, cost.base_range_ns
    below, above = (base, base) if ends is None else ends
    most = max(dot.tokens for dot in dots)
    places = []
    for step in range(STEPS + 1):
        tokens = round(cost.least_tokens + (most - cost.least_tokens) * step / STEPS)
        low, high = cost.of_range(tokens)
        places.append(Place(tokens, base + cost.of(tokens), below + low, above + high))
    return tuple(places) if most > cost.least_tokens else ()
