"""What a scenario is, and what holds for each of them.

One rule: whatever a scenario does, at its end the bytes are right, the journal adds up, nothing has
grown, and a plain request is served. A scenario may only say which of these its fault excuses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .program import Setup

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from .stage import Outcome, Stage


def _nothing_more(_outcome: Outcome) -> None:
    """No check of its own."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A load or a fault."""

    name: str
    what: str
    run: Callable[[Stage, float], Awaitable[None]]
    """With the seconds it has; called twice, the first time to warm up."""
    seconds: float = 40.0
    breaks: bool = False
    """Whether a caller may see a broken connection or a refusal."""
    loses: bool = False
    """Whether exchanges may be without a record, each of them counted."""
    kills_relays: bool = False
    """Whether the program's own count of exchanges may fall short, since a process of it was killed."""
    setup: Callable[[Path], Setup] = field(default=lambda _folder: Setup())
    """How the program is started, in this folder. Raises SkippedError when this machine cannot."""
    around: Callable[[Path], contextlib.AbstractContextManager[None]] | None = None
    """What is set up before the program is started, and undone behind it."""
    check: Callable[[Outcome], None] = _nothing_more
    relay_growth_mb: float = 24.0
    recorder_growth_mb: float = 64.0
