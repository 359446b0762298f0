"""A journal's files under any damage: what was not touched comes back, what was is told with its place."""

from __future__ import annotations

import random
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.store.contents import Contents
from proxy.journal.lines import Damage, encode, read_lines
from proxy.journal.record import Loss, Record, ToolEntry, ToolSet
from tests.support.builders import record
from tests.support.cuts import at_random
from tests.support.damage import HOSTILE, damaged, examples, hostile_json

unhurried = examples()
SEEDS = st.integers(0, 2**32)
RECORDS = [record(id=f"r1-{n}", notes=["a: b"], reported={"x": n, "y": "z"}) for n in range(1, 6)]
LINES = [encode(one) for one in RECORDS]
LOSSES = [encode(Loss(at_unix_ns=n, ids=[f"r2-{n}"], why="a reason")) for n in range(1, 6)]
TOOLS = encode(ToolSet(set_hash="abc", source="s", tools=[ToolEntry(name="t", tokens=3)]))

NUMBERS = [b"9" * 19, b"-" + b"9" * 30, b"9" * 400, b"9" * 5000, b"1e400", b"NaN", b"1.5"]


@unhurried
@given(SEEDS, SEEDS, SEEDS)
def test_damage_to_a_line_costs_no_other(which, seed, cut):
    """Its line feed apart, whatever a line becomes: all others come, in order, for every cut."""
    at = which % len(LINES)
    bad = damaged(LINES[at][:-1], seed, LINES[seed % len(LINES)][:-1])
    data = b"".join([*LINES[:at], bad, b"\n", *LINES[at + 1 :]])
    found = list(read_lines([data]))
    before, behind = RECORDS[:at], RECORDS[at + 1 :]

    assert found[: len(before)] == before
    assert found[len(found) - len(behind) :] == behind
    assert list(read_lines(at_random(data, cut, 900))) == found


@unhurried
@given(SEEDS, SEEDS)
def test_every_byte_of_a_damaged_file_is_in_a_record_or_told(which, seed):
    """The lengths of what is told add up to the lines that gave no record."""
    draw = random.Random(which)
    data = damaged(b"".join(LINES), seed, draw.randbytes(50))
    found = list(read_lines([data]))
    assert all(d.reason and d.length > 0 for d in found if isinstance(d, Damage))
    for number, line in enumerate(data.split(b"\n"), start=1):
        told = sum(d.length for d in found if isinstance(d, Damage) and d.line == number)
        alone = list(read_lines([line]))
        if line.strip() and not any(isinstance(item, Record) for item in alone):
            assert told == len(line)
        assert told <= len(line)


@unhurried
@given(SEEDS, SEEDS)
def test_what_is_read_can_be_written_and_read_again(which, seed):
    """Also where a value was put in that the writer would never write."""
    line = hostile_json(LINES[which % len(LINES)], seed) + b"\n"
    for found in read_lines([line, LINES[0]]):
        if isinstance(found, Record):
            assert list(read_lines([encode(found)])) == [found]


@unhurried
@given(
    st.sampled_from(HOSTILE), st.sampled_from([b"0", b"1", b"2", b"99", b"true", b"1.0", b"1e3"])
)
def test_a_line_of_any_version_may_hold_anything(value, version):
    """What a newer turnscope wrote is not known: such a line is damage at most, and alone."""
    line = (
        LINES[0]
        .replace(b'"v":1', b'"v":' + version)
        .replace(b'"label":', b'"l":%b,"label":' % value)
    )
    found = list(read_lines([LINES[1], line, LINES[2]]))

    assert (found[0], found[-1]) == (RECORDS[1], RECORDS[2])
    assert len(found) >= 3


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", ["at_unix_ns", "end_ns", "tokens", "input", "status", "x"])
def test_a_number_of_more_than_64_bits_is_damage(name, number):
    """No record has one, and dates and quotients behind it would raise on it."""
    line = re.sub(rb'"%b":[0-9]+' % name.encode(), b'"%b":%b' % (name.encode(), number), LINES[0])
    assert line != LINES[0]
    (found, last) = read_lines([line, LINES[1]])

    assert isinstance(found, Damage) or (name, number) == ("x", b"1.5")
    assert last == RECORDS[1]


def kept(**files):
    """The journal of some files' contents, by what sort of file each is."""
    contents = Contents()
    for name, data in files.items():
        {"segment": lambda f, d: contents.segment(f, [d])}.get(name, getattr(contents, name))(
            name, data
        )
    return contents.journal()


@unhurried
@given(SEEDS, SEEDS)
def test_damage_to_a_loss_line_costs_no_other(which, seed):
    """The others are there; the damaged one is there or told with its line."""
    at = which % len(LOSSES)
    bad = damaged(LOSSES[at][:-1], seed, LINES[0][:-1]).replace(b"\n", b" ")
    journal = kept(loss=b"".join([*LOSSES[:at], bad, b"\n", *LOSSES[at + 1 :]]))
    others = [n for n in range(1, 6) if n != at + 1]

    assert [loss.at_unix_ns for loss in journal.losses if loss.ids == [f"r2-{loss.at_unix_ns}"] and loss.at_unix_ns in others] == others  # fmt: skip
    assert len(journal.losses) + len(journal.unreadable) + (not bad.strip()) == len(LOSSES)
    assert all(fault.line == at + 1 for fault in journal.unreadable)


@unhurried
@given(SEEDS, SEEDS)
def test_a_damaged_tool_set_is_there_or_told(seed, hostile):
    """By its name, and the records beside it stay."""
    for data in (damaged(TOOLS, seed, LINES[0]), hostile_json(TOOLS, hostile)):
        journal = kept(segment=b"".join(LINES), tool_set=data)

        assert list(journal.records) == RECORDS
        assert len(journal.tool_sets) + len(journal.unreadable) == 1


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_in_a_loss_line_or_a_tool_set_raises(value):
    """In a field that is known, and in one that a later turnscope may add."""
    for line in (LOSSES[0], TOOLS):
        fields = msgspec.json.decode(line)
        for name in (*fields, "later"):
            data = b'{"%b":%b,' % (name.encode(), value) + line[1:-1].replace(b"%b" % name.encode(), b"_")  # fmt: skip
            journal = kept(segment=LINES[0], loss=data.replace(b"\n", b" "), tool_set=data)
            assert list(journal.records) == RECORDS[:1]
