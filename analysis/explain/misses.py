"""Prefix cache misses: why tokens were read again that a cache could have had, what changed, and where.

One rule: whose doing it was is the record's word; here it is only counted and priced. What a server
does not say of its cache stays unknown, with the number of prompts of which it is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, get_args

from analysis.store.recorded import Cause

from .prefill import PrefillCost, engine
from .prefix import rate, spread, within
from .prompt import input_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from analysis.store.recorded import Difference, Record
    from analysis.store.tallies import Lost, Tallies

    from .prefill import Cost, Engine
    from .prompt import PartName
    from .source import Source

NEAR: Final = 64
"""Characters. First differences that are no further apart are one change: of a clock, now the hours
change first, now the seconds."""

CLIENTS: Final = frozenset({"system", "tools", "model", "history rewritten"})
"""Causes that the client can do something about: it changed what it sent."""


class Span(NamedTuple):
    """Of a figure over the prompts of a row."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where prompts first differ from the earlier ones that they go on from."""

    part: PartName
    tool: str | None
    """The one in most of them; None: it is in no tool."""
    tools: int
    """Different tools; 0: it is in no tool."""
    messages: Span | None
    """Of the request's messages, from 0; None: it is in none."""
    offsets: Span
    """Characters that are still the same, from the start of the message, the tool or the system prompt."""
    prompts: int
    tokens: int
    """Lost by these."""


@dataclass(frozen=True, slots=True)
class Seconds:
    """What it took to read them again, in ns."""

    ns: int
    interval_ns: tuple[int, int] | None
    """As far as the cost of a token is known; None: no interval is."""
    source: Source


@dataclass(frozen=True, slots=True)
class Miss:
    """All misses of one cause."""

    cause: Cause
    prompts: int
    tokens: int
    """Read again; of the prompts of which it is known."""
    seconds: Seconds | None
    """None: what a token costs is not known."""
    unreported: int
    """Of `prompts`, those whose server did not say what it cached: their tokens are what no cache could
    have had behind the change."""
    ages_ns: Span | None
    """From the end of the earlier prompt's exchange to this one; None: not known."""
    places: tuple[Place, ...]
    """Most tokens first; empty where nothing differs: the prefix was stable and the server did not use it."""

    @property
    def stable(self) -> bool:
        """Whether the prefix was there to be used: the server let it go, or had none."""
        return self.cause in {"server", "time-out"}


@dataclass(frozen=True, slots=True)
class Misses:
    """Expected of the caches against what the servers reported."""

    causes: tuple[Miss, ...]
    """Dearest first: by tokens."""
    compared: int
    """Prompts that were held against an earlier one that shares something with them."""
    turns: int
    """Turns that these are of."""
    first: int
    """Prompts that nothing remembered shares anything with: there was nothing to hit."""
    unreported: int
    """Of `compared`, those whose server did not say what it cached: whether it hit is unknown."""
    expected: int
    """Tokens that a cache which keeps every prompt would have had, over those whose server did say."""
    reported: int
    """Tokens that the servers said they had, over the same prompts."""
    sampled: bool = False
    """True: prompts and tokens by cause are those of the whole journal, all else is of a sample of it."""

    @property
    def tokens(self) -> int:
        """Read again, whatever the cause."""
        return sum(miss.tokens for miss in self.causes)


class _Lost(NamedTuple):
    """One prompt that had to be read again."""

    record: Record
    cause: Cause
    tokens: int
    cost: Cost


