"""Journals of three days, of which all before noon of the second is to be forgotten.

One rule: what is older and what is younger is known beforehand, to the line.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime

from analysis import forgotten
from analysis.forgetting import Forgetting
from proxy.journal.lines import encode
from proxy.journal.record import Loss, ToolEntry, Tools, ToolSet

from .builders import record

NOON = datetime(2026, 9, 21, 12, tzinfo=UTC)
NOON_NS = forgotten.unix_ns(NOON)
HOUR_NS = 3_600 * 10**9
RUN = "20260920T000000-9"
SEGMENT = "2026-09-21-9-1.jsonl"
OLD = "2026-09-20-9-1.jsonl"
YOUNG = "2026-09-22-9-1.jsonl"


def at(hours, number=1, tools=None):
    """A record that began so many hours after noon."""
    named = tools and Tools(set_hash=tools * 16, count=1, tokens=3)
    return record(id=f"{RUN}-{number}", at_unix_ns=NOON_NS + hours * HOUR_NS, tools=named)


def lines(*records):
    """As they stand in a segment."""
    return b"".join(map(encode, records))


def put_tool_set(folder, digit, age_s=3600):
    """A tool set whose hash is this digit sixteen times, last used so long ago."""
    path = folder / f"tools-{digit * 16}.json"
    entries = [ToolEntry(name="f", tokens=3)]
    path.write_bytes(encode(ToolSet(set_hash=digit * 16, source="t", tools=entries)))
    os.utime(path, ns=(time.time_ns() - age_s * 10**9,) * 2)
    return path


def forget(folder, *, dry_run=False, before=NOON_NS):
    """One pass; what it did."""
    pass_ = Forgetting(folder, before, dry_run=dry_run)
    pass_.run()
    return pass_.done


def there(folder):
    """Names of what is there, less the note."""
    return sorted(p.name for p in folder.iterdir() if p.name != "forgotten.jsonl")


def three_days(folder):
    """Three days, and each sort of file; noon of the second is the moment."""
    (folder / OLD).write_bytes(lines(at(-30, 1, "a"), at(-20, 2)))
    (folder / SEGMENT).write_bytes(lines(at(-2, 3, "b"), at(1, 5), at(-1, 4), at(2, 6, "c")))
    (folder / YOUNG).write_bytes(lines(at(20, 7, "d")))
    for sort, name in (("loss", OLD), ("loss", SEGMENT), ("gauge", SEGMENT)):
        found = [Loss(at_unix_ns=NOON_NS + n * HOUR_NS, ids=[f"x-{n}"], why="w") for n in (-2, 1)]
        (folder / f"{sort}-{name}").write_bytes(lines(*found[: 1 if name == OLD else 2]))
    for digit in "abcd":
        put_tool_set(folder, digit)
