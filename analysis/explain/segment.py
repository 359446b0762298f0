"""Stretches of time with one cause, and what they add up to.

One rule: names are a closed list, in the order in which they happen; docs/metrics.md has a row for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

from .source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SegmentName = Literal[
    "upload",
    "connect",
    "proxy itself",
    "server queue",
    "prefill: tools",
    "prefill: system",
    "prefill: history",
    "prefill: tool_results",
    "prefill: question",
    "prefill: media",
    "prefill: template",
    "prefill, not split",
    "first step",
    "queue and first step",
    "wait, not split",
    "reasoning",
    "answer",
    "caller not reading",
    "tail",
    "client: tools",
    "client: between requests",
    "hidden requests in the way",
    "unknown",
]

DECODE: Final[tuple[SegmentName, ...]] = ("reasoning", "answer")
"""All else is fixed: a faster decode leaves it as it is."""

PLACE_UNKNOWN: Final = "; order unknown"
"""How the source of a share ends that tools and system have together: nobody but the template knows
which of them stands first."""

DOUBT: Final = ("measured", "reported", "counted", "estimated", "assumed")
"""Kinds of source, the surest first."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of time with one cause."""

    name: SegmentName
    ns: int
    source: Source
    tokens: int | None = None
    """Of a part of the prompt: tokens of it that were read in this time. None: of no counted part."""
    cached: int | None = None
    """Of a part of the prompt: tokens of it that cost no time, because they came from a cache. None: of
    no counted part, or the server did not say."""
    interval: tuple[int, int] | None = None
    """Of an estimate: where the time lies, in ns; None: not an estimate, or no interval is known."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The segments of one exchange, or of a turn, in the order in which they happen."""

    exchange: str
    """Its id; of a turn that of its first exchange."""
    whole_ns: int
    """First request byte to end."""
    segments: tuple[Segment, ...]
    decode_ns: int | None
    """Reasoning and answer; None when a reply's tokens were not seen and the server did not say."""

    @property
    def fixed_ns(self) -> int | None:
        """All that is not decode; None when decode is."""
        return None if self.decode_ns is None else self.whole_ns - self.decode_ns


@dataclass(frozen=True, slots=True)
class SummedSegment:
    """One cause's time in many budgets."""

    name: SegmentName
    ns: int
    sources: tuple[Source, ...]
    """How its parts came about, without a word twice: those with most time first."""


@dataclass(frozen=True, slots=True)
class Sum:
    """Budgets added up: their segments add up to the sum of the wholes."""

    budgets: int
    whole_ns: int
    segments: tuple[SummedSegment, ...]
    """In the order in which they happen; none stands there twice."""


def summed(budgets: Iterable[Budget]) -> Sum:
    """Where the time of all of them went; of exchanges or of turns."""
    budgets = tuple(budgets)
    segments = tuple(
        SummedSegment(name, sum(s.ns for s in same), _most_first(same))
        for name, same in by_name(s for spent in budgets for s in spent.segments).items()
    )
    return Sum(len(budgets), sum(spent.whole_ns for spent in budgets), segments)


def by_name(segments: Iterable[Segment]) -> dict[SegmentName, list[Segment]]:
    """Segments of each name, names in their order."""
    found: dict[SegmentName, list[Segment]] = {}
    for segment in segments:
        found.setdefault(segment.name, []).append(segment)
    names: tuple[SegmentName, ...] = get_args(SegmentName)
    return {name: found[name] for name in names if name in found}


def joined(name: SegmentName, same: Iterable[Segment]) -> Segment:
    """Segments of one name as one: what is least sure is said first of where it comes from."""
    same = tuple(same)
    if len(same) == 1:
        return same[0]
    source = _source(same)
    spans = [s.interval for s in same if s.interval is not None]
    sure = sum(s.ns for s in same if s.interval is None)
    return Segment(
        name,
        sum(s.ns for s in same),
        source,
        _total(s.tokens for s in same),
        _total(s.cached for s in same),
        # One cost is behind them all: they are off together, so the ends add up.
        (sure + sum(low for low, _ in spans), sure + sum(high for _, high in spans))
        if spans
        else None,
    )


def _source(same: Sequence[Segment]) -> Source:
    """Of several, in words; of nearly all it is one and the same."""
    if all(s.source is same[0].source for s in same):
        return same[0].source
    sources = sorted(_most_first(same), key=lambda source: DOUBT.index(source.kind))[::-1]
    first, *others = sources
    words = (first.basis, *(str(s) if s.kind != first.kind else s.basis for s in others))
    return Source(first.kind, "; ".join(filter(None, dict.fromkeys(words))))


def _total(counts: Iterable[int | None]) -> int | None:
    known = [n for n in counts if n is not None]
    return sum(known) if known else None


def _most_first(segments: Iterable[Segment]) -> tuple[Source, ...]:
    """Sources of time; those of no time only where there is no other.

    One that says the same with a doubt covers the one without.
    """
    times: dict[Source, int] = {}
    for segment in segments:
        times[segment.source] = times.get(segment.source, 0) + segment.ns
    some = [source for source in times if times[source]] or list(times)
    said = [s for s in some if Source(s.kind, s.basis + PLACE_UNKNOWN) not in some]
    return tuple(sorted(said, key=lambda source: -times[source]))
