"""What each tool definition costs, and whether it was ever of use.

One rule: offered and called are counted over answers, hidden ones included: a tool list costs its
time whoever asked. A request that no answer came to can neither use nor refuse a tool. Where the
records are a sample, these counts are those of the whole journal, and sums are brought to its size.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .offering import Use, by_name, uses
from .prefill import PrefillCost
from .prefix import Price, rate, spread
from .prompt import Prompts, cached_tokens
from .source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from analysis.store.recorded import Record, ToolSet
    from analysis.store.tallies import Tallies

    from .offering import Offered
    from .prefill import Cost, Engine

RARELY: Final = 100
"""Called in fewer than one of so many answers that offered it, and not never: rarely called."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a tool cost over all that is looked at, in ns."""

    lived_ns: int
    """Paid for reading it, cached tokens being free, over all answers that offered it."""
    cold_ns: int
    """What these answers would have paid if no cache had held it."""
    turns: int
    """Turns that offered it, each with all its requests; 0: only hidden requests did."""
    turn_lived_ns: int
    """Of `lived_ns`, what was paid in these turns."""

    @property
    def a_turn_ns(self) -> int | None:
        """As lived, mean of the turns that offered it; None when no turn did."""
        return round(self.turn_lived_ns / self.turns) if self.turns else None


@dataclass(frozen=True, slots=True)
class ToolSummary:
    """One tool, by its name."""

    name: str
    server: str | None
    """MCP server; None where the name does not say."""
    tokens: int | None
    """In the last answer that offered it; None: not counted."""
    source: Source
    """Who counted."""
    offered: int
    """Answers to a request that offered it."""
    called: int
    """Answers that called it, once or more."""
    last_called_unix_ns: int | None
    """When the last of these was asked for; None: never called."""
    price: Price | None
    """Cold: of the last answer that offered it. As lived: mean of all that did. None: not known."""
    spent: Spent | None
    """The same, summed; None: not known."""

    @property
    def rarely_called(self) -> bool:
        """Of some use, and seldom: no saving is claimed for it."""
        return 0 < self.called * RARELY < self.offered


