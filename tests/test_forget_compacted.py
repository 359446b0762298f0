"""What began before a moment goes out of a compacted segment too, line by line."""

from __future__ import annotations

from analysis.store.compaction import compact
from analysis.store.duck import DuckStore
from analysis.store.folder import FolderStore
from analysis.store.packed import segment_bytes
from tests.support.segments import put
from tests.support.three_days import (
    HOUR_NS,
    NOON_NS,
    OLD,
    SEGMENT,
    YOUNG,
    at,
    forget,
    lines,
    put_tool_set,
    there,
)

PACKED = SEGMENT.replace("jsonl", "parquet")


def packed(folder, **segments):
    """A folder in which these are compacted."""
    for name, data in segments.items():
        put(folder, data, name={"old": OLD, "mid": SEGMENT, "young": YOUNG}[name])
    compact(FolderStore(folder), lambda *_: None, 0)


def test_what_is_older_goes_and_the_rest_is_the_same(tmp_path):
    """To the byte; damage is as old as the day, but for a whole record that stands in its line."""
    glued = lines(at(-3, 8))[:-60] + lines(at(2, 9))
    stays = [lines(at(1, 3)), glued, lines(at(2, 5))]
    packed(tmp_path, old=lines(at(-30)), mid=lines(at(-2, 2)) + b"junk\n" + b"".join(stays))

    planned = forget(tmp_path, dry_run=True)
    done = forget(tmp_path)

    assert ([OLD.replace("jsonl", "parquet")], [PACKED]) == (done.removed, done.rewritten)
    assert (planned.removed, planned.rewritten) == (done.removed, done.rewritten)
    assert 3 == done.lines["records"] == planned.lines["records"]
    assert done.left == []
    kept = b"".join(segment_bytes(tmp_path / PACKED)).lstrip(b"\n")
    assert b"".join(stays) == kept
    assert 0o600 == (tmp_path / PACKED).stat().st_mode & 0o777
    journal = DuckStore(tmp_path).journal()
    assert [3, 5, 9] == [int(r.id.rpartition("-")[2]) for r in journal.records]
    assert [(PACKED, 4)] == [(u.file, u.line) for u in journal.unreadable]


def test_nothing_older_leaves_it_as_it_is(tmp_path):
    """The same file, and no note."""
    packed(tmp_path, mid=lines(at(1)))
    before = (tmp_path / PACKED).stat()

    forget(tmp_path)

    assert before.st_ino == (tmp_path / PACKED).stat().st_ino
    assert [PACKED] == there(tmp_path)


def test_tool_sets_that_a_compacted_segment_names_stay(tmp_path):
    """Whatever their stamp says; those of lines that went go."""
    packed(tmp_path, mid=lines(at(-1, 1, "a"), at(1, 2, "b")), young=lines(at(20, 3, "c")))
    for digit in "abcd":
        put_tool_set(tmp_path, digit)

    forget(tmp_path)

    sets = [name for name in there(tmp_path) if name.startswith("tools-")]
    assert [f"tools-{digit * 16}.json" for digit in "bc"] == sets


def test_a_lost_number_before_the_moment_is_no_gap(tmp_path):
    """As after forgetting lines of a segment."""
    packed(tmp_path, mid=lines(at(-1, 1), at(1, 2), at(1, 3)))

    forget(tmp_path, before=NOON_NS + HOUR_NS // 2)

    assert () == DuckStore(tmp_path).journal().gaps
