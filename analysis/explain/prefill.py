"""What a token of a prompt costs to read, in ns, before the first token can come.

One rule: the server's own figures win; without them the time to first token of long enough prompts
stands for prefill, and is called an estimate, because it holds the queue and the first step as well.
A server and model have a cost of their own: figures of two are never put together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from analysis.store.recorded import ttft_ns

from .prompt import cached_tokens, uncached_tokens
from .source import Refusal, Source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from analysis.store.recorded import Record

ENOUGH_TOKENS: Final = 200
"""Below this, what is not prefill (queue, network, first step) is too large a part of TTFT."""

MS: Final = 1_000_000

LONGEST_MS: Final = 1e12
"""30 years: a longer time in a server's figures is no time."""


class Engine(NamedTuple):
    """Whose prefill it is."""

    upstream: str
    model: str | None


@dataclass(frozen=True, slots=True)
class PrefillCost:
    """Time to read one uncached prompt token."""

    ns_per_token: float
    """Sum of the times over sum of the tokens."""
    low_ns_per_token: float
    """The cheapest single exchange; with `high_ns_per_token` the spread, not an interval."""
    high_ns_per_token: float
    exchanges: int
    least_tokens: int
    """Fewest uncached tokens in one of these exchanges."""
    most_tokens: int
    source: Source
    cache_unspoken: bool = False
    """True when the server did not say of each of these prompts what came from a cache: none is
    taken to, so a cache that did hit makes the cost look lower than it is."""

    @property
    def estimate(self) -> Source:
        """What to say of a time that was worked out with this cost."""
        if self.source.kind == "estimated":
            return self.source
        return Source("estimated", f"from prefill reported in {_exchanges(self.exchanges)}")

    def of(self, tokens: int) -> int:
        """Time for so many tokens, in ns."""
        return round(tokens * self.ns_per_token)


Cost = PrefillCost | Refusal


class Reading(NamedTuple):
    """One exchange's prefill: how long for how many tokens."""

    ns: int
    tokens: int


def engine(record: Record) -> Engine:
    """Whose prefill a record shows."""
    return Engine(record.upstream, record.model_served or record.request.model)


def reported_prefill(record: Record) -> Reading | None:
    """The server's own prefill figures; None where it gave none.

    llama.cpp: `timings.prompt_ms` and `prompt_n`; both leave the queue and cached tokens out.
    """
    ns, tokens = reported_ns(record, "prompt_ms"), record.reported.get("prompt_n")
    if not ns or not isinstance(tokens, int) or tokens <= 0:
        return None
    return Reading(ns, tokens)


def reported_ns(record: Record, name: str) -> int | None:
    """A figure of the server's that is in milliseconds; None if it is missing or none can be."""
    ms = record.reported.get(name)
    if not isinstance(ms, int | float) or not 0 <= ms < LONGEST_MS:
        return None
    return round(ms * MS)


def prefill_costs(records: Iterable[Record]) -> dict[Engine, Cost]:
    """The cost for each engine that the records speak of."""
    by_engine: dict[Engine, list[Record]] = {}
    for record in records:
        by_engine.setdefault(engine(record), []).append(record)
    return {name: prefill_cost(group) for name, group in by_engine.items()}


def prefill_cost(records: Iterable[Record]) -> Cost:
    """The cost over records of one engine, or why there is none."""
    records = list(records)
    if reported := [r for record in records if (r := reported_prefill(record))]:
        return _ratio(reported, Source("reported", f"by the server in {_exchanges(len(reported))}"))
    observed = [(record, r) for record in records if (r := _observed(record))]
    if not observed:
        return Refusal(
            f"no exchange with {ENOUGH_TOKENS} uncached prompt tokens or more has a TTFT"
            " and a token count"
        )
    source = Source("estimated", f"from TTFT of {_exchanges(len(observed))}")
    unspoken = any(cached_tokens(record) is None for record, _ in observed)
    return replace(_ratio([r for _, r in observed], source), cache_unspoken=unspoken)


def _observed(record: Record) -> Reading | None:
    """TTFT in place of prefill, where the prompt is long enough for that."""
    ns, tokens = ttft_ns(record.timings), uncached_tokens(record)
    if ns is None or tokens is None or ns <= 0 or tokens < ENOUGH_TOKENS:
        return None
    return Reading(ns, tokens)


def _ratio(readings: list[Reading], source: Source) -> PrefillCost:
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


def _exchanges(n: int) -> str:
    return "1 exchange" if n == 1 else f"{n:,} exchanges"
