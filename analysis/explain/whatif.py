"""What would make the turns faster: a switch that the user names, and a table of others to hold it against.

One rule: each turn of the journal is put through the formula by itself, and only then summarised. The
turns of a journal ran on one side of the switch, so every line has a slow and a fast time for each:
for what is to come the journal is the slow one, for a switch that has been made it is the fast one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from .asked import Switch
from .quartiles import Quartiles, quartiles
from .source import Refusal, Source
from .speedup import ceiling, whole_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .turn_times import Saving, TurnTimes

WhatIfName = Literal[
    "decode x 1.5",
    "decode x 2",
    "decode x 3",
    "decode free",
    "prefill x 2",
    "no unused tools",
    "full cache hits",
    "no hidden requests",
]

DECODES: Final[Mapping[WhatIfName, float]] = {
    "decode x 1.5": 1.5,
    "decode x 2": 2.0,
    "decode x 3": 3.0,
    "decode free": inf,
}

ALL_ELSE_STAYS: Final = Source("estimated", "from measured times")
"""Of a decode that is faster: the times are measured, that all else stays is assumed."""

NO_DECODE: Final = Refusal("no turn's decode time was seen")


class Change(NamedTuple):
    """One turn on both sides of a change, in ns."""

    slow_ns: float
    fast_ns: float


@dataclass(frozen=True, slots=True)
class Gain:
    """What a change is worth, over the turns for which it could be worked out."""

    turns: int
    speedup: Quartiles
    """Slow time over fast time of a turn."""
    saved_ns: Quartiles
    """Slow time less fast time of a turn."""
    interval_ns: tuple[int, int] | None
    """Of the median of `saved_ns`: how far off the costs in it may be; None where all was measured."""
    total_speedup: float
    """Of all these turns together: sum of the slow times over sum of the fast ones."""
    total_saved_ns: int


@dataclass(frozen=True, slots=True)
class WhatIf:
    """One line of the table."""

    name: WhatIfName
    gain: Gain | Refusal
    source: Source
    """How the seconds came about."""


@dataclass(frozen=True, slots=True)
class Switched:
    """The switch that the user named, on the turns of the journal."""

    switch: Switch
    gain: Gain | Refusal
    ceiling: float | None
    """Median over the turns of (F + D) / F, F being all that is not decode; inf when all is decode; None
    without a turn whose decode time is known."""
    unnamed_turns: int
    """Turns with an answer whose kind the switch does not name, while it names others."""


def what_ifs(turns: Sequence[TurnTimes]) -> tuple[WhatIf, ...]:
    """The table, in the order of `WhatIfName`, over turns of which the journal is the slow side."""
    lines = [
        WhatIf(name, _decoded(turns, Switch(other=s)), ALL_ELSE_STAYS)
        for name, s in DECODES.items()
    ]
    lines += [
        _saving("prefill x 2", turns, lambda t: t.prefill and t.prefill.times(0.5)),
        _saving("no unused tools", turns, lambda t: t.unused_tools),
        _saving("full cache hits", turns, lambda t: t.cacheable),
        _saving("no hidden requests", turns, lambda t: t.hidden),
    ]
    return tuple(lines)


def switched(turns: Sequence[TurnTimes], switch: Switch) -> Switched:
    """The user's switch on each turn, then summarised."""
    unnamed = sum(
        any(d.ns and d.kind not in switch.by_kind for d in t.decodes or ()) for t in turns
    )
    return Switched(
        switch,
        _decoded(turns, switch),
        median_ceiling(turns),
        unnamed if switch.by_kind else 0,
    )


def median_ceiling(turns: Iterable[TurnTimes]) -> float | None:
    """Median over turns of (F + D) / F; inf when nothing but decode was seen in most of them."""
    each = [ceiling(t.fixed_ns or 0, t.decode_ns) for t in turns if t.decode_ns]
    return quartiles(each).median if each else None


def _decoded(turns: Iterable[TurnTimes], switch: Switch) -> Gain | Refusal:
    changes = [change for t in turns if (change := decode_change(t, switch)) is not None]
    return gain(changes) if changes else NO_DECODE


def decode_change(turn: TurnTimes, switch: Switch) -> Change | None:
    """A turn on both sides of the switch; None when its decode time is not known.

    Each answer has its own s; the turn's is the one that gives the same decode time, so that the
    formula of `whole_turn` holds for turns of several exchanges and kinds.
    """
    if not turn.decode_ns or turn.decodes is None or turn.fixed_ns is None:
        return None
    slow = fast = float(turn.whole_ns)
    if switch.measured == "after":
        s = sum(d.ns * switch.s(d.kind) for d in turn.decodes) / turn.decode_ns
        slow *= whole_turn(turn.fixed_ns, turn.decode_ns, s, "after")
        return Change(slow, fast)
    left_ns = sum(d.ns / switch.s(d.kind) for d in turn.decodes)
    if not left_ns:
        return Change(slow, turn.fixed_ns)
    fast /= whole_turn(turn.fixed_ns, turn.decode_ns, turn.decode_ns / left_ns, "before")
    return Change(slow, fast)


def _saving(
    name: WhatIfName, turns: Sequence[TurnTimes], of: Callable[[TurnTimes], Saving | None]
) -> WhatIf:
    """A line whose seconds are a share of each turn."""
    saved = [(t.whole_ns, s) for t in turns if (s := of(t)) is not None]
    if not saved:
        return WhatIf(name, REFUSED[name], Source("estimated"))
    changes = [Change(whole, whole - s.ns) for whole, s in saved]
    known = gain(changes, [s.interval_ns or (s.ns, s.ns) for _, s in saved])
    if all(s.interval_ns is None for _, s in saved):
        known = gain(changes)
    return WhatIf(name, known, max((s for _, s in saved), key=lambda s: s.ns).source)


REFUSED: Final[Mapping[str, Refusal]] = {
    "prefill x 2": Refusal("what a prompt token costs is not known"),
    "no unused tools": Refusal("which tools were of no use, or what they cost, is not known"),
    "full cache hits": Refusal("what the prompts are made of, or what they cost, is not known"),
    "no hidden requests": Refusal("no turn came to its end"),
}


def gain(changes: Sequence[Change], intervals: Sequence[tuple[float, float]] | None = None) -> Gain:
    """Summarise at least one change; `intervals` are those of what each saves, in ns.

    The ends are summarised like the middle: the cost of a token is off in the same direction in every
    turn, so its error does not shrink by having many of them.
    """
    slow_ns, fast_ns = (sum(side) for side in zip(*changes, strict=True))
    return Gain(
        turns=len(changes),
        speedup=quartiles([c.slow_ns / c.fast_ns if c.fast_ns else inf for c in changes]),
        saved_ns=quartiles([c.slow_ns - c.fast_ns for c in changes]),
        interval_ns=None
        if intervals is None
        else (
            round(quartiles([low for low, _ in intervals]).median),
            round(quartiles([high for _, high in intervals]).median),
        ),
        total_speedup=slow_ns / fast_ns if fast_ns else inf,
        total_saved_ns=round(slow_ns - fast_ns),
    )
