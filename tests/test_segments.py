"""The journal's files: names, modes, and a disk that fails."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest

from proxy.journal.lines import read_lines
from proxy.journal.record import Loss, Record, ToolEntry, ToolSet
from proxy.segments import Appender, JournalFolder
from tests.support.builders import record
from tests.support.program import ROOT

if TYPE_CHECKING:
    from pathlib import Path

DAY_NS = 86_400 * 10**9
TOOLS = ToolSet(
    set_hash="0123456789abcdef", source="tiktoken o200k_base", tools=[ToolEntry(name="f", tokens=3)]
)


def test_a_segment_is_named_by_date_process_and_number(tmp_path: Path):
    """A new one for each day; records of one day share one."""
    folder = JournalFolder(tmp_path, pytest.fail)
    for at in (0, 1, DAY_NS):
        assert folder.write(record(at_unix_ns=at), None)
    folder.close()

    names = sorted(path.name for path in tmp_path.iterdir())
    pid = os.getpid()
    assert [f"1970-01-01-{pid}-1.jsonl", f"1970-01-02-{pid}-2.jsonl"] == names
    assert [2, 1] == [len((tmp_path / name).read_bytes().splitlines()) for name in names]


def test_a_long_segment_is_followed_by_another(tmp_path: Path):
    """The size is looked at before each line."""
    appender = Appender(tmp_path, segment_bytes=100)
    for _ in range(3):
        appender.append(b"x" * 60 + b"\n", 0)
    appender.close()

    assert [122, 61] == [path.stat().st_size for path in sorted(tmp_path.iterdir())]


def test_only_its_owner_can_read_it(tmp_path: Path):
    """Records hold no text, but who talks to what is nobody else's business."""
    folder = JournalFolder(tmp_path, pytest.fail)
    folder.write(record(), TOOLS)
    folder.write_loss(Loss(at_unix_ns=0, ids=["r-1"], why="recorder_died"))
    folder.close()

    assert len(list(tmp_path.iterdir())) == 3
    assert {0o600} == {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}


def test_a_tool_set_is_written_once(tmp_path: Path):
    """Beside the segments, under its hash."""
    folder = JournalFolder(tmp_path, pytest.fail)
    folder.write(record(), TOOLS)
    (tmp_path / "tools-0123456789abcdef.json").write_bytes(b"as it was")
    folder.write(record(), TOOLS)
    folder.close()

    assert b"as it was" == (tmp_path / "tools-0123456789abcdef.json").read_bytes()


def test_losses_have_a_file_of_their_own(tmp_path: Path):
    """So that a reader of records need not know them."""
    folder = JournalFolder(tmp_path, pytest.fail)
    loss = Loss(at_unix_ns=5, ids=["r-1", "r-2"], why="recorder_died")
    folder.write_loss(loss)
    folder.close()

    (path,) = tmp_path.iterdir()
    assert re.fullmatch(r"loss-1970-01-01-\d+-1\.jsonl", path.name)
    assert loss == msgspec.json.decode(path.read_bytes(), type=Loss)


SMALL_DISK = """
import resource, signal, sys
from pathlib import Path
from proxy.segments import JournalFolder
from tests.support.builders import record
said = []
folder = JournalFolder(Path(sys.argv[1]), said.append)
one = record(id="r-1")
size = len(__import__("proxy.journal.lines", fromlist=["encode"]).encode(one))
resource.setrlimit(resource.RLIMIT_FSIZE, (2 * size + size // 2, resource.RLIM_INFINITY))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
written = [folder.write(record(id=f"r-{n}"), None) for n in range(1, 6)]
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
written.append(folder.write(record(id="r-6"), None))
folder.close()
print(written)
print(len(said), "cannot write" in said[0], "3 records were lost" in said[1])
"""


