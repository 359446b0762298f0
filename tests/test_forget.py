"""What began before a moment goes out of a journal, all else stays as it is, byte for byte."""

from __future__ import annotations

import fcntl
import os

import msgspec
import pytest

from analysis.store import closed
from analysis.store.folder import FolderStore
from proxy.journal.lines import encode, read_lines
from proxy.journal.record import Forgotten, Record, ToolSet
from proxy.segments import JournalFolder
from tests.support.cuts import every_junk
from tests.support.three_days import (
    HOUR_NS,
    NOON_NS,
    OLD,
    RUN,
    SEGMENT,
    YOUNG,
    at,
    forget,
    lines,
    put_tool_set,
    there,
    three_days,
)


@pytest.fixture
def journal(tmp_path):
    """A journal of three days."""
    folder = tmp_path / "journal"
    folder.mkdir()
    three_days(folder)
    return folder


def test_what_is_older_goes_and_the_rest_is_the_same(journal):
    """Whole files, lines of a file that holds both, and tool sets that nothing names any more."""
    before = FolderStore(journal).journal()
    size = sum(path.stat().st_size for path in journal.iterdir())
    segment = (journal / SEGMENT).read_bytes().splitlines(keepends=True)

    done = forget(journal)

    after = FolderStore(journal).journal()
    assert after.records == tuple(r for r in before.records if r.at_unix_ns >= NOON_NS)
    assert [loss.ids for loss in after.losses] == [["x-1"]]
    assert sorted(after.tool_sets) == ["c" * 16, "d" * 16]
    assert (journal / SEGMENT).read_bytes() == segment[1] + segment[3]
    assert sorted(done.removed) == sorted(
        [OLD, f"loss-{OLD}", f"tools-{'a' * 16}.json", f"tools-{'b' * 16}.json"]
    )
    assert sorted(done.rewritten) == [SEGMENT, f"gauge-{SEGMENT}", f"loss-{SEGMENT}"]
    assert done.lines == {"records": 4, "losses": 2, "gauge": 1}
    note = (journal / "forgotten.jsonl").stat().st_size
    assert done.bytes_freed == size + note - sum(p.stat().st_size for p in journal.iterdir())
    assert done.left == []


def test_what_was_forgotten_is_no_gap(journal):
    """Numbers that went on purpose are not called lost, in this pass or a later one."""
    (journal / f"loss-{OLD}").unlink()
    (journal / f"loss-{SEGMENT}").unlink()
    forget(journal)
    forget(journal, before=NOON_NS - 72 * HOUR_NS)

    assert FolderStore(journal).journal().gaps == ()
    note = msgspec.json.decode((journal / "forgotten.jsonl").read_bytes(), type=Forgotten)
    assert (note.before_unix_ns, note.files) == (NOON_NS, 5)


def test_a_file_that_is_written_anew_is_its_owners_alone(journal):
    """Mode 0600, whatever it was; its time stays, because nobody wrote to it."""
    (journal / SEGMENT).chmod(0o644)
    os.utime(journal / SEGMENT, ns=(NOON_NS, NOON_NS))

    forget(journal)

    state = (journal / SEGMENT).stat()
    assert (state.st_mode & 0o777, state.st_mtime_ns) == (0o600, NOON_NS)
    assert (journal / "forgotten.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_dry_run_says_the_same_and_does_nothing(journal):
    """The figures of what would be done are those of what is then done."""
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in journal.iterdir()}

    would = forget(journal, dry_run=True)

    assert before == {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in journal.iterdir()}
    assert would == forget(journal)


def test_again_is_nothing(journal):
    """A second pass finds nothing that old, and the files stay the very same."""
    forget(journal)
    before = {path: path.stat().st_ino for path in journal.iterdir()}

    done = forget(journal)

    assert (done.removed, done.rewritten, done.left, done.bytes_freed) == ([], [], [], 0)
    assert before == {path: path.stat().st_ino for path in journal.iterdir()}


@every_junk
def test_a_line_that_cannot_be_read_is_as_old_as_its_file(tmp_path, junk):
    """It goes from a file of that day, it stays in one of a later day; no neighbour is harmed."""
    for name, hours in ((SEGMENT, 1), (YOUNG, 20)):
        (tmp_path / name).write_bytes(lines(at(hours)) + junk + b"\n" + lines(at(hours, 2)))
    young = (tmp_path / YOUNG).read_bytes()

    forget(tmp_path)

    read = list(read_lines([(tmp_path / SEGMENT).read_bytes()]))
    assert [line.id for line in read if isinstance(line, Record)] == [f"{RUN}-1", f"{RUN}-2"]
    assert len(read) == 2
    assert young == (tmp_path / YOUNG).read_bytes()


def test_a_record_behind_a_torn_one_is_not_lost(tmp_path):
    """Two on one line, as a crash leaves them: the line stays if one of them is young."""
    glued = encode(at(-1))[:50] + encode(at(1, 2))
    (tmp_path / SEGMENT).write_bytes(lines(at(-1)) + glued + lines(at(1, 3))[:-1])

    forget(tmp_path)

    assert (tmp_path / SEGMENT).read_bytes() == glued + lines(at(1, 3))[:-1]


