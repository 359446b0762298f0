"""The journal's files: names, modes, and a disk that fails."""

from __future__ import annotations

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
TOOLS = ToolSet(set_hash="abc", source="tiktoken o200k_base", tools=[ToolEntry(name="f", tokens=3)])


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
    (tmp_path / "tools-abc.json").write_bytes(b"as it was")
    folder.write(record(), TOOLS)
    folder.close()

    assert b"as it was" == (tmp_path / "tools-abc.json").read_bytes()


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
    assert ["r-3", "r-4", "r-5"] == msgspec.json.decode(loss.read_bytes(), type=Loss).ids


def test_a_deleted_folder_is_made_again(tmp_path: Path):
    """What is written to a file that nobody can find is lost: so it is looked at before each record."""
    folder = JournalFolder(tmp_path / "journal", pytest.fail)
    folder.write(record(id="r-1"), TOOLS)
    shutil.rmtree(tmp_path / "journal")
    assert folder.write(record(id="r-2"), TOOLS)
    folder.close()

    (segment,) = (tmp_path / "journal").glob("[0-9]*.jsonl")
    assert ["r-2"] == [line.id for line in read_lines([segment.read_bytes()])]
    assert (tmp_path / "journal" / "tools-abc.json").exists()
