"""What to do, by seconds a turn: the client's side and the engine's, in one table.

One rule: a row is there only if it saves time in some turn and something can be done for it: without a
word on what empties the cache there is nothing to do about it. All what-ifs are in the JSON.
"""

from __future__ import annotations

from math import isinf
from typing import TYPE_CHECKING, Final

from analysis.explain.source import Refusal

from .misses import CAUSES
from .table import Column, Table, text
from .units import NOTHING, factor, plural, scale_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from analysis.explain.overview import Overview
    from analysis.explain.whatif import Gain, WhatIfName

    from .units import Scale

SHOWN: Final[Mapping[WhatIfName, str]] = {
    "full cache hits": "keep the prefix cached",
    "no unused tools": "cut unused tools",
    "no hidden requests": "no hidden requests",
    "decode x 2": "engine decodes 2 x as fast",
    "prefill x 2": "engine reads 2 x as fast",
}


def what_to_do_table(report: Overview) -> Table | None:
    """What saves most in the mean turn first; None when nothing would save anything."""
    found = [
        (line.gain, line.name, str(line.source))
        for line in report.outlook.what_ifs
        if line.name in SHOWN
        and (line.name != "full cache hits" or report.misses.causes)
        and not isinstance(line.gain, Refusal)
        and line.gain.total_saved_ns > 0
    ]
    if not found:
        return None
    found.sort(key=lambda row: -_mean(row[0]))
    scale = scale_for(max(max(_mean(gain), gain.saved_ns.median) for gain, _, _ in found))
    several = report.outlook.turns > 1
    rows = _said_once(
        (
            f"{number}  {_what(name, report)}",
            *((scale.text(_mean(gain)),) if several else ()),
            _median(gain, scale),
            _factor(gain.speedup.median),
            source,
        )
        for number, (gain, name, source) in enumerate(found, 1)
    )
    columns = (
        text("WHAT TO DO, most first"),
        *((Column("saves", "mean turn"),) if several else ()),
        Column("saves", "median turn" if several else "the turn"),
        Column("is then", "as fast"),
        text("known how"),
    )
    return Table(columns, tuple(rows), tuple(_notes(report)))


def _mean(gain: Gain) -> float:
    return gain.total_saved_ns / gain.turns


def _median(gain: Gain, scale: Scale) -> str:
    middle = scale.text(gain.saved_ns.median)
    if gain.interval_ns is None:
        return middle
    low, high = (f"{ns / scale.ns:,.{scale.places}f}" for ns in gain.interval_ns)
    return middle if low == high else f"{middle} ({low} to {high})"


def _factor(times: float) -> str:
    return NOTHING if isinf(times) else factor(times)


def _what(name: WhatIfName, report: Overview) -> str:
    unused = report.savings.unused
    if name == "no unused tools" and unused is not None:
        return f"cut {plural(len(unused.names), 'unused tool')}"
    if name == "full cache hits":
        return f"{SHOWN[name]}: {CAUSES[report.misses.causes[0].cause]}"
    return SHOWN[name]


def _said_once(rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """A source that is the one above is a ditto mark."""
    before = ""
    for row in rows:
        yield (*row[:-1], '"' if row[-1] == before else row[-1])
        before = row[-1]


def _notes(report: Overview) -> Iterator[str]:
    ahead = report.outlook
    yield "They overlap, so they do not add up. Assumed: all that a line does not name stays as it is."
    causes = report.misses.causes
    if causes:
        most = causes[0]
        yield (
            f"Most was read again because: {CAUSES[most.cause]}, in {plural(most.prompts, 'prompt')}."
        )
    if ahead.ceiling is not None and not isinf(ahead.ceiling):
        yield f"Ceiling: no decode speed makes the median turn more than {factor(ahead.ceiling)} as fast."
