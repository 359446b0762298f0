"""The journal followed: lines as they become whole, segments as they appear."""

from __future__ import annotations

import os
import signal
from threading import Timer

import orjson
import pytest

from analysis.store.base import NoJournalError, StoreError
from analysis.store.folder import FolderStore
from analysis.store.follow import Follower
from analysis.tail import as_json, as_text, follow
from proxy.journal.lines import encode, read_lines
from tests.support.builders import AT_UNIX_NS, S, record, timings
from tests.support.turnscope import start


def numbered(number, lasts_s=1):
    """The n-th exchange of a run, begun in its n-th second."""
    return record(
        id=f"r1-{number}", at_unix_ns=AT_UNIX_NS + number * S, timings=timings(end_ns=lasts_s * S)
    )


def segment(folder, number, *records, written_s=0):
    """A segment of these records, last written to at this second of the run."""
    file = folder / f"2026-09-21-9-{number}.jsonl"
    file.write_bytes(b"".join(encode(r) for r in records))
    os.utime(file, ns=(AT_UNIX_NS + written_s * S,) * 2)
    return file


def ids(records):
    """What the records are called."""
    return [r.id for r in records]


def new(follower):
    """Ids of new records, reasons of what is none."""
    return [getattr(piece.read, "id", None) or piece.read.reason for piece in follower.news()]


def test_the_last_n_are_the_last_to_end(tmp_path):
    """By their end, not by their beginning or their file."""
    segment(tmp_path, 1, numbered(1, lasts_s=60), written_s=61)
    segment(tmp_path, 2, numbered(2), numbered(3), written_s=70)

    assert ids(Follower(FolderStore(tmp_path)).last(2)) == ["r1-3", "r1-1"]


def test_no_more_is_read_than_it_takes(tmp_path):
    """A segment that was finished before the last n ended is passed over, and stays so."""
    old = segment(tmp_path, 1, numbered(1), written_s=2)
    old.write_bytes(b"junk\n" * 3)
    os.utime(old, ns=(AT_UNIX_NS,) * 2)
    segment(tmp_path, 2, numbered(2), numbered(3), written_s=70)
    follower = Follower(FolderStore(tmp_path))

    assert ids(follower.last(2)) == ["r1-2", "r1-3"]
    assert new(follower) == []


def test_none_are_asked_for(tmp_path):
    """With n = 0 what stands there is old and unread."""
    segment(tmp_path, 1, numbered(1))
    follower = Follower(FolderStore(tmp_path))

    assert follower.last(0) == []
    assert new(follower) == []


def test_a_torn_line_counts_when_it_is_whole(tmp_path):
    """A line that is still being written is looked at again, from its first byte."""
    file = segment(tmp_path, 1, numbered(1))
    follower = Follower(FolderStore(tmp_path))
    follower.last(10)
    line = encode(numbered(2))

    seen = []
    with file.open("ab", buffering=0) as writer:
        for cut in (line[:1], line[1:700], line[700:-1], line[-1:]):
            writer.write(cut)
            seen.append(new(follower))

    assert seen == [[], [], [], ["r1-2"]]


def test_a_torn_line_at_the_start_is_not_lost(tmp_path):
    """What was torn when tail began is said once it is whole."""
    line = encode(numbered(1))
    file = segment(tmp_path, 1)
    file.write_bytes(line[:50])
    follower = Follower(FolderStore(tmp_path))

    assert follower.last(10) == []
    file.write_bytes(line)
    assert new(follower) == ["r1-1"]


def test_new_segments_are_found(tmp_path):
    """A proxy that began a new file, or another proxy, is heard as well."""
    segment(tmp_path, 1, numbered(1))
    follower = Follower(FolderStore(tmp_path))
    follower.last(10)
    segment(tmp_path, 2, numbered(2), numbered(3))

    assert new(follower) == ["r1-2", "r1-3"]
    assert new(follower) == []


def test_a_segment_that_was_emptied_is_read_anew(tmp_path):
    """A file that is shorter than what was read of it is another file."""
    file = segment(tmp_path, 1, numbered(1), numbered(2))
    follower = Follower(FolderStore(tmp_path))
    follower.last(10)
    file.write_bytes(encode(numbered(3)))

    assert new(follower) == ["r1-3"]


def test_a_line_that_is_none_is_said(tmp_path):
    """With its file, and without harm to what follows."""
    segment(tmp_path, 1)
    follower = Follower(FolderStore(tmp_path))
    follower.last(10)
    (tmp_path / "2026-09-21-9-1.jsonl").write_bytes(b"junk\n" + encode(numbered(1)))

    reason, found = new(follower)

    assert "JSON is malformed" in reason
    assert found == "r1-1"


