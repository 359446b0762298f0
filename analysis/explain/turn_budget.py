"""Where the time of a turn went: the segments of its exchanges, and the client's own time between them.

One rule: they add up to the turn's whole, to the nanosecond. Where two exchanges of a turn ran at once
the time is the earlier one's; the other's segments are cut from their front by as much.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .budget import budget
from .prefill import engine
from .segment import DECODE, Budget, Segment, by_name, joined
from .source import MEASURED, Source
from .standing import standing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .prefill import Cost, Engine
    from .prompt import Prompts
    from .segment import SegmentName
    from .turns import Gap, Placed, Turn

WHY: Final[Mapping[str, SegmentName]] = {
    "tools": "client: tools",
    "between requests": "client: between requests",
}
"""What the client's time is called."""

BESIDE: Final = Source("measured", "as gaps in which they ran")


def split(
    turn: Turn, costs: Mapping[Engine, Cost], prompts: Prompts | None = None
) -> tuple[Budget, ...]:
    """The budget of each exchange, as on the turn's line. `costs` has each engine that answered in it."""
    records = [placed.record for placed in turn.line]
    return tuple(budget(r, costs[engine(r)], prompts) for r in records)


def turn_budget(
    turn: Turn, costs: Mapping[Engine, Cost], budgets: Sequence[Budget] | None = None
) -> Budget:
    """The budget of a turn. `budgets`: those of its exchanges, where they are there already."""
    each = list(zip(turn.line, budgets or split(turn, costs), strict=True))
    segments = [segment for placed, spent in each for segment in alone(placed, spent)]
    segments += [segment for gap in turn.gaps for segment in _gap(gap)]
    same = by_name(segments)
    unseen = any(s.decode_ns is None and standing(p.record) == "turn" for p, s in each)
    none = all(s.decode_ns is None for _, s in each)
    decode = sum(segment.ns for name in DECODE for segment in same.get(name, ()))
    return Budget(
        turn.id,
        turn.whole_ns,
        tuple(joined(name, found) for name, found in same.items()),
        None if unseen or none else decode,
    )


def alone(placed: Placed, spent: Budget) -> Iterator[Segment]:
    """An exchange's segments, less what an earlier exchange of the turn has of its time."""
    skip = placed.seen_from_ns - placed.begin_ns
    for segment in spent.segments:
        cut = min(skip, segment.ns)
        skip -= cut
        yield _shorter(segment, segment.ns - cut) if cut else segment


def _shorter(segment: Segment, ns: int) -> Segment:
    return Segment(segment.name, ns, segment.source, segment.tokens, segment.cached)


def _gap(gap: Gap) -> Iterator[Segment]:
    own = gap.ns - gap.hidden_ns
    if own:
        yield Segment(WHY[gap.why], own, MEASURED)
    if gap.hidden_ns:
        yield Segment("hidden requests in the way", gap.hidden_ns, BESIDE)
