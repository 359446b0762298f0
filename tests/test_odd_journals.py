"""Odd journals at the command's own door: hostile names, clocks that step, other versions, more than a sample."""

from __future__ import annotations

import re

import msgspec
import orjson
import pytest

from analysis.store.base import MOST
from bench.journal import write
from proxy.journal.lines import encode
from tests.support.builders import AT_UNIX_NS, S, record, timings
from tests.support.turnscope import SEGMENT, run

EVIL = "<script>alert(1)</script>\x1b[31m\u202e\ud800" + "m" * 10_000


def folder(path, *lines):
    """A journal of one segment."""
    path.mkdir()
    (path / SEGMENT).write_bytes(b"".join(lines))
    return path


@pytest.mark.parametrize("command", ["report", "explain"])
def test_a_hostile_model_name_cannot_harm_the_screen(tmp_path, command):
    """Ten kilobytes of tags and escapes: no escape code is printed, no line is wider than the screen."""
    name = EVIL.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    asked = msgspec.structs.replace(record().request, model=name)
    held = folder(tmp_path / "j", encode(record(model_served=name, client=name, request=asked)))
    done = run(command, *(("--last",) if command == "explain" else ()), "--journal", held)

    assert done.returncode == 0
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", done.stdout)
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_clocks_that_step_are_survived(tmp_path):
    """The wall clock goes back a day, marks lie before what they follow: times are never negative."""
    back = record(id="r1-2", at_unix_ns=AT_UNIX_NS - 86_400 * S)
    odd = record(
        id="r1-3",
        at_unix_ns=AT_UNIX_NS + S,
        timings=timings(request_end_ns=9 * S, first_token_ns=2 * S, last_token_ns=S, end_ns=3 * S),
    )
    held = folder(tmp_path / "j", *map(encode, (record(), back, odd)))
    done = run("report", "--journal", held, "--json")
    told = orjson.loads(done.stdout)

    assert done.returncode == 0
    assert (told["census"]["exchanges"], told["turns"]) == (3, 3)
    spent = told["all_turns"]
    assert min(s["duration_ns"] for s in spent["segments"]) >= 0
    assert sum(s["duration_ns"] for s in spent["segments"]) == spent["whole_ns"]


@pytest.mark.parametrize("version", [0, 99])
def test_records_of_another_version_are_said_and_passed_over(tmp_path, version):
    """What can be read is reported; the other line is counted, with its place."""
    other = orjson.dumps(orjson.loads(encode(record(id="r1-2"))) | {"v": version}) + b"\n"
    held = folder(tmp_path / "j", encode(record()), other)
    done = run("report", "--journal", held)

    assert done.returncode == 0
    assert "The only turn recorded took 16.1 s" in done.stdout
    assert re.search(r"journal +1 (line|piece)[^\n]*", done.stdout)


def _whole_ns(turn):
    begin = min(line["at_unix_ns"] for line in turn)
    return max(line["at_unix_ns"] + line["timings"]["end_ns"] for line in turn) - begin


def test_a_journal_beyond_a_sample_is_explained_exactly(tmp_path):
    """The worst turn is the worst of all, and an exchange that is not in the sample is found by its id."""
    held = tmp_path / "j"
    write(held, MOST + 400)
    whole = run("report", "--journal", held, "--json", "--no-compact")
    told = orjson.loads(whole.stdout)["census"]
    lines = [line for f in sorted(held.glob("2*.jsonl")) for line in f.read_bytes().splitlines()]
    ids = [orjson.loads(line)["id"] for line in lines]

    assert told["exchanges"] == told["sample"]["of_exchanges"] == len(ids)
    assert told["sample"]["exchanges"] <= MOST
    for name in (ids[0], ids[len(ids) // 2], ids[-1]):
        done = run("explain", name, "--journal", held, "--json")
        assert orjson.loads(done.stdout)["record"]["id"] == name
    turns = {}
    for line in map(orjson.loads, lines):
        if line["kind"] == "turn":
            turns.setdefault(line.get("turn") or line["id"], []).append(line)
    slowest = max(turns.values(), key=_whole_ns)
    worst = run("explain", "--worst", "--journal", held, "--json")
    assert orjson.loads(worst.stdout)["record"]["id"] in {line["id"] for line in slowest}
