"""How late the event loop is: the part of our own delay that no stamp of a piece can see.

One rule: it is measured where it hurts. While exchanges are open a timer asks to be called at a set time;
how much later the call comes is what any piece could have waited before it was even read.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from . import clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from .handoff import Handoff

EVERY_S: Final = 0.05


class Lateness:
    """Gives each open exchange the largest lateness that was seen while it ran.

    uvloop's timers have steps of 1 ms, so up to 1 ms says nothing.
    """

    def __init__(self, tap: Handoff, looked: Callable[[], None]) -> None:
        """`looked` is called behind each look."""
        self._tap = tap
        self._looked = looked
        self.looks = 0
        self.sum_ns = 0
        self.most_ns = 0
        """The largest so far."""
        self._timer: asyncio.TimerHandle | None = None
        self._due_ns = 0

    def start(self) -> None:
        """Begin to look."""
        self._due_ns = clock.monotonic_ns() + int(EVERY_S * 1e9)
        self._timer = asyncio.get_running_loop().call_later(EVERY_S, self._look)

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        late_ns = max(0, clock.monotonic_ns() - self._due_ns)
        for flow, *_ in self._tap.open_exchanges.values():
            if flow.lateness_ns is None or late_ns > flow.lateness_ns:
                flow.lateness_ns = late_ns
        self.looks += 1
        self.sum_ns += late_ns
        self.most_ns = max(self.most_ns, late_ns)
        self._looked()
        self.start()
