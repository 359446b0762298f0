"""The metrics, one file each, in the order in which a round runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .base import FULL, QUICK, Effort, Metric
from .bodies import BODIES
from .chunks import CHUNKS
from .exact import EXACT
from .memory import MEMORY
from .recorder import RECORDER
from .requests import REQUESTS
from .ttft import TTFT

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ALL", "FULL", "QUICK", "Effort", "Metric"]

ALL: Final[Mapping[str, Metric]] = {
    each.name: each for each in (EXACT, TTFT, CHUNKS, REQUESTS, BODIES, RECORDER, MEMORY)
}
