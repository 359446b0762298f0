"""The table of what was sent: the prompt by part.

One rule: cold and as lived stand side by side, because a cache that hits hides what a miss costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.explain.source import Refusal

from .names import PARTS, printable
from .table import Column, Table, text
from .tools import unlisted
from .units import count, duration, per_token, percent, scale_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.explain.overview import Overview
    from analysis.explain.prefill import Engine, PrefillCost
    from analysis.explain.prefix import Prefix


def prefix_table(report: Overview) -> Table | None:
    """The prompt by part; None when no prompt was counted."""
    prefix = report.prefix
    if not prefix.parts:
        return None
    scale = scale_for(max((p.price.cold_ns for p in prefix.parts if p.price), default=0))
    rows = tuple(
        (
            _part(part.part, len(report.tools.tools)),
            count(part.tokens),
            percent(part.share) if part.read else "dropped",
            scale.text(part.price.cold_ns if part.price else None),
            scale.text(part.price.lived_ns if part.price else None),
            f"{part.answers:,} of {prefix.answers:,}",
            str(part.source),
        )
        for part in prefix.parts
    )
    columns = (
        text("PREFIX, by part"),
        Column("tokens"),
        Column("share"),
        Column("cold"),
        Column("as lived", _cached(prefix)),
        Column("carried by", "requests"),
        text("tokens known how"),
    )
    return Table(columns, rows, tuple(_prefix_notes(report)))


def _cached(prefix: Prefix) -> str:
    """At what rate of hits that was."""
    if prefix.cached is None or not prefix.cached_of:
        return ""
    return f"{percent(prefix.cached / prefix.cached_of)} cached"


def _part(part: str, tools: int) -> str:
    return f"tools ({tools:,})" if part == "tools" and tools else PARTS.get(part, part)


def _prefix_notes(report: Overview) -> Iterator[str]:
    prefix = report.prefix
    yield (
        "Cold: nothing cached, in the middle one of the requests that carried the part. As lived: their"
        " mean, cached tokens free."
    )
    if prefix.cached is None:
        yield "The server did not say what it cached. None is assumed, so as lived is as cold."
    else:
        cached, whole = count(prefix.cached), count(prefix.cached_of)
        yield f"From the cache, as reported: {cached} of {whole} prompt tokens."
    if report.tools.unlisted and not report.tools.tools:
        yield unlisted(report)
    yield from (_cost(engine, cost) for engine, cost in report.costs.items())
    yield from _carried(report)
    if any(not part.read for part in prefix.parts):
        yield (
            "dropped: the client sends it, but the server's bill shows that its chat template leaves"
            " it out: the model never reads it."
        )


def _carried(report: Overview) -> Iterator[str]:
    """The second price of a prefix: what it adds to each generated token."""
    for engine, cost in report.steps.items():
        if isinstance(cost, Refusal):
            continue
        model = printable(engine.model) if engine.model else "an unnamed model"
        ns = 1000 * cost.ns_per_context_token
        ends = (1000 * cost.low_ns_per_context_token, 1000 * cost.high_ns_per_context_token)
        low, high = map(per_token, ends)
        yield (
            f"Decode of {model}: 1,000 tokens of context add {per_token(ns)} ({low} to {high}) to each"
            f" generated token, {cost.source}."
        )
    own = report.median.carried if report.median is not None else None
    if own is not None:
        low, high = map(duration, own.interval_ns)
        yield (
            f"In the median turn {count(own.tokens)} tokens of tools and system added {duration(own.ns)}"
            f" ({low} to {high}) to its decode, {own.source}."
        )


def _cost(engine: Engine, cost: PrefillCost | Refusal) -> str:
    model = printable(engine.model) if engine.model else "an unnamed model"
    whose = f"{model} at {engine.upstream}"
    if isinstance(cost, Refusal):
        return f"Seconds for {whose} are not known: {cost.reason}."
    spread = ""
    if cost.exchanges > 1:
        low, high = per_token(cost.low_ns_per_token), per_token(cost.high_ns_per_token)
        spread = f" ({low} to {high})" if cost.interval else f", single ones {low} to {high}"
    read = f"{count(cost.least_tokens)} to {count(cost.most_tokens)}"
    if cost.least_tokens == cost.most_tokens:
        read = count(cost.least_tokens)
    unspoken = "; cache not reported, none assumed" if cost.cache_unspoken else ""
    empty = f" An empty prompt waits {duration(cost.base_ns)}." if cost.base_ns else ""
    grows = " It depends on where in the prompt the token stands." if cost.stretches else ""
    return (
        f"Seconds for {whose}: {per_token(cost.ns_per_token)} a token{spread}, {cost.source}"
        f" ({read} uncached tokens{unspoken}).{grows}{empty}"
    )
