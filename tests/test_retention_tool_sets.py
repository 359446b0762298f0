"""Tool sets of a journal whose old segments go: one that is still named is never removed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from proxy.journal.names import DAY_NS
from proxy.journal.record import ToolEntry, ToolSet
from proxy.retention import Bounds, sweep
from proxy.segments import JournalFolder
from tests.support.builders import record
from tests.support.kept import NOW_NS, day, names, put

if TYPE_CHECKING:
    from pathlib import Path


def tool_set(digit: str) -> ToolSet:
    """A set whose hash is this digit sixteen times."""
    return ToolSet(set_hash=digit * 16, source="t", tools=[ToolEntry(name="f", tokens=3)])


def test_a_tool_set_stays_as_long_as_a_segment_names_it(tmp_path: Path):
    """Written on the first day, named again on the last: the segments of the first go, the set stays."""
    folder = JournalFolder(tmp_path, pytest.fail)
    for back, digit in ((30, "a"), (30, "b"), (1, "a")):
        folder.write(record(at_unix_ns=NOW_NS - back * DAY_NS), tool_set(digit))
        # The writer stamps with the present; as if it had been then.
        stamp = (NOW_NS - back * DAY_NS,) * 2
        os.utime(tmp_path / f"tools-{digit * 16}.json", ns=stamp)
    folder.close()

    done = sweep(tmp_path, Bounds(keep_days=9), NOW_NS)

    assert done.files == 2
    assert [f"{day(1)}-{os.getpid()}-2.jsonl", f"tools-{'a' * 16}.json"] == names(tmp_path)


def test_each_record_stamps_its_tool_set(tmp_path: Path):
    """Never back, and never before the record itself, even when the clock was set back."""
    folder = JournalFolder(tmp_path, pytest.fail)
    path = tmp_path / f"tools-{'a' * 16}.json"
    ahead = 4 * 10**18
    folder.write(record(), tool_set("a"))
    first = path.stat().st_mtime_ns
    folder.write(record(at_unix_ns=ahead), tool_set("a"))
    second = path.stat().st_mtime_ns
    folder.write(record(), tool_set("a"))
    third = path.stat().st_mtime_ns
    folder.close()

    assert first < ahead <= second < third


def test_a_tool_set_just_used_is_left_alone(tmp_path: Path):
    """The record that names it may be on its way."""
    path = put(tmp_path, f"tools-{'a' * 16}.json")
    os.utime(path, ns=(NOW_NS - 10**9,) * 2)

    assert sweep(tmp_path, Bounds(keep_days=1), NOW_NS).files == 0
    assert sweep(tmp_path, Bounds(keep_days=1), NOW_NS + 120 * 10**9).files == 1
    assert names(tmp_path) == []
