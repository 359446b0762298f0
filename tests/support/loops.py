"""Turns of several requests that tests start from.

One rule: exchanges are told apart by when they begin and how long they take; all else is the default's.
"""

from __future__ import annotations

import msgspec

from analysis.store.base import Journal
from proxy.journal.record import Difference, Load, Output, Prefix, Request, Tools, UsageReport
from tests.support.builders import AT_UNIX_NS, MS, S, output, parts, record, timings

TOOLS = Tools(set_hash="0123456789abcdef", count=31, tokens=6603)


def asked(number, at_s, took_s, **changes):
    """An exchange of run r1 that begins so many seconds after the first; its first token is at half time."""
    took = round(took_s * S)
    marks = timings(
        first_event_ns=took // 2,
        first_token_ns=took // 2,
        first_visible_text_ns=took // 2,
        response_head_ns=took // 4,
        first_byte_ns=took // 4,
        last_token_ns=took - MS,
        terminal_event_ns=took - MS,
        end_ns=took,
    )
    fields = {
        "id": f"r1-{number}",
        "at_unix_ns": AT_UNIX_NS + round(at_s * S),
        "timings": marks,
        "turn": "r1-1",
        "thread": "t1",
    }
    return record(**{**fields, **changes})


def calling(made, *names):
    """The same exchange, its answer ending in these tool calls."""
    marks = msgspec.structs.replace(
        made.timings,
        first_tool_call_ns=made.timings.first_token_ns,
        first_visible_text_ns=None,
    )
    called = msgspec.structs.replace(TOOLS, called=list(names))
    return msgspec.structs.replace(made, timings=marks, tools=called)


def failed(made):
    """The same exchange as the server refused it."""
    marks = msgspec.structs.replace(
        made.timings,
        first_token_ns=None,
        first_visible_text_ns=None,
        last_token_ns=None,
        terminal_event_ns=None,
        first_event_ns=None,
    )
    return msgspec.structs.replace(
        made,
        timings=marks,
        output=Output(),
        usage=UsageReport(),
        status=503,
        error_kind="http_error",
        error_type="overloaded",
        generation="none",
    )


def titled(number, at_s, took_s, **changes):
    """A hidden request for a title."""
    fields = {"turn": None, "kind": "hidden", "notes": ["hidden: title, system asks, no tools"]}
    return asked(number, at_s, took_s, **{**fields, **changes})


def agent() -> Journal:
    """A loop of three requests with a refused one in it, a title beside it, and a turn before that.

    0 to 4 s asked, 4 to 6 s tools, 6 to 7 s refused, 7 to 8 s nothing, 8 to 12 s asked again; the title
    runs from 3 to 5 s, so 1 s of the tools' time is in the shadow of it.
    """
    goes_on = Prefix(
        parent="r1-1",
        parent_age_ns=4 * S,
        shared=9400,
        difference=Difference(part="system", message=0, offset=212),
        expected=9400,
        reported=1200,
        lost=8200,
        cause="system",
    )
    last = asked(
        4,
        8,
        4,
        prefix=goes_on,
        tools=TOOLS,
        usage=UsageReport(input=9459, output=377, cached=1200),
        reported={"queue_time_ms": 250.0},
        load=Load(in_flight_at_arrival=1, in_flight_mean=1.2, in_flight_peak=2),
        notes=["count_mismatch: prompt, 9459 billed", "from_tomorrow: somewhere"],
    )
    before = asked(9, -60, 2, id="r1-0", turn="r1-0")
    first = calling(asked(1, 0, 4), "browser_snapshot", "browser_00", "browser_00")
    refused = failed(asked(3, 6, 1))
    return Journal(records=(before, first, titled(2, 3, 2), refused, last))


def hostile() -> Journal:
    """One exchange of whoever names things in 10 kB, with escapes and markup."""
    name = "[bold]\x1b[31m<script>\u202e\n" + "x" * 10_000
    turn = asked(
        1,
        0,
        4,
        client=name,
        label=name,
        peer=name,
        server=name,
        fingerprint=name,
        model_served=name,
        request=Request(method=name, path=name, model=name, sampling={name: name}),
        tools=msgspec.structs.replace(TOOLS, called=[name] * 3),
        output=output(finish_reason=name),
        reported={name: 1, "word": name},
        notes=[f"{name}: {name}"],
        parts=parts(tools=6603, question=37),
        prefix=Prefix(parent=name, difference=Difference(part="tools", tool=name, offset=1)),
    )
    return Journal(records=(turn,))