def test_a_segment_that_cannot_be_read_ends_it(tmp_path):
    """Silence would look as if nothing came."""
    stuck = tmp_path / "2026-09-21-9-1.jsonl"
    stuck.write_bytes(b"")
    follower = Follower(FolderStore(tmp_path))
    follower.last(10)
    follower._places[stuck.name] = -1  # so that it looks longer than it was
    stuck.unlink()
    stuck.symlink_to("/proc/self/mem")

    with pytest.raises(StoreError, match="cannot read"):
        follower.news()


def test_a_segment_that_was_taken_away_is_let_go(tmp_path):
    """Listed and gone: there is nothing new in it."""
    gone = segment(tmp_path, 1, numbered(1))
    follower = Follower(FolderStore(tmp_path))
    gone.unlink()

    assert follower._new(gone) == []


def test_a_missing_folder_is_no_journal(tmp_path):
    """Whoever follows may wait for it."""
    with pytest.raises(NoJournalError):
        Follower(FolderStore(tmp_path / "nowhere")).news()


class EnoughError(Exception):
    """Ends a follower that would go on for ever."""


def test_follow_says_the_last_ones_and_then_the_new(tmp_path):
    """The last n in order of their end, then what comes; a damaged line is complained of."""
    file = segment(tmp_path, 1, *(numbered(n) for n in range(1, 6)))
    said, complaints = [], []

    def say(record):
        said.append(record.id)
        if record.id == "r1-5":
            with file.open("ab") as writer:
                writer.write(b"junk\n" + encode(numbered(6)))
        if record.id == "r1-6":
            raise EnoughError

    with pytest.raises(EnoughError):
        follow(FolderStore(tmp_path), 3, say, complaints.append)

    assert said == ["r1-3", "r1-4", "r1-5", "r1-6"]
    assert [c.partition(": JSON")[0] for c in complaints] == [
        "2026-09-21-9-1.jsonl: a line cannot be read"
    ]


def test_follow_outlives_its_folder(tmp_path):
    """A journal that is moved away and begun anew is followed on."""
    folder = tmp_path / "journal"
    folder.mkdir()
    said, complaints = [], []

    def say(record):
        said.append(record.id)
        if len(said) == 2:
            raise EnoughError
        folder.rename(tmp_path / "old")
        Timer(0.4, begin_anew).start()

    def begin_anew():
        folder.mkdir()
        segment(folder, 2, numbered(2))

    def appear(what):
        complaints.append(what)
        segment(folder, 1, numbered(1))

    with pytest.raises(EnoughError):
        follow(FolderStore(folder), 10, say, appear)

    assert said == ["r1-1", "r1-2"]
    assert complaints == [f"nothing in {folder} yet; waiting"]


def test_follow_waits_for_a_folder(tmp_path):
    """A tail that was started before the proxy says what it waits for."""
    folder = tmp_path / "later"

    def appear(what):
        complaints.append(what)
        folder.mkdir()
        segment(folder, 1, numbered(1))

    def say(record):
        said.append(record.id)
        raise EnoughError

    said, complaints = [], []
    with pytest.raises(EnoughError):
        follow(FolderStore(folder), 10, say, appear)

    assert said == ["r1-1"]
    assert complaints == [f"there is no folder {folder}; waiting for a proxy that writes there"]


def test_a_line_is_the_proxys_own():
    """The console's text at the exchange's end; as JSON the record as it is on disk."""
    turn = record()

    assert "9,459 in (tools ~6,603" in as_text(turn)
    assert as_text(turn).endswith("ok\n")
    assert list(read_lines([as_json(turn).encode()])) == [turn]


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_the_command_shows_the_last_and_follows(tmp_path, flags):
    """A line an exchange, new ones as they come; Ctrl-C ends it with 0 and without a word."""
    segment(tmp_path, 1, numbered(1), numbered(2))
    with start("tail", "-n", 1, "--journal", tmp_path, *flags) as process:
        lines = [process.stdout.readline()]
        segment(tmp_path, 2, record(id="r1-3", label="new"))
        lines.append(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        rest, complaints = process.communicate(timeout=30)

    assert (process.returncode, rest, complaints) == (0, b"", b"")
    assert b"new" in lines[1]
    if flags:
        assert [orjson.loads(line)["id"] for line in lines] == ["r1-2", "r1-3"]
    else:
        assert lines[1].endswith(b"37.7 tok/s  ok\n")


def test_the_command_waits_for_a_folder(tmp_path):
    """Started before the proxy, it says on stderr what it waits for."""
    folder = tmp_path / "later"
    with start("tail", "--journal", folder) as process:
        said = process.stderr.readline()
        folder.mkdir()
        segment(folder, 1, record())
        line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)

    assert f"there is no folder {folder}; waiting" in said.decode()
    assert b"9,459 in" in line
    assert process.returncode == 0