def test_strangers_are_never_touched(tmp_path):
    """Links and other names, old or not: somebody may name a home directory."""
    diary = tmp_path / "diary.jsonl"
    diary.write_bytes(lines(at(-30)))
    (tmp_path / OLD).symlink_to(diary)
    (tmp_path / "tools-of-mine.json").write_bytes(b"{}")
    (tmp_path / f".forget-{diary.name}").write_bytes(b"")
    before = there(tmp_path)

    assert forget(tmp_path).removed == []
    assert before == there(tmp_path)


def test_the_segment_of_a_living_proxy_is_left_and_said(tmp_path):
    """With the remedy; when the proxy has gone it can be forgotten, and its young records stay."""
    folder = JournalFolder(tmp_path, pytest.fail)
    tools = ToolSet(set_hash="a" * 16, source="t", tools=[])
    for hours, number in ((-1, 1), (1, 2)):
        folder.write(at(hours, number, "a"), tools)
    os.utime(tmp_path / f"tools-{'a' * 16}.json", ns=(NOON_NS,) * 2)
    (name,) = [name for name in there(tmp_path) if name[0] == "2"]
    before = (tmp_path / name).read_bytes()

    open_now = forget(tmp_path)

    assert [left.file for left in open_now.left] == [name]
    assert "a proxy is writing it, and 1 of its lines" in open_now.left[0].why
    assert "stop that proxy" in open_now.left[0].why
    assert (open_now.removed, open_now.rewritten) == ([], [])
    assert before == (tmp_path / name).read_bytes()
    folder.close()
    assert forget(tmp_path).rewritten == [name]
    assert [r.id for r in FolderStore(tmp_path).journal().records] == [f"{RUN}-2"]
    assert (tmp_path / f"tools-{'a' * 16}.json").exists()


def test_an_open_segment_with_nothing_older_needs_no_word(tmp_path):
    """A proxy that runs is no fault by itself."""
    folder = JournalFolder(tmp_path, pytest.fail)
    folder.write(at(1), None)
    done = forget(tmp_path)
    folder.close()

    assert (done.left, done.removed) == ([], [])


def test_a_tool_set_just_used_is_left_alone(tmp_path):
    """The record that names it may be on its way."""
    put_tool_set(tmp_path, "a", age_s=1)
    put_tool_set(tmp_path, "b", age_s=100)

    assert forget(tmp_path).removed == [f"tools-{'b' * 16}.json"]


def test_a_tool_set_that_is_used_meanwhile_is_put_back(tmp_path):
    """A stamp that is another than when it was looked at: a proxy has used it since."""
    path = put_tool_set(tmp_path, "a")

    assert not closed.remove_unless_used(path, path.stat().st_mtime_ns - 1)
    assert [path.name] == there(tmp_path)
    assert closed.remove_unless_used(path, path.stat().st_mtime_ns)
    assert there(tmp_path) == []


def test_tool_sets_alone_are_no_reason_for_a_missing_record(tmp_path):
    """The note explains gaps: nothing that could be one went."""
    put_tool_set(tmp_path, "a")
    forget(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_a_compacted_segment_that_is_broken_goes_whole_or_not_at_all(tmp_path):
    """Its day decides; the tool sets of one that stays are judged by their stamp."""
    for name in (OLD, SEGMENT):
        (tmp_path / name).with_suffix(".parquet").write_bytes(b"PAR1")
    for digit, hours in (("a", -30), ("b", 1)):
        os.utime(put_tool_set(tmp_path, digit), ns=(NOON_NS + hours * HOUR_NS,) * 2)

    done = forget(tmp_path)

    assert done.removed == ["2026-09-20-9-1.parquet", f"tools-{'a' * 16}.json"]
    assert [left.file for left in done.left] == ["2026-09-21-9-1.parquet"]


def test_half_of_a_killed_run_is_taken_away(tmp_path):
    """What a kill left of writing a file anew; not while somebody is writing it."""
    (tmp_path / SEGMENT).write_bytes(lines(at(1)))
    half = tmp_path / f".forget-{SEGMENT}"
    half.write_bytes(b"{")
    with (tmp_path / SEGMENT).open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        forget(tmp_path)
        assert half.exists()
    forget(tmp_path)

    assert [SEGMENT] == there(tmp_path)


def test_an_interrupt_leaves_the_journal_whole(tmp_path):
    """Ctrl-C while a file is written anew: the old one stands, and nothing lies beside it."""
    (tmp_path / SEGMENT).write_bytes(lines(at(-1), at(1, 2)))

    def until_interrupted():
        yield lines(at(1, 2))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        closed.replace(tmp_path / SEGMENT, until_interrupted(), 0)

    assert [SEGMENT] == there(tmp_path)
    assert lines(at(-1), at(1, 2)) == (tmp_path / SEGMENT).read_bytes()
