"""How much of a journal is kept: what goes, what stays, and what is nobody's business to touch."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest

from analysis.store.base import Gap
from analysis.store.folder import FolderStore
from proxy.journal.lines import encode
from proxy.journal.names import DAY_NS, dated
from proxy.journal.record import Forgotten, Loss
from proxy.retention import EVERY_NS, Bounds, Retention, sweep
from proxy.segments import Appender, JournalFolder
from tests.support.builders import record
from tests.support.kept import NOW_NS, day, names, put
from tests.support.program import ROOT, Program, eventually
from tests.support.upstream import Upstream


def notes(folder: Path) -> list[Forgotten]:
    """What is written down of each removal."""
    lines = (folder / "forgotten.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Forgotten) for line in lines]


def test_days_are_kept_whole(tmp_path: Path):
    """A file goes when all of its day (UTC) is `keep_days` old, whatever its sort and its form."""
    for name in (f"{day(30)}-1-1.parquet", f"loss-{day(9)}-1-1.jsonl", f"gauge-{day(2)}-1-1.jsonl"):
        put(tmp_path, name)
    for back in (0, 1):
        put(tmp_path, f"{day(back)}-1-1.jsonl")

    done = sweep(tmp_path, Bounds(keep_days=1), NOW_NS)

    assert (done.files, done.bytes, done.faults) == (3, 30, [])
    assert [f"{day(1)}-1-1.jsonl", f"{day(0)}-1-1.jsonl"] == names(tmp_path)


def test_the_oldest_go_beyond_a_size(tmp_path: Path):
    """By day, and within a day by the last write; the smallest number of files that is enough."""
    put(tmp_path, f"{day(1)}-9-1.jsonl", 40, back=1)
    put(tmp_path, f"{day(0)}-9-1.jsonl", 40, back=0)
    put(tmp_path, f"{day(1)}-1-1.jsonl", 40, back=0)

    done = sweep(tmp_path, Bounds(max_bytes=100), NOW_NS)

    assert (done.files, done.bytes) == (1, 40)
    assert [f"{day(1)}-1-1.jsonl", f"{day(0)}-9-1.jsonl"] == names(tmp_path)


@pytest.mark.parametrize("seed", range(20))
def test_what_stays_fits_and_is_younger(seed: int):
    """The law of the size: all that stays fits, nothing that went is younger, nothing went in vain."""
    drawn = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(drawn.randrange(1, 20)):
            back = drawn.choice([0, 1, 2, 9, 30])
            put(folder, f"{day(back)}-1-{number}.jsonl", drawn.randrange(1, 50), back=back)
        sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
        most, room = drawn.randrange(1, 600), drawn.randrange(50)

        sweep(folder, Bounds(max_bytes=most), NOW_NS, room)

        kept = set(names(folder))
        gone = sizes.keys() - kept
        total = sum(sizes[each] for each in kept)
        assert total + room <= most or not kept
        assert max((each[:10] for each in gone), default="") <= min(
            (each[:10] for each in kept), default="9"
        )
        assert not gone or total + max(sizes[each] for each in gone) + room > most


def test_without_bounds_nothing_is_touched(tmp_path: Path):
    """The default keeps all for ever."""
    put(tmp_path, f"{day(30)}-1-1.jsonl")
    Retention(Bounds(), pytest.fail, pytest.fail, lambda: NOW_NS).sweep(tmp_path, 0)

    assert [f"{day(30)}-1-1.jsonl"] == names(tmp_path)


def test_strangers_are_never_touched(tmp_path: Path):
    """Somebody may point the proxy at a home directory: links, folders and other names stay."""
    target = put(tmp_path, "diary.jsonl", 1000, back=30)
    (tmp_path / "2024-09-04-1-1.jsonl").symlink_to(target)
    (tmp_path / "2024-09-04-1-2.jsonl").mkdir()
    for name in ("2024-09-04.jsonl", "tools-of-mine.json", "2024-09-04-1-1.json", "loss-1.jsonl"):
        put(tmp_path, name, back=30)
    before = names(tmp_path)

    done = sweep(tmp_path, Bounds(keep_days=1, max_bytes=1), NOW_NS)

    assert (done.files, done.faults) == (0, [])
    assert before == names(tmp_path)
    assert not (tmp_path / "forgotten.jsonl").exists()


def test_a_folder_that_is_not_there_is_no_fault(tmp_path: Path):
    """A proxy that has written nothing yet has nothing to remove."""
    assert sweep(tmp_path / "nowhere", Bounds(keep_days=1), NOW_NS).faults == []


WRITER = """
import sys, time
from pathlib import Path
from proxy.segments import Appender
appender = Appender(Path(sys.argv[1]))
appender.append(b"{}\\n", 0)
print("ready", flush=True)
time.sleep(60)
"""


def test_a_file_of_a_living_proxy_stays_and_of_a_killed_one_goes(tmp_path: Path):
    """The lock is the kernel's: it goes with the process, however that ends."""
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE
    )
    try:
        assert writer.stdout is not None
        assert b"ready\n" == writer.stdout.readline()
        alive = sweep(tmp_path, Bounds(keep_days=1, max_bytes=1), NOW_NS)
        writer.send_signal(signal.SIGKILL)
        writer.communicate(timeout=10)
        dead = sweep(tmp_path, Bounds(keep_days=1, max_bytes=1), NOW_NS)
    finally:
        writer.kill()
        writer.communicate(timeout=10)

    assert (alive.files, alive.faults) == (0, [])
    assert (dead.files, names(tmp_path)) == (1, [])


