"""A journal read while it is written: a line in writing is waited for, a torn one costs nothing."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

import pytest

from analysis.store.base import Gap
from analysis.store.folder import FolderStore, pieces
from proxy.journal.lines import Damage, encode, read_lines
from proxy.journal.record import Forgotten
from tests.support.builders import AT_UNIX_NS, S, record

if TYPE_CHECKING:
    from pathlib import Path

NAME = "2026-09-21-9-1.jsonl"


def ids(folder):
    """What the store reads of the folder: ids of records, and how many pieces it could not read."""
    journal = FolderStore(folder).journal()
    return [r.id for r in journal.records], len(journal.unreadable)


@pytest.mark.parametrize("cuts", [1, 4])
def test_a_line_in_writing_is_read_whole(tmp_path: Path, cuts: int):
    """A reader that comes in the middle of a write waits for the rest, a tenth of a second here."""
    line = encode(record(id="r1-2"))
    size = len(line) // (cuts + 1) + 1
    first, *rest = [line[n : n + size] for n in range(0, len(line), size)]
    file = tmp_path / NAME
    file.write_bytes(encode(record(id="r1-1")) + first)

    def write_on():
        for piece in rest:
            time.sleep(0.1 / cuts)
            with file.open("ab") as out:
                out.write(piece)

    writer = threading.Thread(target=write_on)
    writer.start()
    read = ids(tmp_path)
    writer.join()

    assert read == (["r1-1", "r1-2"], 0)


def test_a_line_torn_long_ago_is_not_waited_for(tmp_path: Path):
    """It is one piece that cannot be read, and no step of waiting is spent on it."""
    file = tmp_path / NAME
    file.write_bytes(encode(record(id="r1-1")) + encode(record(id="r1-2"))[:-100])
    os.utime(file, ns=(time.time_ns() - 3 * S,) * 2)
    began = time.monotonic()

    assert ids(tmp_path) == (["r1-1"], 1)
    assert time.monotonic() - began < 0.5


def test_a_line_torn_just_now_is_waited_for_a_second(tmp_path: Path):
    """Its writer may have died: then it is damage, and all else is read."""
    file = tmp_path / NAME
    file.write_bytes(encode(record(id="r1-1")) + b'{"v":1')
    began = time.monotonic()
    read = list(read_lines(pieces(file)))

    assert [type(line) for line in read[1:]] == [Damage]
    assert 0.9 < time.monotonic() - began < 2.5


def test_a_whole_file_is_not_waited_for(tmp_path: Path):
    """However young it is; nor one that is empty, nor one that is looked at from its end."""
    file = tmp_path / NAME
    file.write_bytes(encode(record()))
    (tmp_path / "empty").touch()
    began = time.monotonic()

    assert b"".join(pieces(file)) == encode(record())
    assert list(pieces(tmp_path / "empty")) == []
    assert list(pieces(file, file.stat().st_size)) == []
    assert list(pieces(file, 10, looks=0)) == [encode(record())[10:]]
    assert time.monotonic() - began < 0.5


def test_a_file_that_is_removed_meanwhile_is_no_damage(tmp_path: Path):
    """Old files go while a report is made; what is gone cannot be broken."""

    class Vanishing(FolderStore):
        """A folder that loses a file between the listing and the reading."""

        def files(self):
            listed = super().files()
            listed[0].unlink()
            return listed

    for number in (1, 2):
        file = tmp_path / f"2026-09-21-9-{number}.jsonl"
        file.write_bytes(encode(record(id=f"r1-{number}")))

    journal = Vanishing(tmp_path).journal()

    assert [r.id for r in journal.records] == ["r1-2"]
    assert journal.unreadable == ()


@pytest.mark.parametrize(
    ("run", "number", "gaps"),
    [
        ("20260921T000000-9", 3, ()),  # began before what was forgotten
        ("20261001T000000-9", 3, (1,)),  # began after it: those two are lost
        ("r1", 3, ()),  # does not say when it began
    ],
)
def test_a_gap_that_may_have_been_forgotten_is_none(tmp_path: Path, run, number, gaps):
    """What is missing in front of a run's first record, once older records were removed on purpose."""
    late = AT_UNIX_NS + 60 * 86_400 * S
    held = [record(id=f"{run}-{n}", at_unix_ns=late) for n in (number, number + 2)]
    (tmp_path / "2026-11-20-9-1.jsonl").write_bytes(b"".join(map(encode, held)))
    note = Forgotten(at_unix_ns=late, before_unix_ns=1_790_000_100 * S, files=1, bytes=1)
    (tmp_path / "forgotten.jsonl").write_bytes(encode(note) + b"junk\n")

    journal = FolderStore(tmp_path).journal()

    assert journal.gaps == (*(Gap(run, n, number - 1) for n in gaps), Gap(run, 4, 4))
    assert [(u.file, u.line) for u in journal.unreadable] == [("forgotten.jsonl", 2)]
