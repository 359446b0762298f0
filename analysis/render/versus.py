"""Before and after, as a screen and as JSON.

One rule: "no difference shown" is an answer, and stands where a number would tempt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from analysis.explain.source import Refusal

from .names import printable
from .units import NOTHING, count, duration, factor, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.explain.versus import Promise, Side, Versus
    from analysis.stats.compare import Change

SCHEMA: Final = "turnscope.versus/1"

NAMED: Final = 5
"""Tools that are named at most."""


def versus_text(found: Versus, before: str, after: str) -> str:
    """A few lines; `before` and `after` say in words what the sides are."""
    return "\n".join(_lines(found, before, after)) + "\n"


def _lines(found: Versus, before: str, after: str) -> Iterator[str]:
    yield f"before  {before}: {_side(found.before)}"
    yield f"after   {after}: {_side(found.after)}"
    yield ""
    if isinstance(found.change, Refusal):
        yield f"Not compared: {found.change.reason}."
    else:
        yield from _change(found, found.change)
    if found.promise is not None:
        yield ""
        yield _promised(found.promise)


def _side(side: Side) -> str:
    front = ", ".join(f"{count(n)} tokens of {name}" for name, n in side.tokens.items())
    left = side.turns - side.compared
    others = f"; {count(left)} without their like on the other side, not compared" if left else ""
    alone = "".join(f"; only here: {printable(name)}" for name in side.alone[:NAMED])
    return f"{plural(side.turns, 'turn')}, in front {front or 'nothing counted'}{others}{alone}"


def _change(found: Versus, change: Change) -> Iterator[str]:
    low, high = found.saved_interval_ns or (0.0, 0.0)
    sides = f"A turn took {duration(change.before)} before and takes {duration(change.after)} after"
    if not change.shown:
        yield f"No difference shown (~). {sides}; the true change may be anything from"
        yield f"{_signed(low)} to {_signed(high)} a turn."
    else:
        words = "faster" if change.factor < 1 else "slower"
        gain = 1 / change.factor if change.factor < 1 else change.factor
        yield f"Turns became {factor(gain)} as {'fast' if words == 'faster' else 'long'}."
        yield f"{sides}: {_signed(found.saved_ns or 0.0)} ({_signed(low)} to {_signed(high)})."
    yield (
        f"Compared: {plural(found.strata, 'kind')} of turns with the same server, model, length of question"
        " and load;"
    )
    yield "geometric means, 95 % interval, measured."


def _signed(ns: float) -> str:
    return f"{duration(abs(ns))} {'saved' if ns >= 0 else 'lost'}"


def _promised(promise: Promise) -> str:
    names = ", ".join(printable(name) for name in promise.tools[:NAMED])
    more = f" and {len(promise.tools) - NAMED:,} more" if len(promise.tools) > NAMED else ""
    ends = promise.interval_ns
    within = f" ({duration(ends[0])} to {duration(ends[1])})" if ends else ""
    saves = NOTHING if promise.saves_ns is None else f"{duration(promise.saves_ns)}{within}"
    return (
        f"Gone: {plural(len(promise.tools), 'tool')} ({names}{more}), {count(promise.tokens)} tokens."
        f"\nThe report before had promised {saves} a turn for them, as lived: estimated."
    )


def versus_json(found: Versus, before: str, after: str) -> bytes:
    """The same, indented; null: not compared, or not known."""
    change, promise = found.change, found.promise
    refused = isinstance(change, Refusal)
    fields: dict[str, Any] = {
        "schema": SCHEMA,
        "before": _side_fields(found.before, before),
        "after": _side_fields(found.after, after),
        "compared_kinds": found.strata,
        "not_compared": change.reason if isinstance(change, Refusal) else None,
        "difference_shown": None if isinstance(change, Refusal) else change.shown,
        "factor": None if isinstance(change, Refusal) else change.factor,
        "factor_interval": None if isinstance(change, Refusal) else [change.low, change.high],
        "saved_ns": None if refused else round(found.saved_ns or 0.0),
        "saved_interval_ns": None
        if found.saved_interval_ns is None
        else [round(ns) for ns in found.saved_interval_ns],
        "promise": None
        if promise is None
        else {
            "tools": promise.tools,
            "tokens": promise.tokens,
            "saves_ns": None if promise.saves_ns is None else round(promise.saves_ns),
            "interval_ns": promise.interval_ns,
        },
    }
    return orjson.dumps(fields, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _side_fields(side: Side, words: str) -> dict[str, Any]:
    return {
        "what": words,
        "turns": side.turns,
        "compared_turns": side.compared,
        "tokens": dict(side.tokens),
        "only_here": side.alone,
    }
