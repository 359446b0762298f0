"""The journal along the clock: how many requests were in flight, and how long each first token took.

One rule: a stretch of the clock shows its busiest moment, so that no peak is lost by drawing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from analysis.store.recorded import ttft_ns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from analysis.store.recorded import Record

STRETCHES: Final = 240


class Stretch(NamedTuple):
    """A piece of the clock."""

    most_in_flight: int
    longest_ttft_ns: int | None
    """None: no first token came of a request that was sent in it."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """From the first request to the last end."""

    begin_unix_ns: int
    end_unix_ns: int
    stretches: tuple[Stretch, ...]


def timeline(records: Iterable[Record]) -> Timeline | None:
    """Of requests that asked a model; None when there is none, or all were at one moment."""
    asked = [r for r in records if r.kind != "not_generation" and r.timings.end_ns > 0]
    if not asked:
        return None
    begin = min(r.at_unix_ns for r in asked)
    end = max(r.at_unix_ns + r.timings.end_ns for r in asked)
    width = max(1, -(-(end - begin) // STRETCHES))
    peaks = _peaks(asked, begin, width)
    waits: list[int | None] = [None] * STRETCHES
    for r in asked:
        place = min((r.at_unix_ns - begin) // width, STRETCHES - 1)
        if (wait := ttft_ns(r.timings)) is not None:
            waits[place] = max(waits[place] or 0, wait)
    return Timeline(begin, end, tuple(map(Stretch, peaks, waits)))


def _peaks(asked: Sequence[Record], begin: int, width: int) -> list[int]:
    """Most in flight in each stretch; what ends at a moment has left when another begins at it."""
    moves = [(r.at_unix_ns, 1) for r in asked]
    moves += [(r.at_unix_ns + r.timings.end_ns, -1) for r in asked]
    peaks, now, place = [0] * STRETCHES, 0, 0
    for at, change in sorted(moves):
        here = min((at - begin) // width, STRETCHES - 1)
        for between in range(place, here):
            peaks[between + 1] = max(peaks[between + 1], now)
        place, now = here, now + change
        peaks[here] = max(peaks[here], now)
    return peaks
