"""The tables of what was sent: the prompt by part, the tools one by one.

One rule: cold and as lived stand side by side, because a cache that hits hides what a miss costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from analysis.explain.source import Refusal

from .names import PARTS, printable
from .table import Column, Table, text
from .units import count, duration, per_token, percent, plural, scale_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.explain.overview import Overview
    from analysis.explain.prefill import Engine, PrefillCost
    from analysis.explain.tools import ToolSummary

TOOLS_SHOWN: Final = 15


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
            f"{part.turns:,} of {prefix.turns:,}",
            str(part.source),
        )
        for part in prefix.parts
    )
    columns = (
        text("PROMPT, by part"),
        Column("tokens"),
        Column("share"),
        Column("cold"),
        Column("as lived"),
        Column("carried by", "turns"),
        text("tokens known how"),
    )
    return Table(columns, rows, tuple(_prefix_notes(report)))


def _part(part: str, tools: int) -> str:
    return f"tools ({tools:,})" if part == "tools" and tools else PARTS.get(part, part)


def _prefix_notes(report: Overview) -> Iterator[str]:
    prefix = report.prefix
    yield (
        "Tokens and cold (nothing cached): of the middle turn that carried the part, so rows can be of"
        " different turns. As lived: mean of those turns, cached tokens free."
    )
    if prefix.cached is None:
        yield "The server did not say what it cached. None is assumed, so as lived is as cold."
    else:
        cached, whole = count(prefix.cached), count(prefix.cached_of)
        yield f"From the cache, as reported: {cached} of {whole} prompt tokens."
    if report.tools.unlisted and not report.tools.tools:
        yield _unlisted(report)
    yield from (_cost(engine, cost) for engine, cost in report.costs.items())
    if any(not part.read for part in prefix.parts):
        yield (
            "dropped: the client sends it, but the server's bill shows that its chat template leaves"
            " it out: the model never reads it."
        )


def _cost(engine: Engine, cost: PrefillCost | Refusal) -> str:
    model = printable(engine.model) if engine.model else "an unnamed model"
    whose = f"{model} at {engine.upstream}"
    if isinstance(cost, Refusal):
        return f"Seconds for {whose} are not known: {cost.reason}."
    spread = ""
    if cost.exchanges > 1:
        low, high = per_token(cost.low_ns_per_token), per_token(cost.high_ns_per_token)
        spread = f", single ones {low} to {high}"
    read = f"{count(cost.least_tokens)} to {count(cost.most_tokens)}"
    if cost.least_tokens == cost.most_tokens:
        read = count(cost.least_tokens)
    unspoken = "; cache not reported, none assumed" if cost.cache_unspoken else ""
    return (
        f"Seconds for {whose}: {per_token(cost.ns_per_token)} a token{spread}, {cost.source}"
        f" ({read} uncached tokens{unspoken})."
    )


def tools_table(report: Overview) -> Table | None:
    """Tools, largest first; None when none was listed."""
    tools = report.tools
    if not tools.tools:
        return None
    shown, rest = tools.tools[:TOOLS_SHOWN], tools.tools[TOOLS_SHOWN:]
    scale = scale_for(sum(t.price.cold_ns for t in tools.tools if t.price))
    rows = tuple(
        (
            printable(tool.name, 36),
            count(tool.tokens),
            scale.text(tool.price.cold_ns if tool.price else None),
            scale.text(tool.price.lived_ns if tool.price else None),
            count(tool.offered),
            count(tool.called),
            printable(tool.server, 16),
        )
        for tool in shown
    )
    columns = (
        text("TOOLS, largest first"),
        Column("tokens"),
        Column("cold"),
        Column("as lived"),
        Column("offered in", "answers"),
        Column("called in", "answers"),
        text("MCP server"),
    )
    return Table(columns, rows, tuple(_tools_notes(report, rest)))


def _tools_notes(report: Overview, rest: tuple[ToolSummary, ...]) -> Iterator[str]:
    tools = report.tools
    if rest:
        yield f"and {len(rest):,} more: {_sum(rest)}."
    never = tools.never_called()
    if never:
        yield f"{len(never):,} of {len(tools.tools):,} never called: {_sum(never)}."
    sources = dict.fromkeys(str(tool.source) for tool in tools.tools)
    answers = f"{count(tools.answers)} in all, hidden and cut ones included"
    yield f"Tokens: {'; '.join(sources)}. Answers: {answers}."
    if tools.unlisted:
        yield _unlisted(report)


def _unlisted(report: Overview) -> str:
    answers = plural(report.tools.unlisted, "answer")
    return f"{answers} had tools whose list is not in the journal: these are in no row."


def _sum(tools: tuple[ToolSummary, ...]) -> str:
    tokens = sum(tool.tokens or 0 for tool in tools)
    prices = [tool.price for tool in tools if tool.price]
    if not prices:
        return plural(tokens, "token")
    cold = duration(sum(price.cold_ns for price in prices))
    lived = duration(sum(price.lived_ns for price in prices))
    return f"{plural(tokens, 'token')}, {cold} cold, {lived} as lived"
