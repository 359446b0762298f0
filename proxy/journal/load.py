"""How many exchanges were in flight: at an arrival, on average over an exchange, and at its peak.

One rule: it counts what passes through this proxy, from the starts and ends that the recorder sees.
What the server ran besides is the server's to say.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from .record import Load

if TYPE_CHECKING:
    from collections.abc import Hashable


class _Arrival(NamedTuple):
    at_ns: int
    area: int
    """In-flight times ns, summed since the start, when it arrived."""
    in_flight: int
    order: int


class LoadMeter:
    """Exchanges in flight, over time. Times may come a little out of order between workers."""

    def __init__(self) -> None:
        self._arrivals: dict[Hashable, _Arrival] = {}
        self._last_ns = 0
        self._area = 0
        self._order = 0
        self._peaks: list[tuple[int, int]] = []
        """(order of arrival, in flight then), falling in the second: the peak since an arrival is
        the first entry at or after it; the last arrival always is one. Never longer than the highest
        load was."""

    def opened(self, number: Hashable, at_ns: int) -> None:
        """An exchange began."""
        at_ns = self._advance(at_ns)
        in_flight = len(self._arrivals) + 1
        self._order += 1
        while self._peaks and self._peaks[-1][1] <= in_flight:
            self._peaks.pop()
        self._peaks.append((self._order, in_flight))
        self._arrivals[number] = _Arrival(at_ns, self._area, in_flight, self._order)

    def ended(self, number: Hashable, at_ns: int) -> Load:
        """An exchange is over: its load. Unknown where its beginning was never seen."""
        at_ns = self._advance(at_ns)
        arrival = self._arrivals.pop(number, None)
        if arrival is None:
            return Load()
        took_ns = at_ns - arrival.at_ns
        mean = (self._area - arrival.area) / took_ns if took_ns else float(arrival.in_flight)
        _order, peak = self._peaks[bisect_left(self._peaks, (arrival.order, 0))]
        return Load(
            in_flight_at_arrival=arrival.in_flight,
            in_flight_mean=round(mean, 3),
            in_flight_peak=peak,
        )

    def _advance(self, at_ns: int) -> int:
        at_ns = max(at_ns, self._last_ns)
        self._area += len(self._arrivals) * (at_ns - self._last_ns)
        self._last_ns = at_ns
        return at_ns


class RunLoad:
    """The meter as one relay process uses it: its exchange numbers are its own."""

    def __init__(self, meter: LoadMeter, run: str) -> None:
        self._meter = meter
        self._run = run

    def opened(self, number: Hashable, at_ns: int) -> None:
        """An exchange of this run began."""
        self._meter.opened((self._run, number), at_ns)

    def ended(self, number: Hashable, at_ns: int) -> Load:
        """An exchange of this run is over: its load among those of all runs."""
        return self._meter.ended((self._run, number), at_ns)
