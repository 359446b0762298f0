"""A journal's folder read back: records in order, and everything that is missing."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.store.base import Gap, Journal, NoJournalError, StoreError
from analysis.store.contents import Contents, gaps
from analysis.store.folder import FolderStore, is_segment
from proxy.journal.gauge import GaugeSample
from proxy.journal.lines import encode
from proxy.journal.record import Loss, ToolEntry, ToolSet
from tests.support.builders import AT_UNIX_NS, record
from tests.support.cuts import every_cut, every_junk

TOOLS = ToolSet(
    set_hash="0123456789abcdef", source="tiktoken", tools=[ToolEntry(name="clock", tokens=9)]
)

SAMPLE = GaugeSample(
    at_unix_ns=AT_UNIX_NS, took_ns=1, upstream="http://a", engine="tgi", in_flight=1, running=2
)


def numbered(*numbers, run="r1"):
    """Records with these numbers, one second apart."""
    return [record(id=f"{run}-{n}", at_unix_ns=AT_UNIX_NS + n * 10**9) for n in numbers]


def lines(records):
    """A segment that holds them."""
    return b"".join(encode(r) for r in records)


def loss(*ids):
    """A loss line."""
    return encode(Loss(at_unix_ns=AT_UNIX_NS, ids=list(ids), why="recorder died"))


def test_records_come_in_the_order_of_their_first_bytes(tmp_path):
    """Segments hold the order of ends; a journal has the order of beginnings, over all files."""
    first, second, third = numbered(1, 2, 3)
    (tmp_path / "2026-09-22-9-1.jsonl").write_bytes(lines([second]))
    (tmp_path / "2026-09-21-9-1.jsonl").write_bytes(lines([third, first]))

    journal = FolderStore(tmp_path).journal()

    assert journal == Journal(records=(first, second, third))


def test_each_sort_of_file_is_read_as_what_it_is(tmp_path):
    """Records, losses, tool sets and gauges; temporary files and strangers are let alone."""
    (tmp_path / "2026-09-21-9-1.jsonl").write_bytes(lines(numbered(1)))
    (tmp_path / "loss-2026-09-21-9-1.jsonl").write_bytes(loss("r1-2", "r1-3"))
    (tmp_path / "tools-0123456789abcdef.json").write_bytes(encode(TOOLS))
    (tmp_path / "gauge-2026-09-21-9-1.jsonl").write_bytes(encode(SAMPLE))
    (tmp_path / ".tools-xyz").write_bytes(b"{")
    (tmp_path / "report.html").write_bytes(b"<html>")
    (tmp_path / "folder.jsonl").mkdir()

    journal = FolderStore(tmp_path).journal()

    assert [r.id for r in journal.records] == ["r1-1"]
    assert [x.ids for x in journal.losses] == [["r1-2", "r1-3"]]
    assert journal.tool_sets == {TOOLS.set_hash: TOOLS}
    assert (journal.gaps, journal.unreadable) == ((), ())
    assert journal.gauges == (SAMPLE,)


def test_an_empty_folder_is_an_empty_journal(tmp_path):
    """A proxy that has recorded nothing yet is no error."""
    assert FolderStore(tmp_path).journal() == Journal()


def test_a_missing_folder_is_no_journal(tmp_path):
    """It is told apart from a folder that cannot be read."""
    with pytest.raises(NoJournalError, match="there is no folder"):
        FolderStore(tmp_path / "nowhere").journal()


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    """The message names what was looked at and the flag that helps."""
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(StoreError, match=r"cannot read .*file: Not a directory.*--journal"):
        FolderStore(tmp_path / "file").journal()


def test_a_file_that_cannot_be_read_is_said(tmp_path):
    """One segment that the system refuses to read does not hide the others."""
    (tmp_path / "2026-09-21-9-1.jsonl").write_bytes(lines(numbered(1)))
    # Not by permissions: root would read it. The first page of a process is mapped by nothing.
    (tmp_path / "2026-09-21-9-2.jsonl").symlink_to("/proc/self/mem")

    journal = FolderStore(tmp_path).journal()

    assert [r.id for r in journal.records] == ["r1-1"]
    assert [(u.file, u.line, u.reason) for u in journal.unreadable] == [
        ("2026-09-21-9-2.jsonl", None, "Input/output error")
    ]


@every_cut
@every_junk
def test_damage_is_named_and_harms_nothing(cut, junk):
    """Whatever stands between and behind records: they are all found, and the rest has a line."""
    contents = Contents()
    first, second = numbered(1, 2)
    contents.segment("a.jsonl", cut(lines([first]) + junk + b"\n" + lines([second]) + junk))

    journal = contents.journal()

    assert journal.records == (first, second)
    assert {u.file for u in journal.unreadable} <= {"a.jsonl"}
    assert all(u.line and u.line > 1 and u.reason for u in journal.unreadable)
    assert bool(journal.unreadable) == bool(junk.strip())


def test_a_torn_last_line_is_counted():
    """A recorder that died while it wrote leaves half a line."""
    contents = Contents()
    contents.segment("a.jsonl", [lines(numbered(1, 2))[:-100]])

    assert len(contents.journal().records) == 1
    assert [u.line for u in contents.journal().unreadable] == [2]


def test_a_second_record_of_an_exchange_is_left_out():
    """A segment that was copied into the folder twice does not double the turns."""
    contents = Contents()
    for file in ("a.jsonl", "b.jsonl"):
        contents.segment(file, [lines(numbered(1))])

    assert len(contents.journal().records) == 1
    assert [(u.file, u.reason) for u in contents.journal().unreadable] == [
        ("b.jsonl", "a second record of exchange r1-1: left out")
    ]


@every_junk
def test_damaged_losses_and_tool_sets_are_said(junk):
    """Junk in either is named; a blank line is nothing."""
    contents = Contents()
    contents.loss("loss-a.jsonl", loss("r1-9") + b"\n{\n" + loss("r1-8"))
    contents.tool_set("tools-a.json", junk)

    journal = contents.journal()

    assert [x.ids for x in journal.losses] == [["r1-9"], ["r1-8"]]
    assert [(u.file, u.line) for u in journal.unreadable] == [
        ("loss-a.jsonl", 3),
        ("tools-a.json", None),
    ]


def test_an_exchange_that_was_recorded_after_all_is_not_lost():
    """A restarted recorder may seal what its forerunner was said to have lost."""
    contents = Contents()
    contents.segment("a.jsonl", [lines(numbered(1, 2))])
    contents.loss("loss-a.jsonl", loss("r1-2", "r1-3") + loss("r1-1"))

    assert [x.ids for x in contents.journal().losses] == [["r1-3"]]


def test_numbers_that_are_missing_are_gaps():
    """From 1 to each run's last; a loss line explains its numbers."""
    contents = Contents()
    contents.segment("a.jsonl", [lines(numbered(2, 3, 7) + numbered(1, run="r2"))])
    contents.loss("loss-a.jsonl", loss("r1-5"))

    assert contents.journal().gaps == (Gap("r1", 1, 1), Gap("r1", 4, 4), Gap("r1", 6, 6))


