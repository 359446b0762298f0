"""The store for journals of any size: the same as reading all by hand, and a sample where that is too much."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given

from analysis.store.base import NoJournalError, StoreError
from analysis.store.compaction import compact
from analysis.store.duck import DuckStore
from analysis.store.engine import database, sql
from analysis.store.folder import FolderStore
from analysis.store.packed import write
from analysis.store.selection import Selection
from proxy.journal.lines import encode
from proxy.journal.record import Forgotten, Loss
from tests.support.builders import AT_UNIX_NS, S, record, timings
from tests.support.damage import examples
from tests.support.segments import SEGMENT, put, segments

RUN = "20260921T000000-9"


def numbered(*numbers, **changes):
    """Records with these numbers, a second apart, each a turn of its own unless said otherwise."""
    made = ({"id": f"{RUN}-{n}", "at_unix_ns": AT_UNIX_NS + n * S, **changes} for n in numbers)
    return [record(**{"turn": fields["id"], **fields}) for fields in made]


def of(folder):
    """A store that leaves the folder as it is."""
    return DuckStore(folder, compact_from=None)


@examples(0.2)
@given(segments(), segments())
def test_it_reads_what_is_read_by_hand(first, second):
    """Any two segments: records, gaps, and what could not be read."""
    with TemporaryDirectory() as name:
        put(Path(name), first)
        put(Path(name), second, name="2026-09-21-9-2.jsonl")

        by_hand, read = FolderStore(Path(name)).journal(), of(Path(name)).journal()

    assert by_hand.records == read.records
    assert by_hand.gaps == read.gaps
    assert sorted(map(str, by_hand.unreadable)) == sorted(map(str, read.unreadable))


def test_losses_and_gaps_are_told_apart(tmp_path):
    """A number with a loss line is no gap; one that was recorded after all is no loss."""
    put(tmp_path, *map(encode, numbered(2, 3, 7)))
    loss = Loss(at_unix_ns=AT_UNIX_NS, ids=[f"{RUN}-3", f"{RUN}-4"], why="recorder died")
    put(tmp_path, encode(loss), name=f"loss-{SEGMENT}")

    journal = of(tmp_path).journal()

    assert FolderStore(tmp_path).journal().gaps == journal.gaps
    assert [(1, 1), (5, 6)] == [(gap.first, gap.last) for gap in journal.gaps]
    assert [[f"{RUN}-4"]] == [each.ids for each in journal.losses]


def test_what_was_forgotten_is_no_gap(tmp_path):
    """A gap that may have begun before the removal; a younger one stays."""
    put(tmp_path, *map(encode, numbered(2, 5)))
    note = Forgotten(at_unix_ns=1, before_unix_ns=AT_UNIX_NS + S, files=1, bytes=1)
    put(tmp_path, encode(note), name="forgotten.jsonl")

    assert [(3, 4)] == [(gap.first, gap.last) for gap in of(tmp_path).journal().gaps]


def test_gaps_and_losses_are_those_of_the_time_asked_for(tmp_path):
    """They have no model, but they have neighbours."""
    put(tmp_path, *map(encode, numbered(1, 3, 5)))

    early = Selection(until_unix_ns=AT_UNIX_NS + 3 * S)
    late = Selection(since_unix_ns=AT_UNIX_NS + 4 * S)

    assert [2] == [gap.first for gap in of(tmp_path).journal(early).gaps]
    assert [4] == [gap.first for gap in of(tmp_path).journal(late).gaps]


def test_a_sample_is_of_whole_turns_and_always_the_same(tmp_path):
    """Of 300 exchanges in turns of 3 about 60; the last ones are in it, and the counts are of all."""
    records = [
        made
        for n in range(1, 301, 3)
        for made in numbered(n, n + 1, n + 2, turn=f"{RUN}-{n}", timings=timings(end_ns=S // 2))
    ]
    put(tmp_path, *map(encode, records))

    journal = of(tmp_path).journal(most=60)

    taken = {r.turn for r in journal.records}
    assert 50 <= len(journal.records) <= 60
    assert sorted(r.id for r in records if r.turn in taken) == sorted(r.id for r in journal.records)
    assert records[-10:] == list(journal.records[-10:])
    assert (journal.sampling.taken, journal.sampling.of) == (len(journal.records), 300)
    assert (journal.sampling.turns_taken, journal.sampling.turns_of) == (len(taken), 100)
    assert journal.tallies.exchanges == 300
    compact(FolderStore(tmp_path), lambda *_: None, 0)
    assert of(tmp_path).journal(most=60).records == journal.records


def test_a_hidden_exchange_is_sampled_with_the_turn_that_it_stood_in_the_way_of(tmp_path):
    """Same address, at the same time: both or neither."""
    turns = numbered(*range(1, 201), timings=timings(end_ns=S // 2), peer="10.0.0.1:1")
    hidden = numbered(
        *range(1001, 1201),
        kind="hidden",
        turn=None,
        timings=timings(end_ns=S // 4),
        peer="10.0.0.1:2",
    )
    beside = [
        record(
            **{f: getattr(h, f) for f in ("id", "kind", "timings", "peer")}, at_unix_ns=t.at_unix_ns
        )
        for t, h in zip(turns, hidden, strict=True)
    ]
    put(tmp_path, *map(encode, [*turns, *beside]))

    records = of(tmp_path).journal(most=100).records

    assert len(records) >= 90
    assert sorted(r.at_unix_ns for r in records if r.kind == "hidden") == sorted(
        r.at_unix_ns for r in records if r.kind == "turn"
    )


def test_a_turn_is_found_by_any_of_its_exchanges_with_what_stood_in_its_way(tmp_path):
    """Hidden ones of its thread or its address that overlap it; not those of others or of later."""
    ends = timings(end_ns=3 * S)
    turn = numbered(1, 2, turn=f"{RUN}-1", thread="t", peer="10.0.0.1:1", timings=ends)
    hidden = {"kind": "hidden", "turn": None, "timings": timings(end_ns=S)}
    others = [
        *numbered(3, **hidden, thread="t", peer="10.0.0.9:1"),
        *numbered(4, **hidden, peer="10.0.0.1:9"),
        *numbered(5, **hidden, thread="t", peer="10.0.0.1:1"),
        *numbered(0, **hidden, thread="u", peer="10.0.0.3:1"),
    ]
    put(tmp_path, *map(encode, [*turn, *others]))
    store = of(tmp_path)

    found = [[r.id for r in store.turn_of(f"{RUN}-{n}")] for n in (1, 2, 5)]

    assert [[f"{RUN}-{n}" for n in (1, 2, 3, 4)]] * 2 == found[:2]
    assert f"{RUN}-5" in found[2]
    assert store.turn_of("nobody") == ()
    assert store.one(f"{RUN}-2") == turn[1]
    assert store.one("nobody") is None
    assert (store.last(), store.worst()) == (f"{RUN}-1", f"{RUN}-1")


def test_there_is_no_last_turn_where_there_is_none(tmp_path):
    """An empty folder."""
    assert (of(tmp_path).last(), of(tmp_path).worst()) == (None, None)


def test_a_segment_of_another_shape_is_read_line_by_line(tmp_path):
    """What another version compacted has other columns; its lines are the same."""
    records = numbered(1, 2)
    rows = " UNION ALL ".join(
        f"SELECT {n} AS row, {n + 1} AS place, '{encode(r).decode().strip()}'::BLOB AS line"
        for n, r in enumerate(records)
    )
    with database() as db:
        write(db, rows, tmp_path / "2026-09-21-9-1.parquet", 1)
        plain = tmp_path / "2026-09-21-9-2.parquet"
        db.execute(
            f"COPY ({rows.replace('21T', '20T')}) TO '{plain}' (FORMAT parquet, KV_METADATA {{shape: 'x'}})"
        )
        (tmp_path / "2026-09-21-9-1.parquet").unlink()

    assert 2 == len(of(tmp_path).journal().records)


def test_a_line_that_a_newer_version_can_read_is_read(tmp_path):
    """It was no record when it was compacted; the column says so, the bytes say otherwise."""
    put(tmp_path, *map(encode, numbered(1)))
    with database() as db:
        db.execute(sql("taken"))
        db.execute(
            "INSERT INTO taken BY NAME SELECT 'x' AS file, 0 AS row, 1 AS place, 'version 2' AS reason,"
            " $line::BLOB AS line",
            {"line": encode(numbered(2)[0]).strip()},
        )
        write(db, "SELECT * EXCLUDE (file) FROM taken", tmp_path / "2026-09-21-9-2.parquet", 1)

    journal = of(tmp_path).journal()

    assert [f"{RUN}-1", f"{RUN}-2"] == [r.id for r in journal.records]
    assert journal.unreadable == ()


def test_a_broken_compacted_segment_is_said_and_harms_no_other(tmp_path):
    """By every way of reading."""
    put(tmp_path, *map(encode, numbered(1)))
    put(tmp_path, b"PAR1", name="2026-09-20-9-1.parquet")

    for journal in (of(tmp_path).journal(), FolderStore(tmp_path).journal()):
        assert [f"{RUN}-1"] == [r.id for r in journal.records]
        assert ["2026-09-20-9-1.parquet"] == [u.file for u in journal.unreadable]


def test_no_folder_is_no_journal(tmp_path):
    """Told apart from one that cannot be read."""
    with pytest.raises(NoJournalError):
        of(tmp_path / "nowhere").journal()
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot read the journal folder"):
        of(tmp_path / "file").journal()


def test_a_folder_that_may_only_be_read_is_read():
    """Not a byte of it changes. Root may write anywhere, and is somebody else for this long."""
    with TemporaryDirectory() as name:
        folder = Path(name) / "journal"
        put(folder, *map(encode, numbered(1)))
        Path(name).chmod(0o755)
        folder.chmod(0o555)
        (folder / SEGMENT).chmod(0o644)
        if root := os.geteuid() == 0:
            os.seteuid(65534)
        try:
            records = DuckStore(folder, compact_from=0).journal().records
        finally:
            if root:
                os.seteuid(0)
        folder.chmod(0o700)

        assert [f"{RUN}-1"] == [r.id for r in records]
        assert [SEGMENT] == [path.name for path in folder.iterdir()]


def test_help_is_shown_without_the_database():
    """Neither duckdb nor rich is imported for it."""
    code = (
        "import sys; sys.argv = ['turnscope', '--help']\n"
        "from analysis.command import turnscope\n"
        "turnscope(standalone_mode=False)\n"
        "print([name for name in ('duckdb', 'rich', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "[]" == done.stdout.splitlines()[-1]
