"""What a finding is, and what findings are made from.

One rule: time is named only as the mean of all turns, so that findings can be held against each other; what
cannot be said in seconds has none, which is not zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from analysis.explain.budget import Budget
    from analysis.explain.misses import Misses
    from analysis.explain.outlook import Outlook
    from analysis.explain.prefix import Prefix
    from analysis.explain.savings import Savings
    from analysis.explain.segment import SegmentName
    from analysis.explain.source import Source
    from analysis.explain.tools import Tools
    from analysis.explain.turns import Turn
    from analysis.store.recorded import Record

FindingName = Literal[
    "unused tools",
    "bloated tools",
    "oversized system prompt",
    "client inflates its prompt",
    "template drops tools",
    "token counts disagree",
    "prefix broken",
    "cache not reused",
    "hidden requests",
    "queueing",
    "slow caller",
    "far server",
    "proxy slow",
    "reasoning before the answer",
    "first token dominates",
    "decode dominates",
    "stalls",
    "retries",
    "errors",
    "redirects past the proxy",
]

FELT: Final = 0.05
"""Of the mean turn: what takes less is felt by nobody, and is no finding."""

LEAST_NS: Final = 50_000_000
"""A twentieth of a second: below it a share of a short turn says nothing either."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim about the traffic."""

    name: FindingName
    saves_ns: float | None
    """Mean of all turns that could be gained; None: it cannot be said in seconds."""
    source: Source
    figures: Mapping[str, float | int | str] = field(default_factory=dict)
    """The evidence: names end in their unit (`_ns`, `share`, `factor`), all others are counts or words."""
    interval_ns: tuple[int, int] | None = None
    """95 % interval of `saves_ns`; None: measured, or none is known."""
    doubts: tuple[str, ...] = ()
    """What may make it wrong, as codes."""
    takes: frozenset[SegmentName] = frozenset()
    """Segments of a turn that would become shorter: two findings that share one overlap."""
    overlaps: tuple[FindingName, ...] = ()
    """Findings whose savings are partly the same; they do not add up."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the report has worked out so far."""

    turns: Sequence[tuple[Turn, Budget]]
    """Those that came to their end."""
    records: Sequence[Record]
    """Everything, errors included."""
    answers: Sequence[Record]
    """Whole answers to turns."""
    prefix: Prefix
    tools: Tools
    savings: Savings
    misses: Misses
    outlook: Outlook

    @property
    def turn_ns(self) -> float:
        """The mean turn; 0 without turns."""
        return sum(spent.whole_ns for _, spent in self.turns) / len(self.turns) if self.turns else 0

    def mean_ns(self, *names: SegmentName) -> float:
        """Time of these segments in the mean turn."""
        if not self.turns:
            return 0.0
        wanted = set(names)
        spent = (s.ns for _, each in self.turns for s in each.segments if s.name in wanted)
        return sum(spent) / len(self.turns)

    def source_of(self, name: SegmentName) -> Source | None:
        """Of the longest such segment; None when there is none."""
        found = [s for _, each in self.turns for s in each.segments if s.name == name]
        return max(found, key=lambda s: s.ns).source if found else None

    def interval_of(self, name: SegmentName) -> tuple[int, int] | None:
        """Of the segment's time in the mean turn; None when no interval is known of any."""
        return mean_interval(
            [s.interval or (s.ns, s.ns) for _, each in self.turns for s in each.segments if s.name == name],
            len(self.turns),
            known=any(
                s.interval for _, each in self.turns for s in each.segments if s.name == name
            ),
        )  # fmt: skip

    def felt(self, ns: float) -> bool:
        """Whether so much of the mean turn is worth a word."""
        return ns >= LEAST_NS and ns >= FELT * self.turn_ns


def mean_interval(
    ends: Iterable[tuple[int, int]], turns: int, *, known: bool
) -> tuple[int, int] | None:
    """Intervals of one cost, over so many turns: they are off together, so the ends add up."""
    each = list(ends)
    if not known or not turns:
        return None
    return (
        round(sum(low for low, _ in each) / turns),
        round(sum(high for _, high in each) / turns),
    )
