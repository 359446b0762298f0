"""Pictures of points and times, as places in a box that the template draws.

One rule: places are whole units of the box, and every axis says its unit.
"""

from __future__ import annotations

from datetime import UTC, datetime
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Final, NamedTuple

from analysis.render.units import count, duration

if TYPE_CHECKING:
    from datetime import tzinfo

    from analysis.explain.scatter import Scatter
    from analysis.explain.timeline import Timeline
    from analysis.explain.waterfall import Waterfall

WIDE: Final = 860
HIGH: Final = 300
LEFT: Final = 64
BOTTOM: Final = 40
TOP: Final = 10
RIGHT: Final = 16


class Tick(NamedTuple):
    """A mark on an axis."""

    at: float
    text: str


class Point(NamedTuple):
    """A dot."""

    x: float
    y: float
    quiet: bool


class Plot(NamedTuple):
    """Dots and a line in a box of `WIDE` by `HIGH`."""

    dots: tuple[Point, ...]
    line: str
    """As an SVG path; empty: none."""
    band: str
    """Around it, the 95 % interval."""
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    mark: Tick | None
    """The usual prompt's front on the x axis."""
    rows: tuple[tuple[str, ...], ...]
    """The line as a table: tokens, time, interval."""


def scatter_plot(seen: Scatter, in_front: int | None) -> Plot:
    """TTFT over uncached tokens; `in_front`: tokens before the conversation, marked on the axis."""
    most_x = _round_up(max([d.tokens for d in seen.dots] + [in_front or 0]))
    most_y = _round_up(max([d.ttft_ns for d in seen.dots] + [p.high_ns for p in seen.line]))
    line = [(_x(p.tokens / most_x), _y(p.ns / most_y)) for p in seen.line]
    low = [(_x(p.tokens / most_x), _y(max(0, p.low_ns) / most_y)) for p in seen.line]
    high = [(_x(p.tokens / most_x), _y(p.high_ns / most_y)) for p in seen.line]
    return Plot(
        tuple(Point(_x(d.tokens / most_x), _y(d.ttft_ns / most_y), d.quiet) for d in seen.dots),
        _path(line),
        _path([*low, *reversed(high)]) + "Z" if line else "",
        tuple(Tick(_x(n / 4), count(round(most_x * n / 4))) for n in range(5)),
        tuple(Tick(_y(n / 4), duration(most_y * n / 4)) for n in range(5)),
        None if not in_front else Tick(_x(in_front / most_x), count(in_front)),
        tuple(
            (count(p.tokens), duration(p.ns), f"{duration(max(0, p.low_ns))} to {duration(p.high_ns)}")
            for p in seen.line[::6]
        ),
    )  # fmt: skip


class Strip(NamedTuple):
    """A stretch of the clock."""

    x: float
    y: float
    width: float
    height: float


class Clock(NamedTuple):
    """Requests in flight and waits along the clock."""

    flights: tuple[Strip, ...]
    waits: tuple[Point, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    wait_ticks: tuple[Tick, ...]
    rows: tuple[tuple[str, ...], ...]
    """The busiest stretches as a table: when, in flight, longest wait."""


def clock_plot(seen: Timeline, zone: tzinfo | None) -> Clock:
    """In flight as bars, the longest wait of each stretch as a dot."""
    n = len(seen.stretches)
    most = max(1, *(s.most_in_flight for s in seen.stretches))
    waits = [s.longest_ttft_ns for s in seen.stretches]
    longest = _round_up(max([w for w in waits if w] or [1]))
    flights = [
        Strip(_x(k / n), _y(s.most_in_flight / most), (WIDE - LEFT - RIGHT) / n, _tall(s.most_in_flight / most))
        for k, s in enumerate(seen.stretches)
        if s.most_in_flight
    ]  # fmt: skip
    dots = [Point(_x((k + 0.5) / n), _y(w / longest), quiet=True) for k, w in enumerate(waits) if w]
    busiest = sorted(range(n), key=lambda k: (-seen.stretches[k].most_in_flight, k))[:8]
    return Clock(
        tuple(flights),
        tuple(dots),
        tuple(Tick(_x(k / 4), _when(seen, k / 4, zone)) for k in range(5)),
        tuple(Tick(_y(k / 2), count(round(most * k / 2))) for k in range(0, 3, 1 if most > 1 else 2)),
        tuple(Tick(_y(k / 2), duration(longest * k / 2)) for k in range(3)),
        tuple(
            (_when(seen, k / n, zone), count(seen.stretches[k].most_in_flight), duration(waits[k] or 0) if waits[k] else "-")
            for k in sorted(busiest)
        ),
    )  # fmt: skip


def _when(seen: Timeline, share: float, zone: tzinfo | None) -> str:
    at = seen.begin_unix_ns + (seen.end_unix_ns - seen.begin_unix_ns) * share
    moment = datetime.fromtimestamp(at / 1e9, UTC).astimezone(zone)
    long = seen.end_unix_ns - seen.begin_unix_ns > _DAY_NS
    return f"{moment:%m-%d %H:%M}" if long else f"{moment:%H:%M:%S}"


_DAY_NS: Final = 86_400 * 10**9


class FallRow(NamedTuple):
    """A row of a waterfall."""

    name: str
    strips: tuple[tuple[str, float, float], ...]
    """Phase, where it begins and how wide it is, in percent of the turn."""
    words: str


class Fall(NamedTuple):
    """A turn as a waterfall."""

    title: str
    whole: str
    rows: tuple[FallRow, ...]


def fall(seen: Waterfall, title: str) -> Fall:
    """Each request, gap and hidden request on the turn's own line."""
    whole = seen.whole_ns or 1
    rows = []
    for row in seen.rows[:MOST_ROWS]:
        strips = tuple(
            (p.name, round(100 * p.begin_ns / whole, 3), round(100 * (p.end_ns - p.begin_ns) / whole, 3))
            for p in row.phases
        )  # fmt: skip
        phases = ", ".join(f"{p.name} {duration(p.end_ns - p.begin_ns)}" for p in row.phases)
        kind = {"exchange": "request", "hidden": "hidden request", "gap": "client"}[row.kind]
        wait = f"first token after {duration(row.ttft_ns)}; " if row.ttft_ns is not None else ""
        rows.append(FallRow(kind, strips, f"from {duration(row.begin_ns)}: {wait}{phases}"))
    return Fall(title, duration(seen.whole_ns), tuple(rows))


MOST_ROWS: Final = 40


def _x(share: float) -> float:
    return round(LEFT + share * (WIDE - LEFT - RIGHT), 1)


def _y(share: float) -> float:
    return round(HIGH - BOTTOM - _tall(share), 1)


def _tall(share: float) -> float:
    return round(share * (HIGH - BOTTOM - TOP), 1)


def _path(places: list[tuple[float, float]]) -> str:
    return "".join(f"{'L' if n else 'M'}{x} {y}" for n, (x, y) in enumerate(places))


def _round_up(value: float) -> float:
    """To a number with at most two figures that divides well."""
    if value <= 0:
        return 1
    unit = 10.0 ** floor(log10(value))
    return ceil(value / unit * 2.5) / 2.5 * unit
