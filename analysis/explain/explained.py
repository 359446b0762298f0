"""All that is said of one exchange, and of the turn that it is of, as values.

One rule: an exchange is shown in its turn, because what it waited for may have been another request.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, Literal

from analysis.store.recorded import ttft_ns

from .brief import brief
from .budget import budget
from .prefill import engine, prefill_costs
from .prompt import prompt
from .turn_budget import turn_budget
from .turns import threaded
from .waterfall import waterfall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.store.recorded import Record

    from .brief import Brief
    from .budget import Budget
    from .prompt import Prompt
    from .turns import Turn
    from .waterfall import Waterfall

By = Literal["whole", "ttft"]
"""What makes a turn the worst: its whole duration, or the longest wait for a first token in it."""

NEAR: Final = 5
"""Ids that are named in place of one that is not there."""

LOOKED_AT: Final = 20_000
"""Ids that are compared letter by letter: more take longer than anybody waits."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which exchange, and how it was come by."""

    record: Record
    how: str
    """Completes "exchange r1-1, ...": empty when it was named."""


@dataclass(frozen=True, slots=True)
class NoChoice:
    """Nothing to explain, and what there is."""

    reason: str
    """A sentence."""
    near: tuple[str, ...] = ()
    """Ids that may have been meant."""


@dataclass(frozen=True, slots=True)
class Explained:
    """One exchange in its turn."""

    choice: Choice
    brief: Brief
    budget: Budget
    prompt: Prompt | None
    """None when no part was counted."""
    turn: Turn | None
    """The turn that it is of, or that it ran beside; None when it is of none."""
    whole: Budget | None
    """The turn's budget; None without a turn."""
    waterfall: Waterfall | None
    """None without a turn."""

    @property
    def record(self) -> Record:
        """The exchange."""
        return self.choice.record


def named(records: Sequence[Record], name: str) -> Choice | NoChoice:
    """The exchange of this id, or the only one whose id ends with it behind a dash."""
    if not records:
        return NoChoice("No exchange has been recorded.")
    found = [record for record in records if record.id == name]
    found = found or [record for record in records if record.id.endswith(f"-{name}")]
    if len(found) == 1:
        return Choice(found[0], "")
    ids = [record.id for record in records]
    if found:
        near = tuple(record.id for record in found[-NEAR:])
        return NoChoice(f"{len(found):,} exchanges end with it.", near)
    return NoChoice(
        f"There is no exchange of this id among {len(ids):,}: {ids[0]} to {ids[-1]}.",
        tuple(get_close_matches(name[:200], ids[-LOOKED_AT:], NEAR, 0.5)),
    )


def last(records: Sequence[Record]) -> Choice | NoChoice:
    """The last exchange of the last turn."""
    turns = threaded(records)
    if not turns:
        return _no_turn(records)
    number = f"the last turn of {len(turns):,}" if len(turns) > 1 else "the only turn"
    return Choice(turns[-1].exchanges[-1], number)


def worst(records: Sequence[Record], by: By) -> Choice | NoChoice:
    """The slowest turn's exchange that took longest, or that waited longest for its first token.

    Of turns that came to their end; of all if none did.
    """
    turns = threaded(records)
    ended = [turn for turn in turns if turn.standing == "turn"]
    among = ended or turns
    if by == "ttft":
        waited = [record for turn in among for record in turn.exchanges if _wait_ns(record)]
        if not waited:
            return _no_turn(records, "No turn has a time to its first token.")
        chosen = max(waited, key=lambda r: (_wait_ns(r), r.at_unix_ns))
        return Choice(chosen, f"the longest wait for a first token of {_counted(among, ended)}")
    if not among:
        return _no_turn(records)
    slowest = max(among, key=lambda turn: (turn.whole_ns, turn.begin_unix_ns))
    chosen = max(slowest.exchanges, key=lambda r: r.timings.end_ns)
    return Choice(chosen, f"in the slowest of {_counted(among, ended)}, by whole duration")


def explained(choice: Choice, records: Sequence[Record]) -> Explained:
    """The exchange and its turn. `records`: those of its turn, this one too, and what tells its costs."""
    record = choice.record
    costs = prefill_costs(r for r in records if r.kind != "not_generation" or r is record)
    turn = next((t for t in threaded(records) if _has(t, record)), None)
    return Explained(
        choice=choice,
        brief=brief(record),
        budget=budget(record, costs[engine(record)]),
        prompt=prompt(record),
        turn=turn,
        whole=turn_budget(turn, costs) if turn else None,
        waterfall=waterfall(turn) if turn else None,
    )


def _has(turn: Turn, record: Record) -> bool:
    return any(other.id == record.id for other in (*turn.exchanges, *turn.hidden))


def _wait_ns(record: Record) -> int:
    return ttft_ns(record.timings) or 0


def _counted(among: Sequence[Turn], ended: Sequence[Turn]) -> str:
    n = len(among)
    turns = "1 turn" if n == 1 else f"{n:,} turns"
    return turns if ended else f"{turns}, none of which came to its end"


def _no_turn(records: Sequence[Record], reason: str = "No turn has been recorded.") -> NoChoice:
    if not records:
        return NoChoice("No exchange has been recorded.")
    near = tuple(record.id for record in records[-NEAR:])
    return NoChoice(f"{reason} Of the {len(records):,} exchanges these were the last.", near)
