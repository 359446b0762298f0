"""How many requests are at work at once, by whose word, and which column to read there.

One rule: the reason stands beside the advice. The same pair of engines has opposite verdicts in two columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from analysis.explain.working_point import HIGH_LEAST, LOW_MOST

from .table import Table, text
from .units import percent, span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from analysis.explain.working_point import Column, Distribution, Sight, View, WorkingPoint

SIGHTS: Final[Mapping[Sight, str]] = {
    "said": "you say",
    "gauge": "the server's gauge",
    "proxy": "through this proxy",
    "caller": "the kind of caller",
}

BANDS: Final = (
    (1, 1),
    (2, LOW_MOST),
    (LOW_MOST + 1, HIGH_LEAST - 1),
    (HIGH_LEAST, 99),
    (100, 2**63),
)
"""Numbers of requests that share a share."""

ADVICE: Final[Mapping[Column, str]] = {
    "per-request": (
        "Read per-request speed, not aggregate: at so few at once aggregate holds the pauses between"
        " requests, and the faster the server, the more of the clock they are."
    ),
    "aggregate": (
        "Read aggregate throughput, not per-request speed: with so many at once the card is busy, and what"
        " one request gains the others lose."
    ),
    "both": (
        "Read per-request speed and aggregate throughput, both: this is neither one user's load nor a"
        " pool's."
    ),
}


def working_point_table(point: WorkingPoint | None) -> Table | None:
    """All words on it, the best first; None without a word from anybody."""
    if point is None:
        return None
    rows = tuple((SIGHTS[view.sight], _at_once(view), str(view.source)) for view in point.views)
    columns = (text("WORKING POINT"), text("requests at once"), text("known how"))
    return Table(columns, rows, tuple(_notes(point)))


def _at_once(view: View) -> str:
    if view.distribution is None:
        return str(view.range)
    waited = "" if not view.waited else f"; others waited in {percent(view.waited)} of it"
    return f"{_shares(view.distribution)} of busy time{waited}"


def _shares(seen: Distribution) -> str:
    """`1 for 96 %, 2 to 4 for 4 %`; bands that end at the most that was seen."""
    most = max(seen.busy_ns)
    each = []
    for least, upto in BANDS:
        share = seen.share(least, upto)
        if share:
            end = min(upto, most)
            name = f"{least:,}" if end == least else f"{least:,} to {end:,}"
            each.append(f"{name} for {percent(share)}")
    return ", ".join(each)


def _notes(point: WorkingPoint) -> Iterator[str]:
    yield ADVICE[point.column]
    yield "A configured limit (such as --max-num-seqs) says what may run, not what runs: it is not used."
    if point.disagree:
        yield (
            "Gauge and proxy are far apart: the server has callers beside this proxy, or its gauge is stale."
        )
    seen = next((v.distribution for v in point.views if v.distribution is not None), None)
    if seen is not None:
        idle = f"; idle between: {span(seen.idle_ns)}" if seen.idle_ns else ""
        yield f"Busy: {span(seen.whole_busy_ns)}{idle}."
