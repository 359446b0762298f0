"""The times of one turn that a what-if can change: decode by answer, prefill, unused tools, cache, hidden.

One rule: a time that is not known is None, never 0: a turn is left out of the lines it says nothing
about. Nothing here is longer than the stretch of the turn's budget that it is a part of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .prompt import cached_tokens, prompt, uncached_tokens
from .segment import DECODE
from .source import MEASURED
from .standing import standing
from .turn_budget import alone, split

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from analysis.store.recorded import Record, ToolSet

    from .prefill import Cost, Engine
    from .segment import Budget, Segment
    from .source import Source
    from .turns import Turn

REPEATED: Final = frozenset({"tools", "system", "history"})
"""Parts that a client sends again: what a full cache would hold where prompts were not compared."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """The decode of one answer."""

    ns: int
    kind: str | None
    """What it was, in the record's words; None: not known."""


@dataclass(frozen=True, slots=True)
class Saving:
    """Time of a turn that a change would take away, in ns."""

    ns: float
    interval_ns: tuple[float, float] | None
    """As far as the cost of a token is known; None where the time was measured or reported."""
    source: Source

    def times(self, share: float) -> Saving:
        """So much of it, 0 to 1."""
        ends = self.interval_ns
        scaled = None if ends is None else (ends[0] * share, ends[1] * share)
        return Saving(self.ns * share, scaled, self.source)


@dataclass(frozen=True, slots=True)
class TurnTimes:
    """One turn, all its exchanges together."""

    whole_ns: int
    """First request byte of its first exchange -> end of its last."""
    decodes: tuple[Decoded, ...] | None
    """Of each exchange; None when that of one is not known."""
    prefill: Saving | None = None
    """All reading of prompts."""
    unused_tools: Saving | None = None
    """Reading definitions of tools that were never called."""
    cacheable: Saving | None = None
    """Reading what a cache that keeps every prompt would have had."""
    hidden: Saving | None = None
    """Hidden requests that stood in its way."""

    @property
    def decode_ns(self) -> int | None:
        """D: all decode; None when that of one exchange is not known."""
        return None if self.decodes is None else sum(d.ns for d in self.decodes)

    @property
    def fixed_ns(self) -> int | None:
        """F: all that is not decode; None when decode is."""
        decode_ns = self.decode_ns
        return None if decode_ns is None else self.whole_ns - decode_ns


@dataclass(frozen=True, slots=True)
class Known:
    """What the selection as a whole says, and one turn cannot."""

    costs: Mapping[Engine, Cost]
    tool_sets: Mapping[str, ToolSet]
    unused: AbstractSet[str]
    """Names of the tools that were never called in all of it."""


@dataclass(frozen=True, slots=True)
class _Read:
    """One exchange's prefill, and what of it could be spared."""

    prefill: Saving | None
    unused_tools: Saving | None
    cacheable: Saving | None


def turn_times(turn: Turn, known: Known, budgets: Sequence[Budget] | None = None) -> TurnTimes:
    """The times of a turn. `budgets`: those of its exchanges, where they are there already."""
    spents = budgets or split(turn, known.costs)
    each = [(p.record, spent, p) for p, spent in zip(turn.line, spents, strict=True)]
    own = [(record, spent, tuple(alone(placed, spent))) for record, spent, placed in each]
    unseen = any(spent.decode_ns is None and standing(r) == "turn" for r, spent, _ in own)
    decodes = tuple(
        Decoded(sum(s.ns for s in segments if s.name in DECODE), record.output.content_kind)
        for record, spent, segments in own
        if spent.decode_ns is not None
    )
    reads = [_read(record, segments, known) for record, _, segments in own]
    return TurnTimes(
        whole_ns=turn.whole_ns,
        decodes=None if unseen or not decodes else decodes,
        prefill=_whole(r.prefill for r in reads),
        unused_tools=_whole(r.unused_tools for r in reads),
        cacheable=_whole(r.cacheable for r in reads),
        hidden=Saving(sum(gap.hidden_ns for gap in turn.gaps), None, MEASURED),
    )


def _whole(savings: Iterable[Saving | None]) -> Saving | None:
    """Over the exchanges of a turn; None when one of them is not known."""
    every = list(savings)
    each = [s for s in every if s is not None]
    return _summed(each) if each and len(each) == len(every) else None


def _summed(each: Sequence[Saving]) -> Saving:
    """One or more; the source is that of the longest."""
    ends = [s.interval_ns or (s.ns, s.ns) for s in each]
    exact = all(s.interval_ns is None for s in each)
    interval = None if exact else (sum(low for low, _ in ends), sum(high for _, high in ends))
    return Saving(sum(s.ns for s in each), interval, max(each, key=lambda s: s.ns).source)


def _read(record: Record, segments: Iterable[Segment], known: Known) -> _Read:
    read = [s for s in segments if s.name.startswith("prefill")]
    if not read:
        # An exchange that asked for nothing to be read is not among those of a turn: it was not told.
        return _Read(None, None, None)
    prefill = _summed([_saving(s) for s in read])
    tools = [_saving(s) for s in read if s.name == "prefill: tools"]
    of_tools = _summed(tools) if tools else prefill.times(0)
    unused, again = _unused_share(record, known), _cacheable_share(record)
    return _Read(
        prefill,
        None if unused is None else of_tools.times(unused),
        None if again is None else prefill.times(again),
    )


def _saving(segment: Segment) -> Saving:
    return Saving(segment.ns, segment.interval, segment.source)


def _unused_share(record: Record, known: Known) -> float | None:
    """Of the tokens of its tools, those of tools that were never called, 0 to 1.

    None when the list of its tools is not in the journal, or was not counted.
    """
    if record.tools is None:
        return 0.0
    listed = known.tool_sets.get(record.tools.set_hash)
    if listed is None:
        return None
    tokens = {entry.name: entry.tokens or 0 for entry in listed.tools}
    whole = sum(tokens.values())
    return sum(n for name, n in tokens.items() if name in known.unused) / whole if whole else None


def _cacheable_share(record: Record) -> float | None:
    """Of the tokens that were read, those that a cache which keeps every prompt would have had."""
    read = uncached_tokens(record)
    if not read:
        return None if read is None else 0.0
    if record.prefix is not None:
        again = (record.prefix.expected or 0) - (cached_tokens(record) or 0)
    elif (counted := prompt(record)) is not None:
        again = sum(p.uncached for p in counted.parts if p.part in REPEATED)
    else:
        return None
    return min(max(0, again), read) / read
