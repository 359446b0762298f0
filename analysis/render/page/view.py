"""Everything that the page shows, as values for its template.

One rule: words and figures are those of the terminal report, from the same functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from analysis.explain.scatter import MOST_DOTS, scatter
from analysis.explain.timeline import timeline
from analysis.explain.turns import threaded
from analysis.explain.waterfall import waterfall
from analysis.render.exchanges import last_table
from analysis.render.findings import doubts, findings_table, told
from analysis.render.headline import headline
from analysis.render.masthead import masthead
from analysis.render.misses import misses_table
from analysis.render.names import printable
from analysis.render.prompts import prefix_table
from analysis.render.speeds import speed_table
from analysis.render.tools import servers_table, tools_table
from analysis.render.turn import budget_table, sum_table
from analysis.render.units import count, plural
from analysis.render.working_point import working_point_table

from .bars import KINDS, prompt_bar, turn_bars
from .plot import HIGH, LEFT, WIDE, clock_plot, fall, scatter_plot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.explain.findings.base import Finding
    from analysis.explain.overview import Overview
    from analysis.render.screen import Screen
    from analysis.render.table import Table
    from analysis.store.base import Journal

    from .plot import Clock, Fall, Plot


MOST_TOOLS: Final = 500
"""Rows of the table that can be sorted: sorting ten of many would sort the wrong ones."""


class Told(NamedTuple):
    """A finding in words."""

    remedy: str
    seen: str
    doubts: str


class Facts(NamedTuple):
    """What the page says of itself."""

    version: str
    command: str
    """That made it."""
    selection: str
    """The choice in words; empty: everything."""
    made: str
    """When."""


def page_view(report: Overview, journal: Journal, screen: Screen, facts: Facts) -> dict[str, Any]:
    """All that the template asks for, by name."""
    return {
        "facts": facts,
        "masthead": masthead(report.census, screen.zone),
        "statements": headline(report),
        "sample": _sample(journal),
        "kinds": KINDS,
        "bars": turn_bars(report),
        "prompt": prompt_bar(report),
        "scatter": _scatter(report, journal),
        "falls": tuple(_falls(report, journal)),
        "clock": _clock(journal, screen),
        "findings": tuple(map(_told, report.findings)),
        "tables": _tables(report, screen),
        "box": {"wide": WIDE, "high": HIGH, "left": LEFT},
    }


def _tables(report: Overview, screen: Screen) -> dict[str, Table | None]:
    """By the name that the template knows; None where there is nothing to show."""
    median, turns = report.median, report.median is not None
    misses = misses_table(report.misses) if report.misses.causes else None
    return {
        "last": None if turns else last_table(report, screen.zone),
        "median": budget_table(median) if median else None,
        "all": sum_table(report.spent) if turns else None,
        "prefix": prefix_table(report) if turns else None,
        "tools": tools_table(report, screen.zone, MOST_TOOLS) if turns else None,
        "servers": servers_table(report, screen.zone) if turns else None,
        "misses": misses,
        "todo": findings_table(report),
        "speed": speed_table(median, report.answers) if median else None,
        "working": working_point_table(report.outlook.working_point) if turns else None,
    }


def _told(finding: Finding) -> Told:
    remedy, seen = told(finding)
    return Told(remedy, seen, doubts(finding))


def _sample(journal: Journal) -> str:
    taken = journal.sampling
    if taken is None:
        return ""
    return (
        f"Worked out from {count(taken.taken)} of {plural(taken.of, 'exchange')}"
        f" ({count(taken.turns_taken)} of {plural(taken.turns_of, 'turn')}), evenly spaced;"
        " counts are exact."
    )


class Dots(NamedTuple):
    """The picture of waits over prompt lengths, and its words."""

    plot: Plot
    title: str
    note: str


def _scatter(report: Overview, journal: Journal) -> Dots | None:
    seen = scatter(journal.records, report.costs)
    if seen is None:
        return None
    front = report.prefix.front
    plot = scatter_plot(seen, front.tokens if front else None)
    where = f"{printable(seen.engine.model)} at {printable(seen.engine.upstream)}"
    shown = f"{count(MOST_DOTS)} of " if seen.of > MOST_DOTS else ""
    note = f"{shown}{plural(seen.of, 'exchange')} with {where}."
    if not plot.line:
        note += " No line: what a token costs could not be fitted; too few prompts, or all of one length."
    title = "The longer the uncached prompt, the later the first token" if plot.line else _FLAT
    return Dots(plot, title, note)


_FLAT: Final = "First tokens by uncached prompt length"


def _falls(report: Overview, journal: Journal) -> Iterator[Fall]:
    if report.median is None:
        return
    turns = [t for t in threaded(journal.records) if t.standing == "turn"]
    worst = max(turns, key=lambda turn: (turn.whole_ns, turn.begin_unix_ns))
    which = "median" if len(turns) > 1 else "only"
    yield fall(waterfall(report.median.turn), f"The {which} turn, request by request")
    if worst.id != report.median.turn.id:
        yield fall(waterfall(worst), "The slowest turn, request by request")


def _clock(journal: Journal, screen: Screen) -> Clock | None:
    seen = timeline(journal.records)
    return None if seen is None else clock_plot(seen, screen.zone)
