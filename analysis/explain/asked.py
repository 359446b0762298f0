"""What a reader of the report supposes: a decode speedup, a number of requests at once.

One rule: a supposition stands beside what was measured, never in its place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .speedup import Measured

ContentKind = Literal["prose", "code", "tool_call", "mixed", "other"]
"""What an answer was; `other`: one whose kind is not named, or is not known."""


@dataclass(frozen=True, slots=True)
class Switch:
    """By how much an engine decodes faster, as the user says."""

    by_kind: Mapping[ContentKind, float] = field(default_factory=dict)
    """Factors of the kinds that were named, all > 0."""
    other: float = 1.0
    """Of all other answers; 1: they stay as they are."""
    measured: Measured = "before"
    """On which side of the switch the journal's turns ran."""

    def s(self, kind: str | None) -> float:
        """The factor of an answer of this kind."""
        return next((s for name, s in self.by_kind.items() if name == kind), self.other)


@dataclass(frozen=True, slots=True)
class Range:
    """A working point as somebody says it: requests at once."""

    least: int
    most: int

    def __str__(self) -> str:
        """`1`; `1 to 4`."""
        return str(self.least) if self.least == self.most else f"{self.least} to {self.most}"


@dataclass(frozen=True, slots=True)
class Asked:
    """All of it."""

    switch: Switch | None = None
    """The decode speedup to put the turns through; None: none was named."""
    working_point: Range | None = None
    """Requests at once, as the user says; None: not said."""
