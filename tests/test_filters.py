"""The flags that choose exchanges at the commands themselves, and what they do to a journal's files."""

from __future__ import annotations

import signal
import time

import orjson
import pytest

from analysis.store.compaction import WORTHWHILE, compact
from analysis.store.folder import FolderStore
from analysis.store.follow import Follower
from analysis.store.selection import Selection
from proxy.journal.lines import encode
from tests.support.builders import AT_UNIX_NS, S, record
from tests.support.segments import SEGMENT, put
from tests.support.turnscope import run, start

PACKED = SEGMENT.replace("jsonl", "parquet")


def two(folder):
    """A record of each of two models, a day apart."""
    one = record(id="r1-1", model_served="qwen")
    other = record(id="r1-2", model_served="glm", at_unix_ns=AT_UNIX_NS + 86_400 * S)
    return put(folder, encode(one), encode(other))


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--model", "QWEN"), "Only: model QWEN"),
        (("--until", "2026-09-22"), "Only: until 2026-09-22 00:00:00 UTC"),
        (("--since", "2026-09-22"), "Only: since 2026-09-22 00:00:00 UTC"),
    ],
)
def test_a_report_says_what_it_is_about(tmp_path, flags, said):
    """In its first line, a moment with its zone."""
    two(tmp_path)

    done = run("report", "--journal", tmp_path, *flags)

    assert (0, said) == (done.returncode, done.stdout.splitlines()[0].rstrip())
    assert "glm" not in done.stdout or "--since" in flags


def test_a_report_compacts_what_is_worth_it(tmp_path):
    """Not when told to leave the files; the same report comes out of both."""
    lines = [encode(record(id=f"r1-{n}")) for n in range(1, WORTHWHILE // 1500)]
    put(tmp_path, *lines)

    left = run("report", "--journal", tmp_path, "--json", "--no-compact")
    assert [SEGMENT] == [path.name for path in tmp_path.iterdir()]
    done = run("report", "--journal", tmp_path, "--json")

    assert [PACKED] == [path.name for path in tmp_path.iterdir()]
    assert left.stdout == done.stdout
    assert orjson.loads(done.stdout)


def test_ctrl_c_ends_a_report_with_130(tmp_path):
    """Without a traceback, and with the journal as it was."""
    lines = [encode(record(id=f"r1-{n}")) for n in range(1, 8_000)]
    data = put(tmp_path, *lines).read_bytes()
    running = start("report", "--journal", tmp_path, "--no-compact")
    time.sleep(1.0)
    running.send_signal(signal.SIGINT)
    _, complaint = running.communicate(timeout=30)

    assert (130, b"") == (running.returncode, complaint.strip())
    assert data == (tmp_path / SEGMENT).read_bytes()


def test_tail_follows_what_is_asked_for(tmp_path):
    """Of what is there and of what comes; damage is told of in any case."""
    file = two(tmp_path)
    follower = Follower(FolderStore(tmp_path), Selection(model="qwen"))

    assert ["r1-1"] == [r.id for r in follower.last(5)]
    with file.open("ab") as out:
        out.write(encode(record(id="r1-3", model_served="glm")) + b"junk\n")
        out.write(encode(record(id="r1-4", model_served="qwen")))

    assert ["junk", "r1-4"] == [getattr(piece.read, "id", "junk") for piece in follower.news()]


def test_tail_begins_with_compacted_segments_too(tmp_path):
    """The last exchanges may stand in one."""
    two(tmp_path)
    compact(FolderStore(tmp_path), lambda *_: None, 0)

    assert ["r1-2"] == [r.id for r in Follower(FolderStore(tmp_path)).last(1)]
