"""What a text is made for: the width, the colours and the clock of whoever reads it.

One rule: it is a value. Whoever knows a terminal fills it in; rendering asks no terminal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import tzinfo

WIDEST: Final = 100
"""Columns. Longer lines are not read faster."""


@dataclass(frozen=True, slots=True)
class Screen:
    """Where text is shown; by default nowhere in particular."""

    width: int = WIDEST
    """Columns."""
    colour: bool = False
    zone: tzinfo | None = None
    """For times of day; None: the machine's own."""
