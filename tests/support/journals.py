"""Journals that the report is tested on, as values: each has a truth that is known beforehand.

One rule: figures are the field report's, or those that the demo's real server gave; none is a guess.
"""

from __future__ import annotations

import msgspec

from analysis.store.base import Journal, Unreadable
from proxy.journal.record import (
    Counting,
    Loss,
    Part,
    Record,
    Request,
    ToolEntry,
    Tools,
    ToolSet,
    UsageReport,
)
from tests.support.builders import AT_UNIX_NS, COUNTED, MS, S, output, parts, record, timings

SCALED = f"{COUNTED}, scaled to usage"
ASSUMED = "assumed: 4 a message"

FIELD_TOOLS = ToolSet(
    set_hash="0123456789abcdef",
    source=COUNTED,
    tools=[
        ToolEntry(name="browser_snapshot", tokens=911, server="playwright"),
        ToolEntry(name="browser_fill_form", tokens=642, server="playwright"),
        *(ToolEntry(name=f"browser_{n:02}", tokens=180, server="playwright") for n in range(20)),
        *(ToolEntry(name=f"search_{n}", tokens=160) for n in range(9)),
        ToolEntry(name="clock", tokens=10),
    ][:31],
)
"""31 tools of 6,603 tokens, in the proportions of the field report's client."""