def misses(
    records: Iterable[Record], costs: Mapping[Engine, Cost], tallies: Tallies | None = None
) -> Misses:
    """Over records; `tallies` are given where these are a sample of what is looked at.

    Answers only: a request that no model began to answer tells nothing of a cache.
    """
    told = [r for r in records if r.kind != "not_generation" and r.generation != "none"]
    prefixes = [(r, r.prefix) for r in told if r.prefix is not None]
    compared = [(r, p) for r, p in prefixes if p.parent is not None]
    spoken = [p for _, p in compared if p.reported is not None and p.expected is not None]
    lost: dict[Cause, list[_Lost]] = {}
    for record, prefix in compared:
        if prefix.cause is not None:
            miss = _Lost(record, prefix.cause, max(0, prefix.lost or 0), costs[engine(record)])
            lost.setdefault(prefix.cause, []).append(miss)
    exact = {} if tallies is None else tallies.causes
    seen = [name for name in get_args(Cause) if name in lost or name in exact]
    causes = [_miss(name, lost.get(name, ()), exact.get(name)) for name in seen]
    return Misses(
        causes=tuple(sorted(causes, key=lambda m: (-m.tokens, m.cause))),
        compared=len(compared),
        turns=len({r.turn or r.id for r, _ in compared if r.kind == "turn"}),
        first=len(prefixes) - len(compared),
        unreported=sum(p.reported is None for _, p in compared),
        expected=sum(p.expected or 0 for p in spoken),
        reported=sum(p.reported or 0 for p in spoken),
        sampled=tallies is not None,
    )


def _miss(cause: Cause, group: Sequence[_Lost], exact: Lost | None) -> Miss:
    tokens = sum(miss.tokens for miss in group)
    scale = exact.tokens / tokens if exact is not None and tokens else 1.0
    found = [p.parent_age_ns for m in group if (p := m.record.prefix) is not None]
    ages = [age for age in found if age is not None]
    return Miss(
        cause=cause,
        prompts=len(group) if exact is None else exact.exchanges,
        tokens=tokens if exact is None else exact.tokens,
        seconds=_seconds(group, scale),
        unreported=sum(m.record.prefix is None or m.record.prefix.reported is None for m in group),
        ages_ns=Span(min(ages), max(ages)) if ages else None,
        places=tuple(_places(group)) if cause in CLIENTS else (),
    )


def _seconds(group: Iterable[_Lost], scale: float) -> Seconds | None:
    """Tokens times what one costs in its prompt; the interval and the source are of the dearest."""
    each = []
    for miss in group:
        if isinstance(miss.cost, PrefillCost):
            whole = input_tokens(miss.record)
            tokens = whole.tokens if whole else miss.tokens
            each.append((miss.tokens * rate(miss.cost, tokens), miss.cost, tokens))
    if not each:
        return None
    ns = sum(one for one, _, _ in each) * scale
    _, cost, tokens = max(each, key=lambda one: one[0])
    return Seconds(round(ns), within(ns, spread(cost, tokens)), cost.estimate)


def _places(group: Iterable[_Lost]) -> list[Place]:
    parts: dict[tuple[str, int | None], list[tuple[Difference, int]]] = {}
    for miss in group:
        found = miss.record.prefix.difference if miss.record.prefix else None
        if found is not None:
            # History is cut and rewritten anywhere; a system prompt changes at a place of its own.
            message = found.message if found.part == "system" else None
            parts.setdefault((found.part, message), []).append((found, miss.tokens))
    places = [_place(near) for found in parts.values() for near in _near(found)]
    return sorted(places, key=lambda p: (-p.tokens, p.part, p.offsets))


def _near(found: list[tuple[Difference, int]]) -> Iterator[list[tuple[Difference, int]]]:
    """Differences in a system prompt, place by place; all others together."""
    if found[0][0].part != "system":
        yield found
        return
    found.sort(key=lambda one: one[0].offset)
    near = found[:1]
    for one in found[1:]:
        if one[0].offset - near[-1][0].offset > NEAR:
            yield near
            near = []
        near.append(one)
    yield near


def _place(found: Sequence[tuple[Difference, int]]) -> Place:
    differences = [difference for difference, _ in found]
    tools = Counter(d.tool for d in differences if d.tool is not None)
    messages = [d.message for d in differences if d.message is not None]
    offsets = [d.offset for d in differences]
    return Place(
        part=differences[0].part,
        tool=tools.most_common(1)[0][0] if tools else None,
        tools=len(tools),
        messages=Span(min(messages), max(messages)) if messages else None,
        offsets=Span(min(offsets), max(offsets)),
        prompts=len(found),
        tokens=sum(tokens for _, tokens in found),
    )
