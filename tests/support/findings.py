"""Journals for findings: a healthy chat, and what can be wrong with it, one thing at a time."""

from __future__ import annotations

from analysis.explain.overview import overview
from analysis.store.base import Journal
from proxy.journal.record import (
    Counting,
    Difference,
    Prefix,
    Self,
    ToolEntry,
    Tools,
    ToolSet,
    UsageReport,
)

from .builders import AT_UNIX_NS, COUNTED, MS, S, parts, record, timings

TTFT_NS = 3 * S
WHOLE_NS = 10 * S
U0 = 2 * MS
EVERY_S = 60
SET = "abcdefabcdefabcd"


def marks(ttft_ns=TTFT_NS, end_ns=WHOLE_NS, **changes):
    """First token after 3 s, end after 10, unless said otherwise."""
    first = U0 + ttft_ns
    seen = {
        "first_byte_ns": U0 + MS,
        "response_head_ns": U0 + MS,
        "first_event_ns": first,
        "first_token_ns": first,
        "first_visible_text_ns": first,
        "last_token_ns": end_ns - MS,
        "terminal_event_ns": end_ns - MS,
        "end_ns": end_ns,
        "upstream_dial_ns": None,
        "upstream_connected_ns": -S,
    }
    return timings(**seen | changes)


def turn(n, **changes):
    """A turn of a healthy chat: a short prompt, most of it cached, the server says how long it read."""
    fields = {
        "id": f"r1-{n}",
        "at_unix_ns": AT_UNIX_NS + n * EVERY_S * S,
        "parts": parts(system=300, history=500, question=200),
        "tools": None,
        "timings": marks(),
        "usage": UsageReport(input=1_000, output=377, cached=800),
        "counting": Counting(tokenizer=COUNTED, counted=1_000, billed=1_000, residual=0),
        "reported": {"prompt_ms": 200.0, "prompt_n": 200},
        "self": Self(first_ns=90_000, worst_ns=400_000, lateness_ns=300_000),
    }
    return record(**fields | changes)


def of(*records, sets=()):
    """The findings on these records, by name."""
    held = Journal(
        records=tuple(sorted(records, key=lambda r: r.at_unix_ns)),
        tool_sets={s.set_hash: s for s in sets},
    )
    return {f.name: f for f in overview(held).findings}


def many(count=40, bad=40, **changes):
    """So many turns, the first `bad` of which are as said."""
    return [turn(n, **changes) if n < bad else turn(n) for n in range(count)]


def tooled(tokens, called=(), **changes):
    """Turns with ten tools in front, read anew each time at a millisecond a token."""
    entries = [ToolEntry(name=f"t{n}", tokens=tokens // 10, server="m") for n in range(10)]
    listed = ToolSet(set_hash=SET, source=COUNTED, tools=entries)
    whole = tokens + 1_000
    offered = Tools(set_hash=SET, count=10, tokens=tokens, called=list(called))
    fields = {
        "parts": parts(tools=tokens, system=300, history=500, question=200),
        "tools": offered,
        "usage": UsageReport(input=whole, output=377, cached=0),
        "counting": Counting(tokenizer=COUNTED, counted=whole, billed=whole, residual=0),
        "reported": {"prompt_ms": float(whole), "prompt_n": whole},
        "timings": marks(ttft_ns=(whole + 100) * MS),
    }
    return of(*many(**fields | changes), sets=[listed])


def missed(cause, **difference):
    """A prompt of 1,000 tokens of which 800 had to be read again, at a millisecond each."""
    where = Difference(**difference) if difference else None
    return {
        "prefix": Prefix(
            parent="r1-0", parent_age_ns=S, shared=900, expected=900, reported=100, lost=800,
            cause=cause, difference=where,
        ),
        "usage": UsageReport(input=1_000, output=377, cached=100),
        "reported": {"prompt_ms": 900.0, "prompt_n": 900},
    }  # fmt: skip


def hidden(n, took_ns):
    """A request for a title in the gap of the n-th turn."""
    return turn(
        1_000 + n, kind="hidden", at_unix_ns=AT_UNIX_NS + n * EVERY_S * S + WHOLE_NS,
        thread=f"c{n}", timings=marks(ttft_ns=took_ns // 2, end_ns=took_ns),
    )  # fmt: skip


def failed(n, **changes):
    """A request that the server refused."""
    end = timings(first_token_ns=None, last_token_ns=None, first_visible_text_ns=None, first_event_ns=None,
        terminal_event_ns=None, end_ns=S)  # fmt: skip
    fields = {"error_kind": "http_error", "status": 503, "generation": "none", "timings": end}
    return turn(n, **fields | changes)