def test_two_writers_of_one_process_share_no_file(tmp_path: Path):
    """Process ids come again, in containers all the time: a name that is taken is passed over."""
    one, other = Appender(tmp_path), Appender(tmp_path)
    one.append(b"1\n", NOW_NS)
    other.append(b"2\n", NOW_NS)
    one.append(b"1\n", NOW_NS)
    one.close()
    other.close()

    assert [b"1\n1\n", b"2\n"] == [path.read_bytes() for path in sorted(tmp_path.iterdir())]


def test_a_folder_looks_after_itself(tmp_path: Path):
    """At the start, at each new segment, and an hour after the last time."""
    now = [NOW_NS]
    said: list[tuple[int, int]] = []
    retention = Retention(
        Bounds(keep_days=2), lambda *args: said.append(args), pytest.fail, lambda: now[0]
    )
    folder = JournalFolder(tmp_path, pytest.fail, retention)
    steps = (folder.begin, lambda: folder.write(record(at_unix_ns=now[0]), None))

    put(tmp_path, f"{day(9)}-1-1.jsonl")
    steps[0]()
    assert said == [(1, 10)]
    put(tmp_path, f"{day(9)}-1-1.jsonl", 11)
    steps[1]()
    assert said[1:] == [(1, 11)]
    put(tmp_path, f"{day(9)}-1-1.jsonl", 12)
    steps[1]()
    assert said[2:] == []
    now[0] += EVERY_NS
    steps[1]()
    assert said[2:] == [(1, 12)]
    folder.close()
    assert [f"{day(0)}-{os.getpid()}-1.jsonl"] == names(tmp_path)


def test_a_folder_closes_its_own_losses_of_an_earlier_day(tmp_path: Path):
    """A proxy that loses something once a year would hold that file for ever."""
    now = [NOW_NS]
    retention = Retention(Bounds(keep_days=1), lambda *_: None, pytest.fail, lambda: now[0])
    folder = JournalFolder(tmp_path, pytest.fail, retention)
    folder.write_loss(Loss(at_unix_ns=NOW_NS, ids=["r-1"], why="recorder_died"))
    now[0] += 3 * DAY_NS
    folder.begin()
    folder.close()

    assert names(tmp_path) == []


def test_a_journal_stays_within_its_size_while_it_grows(tmp_path: Path):
    """Segments are short beside the bound, and room is kept for the one that is being written."""
    most = 65_536
    retention = Retention(Bounds(max_bytes=most), lambda *_: None, pytest.fail)
    folder = JournalFolder(tmp_path, pytest.fail, retention)
    folder.begin()
    largest = 0
    for number in range(200):
        folder.write(record(id=f"r-{number}"), None)
        segments = [path for path in tmp_path.iterdir() if dated(path.name)]
        largest = max(largest, sum(path.stat().st_size for path in segments))
    folder.close()

    one = len(encode(record(id="r-100")))
    assert most / 2 < largest < most + one
    assert len(FolderStore(tmp_path).journal().records) > 10


def test_what_cannot_be_removed_is_said_once(tmp_path: Path):
    """Here a file that cannot be opened for writing because it runs as a program; the others go."""
    stuck = tmp_path / f"{day(9)}-1-1.jsonl"
    shutil.copy("/bin/sleep", stuck)
    put(tmp_path, f"{day(2)}-1-1.jsonl")
    said: list[str] = []
    retention = Retention(Bounds(keep_days=1), lambda *_: None, said.append, lambda: NOW_NS)
    program = subprocess.Popen([stuck, "60"])
    try:
        retention.sweep(tmp_path, 0)
        retention.sweep(tmp_path, 0)
    finally:
        program.kill()
        program.wait()
    retention.sweep(tmp_path, 0)

    assert [f"{tmp_path}: cannot remove what is too old: {stuck}: Text file busy"] == said
    assert names(tmp_path) == []


def test_what_was_removed_is_no_gap(tmp_path: Path):
    """The numbers of a run that went with old files are not called lost; one that is missing since is."""
    run = "20240903T000000-7"
    folder = JournalFolder(tmp_path, pytest.fail)
    for number, back in ((1, 30), (2, 30), (3, 1), (5, 0)):
        folder.write(record(id=f"{run}-{number}", at_unix_ns=NOW_NS - back * DAY_NS), None)
    folder.close()

    sweep(tmp_path, Bounds(keep_days=9), NOW_NS)

    journal = FolderStore(tmp_path).journal()
    assert [r.id[-1] for r in journal.records] == ["3", "5"]
    assert journal.gaps == (Gap(run, 4, 4),)
    assert journal.unreadable == ()
    (note,) = notes(tmp_path)
    assert (note.files, note.at_unix_ns) == (1, NOW_NS)
    assert NOW_NS - 30 * DAY_NS < note.before_unix_ns <= NOW_NS - 29 * DAY_NS


async def test_the_program_removes_old_files_and_says_so(tmp_path: Path):
    """`[journal] keep_days` as a user sets it: the old segment goes at the start, one event says it."""
    (tmp_path / "journal").mkdir()
    put(tmp_path / "journal", "2024-09-04-1-1.jsonl", 123)
    config = "[journal]\nkeep_days = 30\nmax_bytes = 1000000\n"
    async with Upstream([]) as up, Program(up.url, tmp_path, config=config) as proxy:
        said = await eventually(lambda: proxy.event("journal.trimmed"), "it says what went")
        await proxy.stop()

    assert (said["files"], said["bytes"]) == (1, 123)
    assert [] == names(tmp_path / "journal")
