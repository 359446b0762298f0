"""The table of prefix cache misses: why, how much was read again, and where the prompts began to differ.

One rule: a row says whose doing it was. What a server does not say of its cache is no row: it stands
below, with the number of prompts of which nobody knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .names import PARTS, printable
from .table import Column, Table, text
from .units import count, duration, percent, plural, scale_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from analysis.explain.misses import Miss, Misses, Place, Seconds, Span
    from analysis.store.recorded import Cause

    from .units import Scale

CAUSES: Final[Mapping[Cause, str]] = {
    "system": "system prompt changed",
    "tools": "tools changed",
    "history rewritten": "history rewritten",
    "model": "another model",
    "time-out": "not kept long enough",
    "server": "not reused by the server",
}

PLACES_SHOWN: Final = 3
"""Of one cause; the others are summed."""


def misses_table(misses: Misses) -> Table | None:
    """Misses by cause; None when no prompt was held against an earlier one."""
    if not misses.compared and not misses.causes:
        return None
    if not misses.causes:
        return Table((text("PREFIX MISSES: none"),), (), tuple(_notes(misses)))
    scale = scale_for(max((m.seconds.ns for m in misses.causes if m.seconds), default=0))
    rows = [row for miss in misses.causes for row in _rows(miss, scale)]
    columns = (
        text("PREFIX MISSES, by cause"),
        Column("prompts"),
        Column("lost", "tokens"),
        Column("lost"),
        Column("each"),
        text("what changed, and where"),
    )
    return Table(columns, tuple(rows), tuple(_notes(misses)))


def _rows(miss: Miss, scale: Scale) -> Iterator[tuple[str, ...]]:
    """One for the cause, and one for each place where there are several."""
    ns = miss.seconds.ns if miss.seconds else None
    each = None if ns is None or not miss.prompts else ns / miss.prompts
    places = miss.places
    where = _where(places[0]) if len(places) == 1 else "" if places else _unchanged(miss)
    lost = (count(miss.prompts), count(miss.tokens), scale.text(ns), scale.text(each))
    yield (CAUSES[miss.cause], *lost, where)
    if len(places) > 1:
        for place in places[:PLACES_SHOWN]:
            yield "", count(place.prompts), count(place.tokens), "", "", _where(place)
    if rest := places[PLACES_SHOWN:]:
        prompts, tokens = sum(p.prompts for p in rest), sum(p.tokens for p in rest)
        yield "", count(prompts), count(tokens), "", "", f"at {len(rest):,} other places"


def _where(place: Place) -> str:
    part = PARTS.get(place.part, place.part)
    if place.tool is not None:
        others = f" and {place.tools - 1:,} others" if place.tools > 1 else ""
        return f"tool {printable(place.tool, 30)}{others}"
    message = f", message {_span(place.messages)}" if place.messages and part != "system" else ""
    return f"{part}{message}, at character {_span(place.offsets)}"


def _span(span: Span) -> str:
    return count(span.low) if span.low == span.high else f"{span.low:,} to {span.high:,}"


def _unchanged(miss: Miss) -> str:
    if not miss.stable:
        return ""
    if miss.ages_ns is None:
        return "nothing changed"
    low, high = (duration(max(0, age)) for age in miss.ages_ns)
    return f"nothing changed; {low if low == high else f'{low} to {high}'} after the earlier one"


def _notes(misses: Misses) -> Iterator[str]:
    n = plural(misses.compared, "prompt")
    yield (
        f"Of {n} that share something with an earlier one; {misses.first:,} more share nothing with"
        " any that is remembered."
    )
    if misses.expected:
        share = percent(misses.reported / misses.expected)
        yield (
            f"Expected of a cache that keeps every prompt: {count(misses.expected)} tokens; reported:"
            f" {count(misses.reported)} ({share})."
        )
    if misses.unreported:
        yield (
            f"Of {plural(misses.unreported, 'prompt')} the server does not say what it cached: whether"
            " they hit is unknown. What the client changed there is counted all the same."
        )
    dearest = max((m.seconds for m in misses.causes if m.seconds), key=_ns, default=None)
    if dearest is not None:
        ends = dearest.interval_ns
        interval = f", {duration(ends[0])} to {duration(ends[1])} for the dearest" if ends else ""
        yield f"Seconds: lost tokens by what one costs, {dearest.source}{interval}."
    if misses.sampled:
        yield "Prompts and tokens by cause are those of the whole journal, all else of a sample of it."


def _ns(seconds: Seconds) -> int:
    return seconds.ns
