"""Sets of tools over the answers to requests that offered them: what was paid for a token of each set.

One rule: tools are counted by the set that they were offered in, never one by one. A set's file holds
the tokens of each tool; what an answer paid for the set as a whole is laid on them in that proportion.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from .prefill import PrefillCost, engine
from .prefix import rate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from analysis.store.recorded import Record, ToolEntry, ToolSet
    from analysis.store.tallies import Tallies

    from .prefill import Cost, Engine
    from .prompt import PartTokens, Prompt, Prompts


@dataclass(slots=True)
class Use:
    """One set of tools over the answers to requests that offered it."""

    listed: ToolSet
    counted: int
    """Tokens of all its tools, as the set itself has them."""
    answers: int = 0
    """That were looked at."""
    tallied: int | None = None
    """That there are, where those that were looked at are a sample; None: they are all."""
    priced: int = 0
    """Answers on an engine whose cost is known."""
    lived: float = 0.0
    """Sum over those: ns that were paid for one token, as the set itself counts them."""
    cold: float = 0.0
    """The same, as if nothing had been cached."""
    turns: set[str] = field(default_factory=set)
    """Priced ones of kind turn, by the turn that they belong to."""
    turn_lived: float = 0.0
    """Of `lived`, what these paid."""
    part: PartTokens | None = None
    """The tools part of the last one; None if it was not counted."""
    cost: Cost | None = None
    """What a token costs on the engine of the last one; None: no answer was looked at."""
    prompt_tokens: int = 0
    """Of the last one's prompt; 0: not counted."""

    @property
    def offered(self) -> int:
        """Answers to requests that offered it."""
        return self.answers if self.tallied is None else self.tallied

    @property
    def scale(self) -> float:
        """How many answers each one that was looked at stands for."""
        return self.offered / self.answers if self.answers else 1.0

    def add(self, record: Record, counted: Prompt | None, cost: Cost) -> None:
        """Take an answer and its prompt by part, in time order."""
        part = counted.part("tools") if counted else None
        self.answers += 1
        self.part, self.cost = part, cost
        self.prompt_tokens = counted.tokens if counted else 0
        if not isinstance(cost, PrefillCost):
            return
        lived = rate(cost, counted.uncached if counted else 0)
        cold = rate(cost, self.prompt_tokens)
        if part is not None and part.tokens and self.counted:
            lived *= part.uncached / self.counted
            cold *= part.billed / self.counted
        self.priced += 1
        self.lived += lived
        self.cold += cold
        if record.kind == "turn":
            self.turns.add(record.turn or record.id)
            self.turn_lived += lived


@dataclass(slots=True)
class Offered:
    """One tool over the sets that hold it, in the order of their last use."""

    entry: ToolEntry
    """As the last of them has it."""
    tokens: int | None = None
    """At the scale of the last prompt; None: not counted."""
    weights: list[tuple[Use, int]] = field(default_factory=list)
    """Each set, and the tool's tokens as that set counts them."""

    @property
    def uses(self) -> list[Use]:
        """The sets."""
        return [use for use, _ in self.weights]


def uses(
    offering: Iterable[Record],
    sets: Mapping[str, ToolSet],
    costs: Mapping[Engine, Cost],
    tallies: Tallies | None,
    prompts: Prompts,
) -> list[Use]:
    """Each set whose list is in the journal, over answers that were offered tools, in time order.

    In the order of their last use; sets that no answer here was offered, by `tallies`, stand first.
    """
    found: dict[str, Use] = {}
    counts = {} if tallies is None else tallies.offered
    for name in counts:
        if name in sets:
            found[name] = _unused(sets[name])
    for record in offering:
        name = record.tools.set_hash if record.tools else ""
        if name in sets:
            use = found.pop(name, None) or _unused(sets[name])
            found[name] = use  # to the end
            use.add(record, prompts.of(record), costs[engine(record)])
    for name, tally in counts.items():
        if name in found:
            found[name].tallied = tally.answers
    return list(found.values())


def _unused(listed: ToolSet) -> Use:
    """A name that stands there twice is one tool: the last definition is the one that counts."""
    counts = {entry.name: entry.tokens or 0 for entry in listed.tools}
    return Use(listed, sum(counts.values()))


def by_name(used: Iterable[Use]) -> dict[str, Offered]:
    """Each tool of these sets; the last set that holds it tells its size."""
    found: dict[str, Offered] = {}
    for use in used:
        entries = {entry.name: entry for entry in use.listed.tools}
        for entry, tokens in zip(entries.values(), _tokens(use, entries.values()), strict=True):
            tool = found.setdefault(entry.name, Offered(entry))
            tool.weights.append((use, entry.tokens or 0))
            tool.entry, tool.tokens = entry, tokens
    return found


def _tokens(use: Use, entries: Iterable[ToolEntry]) -> list[int | None]:
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
