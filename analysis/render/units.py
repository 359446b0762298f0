"""Numbers with their units, as text: the only place where one becomes the other.

One rule: no number leaves here bare. Seconds are given to two figures or more in sentences and to a
fixed place in columns, so that columns can be read down.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import tzinfo

US: Final = 1_000
MS: Final = 1_000_000
S: Final = 1_000_000_000

NOTHING: Final = "-"
"""In a column: not observed, not said, cannot be known. Never a zero."""


def duration(ns: float) -> str:
    """For a sentence: `16.1 s`, `0.18 s`, `12 ms`, `0.4 ms`, `0 s`."""
    if ns >= 100 * S:
        return f"{ns / S:,.0f} s"
    if ns >= S:
        return f"{ns / S:.1f} s"
    if ns >= 100 * MS:
        return f"{ns / S:.2f} s"
    if ns >= 10 * MS:
        return f"{ns / MS:.0f} ms"
    return f"{ns / MS:.1f} ms" if ns else "0 s"


@dataclass(frozen=True, slots=True)
class Scale:
    """The unit of a column of durations."""

    unit: str
    ns: int
    places: int

    @property
    def least_shown_ns(self) -> float:
        """Below this, the text is a zero."""
        return self.ns * 0.1**self.places / 2

    def text(self, ns: float | None) -> str:
        """`4.25 s`; a dash for what is not known."""
        return NOTHING if ns is None else f"{ns / self.ns:,.{self.places}f} {self.unit}"


SECONDS: Final = Scale("s", S, 2)
MILLISECONDS: Final = Scale("ms", MS, 1)


def scale_for(ns: float) -> Scale:
    """The scale of a column whose largest value is `ns`: milliseconds below half a second."""
    return SECONDS if ns >= S / 2 else MILLISECONDS


def count(n: int | None) -> str:
    """`6,603`; a dash for what is not known."""
    return NOTHING if n is None else f"{n:,}"


def plural(n: int, one: str, many: str = "") -> str:
    """`1 tool`, `31 tools`, `3 entries`."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def percent(share: float) -> str:
    """`70 %`; what is there but rounds to nothing is `< 1 %`."""
    if 0 < share < 0.005:
        return "< 1 %"
    return f"{share * 100:.0f} %"


def speed(tokens_per_s: float) -> str:
    """`37.7 tok/s`."""
    return f"{tokens_per_s:,.1f} tok/s"


def per_token(ns: float) -> str:
    """`0.64 ms`: what one token costs."""
    return f"{ns / MS:.2f} ms" if ns >= MS / 10 else f"{ns / US:.1f} us"


def factor(times: float) -> str:
    """`1.61 x`."""
    return f"{times:.2f} x"


def moment(unix_ns: int, zone: tzinfo | None) -> str:
    """`2026-09-21 19:22:41` in a zone; None: the machine's own, summer time as it was then."""
    return datetime.fromtimestamp(unix_ns / S, UTC).astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")


def time_of_day(unix_ns: int, zone: tzinfo | None) -> str:
    """`19:22:41`, as `moment`."""
    return moment(unix_ns, zone)[11:]


def span(ns: int) -> str:
    """For how long was recorded: `3 days`, `5 hours`, `41 seconds`, `less than a second`."""
    whole = ns // S
    for length, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if whole >= 2 * length:
            return plural(round(whole / length), name)
    return plural(whole, "second") if whole else "less than a second"
