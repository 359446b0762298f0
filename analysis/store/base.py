"""The seam between whoever keeps records and whoever explains them.

One rule: a store gives all that it was asked for and says what it could not give. A line that cannot
be read and an exchange that left no record are data like the records themselves, never an exception
and never silence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .recorded import Loss, Record, ToolSet


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
class Journal:
    """What a store holds."""

    records: tuple[Record, ...] = ()
    """In the order of their first bytes."""
    tool_sets: Mapping[str, ToolSet] = field(default_factory=dict)
    """By their hash."""
    losses: tuple[Loss, ...] = ()
    """What the recorder itself said it lost, less exchanges that do have a record."""
    gaps: tuple[Gap, ...] = ()
    """Exchanges still running, lost without a word, or in a file that was taken away."""
    unreadable: tuple[Unreadable, ...] = ()


class StoreError(Exception):
    """The store as a whole cannot be used; the message says what, where and what to do."""


class NoJournalError(StoreError):
    """There is no such store: nothing has been recorded in it yet."""


class Store(Protocol):
    """Where records come from."""

    def journal(self) -> Journal:
        """All of it. Raises NoJournalError when there is none, StoreError when it cannot be read."""
