"""One exchange in words: what was asked, how it ended, and what is known of it besides times.

One rule: what was not said is said to be unknown, and what others named is shown harmlessly.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from .masthead import Entry
from .names import printable
from .notes import meaning
from .units import NOTHING, count, duration, moment, plural

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from analysis.explain.explained import Explained
    from analysis.store.recorded import Record

SHOWN: Final = 12
"""Figures, tools or notes of one exchange; the others are counted."""

STANDINGS: Final = {
    "turn": "somebody waited for it",
    "hidden": "the client asked for itself",
    "not_generation": "no model was asked for output",
    "cut": "the answer ended early",
    "error": "no answer came",
}
GENERATIONS: Final = {
    "complete": "the answer came to its end",
    "incomplete": "the answer did not come to its end",
    "error_event": "the server said in its answer that it failed",
    "none": "nothing was generated",
    "unknown": "the answer could not be read to its end",
}


def what(shown: Explained, zone: tzinfo | None) -> Iterator[Entry]:
    """What it was."""
    record, how = shown.record, shown.choice.how
    yield Entry("turnscope", f"exchange {printable(record.id)}" + (f", {how}" if how else ""))
    took = duration(shown.brief.whole_ns)
    yield Entry("when", f"{moment(record.at_unix_ns, zone)}, took {took}{_turn(shown)}")
    yield Entry("client", f"{printable(record.client)} at {printable(record.peer)}")
    yield Entry("model", _model(record))
    backend = f" ({printable(record.backend)})" if record.backend else ""
    route = f"{printable(record.label or record.route)} -> {printable(record.upstream)}{backend}"
    yield Entry("route", route)
    yield Entry("asked", _asked(record))
    yield Entry("ended", _ended(shown))
    for note in record.notes[:SHOWN]:
        words = meaning(note)
        where = "" if words else " (see docs/journal.md)"
        yield Entry("note", f"{printable(note, 160)}{where}" + (f": {words}" if words else ""))
    if len(record.notes) > SHOWN:
        yield Entry("note", f"and {count(len(record.notes) - SHOWN)} more")


def facts(record: Record) -> Iterator[Entry]:
    """What is known of it besides times and parts."""
    yield Entry("tools", _tools(record))
    yield Entry("usage", _usage(record))
    if record.reported:
        yield Entry("the server says", _reported(record))
    if record.prefix is not None:
        yield Entry("prefix", _prefix(record))
    yield Entry("in flight", _load(record))
    yield Entry("event gaps", _gaps(record))
    yield Entry("sizes", _sizes(record))
    yield Entry("the proxy", _self(record))


def _turn(shown: Explained) -> str:
    turn, standing = shown.turn, shown.brief.standing
    if turn is None:
        return f"; {STANDINGS[standing]}"
    if shown.record.kind == "hidden":
        return f"; {STANDINGS[standing]}, beside turn {printable(turn.id)}"
    numbers = {record.id: n for n, record in enumerate(turn.exchanges, start=1)}
    requests = len(turn.exchanges)
    if requests == 1:
        return f"; {STANDINGS[standing]}" if standing != "turn" else ""
    which = f"request {numbers[shown.record.id]:,} of {requests:,}"
    return f"; {which} in turn {printable(turn.id)}, which took {duration(turn.whole_ns)}"


def _model(record: Record) -> str:
    asked, served = record.request.model, record.model_served
    said = printable(served or asked)
    if served and asked and served != asked:
        said += f", asked for as {printable(asked)}"
    server = f"; server {printable(record.server)}" if record.server else ""
    build = f"; {printable(record.fingerprint)}" if record.fingerprint else ""
    return f"{said}{server}{build}"


def _asked(record: Record) -> str:
    request = record.request
    kind = {True: ", streamed", False: ", in one piece", None: ""}[request.stream]
    limit = "" if request.max_tokens is None else f", at most {plural(request.max_tokens, 'token')}"
    sampling = "".join(
        f", {printable(str(name), 24)} {printable(str(value), 24)}"
        for name, value in list(request.sampling.items())[:SHOWN]
    )
    line = f"{printable(request.method)} {printable(request.path, 80)} ({record.dialect})"
    return f"{line}{kind}{limit}{sampling}"


def _ended(shown: Explained) -> str:
    record = shown.record
    status = "" if record.status is None else f", status {record.status}"
    transport = f"transport {record.outcome.replace('_', ' ')}"
    finish = record.output.finish_reason
    reason = "" if finish is None else f" (finish reason {printable(finish, 24)})"
    generation = ""
    if record.kind != "not_generation":
        generation = f"; {GENERATIONS[record.generation]}{reason}"
    return f"{printable(shown.brief.ending, 160)}: {transport}{status}{generation}"


def _tools(record: Record) -> str:
    if record.tools is None:
        return "none offered"
    tokens = "" if record.tools.tokens is None else f", {plural(record.tools.tokens, 'token')}"
    called = Counter(record.tools.called)
    names = [printable(name) + (f" ({n:,})" if n > 1 else "") for name, n in called.items()]
    more = f" and {count(len(names) - SHOWN)} more" if len(names) > SHOWN else ""
    said = f"; called: {', '.join(names[:SHOWN])}{more}" if names else "; none called"
    return f"{plural(record.tools.count, 'tool')} offered{tokens}{said}"


def _usage(record: Record) -> str:
    usage = record.usage
    figures = (
        (usage.input, "in"),
        (usage.cached, "of it cached"),
        (usage.cache_write, "written to the cache"),
        (usage.output, "out"),
        (usage.reasoning, "of it reasoning"),
    )
    said = [f"{count(n)} {word}" for n, word in figures if n is not None]
    billed = f"{', '.join(said)} tokens, as billed" if said else "the server billed nothing"
    output = record.output
    if output.tokens is None or output.source == "usage":
        return billed
    return f"{billed}; {count(output.tokens)} out, by {printable(output.source)}"


def _reported(record: Record) -> str:
    figures = [
        f"{printable(str(name), 40)} {_figure(value)}" for name, value in record.reported.items()
    ]
    more = f" and {count(len(figures) - SHOWN)} more" if len(figures) > SHOWN else ""
    return f"{', '.join(figures[:SHOWN])}{more}"


def _figure(value: float | str | None) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return NOTHING if value is None else printable(str(value), 40)


def _prefix(record: Record) -> str:
    prefix = record.prefix
    if prefix is None or prefix.parent is None:
        return "nothing that is remembered begins as this prompt does"
    age = prefix.parent_age_ns
    when = "" if age is None else f", which ended {duration(age)} before" if age >= 0 else ""
    when = ", which still ran" if age is not None and age < 0 else when
    parts = [
        f"{count(n)} {word}"
        for n, word in (
            (prefix.shared, "tokens shared"),
            (prefix.expected, "expected in the cache"),
            (prefix.reported, "reported from it"),
            (prefix.lost, "lost"),
        )
        if n is not None
    ]
    cause = f"; cause: {prefix.cause}" if prefix.cause else ""
    differs = ""
    if prefix.difference is not None:
        where = prefix.difference
        tool = f", tool {printable(where.tool)}" if where.tool else ""
        message = "" if where.message is None else f", message {where.message:,}"
        place = where.part.replace("_", " ")
        differs = f"; first differs in {place}{tool}{message} at character {where.offset:,}"
    said = f": {', '.join(parts)}" if parts else ""
    return f"begins as {printable(prefix.parent)}{when}{said}{differs}{cause}"


def _load(record: Record) -> str:
    load = record.load
    if load.in_flight_at_arrival is None:
        return "not known"
    mean = NOTHING if load.in_flight_mean is None else f"{load.in_flight_mean:.1f}"
    came = f"{load.in_flight_at_arrival:,} when it came"
    return f"{came}, {mean} on average, {count(load.in_flight_peak)} at most (this one included)"


def _gaps(record: Record) -> str:
    output = record.output
    if output.gap_p50_ns is None:
        return "none: fewer than two events that carry output, or not read to the end"
    ends = [("95th percentile", output.gap_p95_ns), ("longest", output.gap_max_ns)]
    rest = "".join(f", {name} {duration(ns)}" for name, ns in ends if ns is not None)
    each = "" if output.tokens_per_event is None else f", {output.tokens_per_event:.1f} tokens each"
    return f"median {duration(output.gap_p50_ns)}{rest}; {count(output.events)} events{each}"


def _sizes(record: Record) -> str:
    request, reply = count(record.request.bytes), count(record.reply_bytes)
    return f"request {request} bytes, reply {reply} bytes"


def _self(record: Record) -> str:
    own = record.self
    known = [
        f"{word} {duration(ns)}"
        for word, ns in (
            ("own delay of the first piece", own.first_ns),
            ("of the worst", own.worst_ns),
            ("event loop late by at most", own.lateness_ns),
            ("caller did not read for", record.stall_ns or None),
        )
        if ns is not None
    ]
    lost = own.left_out_bytes
    known += [f"{count(lost)} bytes not kept for reading"] if lost else []
    return ", ".join(known) or "nothing measured"