def test_a_full_disk_is_counted_and_said_and_writing_resumes(tmp_path: Path):
    """Here a limit on the file's size. The torn line spoils no other, and the lost ids are named."""
    done = subprocess.run(
        [sys.executable, "-c", SMALL_DISK, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "" == done.stderr
    assert "[True, True, False, False, False, True]\n2 True True\n" == done.stdout
    (segment,) = tmp_path.glob("[0-9]*.jsonl")
    lines = list(read_lines([segment.read_bytes()]))
    assert ["r-1", "r-2", "r-6"] == [line.id for line in lines if isinstance(line, Record)]
    (loss,) = tmp_path.glob("loss-*.jsonl")
    named = msgspec.json.decode(loss.read_bytes(), type=Loss)
    assert (["r-3", "r-4", "r-5"], "unwritable: File too large") == (named.ids, named.why)
    assert [] == [line for line in lines if not isinstance(line, Record)]


def losses(folder: Path) -> list[Loss]:
    """All loss lines, in order."""
    files = sorted(folder.glob("loss-*.jsonl"))
    lines = [line for path in files for line in path.read_bytes().splitlines()]
    return [msgspec.json.decode(line, type=Loss) for line in lines]


def recorded(folder: Path) -> list[str]:
    """Ids of all records; AssertionError if a line cannot be read."""
    data = [path.read_bytes() for path in sorted(folder.glob("[0-9]*.jsonl"))]
    return [line.id for each in data for line in read_lines([each])]


@pytest.fixture
def disk(tmp_path: Path):
    """A file system of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_real_disk_that_was_full_is_written_to_again(disk: Path):
    """Records and named losses are all exchanges, no line is half, and two sentences were said."""
    said: list[str] = []
    folder = JournalFolder(disk, said.append)
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(40_000))
    written = [folder.write(record(id=f"r-{n}"), TOOLS) for n in range(1, 41)]
    ballast.unlink()
    written += [folder.write(record(id=f"r-{n}"), TOOLS) for n in range(41, 44)]
    folder.close()

    assert written[:2] + written[-4:] == [True, True, False, True, True, True]
    lost = [i for loss in losses(disk) for i in loss.ids]
    assert sorted(recorded(disk) + lost) == sorted(f"r-{n}" for n in range(1, 44))
    assert {"unwritable: No space left on device"} == {loss.why for loss in losses(disk)}
    assert [" cannot write records: No space", " writing again; "] == [
        said[0].partition(":")[2][:31],
        said[1].partition(":")[2][:16],
    ]
    assert len(said) == 2


def test_a_disk_that_stays_full_says_how_many_were_lost(disk: Path):
    """At the end there is no room for their names, and that is said too."""
    said: list[str] = []
    folder = JournalFolder(disk, said.append)
    (disk / "ballast").write_bytes(bytes(65_536))
    for n in range(3):
        assert not folder.write(record(id=f"r-{n}"), None)
    folder.close()

    assert f"{disk}: 3 records could not be written" == said[-1]
    assert all("No space left" in line for line in said[:-1])
    assert len(said) == 3


def test_what_cannot_be_named_now_is_named_later(tmp_path: Path):
    """A folder that is a file for a while: losses of every reason wait for their line."""
    folder = JournalFolder(tmp_path / "journal", lambda _: None)
    (tmp_path / "journal").touch()
    folder.write_loss(Loss(at_unix_ns=5, ids=["r-1"], why="recorder_died"))
    assert not folder.write(record(id="r-2"), None)
    (tmp_path / "journal").unlink()
    assert folder.write(record(id="r-3"), None)
    folder.close()

    assert ["r-3"] == recorded(tmp_path / "journal")
    assert [("recorder_died", ["r-1"]), ("unwritable: File exists", ["r-2"])] == [
        (loss.why, loss.ids) for loss in losses(tmp_path / "journal")
    ]


def test_what_was_lost_is_named_at_the_end_at_the_latest(tmp_path: Path):
    """No further record came, but the folder can be written again when the recorder closes it."""
    said: list[str] = []
    folder = JournalFolder(tmp_path / "journal", said.append)
    (tmp_path / "journal").touch()
    folder.write(record(id="r-1"), None)
    (tmp_path / "journal").unlink()
    folder.close()

    assert [["r-1"]] == [loss.ids for loss in losses(tmp_path / "journal")]
    assert "1 records could not be written" in said[-1]


def test_many_losses_are_several_lines(tmp_path: Path):
    """No line grows without bound, whatever was lost."""
    folder = JournalFolder(tmp_path, pytest.fail)
    ids = [f"r-{n}" for n in range(2500)]
    folder.write_loss(Loss(at_unix_ns=5, ids=ids, why="recorder_died"))
    folder.close()

    assert [1000, 1000, 500] == [len(loss.ids) for loss in losses(tmp_path)]
    assert ids == [i for loss in losses(tmp_path) for i in loss.ids]


def test_a_file_that_is_being_written_is_locked(tmp_path: Path):
    """Whoever removes or replaces files of a journal knows by that; a closed one is free."""
    folder = JournalFolder(tmp_path, pytest.fail)
    folder.write(record(), None)
    (path,) = tmp_path.iterdir()
    with path.open("rb") as other:
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder.close()
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_name_that_is_taken_is_passed_over(tmp_path: Path):
    """A closed file is never opened for writing again, though process ids come again."""
    taken = tmp_path / f"1970-01-01-{os.getpid()}-1.jsonl"
    taken.write_bytes(b"theirs\n")
    appender = Appender(tmp_path)
    appender.append(b"ours\n", 0)
    appender.close()

    assert b"theirs\n" == taken.read_bytes()
    assert b"ours\n" == (tmp_path / f"1970-01-01-{os.getpid()}-2.jsonl").read_bytes()


def test_a_deleted_folder_is_made_again(tmp_path: Path):
    """What is written to a file that nobody can find is lost: so it is looked at before each record."""
    folder = JournalFolder(tmp_path / "journal", pytest.fail)
    folder.write(record(id="r-1"), TOOLS)
    shutil.rmtree(tmp_path / "journal")
    assert folder.write(record(id="r-2"), TOOLS)
    folder.close()

    (segment,) = (tmp_path / "journal").glob("[0-9]*.jsonl")
    assert ["r-2"] == [line.id for line in read_lines([segment.read_bytes()])]
    assert (tmp_path / "journal" / "tools-0123456789abcdef.json").exists()
