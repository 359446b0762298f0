"""The seam between whoever keeps records and whoever explains them.

One rule: a store gives all that it was asked for and says what it could not give. A line that cannot
be read and an exchange that left no record are data like the records themselves, never an exception
and never silence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from .selection import EVERYTHING, Selection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .recorded import GaugeSample, Loss, Record, ToolSet
    from .tallies import Tallies

MOST: Final = 5_000
"""Records that a journal gives at most unless asked otherwise; of more it gives a sample."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something in the journal that is not what it should be."""

    file: str
    """Its name in the folder."""
    line: int | None
    """From 1; None when it is about the whole file."""
    reason: str


@dataclass(frozen=True, slots=True)
class Gap:
    """Numbers of a run that have neither a record nor a loss line."""

    run: str
    first: int
    last: int

    @property
    def count(self) -> int:
        """Exchanges in it."""
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Sampling:
    """How many of those asked for were taken."""

    taken: int
    """Exchanges."""
    of: int
    turns_taken: int
    """Turns, each with all its exchanges."""
    turns_of: int


@dataclass(frozen=True, slots=True)
class Journal:
    """What a store holds, or a choice of it."""

    records: tuple[Record, ...] = ()
    """In the order of their first bytes."""
    tool_sets: Mapping[str, ToolSet] = field(default_factory=dict)
    """By their hash."""
    losses: tuple[Loss, ...] = ()
    """What the recorder itself said it lost, less exchanges that do have a record."""
    gaps: tuple[Gap, ...] = ()
    """Exchanges still running, lost without a word, or in a file that was taken away."""
    unreadable: tuple[Unreadable, ...] = ()
    gauges: tuple[GaugeSample, ...] = ()
    """What servers said of themselves, in the order of the questions; those that said nothing too."""
    sampling: Sampling | None = None
    """None: `records` are all that there are."""
    tallies: Tallies | None = None
    """Exact counts over all that was asked for, sampled or not; None: whoever made this counted nothing."""


class StoreError(Exception):
    """The store as a whole cannot be used; the message says what, where and what to do."""


class NoJournalError(StoreError):
    """There is no such store: nothing has been recorded in it yet."""


class Store(Protocol):
    """Where records come from."""

    def journal(self, selection: Selection = EVERYTHING, most: int = MOST) -> Journal:
        """What is asked for; of more than `most` records a sample of whole turns, evenly spaced.

        The same journal gives the same sample. Losses and gaps have no route, client or model: of these
        all that fit in time are given. Raises NoJournalError when there is no store, StoreError when it
        cannot be read.
        """

    def one(self, exchange: str) -> Record | None:
        """The record of this id; None if there is none. Raises as `journal`."""

    def turn_of(self, exchange: str) -> tuple[Record, ...]:
        """All exchanges of the turn that this id belongs to or names, in the order of their first bytes.

        With them the hidden ones that overlap it in time, of the same thread or the same caller's address.
        Of an exchange that belongs to no turn: itself and those. Empty if there is none of this id. Raises
        as `journal`.
        """
