"""The top of the report: what was recorded, and what is missing.

One rule: that nothing was lost is said as plainly as that something was.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from .names import printable
from .units import moment, plural, span, time_of_day

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import tzinfo

    from analysis.explain.census import Census

SHOWN: Final = 3
"""Names of a kind; the others are counted."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of it."""

    name: str
    text: str


def masthead(census: Census, zone: tzinfo | None) -> tuple[Entry, ...]:
    """The lines in order."""
    return (
        Entry("turnscope", f"{plural(census.exchanges, 'exchange')}{_when(census, zone)}"),
        *_named("route", census.routes),
        *_named("model", census.models),
        *_named("client", census.clients),
        Entry("turns", _standings(census)),
        *_named("failed", census.failures),
        Entry("journal", _journal(census)),
    )


def _when(census: Census, zone: tzinfo | None) -> str:
    first, last = census.first_unix_ns, census.last_unix_ns
    if first is None or last is None:
        return ""
    if first == last:
        return f", {moment(first, zone)}"
    start, end = moment(first, zone), moment(last, zone)
    if start[:10] == end[:10]:
        end = time_of_day(last, zone)
    return f" in {span(last - first)}, {start} to {end}"


def _named(name: str, names: Mapping[str, int]) -> Iterator[Entry]:
    """The most frequent names, each with its number when there are several."""
    if not names:
        return
    shown = [
        printable(each, 80) + (f" ({n:,})" if len(names) > 1 else "")
        for each, n in islice(names.items(), SHOWN)
    ]
    more = len(names) - len(shown)
    yield Entry(name, ", ".join(shown) + (f" and {more:,} more" if more else ""))


def _standings(census: Census) -> str:
    n = census.standings
    others = [_none(n["error"], "error"), _none(n["cut"], "cut answer")]
    if n["hidden"]:
        others.append(plural(n["hidden"], "hidden request"))
    if n["not_generation"]:
        others.append(f"{plural(n['not_generation'], 'request')} for no answer")
    answers = "" if n["turn"] == census.turns else f", of {plural(n['turn'], 'answered request')}"
    return f"{census.turns:,}{answers}; not counted as turns: {', '.join(others)}"


def _none(n: int, one: str) -> str:
    return plural(n, one) if n else f"no {one}"


def _journal(census: Census) -> str:
    return "; ".join((_unreadable(census), _lost(census), _missing(census)))


def _unreadable(census: Census) -> str:
    if not census.unreadable:
        return "all lines readable"
    first = census.unreadable[0]
    line = "" if first.line is None else f" line {first.line:,}"
    where = f"{printable(first.file)}{line}: {printable(first.reason, 80)}"
    return f"{plural(len(census.unreadable), 'piece')} could not be read ({where})"


def _lost(census: Census) -> str:
    if not census.lost:
        return "no exchange lost"
    return f"{plural(census.lost, 'exchange')} lost ({printable(census.losses[0].why)})"


def _missing(census: Census) -> str:
    if not census.missing:
        return "none without a record"
    gap = census.gaps[0]
    which = f"{gap.first:,}" if gap.first == gap.last else f"{gap.first:,} to {gap.last:,}"
    where = f"run {printable(gap.run)}: {which}" + (", ..." if len(census.gaps) > 1 else "")
    numbers = plural(census.missing, "exchange")
    return f"{numbers} without a record ({where}): still running, lost, or in a file since removed"
