"""Every case of the corpus gives its record: whole, at every cut, and with junk behind."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from proxy.wire.exchange import Outcome
from tests.support.corpus import cases, differences, record_of
from tests.support.cuts import every_cut, every_junk, whole

CASES = {case.name: case for case in cases()}
FRAMED = {name: case for name, case in CASES.items() if case.framed and case.outcome is Outcome.complete}  # fmt: skip

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def faults(case, *, cut=whole, pipe=whole, junk=b"", pipe_junk=b""):
    """How the record differs from the expected one; every read is cut, and so is the pipe."""
    sent = b"".join(frame.encode() for frame in case.frames(cut, junk))
    record = msgspec.to_builtins(record_of(sent + pipe_junk, pipe))
    return list(differences(case.expected, record))


def in_one_read(case):
    """The case as it is when the whole reply comes at once at the end: only times are others."""
    expected = {key: value for key, value in case.expected.items() if key != "timings"}
    untimed = {k: v for k, v in expected.get("output", {}).items() if not k.startswith("gap_")}
    reply = ((case.ended_ns, b"".join(data for _, data in case.reply)),)
    return replace(case, reply=reply, expected=expected | {"output": untimed})


@every_cut
@every_case
def test_a_case_gives_its_record(case, cut):
    """The record is as expected, to the nanosecond, however the network cut the bytes."""
    assert faults(case, cut=cut) == []


@every_cut
@every_case
def test_the_pipe_may_cut_anywhere(case, cut):
    """How the pipe to the recorder cuts the frames changes nothing."""
    assert faults(case, pipe=cut) == []


@every_case
def test_reads_may_come_together(case):
    """A reply that comes in one read gives the same record but for its times."""
    assert faults(in_one_read(case)) == []


@every_junk
@pytest.mark.parametrize("case", FRAMED.values(), ids=FRAMED)
def test_junk_behind_the_message_is_not_of_it(case, junk):
    """Bytes behind a reply that says where it ends, or behind the frames, change nothing."""
    assert faults(case, junk=junk) == []
    assert faults(case, pipe_junk=junk) == []


def test_a_wrong_record_is_told():
    """The comparison finds a wrong value, a missing field, another length and another type."""
    found = {"a": {"b_ns": 2_000_000}, "c": [1, 2], "d": None}

    assert list(differences({"a": {"b_ms": 2}, "c": [1, 2], "d": None}, found)) == []
    for wrong in ({"a": {"b_ms": 3}}, {"e": 1}, {"c": [1]}, {"d": 0}, {"c": [1, True]}):
        assert len(list(differences(wrong, found))) == 1
