"""One exchange in its turn, as a screen of text: what it was, when what happened, what its prompt held.

One rule: it fits the screen, and nothing in it needs colour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .layout import entries_block, printed, table_block
from .names import PARTS, printable
from .one import facts, what
from .table import Column, Table, text
from .turn import spent_table
from .units import MILLISECONDS, NOTHING, count, percent, plural
from .waterfall import waterfall_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.explain.explained import Explained, NoChoice
    from analysis.explain.prompt import PartTokens, Prompt
    from analysis.store.recorded import Record

    from .screen import Screen

MARK_NAMES: Final = {
    "request_head_ns": "request's head had come",
    "request_end_ns": "request's last byte had come",
    "upstream_dial_ns": "connecting began",
    "upstream_connected_ns": "upstream connected",
    "upstream_sent_ns": "request sent on",
    "response_head_ns": "reply's head had come",
    "first_byte_ns": "first byte of the reply",
    "first_event_ns": "first event",
    "first_token_ns": "first token",
    "first_reasoning_ns": "first reasoning",
    "first_visible_text_ns": "first visible text",
    "first_tool_call_ns": "first piece of a tool call",
    "last_token_ns": "last token",
    "terminal_event_ns": "generation said to be over",
    "end_ns": "end",
}


def explain_text(shown: Explained, screen: Screen) -> str:
    """The whole screen; it ends with a line feed."""
    blocks = [entries_block(what(shown, screen.zone))]
    blocks += [table_block(table) for table in _tables(shown, screen.width)]
    blocks.append(entries_block(facts(shown.record)))
    return printed(blocks, screen)


def nothing_to_explain(missing: NoChoice) -> str:
    """Why there is nothing, and which ids may have been meant."""
    if not missing.near:
        return f"{missing.reason}\n"
    names = "".join(f"  {printable(name)}\n" for name in missing.near)
    return f"{missing.reason} There is:\n{names}"


def _tables(shown: Explained, width: int) -> Iterator[Table]:
    record, name = shown.record, printable(shown.record.id, 24)
    if shown.waterfall is not None:
        yield waterfall_table(shown.waterfall, record.id, width)
    if shown.turn is not None and shown.whole is not None and len(shown.turn.exchanges) > 1:
        requests = plural(len(shown.turn.exchanges), "request")
        note = f"All {requests} of turn {printable(shown.turn.id)} and the time between them."
        yield spent_table("WHERE THE TURN'S TIME WENT", shown.whole, note)
    note = f"Exchange {printable(record.id)}, from its first request byte to its end."
    yield spent_table("WHERE ITS TIME WENT", shown.budget, note)
    yield _marks(record, name)
    if shown.prompt is not None:
        yield _parts(shown.prompt, record)


def _marks(record: Record, name: str) -> Table:
    """Every mark that was seen, by time."""
    marks = ((mark, getattr(record.timings, mark)) for mark in MARK_NAMES)
    seen = sorted(((ns, n, mark) for n, (mark, ns) in enumerate(marks) if ns is not None))
    before = seen[0][0]
    rows = []
    for ns, _, mark in seen:
        rows.append((MARK_NAMES[mark], MILLISECONDS.text(ns), MILLISECONDS.text(ns - before)))
        before = ns
    columns = (text(f"MARKS of {name}"), Column("at"), Column("after the one above"))
    early = seen[0][0] < 0
    ready = " A negative one was there before: the connection was reused." if early else ""
    return Table(columns, tuple(rows), (f"From its first request byte.{ready}",))


def _parts(prompt: Prompt, record: Record) -> Table:
    parts = (*prompt.parts, prompt.unexplained) if prompt.unexplained else prompt.parts
    whole = sum(part.billed for part in parts)
    rows = [
        (
            PARTS.get(part.part, part.part),
            count(part.tokens),
            percent(part.billed / whole) if whole else NOTHING,
            NOTHING if prompt.cached is None else count(part.billed - part.uncached),
            count(part.uncached),
            f"{part.source}{_doubt(part)}",
        )
        for part in parts
    ]
    rows += [
        (
            PARTS.get(part.part, part.part),
            NOTHING,
            NOTHING,
            NOTHING,
            NOTHING,
            printable(part.source),
        )
        for part in record.parts
        if part.tokens is None
    ]
    columns = (
        text("PROMPT, by part"),
        Column("tokens"),
        Column("share"),
        Column("cached"),
        Column("read anew"),
        text("tokens known how"),
    )
    said = (
        ""
        if prompt.cached is not None
        else " The server did not say what it cached: none is assumed."
    )
    return Table(columns, tuple(rows), (f"Cached tokens are the front of the prompt.{said}",))


def _doubt(part: PartTokens) -> str:
    if not part.read:
        return "; dropped by the server's template"
    return "; which of tools and system came first is not known" if part.shared else ""
