"""A compacted segment is the segment: each byte, each record, each damage, at every moment."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given

from analysis.store.compaction import WORTHWHILE, compact
from analysis.store.duck import DuckStore
from analysis.store.folder import FolderStore
from analysis.store.packed import segment_bytes
from proxy.journal.lines import LONGEST_LINE, encode
from proxy.segments import Appender
from tests.support.builders import AT_UNIX_NS, record
from tests.support.damage import examples
from tests.support.segments import SEGMENT, put, segments

PACKED = "2026-09-21-9-1.parquet"


def squeeze(folder, least=0):
    """Compact all that is closed; names of what was written."""
    return compact(FolderStore(folder), lambda *_: None, least)


def there(folder):
    """Names of all files."""
    return sorted(path.name for path in folder.iterdir())


def lines(*numbers):
    """Lines of records with these numbers."""
    return [encode(record(id=f"r1-{n}", at_unix_ns=AT_UNIX_NS + n)) for n in numbers]


def whole(journal):
    """What a journal says, but for the names of the files that it stood in."""
    damage = sorted((u.line or 0, u.reason) for u in journal.unreadable)
    return journal.records, journal.gaps, damage, journal.tallies


@examples(0.2)
@given(segments())
def test_out_of_a_compacted_segment_comes_what_the_segment_held(data):
    """To the byte; records, gaps and damage are the same by every way of reading."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        put(folder, data)
        by_hand = whole(FolderStore(folder).journal())
        before = whole(DuckStore(folder, compact_from=None).journal())

        written = squeeze(folder)

        assert ([PACKED] if data else []) == written
        if data:
            assert data.removesuffix(b"\n") + b"\n" == b"".join(segment_bytes(folder / PACKED))
            assert [PACKED] == there(folder)
        assert before == whole(DuckStore(folder, compact_from=None).journal())
        assert by_hand[:3] == before[:3]
        assert by_hand == whole(FolderStore(folder).journal())


def test_a_compacted_segment_is_its_owners_alone_and_as_old(tmp_path):
    """Mode 0600 whatever the umask says; readers and retention go by the time of the last record."""
    put(tmp_path, *lines(1))

    squeeze(tmp_path)

    state = (tmp_path / PACKED).stat()
    assert (0o600, 1) == (state.st_mode & 0o777, state.st_mtime)


def test_what_is_being_written_is_left(tmp_path):
    """A lock says so; and what was written a moment ago may still be followed."""
    with put(tmp_path, *lines(1)).open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert squeeze(tmp_path) == []
    (tmp_path / "2026-09-21-9-2.jsonl").write_bytes(b"".join(lines(2)))

    assert squeeze(tmp_path) == [PACKED]
    assert (tmp_path / "2026-09-21-9-2.jsonl").exists()


def test_a_small_journal_stays_a_text(tmp_path):
    """Nothing is gained below a size, and any tool reads a text."""
    put(tmp_path, *lines(1))

    assert squeeze(tmp_path, WORTHWHILE) == []
    assert [SEGMENT] == there(tmp_path)


def test_a_line_that_is_too_long_keeps_its_segment(tmp_path):
    """It could not be given back to the byte."""
    put(tmp_path, b"x" * (LONGEST_LINE + 2**21), b"\n", *lines(1))

    assert squeeze(tmp_path) == []
    assert [SEGMENT] == there(tmp_path)


def test_who_was_killed_between_the_two_files_costs_and_doubles_nothing(tmp_path):
    """Both are there: each record counts once, without a word, and the next run takes one away."""
    data = lines(1, 2)
    put(tmp_path, *data)
    squeeze(tmp_path)
    put(tmp_path, *data)

    journal = DuckStore(tmp_path, compact_from=None).journal()

    assert (2, ()) == (len(journal.records), journal.unreadable)
    assert [PACKED] == squeeze(tmp_path)
    assert [PACKED] == there(tmp_path)


def test_a_name_that_came_again_loses_nothing(tmp_path):
    """Process ids come again: another segment of the same name is compacted beside the first."""
    put(tmp_path, *lines(1))
    squeeze(tmp_path)
    put(tmp_path, *lines(2))

    assert ["2026-09-21-9-2.parquet"] == squeeze(tmp_path)
    assert ["r1-1", "r1-2"] == [r.id for r in DuckStore(tmp_path).journal().records]


def test_a_proxy_takes_no_name_of_a_compacted_segment(tmp_path):
    """Its own first segment of the day may have been compacted under the same process id."""
    date = "2026-09-21"
    (tmp_path / f"{date}-{os.getpid()}-1.parquet").write_bytes(b"")
    appender = Appender(tmp_path)
    appender.append(lines(1)[0], AT_UNIX_NS)
    appender.close()

    assert [f"{date}-{os.getpid()}-1.parquet", f"{date}-{os.getpid()}-2.jsonl"] == there(tmp_path)


def test_a_kill_at_any_moment_leaves_the_journal_whole(tmp_path):
    """Ten runs are killed, each a little later: every record is there once, and no line is damaged."""
    numbers = range(1, 1501)
    code = (
        "import sys; from pathlib import Path; from analysis.store.duck import DuckStore;"
        "from analysis.store.folder import FolderStore; from analysis.store.compaction import compact;"
        "import duckdb; print(flush=True);"
        "compact(FolderStore(Path(sys.argv[1])), lambda *_: None, 0)"
    )
    for step in range(10):
        folder = tmp_path / str(step)
        put(folder, *lines(*numbers[:700]))
        put(folder, *lines(*numbers[700:]), name="2026-09-21-9-2.jsonl")
        with subprocess.Popen(
            [sys.executable, "-c", code, folder], stdout=subprocess.PIPE
        ) as running:
            running.stdout.readline()
            time.sleep(step * 0.03)
            running.send_signal(signal.SIGKILL if step % 2 else signal.SIGINT)
            running.wait(timeout=30)

        journal = DuckStore(folder, compact_from=0).journal()

        assert len(numbers) == len(journal.records)
        assert ((), ()) == (journal.unreadable, journal.gaps)


def test_two_that_compact_at_once_leave_one_of_each(tmp_path):
    """Whoever has not got the lock reads the segment as it is."""
    put(tmp_path, *lines(*range(1, 400)))
    code = (
        "import sys; from pathlib import Path; from analysis.store.duck import DuckStore;"
        "print(len(DuckStore(Path(sys.argv[1]), compact_from=0).journal().records))"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE)
        for _ in range(2)
    ]

    assert [b"399\n", b"399\n"] == [running.communicate()[0] for running in both]
    assert [PACKED] == there(tmp_path)
