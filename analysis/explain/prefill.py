"""What a token of a prompt costs to read, in ns, and what an empty prompt would wait.

One rule: the server's own figures win; without them a line through the times to first token stands for
prefill, and is called an estimate. A server and model have a cost of their own: figures of two are
never put together. Too few figures give a ratio and its spread, and figures that contradict a cost none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from analysis.stats.fit import Fit, line, slope_at
from analysis.stats.sample import ratio, sample

from .prompt import cached_tokens
from .readings import (
    LONGEST_MS,
    MS,
    Reading,
    observed,
    quiet,
    reported_ns,
    reported_prefill,
)
from .source import Refusal, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from analysis.stats.fit import Stretch, Unfit
    from analysis.store.recorded import Record

__all__ = [
    "ENOUGH_TOKENS",
    "LONGEST_MS",
    "MS",
    "Cost",
    "Engine",
    "PrefillCost",
    "Reading",
    "engine",
    "prefill_cost",
    "prefill_costs",
    "reported_ns",
    "reported_prefill",
]

ENOUGH_TOKENS: Final = 200
"""Below this, what is not prefill (queue, network, first step) is too large a part of TTFT to be left in."""


class Engine(NamedTuple):
    """Whose prefill it is."""

    upstream: str
    model: str | None


@dataclass(frozen=True, slots=True)
class PrefillCost:
    """Time to read one uncached prompt token."""

    ns_per_token: float
    """Slope of a line, else the sum of the times over the sum of the tokens. If the line bends: in the
    middle of the prompts."""
    low_ns_per_token: float
    """With `high_ns_per_token` the 95 % interval if `interval`; else the cheapest and the dearest single
    exchange."""
    high_ns_per_token: float
    exchanges: int
    least_tokens: int
    """Fewest uncached tokens in one of these exchanges."""
    most_tokens: int
    source: Source
    cache_unspoken: bool = False
    """True when the server did not say of each of these prompts what came from a cache: none is
    taken to, so a cache that did hit makes the cost look lower than it is."""
    interval: bool = False
    """False: low and high are a spread of single exchanges."""
    base_ns: int | None = None
    """What a prompt without tokens waits for its first one: queue, network, first step; the median. None:
    it could not be told from prefill."""
    base_range_ns: tuple[int, int] | None = None
    """Its 95 % interval; None also when it has none."""
    stretches: tuple[Stretch, ...] = ()
    """What a token costs by where in the prompt it stands, if that differs; empty: everywhere the same."""

    @property
    def estimate(self) -> Source:
        """What to say of a time that was worked out with this cost."""
        if self.source.kind == "estimated":
            return self.source
        return Source("estimated", f"from prefill reported in {_exchanges(self.exchanges)}")

    def of(self, tokens: int, behind: int = 0) -> int:
        """Time to read so many tokens, in ns.

        `behind`: uncached tokens that are read before them. Where a longer prompt costs more a token,
        what is cut out of it saves what its last tokens cost, not its first.
        """
        return round(tokens * self._at(behind + tokens / 2)[0])

    def of_range(self, tokens: int, behind: int = 0) -> tuple[int, int]:
        """The same by the low and the high cost."""
        _, low, high = self._at(behind + tokens / 2)
        return round(tokens * low), round(tokens * high)

    def _at(self, place: float) -> tuple[float, float, float]:
        if not self.stretches:
            return self.ns_per_token, self.low_ns_per_token, self.high_ns_per_token
        slope, low, high = slope_at(self.stretches, place)
        return max(0.0, slope), max(0.0, low), max(0.0, high)


Cost = PrefillCost | Refusal


def engine(record: Record) -> Engine:
    """Whose prefill a record shows."""
    return Engine(record.upstream, record.model_served or record.request.model)


def prefill_costs(records: Iterable[Record]) -> dict[Engine, Cost]:
    """The cost for each engine that the records speak of."""
    by_engine: dict[Engine, list[Record]] = {}
    for record in records:
        by_engine.setdefault(engine(record), []).append(record)
    return {name: prefill_cost(group) for name, group in by_engine.items()}


def prefill_cost(records: Iterable[Record]) -> Cost:
    """The cost over records of one engine, hidden ones included, or why there is none."""
    records = list(records)
    said = [(record, reading) for record in records if (reading := reported_prefill(record))]
    if said:
        return _reported(said)
    seen = [(record, reading) for record in records if (reading := observed(record))]
    return _observed(seen)


def _reported(said: Sequence[tuple[Record, Reading]]) -> Cost:
    readings = [reading for _, reading in said]
    source = Source("reported", f"by the server in {_exchanges(len(said))}")
    fit = _line(readings)
    if not isinstance(fit, Fit) and fit.why == "flat":
        return _flat("the prefill that the server reports", len(said))
    cost = _fitted(fit, readings, source) if isinstance(fit, Fit) else _ratio(readings, source)
    rest = [t.ns - r.ns for record, r in said if (t := observed(record)) and t.ns >= r.ns]
    base = sample(rest)
    if base is None or base.low is None or base.high is None:
        return replace(cost, base_ns=None, base_range_ns=None)
    return replace(
        cost, base_ns=round(base.median), base_range_ns=(round(base.low), round(base.high))
    )


def _observed(seen: Sequence[tuple[Record, Reading]]) -> Cost:
    """From TTFT: of exchanges that had the server to themselves if they are enough, else of all."""
    alone = [(record, reading) for record, reading in seen if quiet(record)]
    mixed = len(alone) < len(seen)
    for group, beside in ((alone, False), (seen, True)) if mixed else ((seen, False),):
        readings = [reading for _, reading in group]
        fit = _line(readings)
        if isinstance(fit, Fit):
            return _doubted(_fitted(fit, readings, _ttft(len(group), beside=beside)), group)
        if fit.why == "flat":
            return _flat("TTFT", len(group))
    group = [(record, reading) for record, reading in seen if reading.tokens >= ENOUGH_TOKENS]
    if not group:
        return Refusal(
            f"no exchange with {ENOUGH_TOKENS} uncached prompt tokens or more has a TTFT"
            " and a token count; a streamed turn with a long new prompt would tell"
        )
    source = Source("estimated", f"from TTFT of {_exchanges(len(group))}")
    return _doubted(_spread([reading for _, reading in group], source), group)


def _line(readings: Sequence[Reading]) -> Fit | Unfit:
    return line([r.tokens for r in readings], [r.ns for r in readings])


def _fitted(fit: Fit, readings: Sequence[Reading], source: Source) -> PrefillCost:
    base = None if fit.intercept is None else max(0, round(fit.intercept))
    ends = (fit.intercept_low, fit.intercept_high)
    low, high = (None if end is None else max(0, round(end)) for end in ends)
    return PrefillCost(
        ns_per_token=fit.slope,
        low_ns_per_token=fit.slope_low,
        high_ns_per_token=fit.slope_high,
        exchanges=len(readings),
        least_tokens=min(r.tokens for r in readings),
        most_tokens=max(r.tokens for r in readings),
        source=source,
        interval=True,
        base_ns=base,
        base_range_ns=None if low is None or high is None else (low, high),
        stretches=fit.stretches,
    )


def _ratio(readings: Sequence[Reading], source: Source) -> PrefillCost:
    """Sum over sum, with an interval where there are enough for one."""
    cost = _spread(readings, source)
    found = ratio([r.ns for r in readings], [r.tokens for r in readings])
    if found is None:
        return cost
    return replace(cost, low_ns_per_token=found.low, high_ns_per_token=found.high, interval=True)


def _spread(readings: Sequence[Reading], source: Source) -> PrefillCost:
    """Sum over sum, with the spread of the single ones: what is not prefill is still in it."""
    each = [r.ns / r.tokens for r in readings]
    return PrefillCost(
        ns_per_token=sum(r.ns for r in readings) / sum(r.tokens for r in readings),
        low_ns_per_token=min(each),
        high_ns_per_token=max(each),
        exchanges=len(readings),
        least_tokens=min(r.tokens for r in readings),
        most_tokens=max(r.tokens for r in readings),
        source=source,
    )


def _doubted(cost: PrefillCost, group: Sequence[tuple[Record, Reading]]) -> PrefillCost:
    return replace(cost, cache_unspoken=any(cached_tokens(record) is None for record, _ in group))


def _ttft(n: int, *, beside: bool) -> Source:
    how = ", some beside others" if beside else ""
    return Source("estimated", f"from TTFT of {_exchanges(n)}{how}")


def _flat(what: str, n: int) -> Refusal:
    return Refusal(
        f"{what} of {_exchanges(n)} does not grow with their uncached tokens beyond its noise;"
        " turns with short and with long new prompts, one at a time, would tell"
    )


def _exchanges(n: int) -> str:
    return "1 exchange" if n == 1 else f"{n:,} exchanges"