@dataclass(frozen=True, slots=True)
class ServerSummary:
    """The tools of one MCP server together."""

    server: str | None
    """None: all tools whose name tells of no server, as a client's own do."""
    tools: int
    unused: int
    """Tools of it that no answer called."""
    tokens: int
    """Of the tools that were counted."""
    called: int
    """Calls: answers that called a tool of it, one for each of its tools that they called."""
    last_called_unix_ns: int | None
    """None: never."""
    price: Price | None
    """Sums over its tools; None when none has a price."""

    @property
    def never_called(self) -> bool:
        """None of its tools was: the whole server can go."""
        return self.unused == self.tools


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools that were offered."""

    tools: tuple[ToolSummary, ...]
    """Largest first, then by name."""
    servers: tuple[ServerSummary, ...]
    """MCP servers, largest first; tools without one last, if there are any."""
    answers: int
    """Answers over which offers and calls were counted."""
    offering: int
    """Those of them whose request offered any tool."""
    unlisted: int
    """Those of them whose list of tools is not in the journal: their tools are in no row."""
    cache_unspoken: bool = False
    """True when the server of one of them did not say what it cached: none is taken to be."""

    def never_called(self) -> tuple[ToolSummary, ...]:
        """Tools that no answer called."""
        return tuple(t for t in self.tools if not t.called)

    def rarely_called(self) -> tuple[ToolSummary, ...]:
        """Tools that were called, and in fewer than one of `RARELY` answers that offered them."""
        return tuple(t for t in self.tools if t.rarely_called)


@dataclass(slots=True)
class _Calls:
    """Answers that called each tool, and when the last one was asked for."""

    answers: Counter[str]
    last_unix_ns: dict[str, int]


def tools(
    records: Iterable[Record],
    sets: Mapping[str, ToolSet],
    costs: Mapping[Engine, Cost],
    tallies: Tallies | None = None,
    prompts: Prompts | None = None,
) -> Tools:
    """Each tool over records in time order.

    `tallies` are given where the records are a sample of what is looked at.
    """
    answers = [r for r in records if r.kind != "not_generation" and r.generation != "none"]
    offering = [r for r in answers if r.tools is not None]
    used = uses(offering, sets, costs, tallies, prompts or Prompts())
    calls = _calls(offering) if tallies is None else _tallied(tallies)
    rows = [_summary(tool, calls) for tool in by_name(used).values()]
    rows.sort(key=lambda t: (-(t.tokens or 0), t.name))
    listed = sum(use.offered for use in used)
    offers = len(offering) if tallies is None else tallies.offering
    return Tools(
        tuple(rows),
        _servers(rows),
        len(answers) if tallies is None else tallies.answers,
        offers,
        max(0, offers - listed),
        any(cached_tokens(r) is None for r in offering),
    )


def _calls(offering: Iterable[Record]) -> _Calls:
    calls = _Calls(Counter(), {})
    for record in offering:
        for name in set(record.tools.called if record.tools else ()):
            calls.answers[name] += 1
            calls.last_unix_ns[name] = max(
                record.at_unix_ns, calls.last_unix_ns.get(name, record.at_unix_ns)
            )
    return calls


def _tallied(tallies: Tallies) -> _Calls:
    called = tallies.called.items()
    return _Calls(
        Counter({name: tally.answers for name, tally in called}),
        {name: tally.last_unix_ns for name, tally in called},
    )


def _summary(tool: Offered, calls: _Calls) -> ToolSummary:
    last = tool.uses[-1]
    counted_by = Source("counted", f"by {last.listed.source}")
    return ToolSummary(
        name=tool.entry.name,
        server=tool.entry.server,
        tokens=tool.tokens,
        source=last.part.source if last.part and last.part.tokens else counted_by,
        offered=sum(use.offered for use in tool.uses),
        called=calls.answers[tool.entry.name],
        last_called_unix_ns=calls.last_unix_ns.get(tool.entry.name),
        price=_price(tool),
        spent=_spent(tool),
    )


def _price(tool: Offered) -> Price | None:
    last = tool.uses[-1]
    if tool.tokens is None or not isinstance(last.cost, PrefillCost):
        return None
    read = tool.tokens if last.part is None or last.part.read else 0
    lived_ns = sum(use.lived * n for use, n in tool.weights) / sum(u.priced for u in tool.uses)
    cold_ns = round(read * rate(last.cost, last.prompt_tokens))
    return Price(
        cold_ns, round(lived_ns), last.cost.estimate, spread(last.cost, last.prompt_tokens)
    )


def _spent(tool: Offered) -> Spent | None:
    if tool.tokens is None or not any(use.priced for use in tool.uses):
        return None
    turns = _distinct(tool.uses)
    scale = max(use.scale for use in tool.uses)
    return Spent(
        lived_ns=round(sum(use.lived * use.scale * n for use, n in tool.weights)),
        cold_ns=round(sum(use.cold * use.scale * n for use, n in tool.weights)),
        turns=round(turns * scale),
        turn_lived_ns=round(sum(use.turn_lived * n for use, n in tool.weights) * scale),
    )


def _distinct(used: Sequence[Use]) -> int:
    """Turns of these uses; a turn whose requests offered several sets counts once."""
    return len(used[0].turns if len(used) == 1 else set[str]().union(*(u.turns for u in used)))


def _servers(rows: Sequence[ToolSummary]) -> tuple[ServerSummary, ...]:
    groups: dict[str | None, list[ToolSummary]] = {}
    for row in rows:
        groups.setdefault(row.server, []).append(row)
    found = [_server(name, group) for name, group in groups.items()]
    return tuple(sorted(found, key=lambda s: (s.server is None, -s.tokens, s.server or "")))


def _server(name: str | None, group: Sequence[ToolSummary]) -> ServerSummary:
    called = [t.last_called_unix_ns for t in group if t.last_called_unix_ns is not None]
    return ServerSummary(
        server=name,
        tools=len(group),
        unused=sum(not t.called for t in group),
        tokens=sum(t.tokens or 0 for t in group),
        called=sum(t.called for t in group),
        last_called_unix_ns=max(called, default=None),
        price=summed_price(group),
    )


def summed_price(group: Iterable[ToolSummary]) -> Price | None:
    """Of several tools together, as far as they have a price; the source is that of the dearest.

    Cold adds up: they stand in one prompt. As lived adds up where all were offered together, as the
    tools of a client are.
    """
    prices = [tool.price for tool in group if tool.price]
    if not prices:
        return None
    dearest = max(prices, key=lambda p: p.cold_ns)
    return Price(
        sum(p.cold_ns for p in prices),
        sum(p.lived_ns for p in prices),
        dearest.source,
        dearest.spread,
    )
