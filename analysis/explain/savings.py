"""What it would save to take tools away that were never called.

One rule: only tools that no answer called are a saving. One that is called seldom is named, and nothing
is promised for it: whoever cuts it pays with what it was good for. What a cut saves as lived may be next
to nothing where a cache holds the tools; what it saves whenever that misses stands beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from .source import Refusal
from .tools import Spent, summed_price

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .prefix import Price
    from .tools import Tools, ToolSummary
    from .whatif import Gain, WhatIf

Doubt = Literal["few answers", "tokens are not the server's", "mostly cached", "cache not reported"]

FEW: Final = 20
"""Answers that offered tools: over fewer, "never called" says little."""

MOSTLY: Final = 0.1
"""As lived over cold: below this, a cache hides what the tools cost."""

THE_SERVERS: Final = ("by server tokenizer", "by the server")
"""How the source of a count begins that the server itself made."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Tools that can go together."""

    names: tuple[str, ...]
    """Largest first."""
    server: str | None
    """The MCP server that they are all of, and that has no other; None: a choice of tools."""
    tokens: int
    """In the last prompts that offered them; of the tools that were counted."""
    price: Price | None
    """Of one prompt, cold and as lived; None: seconds are not known."""
    spent: Spent | None
    """Over all that is looked at."""


@dataclass(frozen=True, slots=True)
class Savings:
    """What tools cost that were of no use."""

    unused: Cut | None
    """All tools that were never called; None: there is none."""
    servers: tuple[Cut, ...]
    """MCP servers of which none was called, largest first: each can be cut whole."""
    others: Cut | None
    """Of `unused`, those of no such server: to be cut one by one. None: there is none."""
    gain: Gain | Refusal
    """What a turn takes now against without `unused`, as lived; the journal is the slow side."""
    doubts: tuple[Doubt, ...]
    """Empty when nothing was cut."""
    rarely: tuple[ToolSummary, ...]
    """Called, and seldom: no part of any saving."""


def savings(tools: Tools, what_ifs: Iterable[WhatIf]) -> Savings:
    """What cutting the tools saves that were never called; `what_ifs` hold what it does to a turn."""
    unused = tools.never_called()
    whole = {s.server for s in tools.servers if s.server is not None and s.never_called}
    servers = [(name, [t for t in unused if t.server == name]) for name in whole]
    cuts = [_cut(group, name) for name, group in servers]
    others = [t for t in unused if t.server not in whole]
    gains = (line.gain for line in what_ifs if line.name == "no unused tools")
    return Savings(
        unused=_cut(unused) if unused else None,
        servers=tuple(sorted(cuts, key=lambda c: (-c.tokens, c.server or ""))),
        others=_cut(others) if others else None,
        gain=next(gains, Refusal("no turn came to its end")),
        doubts=tuple(_doubts(tools, unused)) if unused else (),
        rarely=tools.rarely_called(),
    )


def _cut(group: Sequence[ToolSummary], server: str | None = None) -> Cut:
    return Cut(
        names=tuple(t.name for t in group),
        server=server,
        tokens=sum(t.tokens or 0 for t in group),
        price=summed_price(group),
        spent=_spent(group),
    )


def _spent(group: Iterable[ToolSummary]) -> Spent | None:
    """Summed; the turns are those of the tool that most turns offered."""
    each = [t.spent for t in group if t.spent]
    if not each:
        return None
    return Spent(
        lived_ns=sum(s.lived_ns for s in each),
        cold_ns=sum(s.cold_ns for s in each),
        turns=max(s.turns for s in each),
        turn_lived_ns=sum(s.turn_lived_ns for s in each),
    )


def _doubts(tools: Tools, unused: Sequence[ToolSummary]) -> Iterator[Doubt]:
    if tools.offering < FEW:
        yield "few answers"
    if not all(t.source.basis.startswith(THE_SERVERS) for t in unused):
        yield "tokens are not the server's"
    if tools.cache_unspoken:
        yield "cache not reported"
    price = summed_price(unused)
    if price is not None and price.lived_ns < MOSTLY * price.cold_ns:
        yield "mostly cached"
