"""What each tool definition costs, and whether it was ever of use.

One rule: offered and called are counted over answers, hidden ones included: a tool list costs its
time whoever asked. A request that no answer came to can neither use nor refuse a tool.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from .prefill import PrefillCost, engine
from .prefix import Price
from .prompt import prompt
from .source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from analysis.store.recorded import Record, ToolEntry, ToolSet

    from .prefill import Cost, Engine
    from .prompt import PartTokens


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
    price: Price | None
    """Cold: of the last answer that offered it. As lived: mean of all that did."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools that were offered."""

    tools: tuple[ToolSummary, ...]
    """Largest first, then by name."""
    answers: int
    """Answers over which offers and calls were counted."""
    offering: int
    """Those of them whose request offered any tool."""
    unlisted: int
    """Those of them whose list of tools is not in the journal: their tools are in no row."""

    def never_called(self) -> tuple[ToolSummary, ...]:
        """Tools that no answer called."""
        return tuple(t for t in self.tools if not t.called)


@dataclass(slots=True)
class _Use:
    """One set of tools over the answers to requests that offered it."""

    listed: ToolSet
    counted: int
    """Tokens of all its tools, as the set itself has them."""
    answers: int = 0
    priced: int = 0
    """Answers on an engine whose cost is known."""
    lived: float = 0.0
    """Sum over those: ns that were paid for one token, as the set itself counts them."""
    part: PartTokens | None = None
    """The tools part of the last one; None if it was not counted."""
    cost: Cost | None = None
    """What a token costs on the engine of the last one."""

    def add(self, part: PartTokens | None, cost: Cost) -> None:
        """Take an answer, in time order."""
        self.answers += 1
        self.part, self.cost = part, cost
        if not isinstance(cost, PrefillCost):
            return
        self.priced += 1
        if part is None or not part.tokens or not self.counted:
            self.lived += cost.ns_per_token
        else:
            self.lived += cost.ns_per_token * part.uncached / self.counted


@dataclass(slots=True)
class _Tool:
    """One tool over the sets that hold it, in the order of their last use."""

    entry: ToolEntry
    uses: list[_Use] = field(default_factory=list)
    tokens: int | None = None
    """At the scale of the last prompt."""
    lived_ns: float = 0.0


def tools(
    records: Iterable[Record], sets: Mapping[str, ToolSet], costs: Mapping[Engine, Cost]
) -> Tools:
    """Each tool over records in time order."""
    answers = [r for r in records if r.kind != "not_generation" and r.generation != "none"]
    offering = [(r, r.tools) for r in answers if r.tools is not None]
    uses: dict[str, _Use] = {}
    called: Counter[str] = Counter()
    for record, offered in offering:
        called.update(set(offered.called))
        listed = sets.get(offered.set_hash)
        if listed is not None:
            use = uses.pop(offered.set_hash, None) or _unused(listed)
            uses[offered.set_hash] = use  # to the end: uses stand in the order of their last
            counted = prompt(record)
            use.add(counted.part("tools") if counted else None, costs[engine(record)])
    rows = [_summary(tool, called[name]) for name, tool in _by_name(uses.values()).items()]
    rows.sort(key=lambda t: (-(t.tokens or 0), t.name))
    listed_answers = sum(use.answers for use in uses.values())
    return Tools(tuple(rows), len(answers), len(offering), len(offering) - listed_answers)


def _unused(listed: ToolSet) -> _Use:
    """A name that stands there twice is one tool: the last definition is the one that counts."""
    counts = {entry.name: entry.tokens or 0 for entry in listed.tools}
    return _Use(listed, sum(counts.values()))


def _by_name(uses: Iterable[_Use]) -> dict[str, _Tool]:
    found: dict[str, _Tool] = {}
    for use in uses:
        entries = {entry.name: entry for entry in use.listed.tools}
        for entry, tokens in zip(entries.values(), _tokens(use, entries.values()), strict=True):
            tool = found.setdefault(entry.name, _Tool(entry))
            tool.uses.append(use)
            tool.entry, tool.tokens = entry, tokens
            tool.lived_ns += use.lived * (entry.tokens or 0)
    return found


def _tokens(use: _Use, entries: Iterable[ToolEntry]) -> list[int | None]:
    """Tokens of each tool at the scale of the last prompt, where that was counted."""
    counts = [entry.tokens for entry in entries]
    if use.part is None or not use.part.tokens:
        return counts
    scaled = _shares([n or 0 for n in counts], use.part.tokens)
    return [None if n is None else share for n, share in zip(counts, scaled, strict=True)]


def _shares(counts: Sequence[int], tokens: int) -> list[int]:
    """`tokens` in the proportions of `counts`; no token is lost to rounding."""
    whole = sum(counts)
    if not whole:
        return [0] * len(counts)
    bounds = [upto * tokens // whole for upto in accumulate(counts)]
    return [end - start for start, end in pairwise([0, *bounds])]


def _summary(tool: _Tool, called: int) -> ToolSummary:
    last = tool.uses[-1]
    counted_by = Source("counted", f"by {last.listed.source}")
    return ToolSummary(
        name=tool.entry.name,
        server=tool.entry.server,
        tokens=tool.tokens,
        source=last.part.source if last.part and last.part.tokens else counted_by,
        offered=sum(use.answers for use in tool.uses),
        called=called,
        price=_price(tool),
    )


def _price(tool: _Tool) -> Price | None:
    last = tool.uses[-1]
    if tool.tokens is None or not isinstance(last.cost, PrefillCost):
        return None
    read = tool.tokens if last.part is None or last.part.read else 0
    lived_ns = tool.lived_ns / sum(use.priced for use in tool.uses)
    return Price(last.cost.of(read), round(lived_ns), last.cost.estimate)
