"""All scenarios, in the order in which they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .scenarios.breaking import BREAKING
from .scenarios.disk import DISK
from .scenarios.load import LOAD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .scenario import Scenario

SCENARIOS: Final = (*LOAD, *BREAKING, *DISK)


def named(names: Sequence[str]) -> Sequence[Scenario]:
    """These, in their own order; all of them for none. Raises ValueError for a name that is none."""
    known = [each.name for each in SCENARIOS]
    for name in names:
        if name not in known:
            raise ValueError(f"there is no scenario {name}; there are {', '.join(known)}")
    return [each for each in SCENARIOS if not names or each.name in names]