@given(st.sets(st.integers(1, 60)))
def test_gaps_and_numbers_together_are_the_run(numbers):
    """Every number up to the last is there or in one gap."""
    found = list(gaps(f"2026-09-21-77-{n}" for n in numbers))
    missing = [n for gap in found for n in range(gap.first, gap.last + 1)]

    assert sorted([*missing, *numbers]) == list(range(1, max(numbers, default=0) + 1))
    assert sum(gap.count for gap in found) == len(missing)


@pytest.mark.parametrize("odd", ["", "5", "-5", "r1-", "r1-x", "r1-\u0665", "r1-" + "9" * 5000])
def test_an_id_of_another_shape_has_no_gap(odd):
    """Ids are others' data once a journal has travelled."""
    assert list(gaps([odd])) == []


def test_what_is_a_segment():
    """By its name alone."""
    assert [n for n in ("2026-09-21-9-1.jsonl", "loss-1.jsonl", "x.json") if is_segment(n)] == [
        "2026-09-21-9-1.jsonl"
    ]


def test_a_record_of_a_newer_turnscope_is_said():
    """A line of a version to come is not guessed at."""
    newer = msgspec.json.encode({**msgspec.to_builtins(record()), "v": 99})
    contents = Contents()
    contents.segment("a.jsonl", [newer])

    assert "use a newer one" in contents.journal().unreadable[0].reason
