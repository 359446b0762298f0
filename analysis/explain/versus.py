"""Did it help: turns before and after a change on the client's side.

One rule: only like is held against like. The prefix is what was changed; server, model, length of the question
and load are not, so a turn is compared with turns that have the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median_low
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from analysis.stats.compare import FEWEST, Stratum, change

from .prefill import engine
from .prefix import within
from .prompt import prompt
from .source import Refusal
from .tools import summed_price
from .turns import threaded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from analysis.stats.compare import Change
    from analysis.store.recorded import Record

    from .overview import Overview
    from .prefill import Engine
    from .turns import Turn

LOADS: Final = (1, 4)
"""Requests in flight up to which a turn counts as alone, as one of few; all others as one of many."""

Load = Literal["alone", "few", "many"]

PREFIX: Final = ("tools", "system")
"""What the client puts in front: the treatment."""


class Like(NamedTuple):
    """What turns must have in common to be compared."""

    engine: Engine
    question: int
    """Its length: tokens to the next power of two; -1: not counted."""
    load: Load


@dataclass(frozen=True, slots=True)
class Side:
    """Turns on one side."""

    turns: int
    compared: int
    """Of them, those that have their like on the other side."""
    tokens: Mapping[str, int]
    """Of the parts in front, in the middle turn of those that carry them."""
    alone: tuple[str, ...] = ()
    """Models, with their servers, that the other side does not have."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What the report on the side before says of the tools that are gone."""

    tools: tuple[str, ...]
    tokens: int
    saves_ns: float | None
    """A turn; None: what they cost is not known."""
    interval_ns: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Versus:
    """Both sides, and what lies between."""

    before: Side
    after: Side
    change: Change | Refusal
    """Of whole turns, in ns."""
    strata: int
    """Kinds of turns that were compared."""
    promise: Promise | None
    """None when no tool is gone."""

    @property
    def saved_ns(self) -> float | None:
        """A typical turn's time before less after; None when nothing could be compared."""
        return None if isinstance(self.change, Refusal) else self.change.before - self.change.after

    @property
    def saved_interval_ns(self) -> tuple[float, float] | None:
        """Its 95 % interval."""
        found = self.change
        return None if isinstance(found, Refusal) else (found.saved_low, found.saved_high)


def versus(
    before: Sequence[Record], after: Sequence[Record], was: Overview, now: Overview
) -> Versus:
    """`was` and `now`: the reports on both sides, for what was promised and for the tools that are gone."""
    old, new = _by_kind(before), _by_kind(after)
    both = [like for like in old if like in new]
    strata = [
        Stratum([t.whole_ns for t in old[like]], [t.whole_ns for t in new[like]]) for like in both
    ]
    thick = [
        like
        for like, s in zip(both, strata, strict=True)
        if min(map(len, (s.before, s.after))) >= FEWEST
    ]
    return Versus(
        _side(old, new, thick),
        _side(new, old, thick),
        change(strata) or Refusal(_why_not(old, new)),
        len(thick),
        _promise(was, now),
    )


def _by_kind(records: Iterable[Record]) -> dict[Like, list[Turn]]:
    found: dict[Like, list[Turn]] = {}
    for turn in threaded(records):
        if turn.standing == "turn" and turn.whole_ns > 0:
            found.setdefault(_like(turn), []).append(turn)
    return found


def _like(turn: Turn) -> Like:
    first = turn.exchanges[0]
    counted = prompt(first)
    asked = counted.part("question") if counted else None
    question = -1 if asked is None else 1 << max(0, asked.tokens - 1).bit_length()
    at_once = first.load.in_flight_at_arrival or 1
    load: Load = "alone" if at_once <= LOADS[0] else "few" if at_once <= LOADS[1] else "many"
    return Like(engine(first), question, load)


def _side(
    turns: Mapping[Like, Sequence[Turn]],
    others: Mapping[Like, Sequence[Turn]],
    thick: Iterable[Like],
) -> Side:
    every = [turn for each in turns.values() for turn in each]
    tokens: dict[str, list[int]] = {}
    for turn in every:
        counted = prompt(turn.exchanges[0])
        for name in PREFIX:
            if counted is not None and (part := counted.part(name)) is not None:
                tokens.setdefault(name, []).append(part.tokens)
    return Side(
        len(every),
        sum(len(turns[like]) for like in thick),
        {name: median_low(each) for name, each in tokens.items()},
        tuple(
            f"{name.model or 'no name'} at {name.upstream}"
            for name in dict.fromkeys(like.engine for like in turns)
            if name not in {like.engine for like in others}
        ),
    )


def _why_not(old: Mapping[Like, Sequence[Turn]], new: Mapping[Like, Sequence[Turn]]) -> str:
    """Why nothing could be compared, with what there is."""
    if not old or not new:
        side = "before" if not old else "after"
        return f"there is no turn {side}"
    engines = [{like.engine for like in side} for side in (old, new)]
    if not engines[0] & engines[1]:
        return "the two sides have no server and model in common"
    most = max(min(len(old[like]), len(new.get(like, ()))) for like in old)
    return (
        f"no kind of turn (server, model, length of the question, load) has {FEWEST} on both sides;"
        f" the best has {most}: {FEWEST - most} more would do"
    )


def _promise(was: Overview, now: Overview) -> Promise | None:
    """The tools that are offered no more, as the report before had them."""
    still = {tool.name for tool in now.tools.tools}
    gone = [tool for tool in was.tools.tools if tool.name not in still]
    if not gone or not now.turns:
        return None
    spent = [tool.spent.turn_lived_ns for tool in gone if tool.spent]
    saves = sum(spent) / was.turns if spent and was.turns else None
    price = summed_price(gone)
    return Promise(
        tuple(tool.name for tool in gone),
        sum(tool.tokens or 0 for tool in gone),
        saves,
        within(saves, price.spread) if price and saves is not None else None,
    )
