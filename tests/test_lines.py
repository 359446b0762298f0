"""Lines of the journal: what was written comes back, and damage costs no neighbour."""

from __future__ import annotations

import random
from typing import get_args, get_type_hints

import msgspec
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.journal import lines
from proxy.journal.lines import UPGRADES, Damage, encode, read_lines
from proxy.journal.record import VERSION, Loss, Record, UsageReport
from tests.support.builders import record
from tests.support.cuts import every_cut

ONE, TWO, THREE = (record(id=f"r1-{n}") for n in (1, 2, 3))
FILE = encode(ONE) + encode(TWO) + encode(THREE)


def read(data, **options):
    """All of some bytes."""
    return list(read_lines([data], **options))


def ids(found):
    """Ids of the records, `damage` for what is none."""
    return [item.id if isinstance(item, Record) else "damage" for item in found]


def test_a_record_is_one_line():
    """One line with its end, `v` first, as any reader of JSON Lines takes it."""
    line = encode(ONE)
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    assert line.startswith(lines.MARKER)
    assert orjson.loads(line)["timings"]["end_ns"] == ONE.timings.end_ns


@every_cut
def test_records_come_back(cut):
    """However the file is cut into pieces, the records are the same."""
    assert list(read_lines(cut(FILE))) == [ONE, TWO, THREE]


@given(st.text(), st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text()))
def test_others_text_and_figures_come_back(text, figure):
    """Line ends, quotes and the marker inside of a text stay inside; NaN and infinity become null."""
    written = record(id=text + '{"v":', reported={text: figure}, notes=[text])
    (found,) = read(encode(written))
    assert found.id == text + '{"v":'
    assert found.notes == [text]
    is_number = not isinstance(figure, float) or figure - figure == 0
    assert found.reported == {text: figure if is_number else None}


def test_half_a_surrogate_pair_becomes_its_replacement():
    """JSON of others may hold what has no UTF-8 form: the line is written all the same."""
    written = record(label="\ud83d\ude00", reported={"\ud800": "\udfff"}, notes=["a\ud800b"])
    (found,) = read(encode(written))
    assert found.label == "\U0001f600"
    assert found.reported == {"\ufffd": "\ufffd"}
    assert found.notes == ["a\ufffdb"]


def test_other_structs_of_the_journal_are_lines_too():
    """A loss line has the same form; it is no record."""
    line = encode(Loss(at_unix_ns=1, ids=["r1-4"], why="recorder died"))
    assert line == b'{"v":1,"at_unix_ns":1,"ids":["r1-4"],"why":"recorder died"}\n'
    assert ids(read(line)) == ["damage"]


def test_a_last_line_without_its_end_counts_if_it_is_whole():
    """Its writer lost the line feed and nothing else."""
    assert read(FILE[:-1]) == [ONE, TWO, THREE]


@pytest.mark.parametrize("kept", [1, 5, 6, 7, 300, len(encode(THREE)) - 2])
def test_a_torn_last_line_is_damage(kept):
    """A crash cuts the last line: the lines before it stay, and the damage says where it is."""
    whole = encode(ONE) + encode(TWO)
    *before, last = read(whole + encode(THREE)[:kept])
    assert before == [ONE, TWO]
    assert (last.line, last.length) == (3, kept)
    assert last.reason


@pytest.mark.parametrize("kept", [1, 6, 300, len(encode(ONE)) - 2])
def test_a_record_glued_behind_a_torn_one_is_found(kept):
    """After a restart the next record may stand on the torn line: it is not lost with it."""
    found = read(encode(ONE)[:kept] + encode(TWO) + encode(THREE))
    assert ids(found) == ["damage", "r1-2", "r1-3"]
    assert (found[0].line, found[0].length) == (1, kept)


def test_several_torn_lines_may_be_glued():
    """Each piece that begins as a line does is tried on its own."""
    torn = encode(ONE)[:200]
    assert ids(read(torn + torn + encode(TWO))) == ["damage", "damage", "r1-2"]


def test_a_line_may_be_cut_inside_of_a_character():
    """Bytes that are not UTF-8 are damage of that line alone."""
    whole = encode(record(label="\u6f22\u5b57"))
    torn = whole[: whole.index("\u6f22".encode()) + 1]
    assert ids(read(encode(ONE) + torn + b"\xff\n" + encode(TWO))) == ["r1-1", "damage", "r1-2"]
    assert ids(read(torn + encode(TWO))) == ["damage", "r1-2"]


@pytest.mark.parametrize(
    "junk",
    [
        b"[]\n",
        b"null\n",
        b"7\n",
        b"{}\n",
        b"\x00\x00\x00\x00\n",
        b"junk\n",
        b'{"v":1}\n',
        b'{"v":null}\n',
        b'{"v":true}\n',
        b'{"v":"1"}\n',
        b'{"v":\n',
        b'{"v":1.5}\n',
        b'{"v":1e400}\n',
        pytest.param(b"[" * 100_000 + b"\n", id="deep"),
        pytest.param(b'{"v":1,"x":' + b"[" * 100_000 + b"\n", id="a record with a deep field"),
        pytest.param(b'{"v":2,"x":' + b"[" * 100_000 + b"\n", id="the same of a newer version"),
    ],
)
def test_junk_between_records_is_damage(junk):
    """Whatever stands on a line: it is told, and the records around it come."""
    found = read(encode(ONE) + junk + encode(TWO))
    assert ids(found) == ["r1-1", "damage", "r1-2"]
    assert found[1].line == 2
    assert found[1].length == len(junk) - 1


def test_zeroes_in_front_of_a_record_are_damage_alone():
    """Some file systems leave zeroes where a crash lost a block."""
    assert ids(read(b"\0" * 4096 + encode(ONE))) == ["damage", "r1-1"]


def test_empty_lines_are_passed_over():
    """Blank lines are nobody's loss."""
    assert ids(read(b"\n \r\n" + encode(ONE).replace(b"\n", b"\r\n") + b"\n")) == ["r1-1"]


def test_an_endless_line_does_not_fill_the_memory(monkeypatch):
    """Beyond the bound only the length of a line is kept; what comes after it is read."""
    monkeypatch.setattr(lines, "LONGEST_LINE", 5_000)
    pieces = [b"x" * 1_000] * 20 + [b"\n", encode(ONE), b"y" * 6_000]
    found = list(read_lines(pieces))
    assert ids(found) == ["damage", "r1-1", "damage"]
    assert [(d.line, d.length) for d in found if isinstance(d, Damage)] == [(1, 20_000), (3, 6_000)]


def test_any_bytes_are_read_without_raising():
    """Records cut, overwritten and shuffled: each read ends, and untouched lines come back."""
    draw = random.Random(7)
    for _ in range(300):
        data = bytearray(FILE)
        for _ in range(draw.randint(1, 8)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        start = draw.randrange(len(data))
        found = read(bytes(data[start:]) + b"\n" + encode(TWO))
        assert found[-1] == TWO


def test_unknown_fields_are_tolerated():
    """A field that a later turnscope of the same version added does not cost the record."""
    fields = orjson.loads(encode(ONE))
    fields["later"] = {"a": 1}
    fields["timings"]["later_ns"] = 5
    assert read(orjson.dumps(fields)) == [ONE]


def test_a_newer_version_is_damage_that_says_so():
    """A journal written by a newer turnscope is not read wrongly, and the reason says what to do."""
    newer = encode(ONE).replace(b'"v":1', b'"v":2')
    found = read(newer + encode(TWO))
    assert ids(found) == ["damage", "r1-2"]
    assert found[0].reason == "version 2: this turnscope reads 1 to 1; use a newer one"
    assert ids(read(encode(ONE).replace(b'"v":1', b'"v":0'))) == ["damage"]


def rename(old, new):
    """A step that renames a field."""

    def step(fields):
        return {new if name == old else name: value for name, value in fields.items()}

    return step


def test_older_versions_are_upgraded_step_by_step():
    """Version 1 goes through both steps, version 2 through the second; version 3 is read as it is."""
    steps = [rename("listener", "address"), rename("address", "route")]
    oldest = encode(ONE).replace(b'"route"', b'"listener"')
    older = encode(TWO).replace(b'"route"', b'"address"').replace(b'"v":1', b'"v":2')
    newest = encode(THREE).replace(b'"v":1', b'"v":3')
    found = read(oldest + older + newest, upgrades=steps)
    assert ids(found) == ["r1-1", "r1-2", "r1-3"]
    assert {3} == {item.v for item in found}
    assert {ONE.route} == {item.route for item in found}


def drop_everything(_fields):
    """A step that makes no record."""
    return {}


def fail(fields):
    """A step that does not find what it looks for."""
    return fields["not there"]


@pytest.mark.parametrize("step", [drop_everything, fail])
def test_an_upgrade_that_fails_is_damage(step):
    """An old line that does not become a record is told, and the next one is read."""
    newest = encode(TWO).replace(b'"v":1', b'"v":2')
    found = read(encode(ONE) + newest, upgrades=[step])
    assert ids(found) == ["damage", "r1-2"]
    assert found[0].reason.startswith("version 1 does not upgrade: ")


def test_there_is_a_step_for_each_older_version():
    """The version that is written is the one that the steps lead to."""
    assert len(UPGRADES) + 1 == VERSION


def everything(kind):
    """Values of any type that the schema allows."""
    hints = get_type_hints(kind)
    return st.fixed_dictionaries({name: of(hint) for name, hint in hints.items()}).map(
        lambda fields: kind(**fields)
    )


def of(hint):
    """A strategy for a field's type."""
    arguments = get_args(hint)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return everything(hint)
    if str(hint).startswith("typing.Literal"):
        return st.sampled_from(arguments)
    if str(hint).startswith("list"):
        return st.lists(of(arguments[0]), max_size=2)
    if str(hint).startswith("dict"):
        return st.dictionaries(st.text(), of(arguments[1]), max_size=2)
    if arguments:
        return st.one_of([of(argument) for argument in arguments])
    plain = {
        int: st.integers(-(2**63), 2**63 - 1),
        float: st.floats(allow_nan=False, allow_infinity=False),
        str: st.text(max_size=8),
        bool: st.booleans(),
        type(None): st.none(),
    }
    return plain[hint]


@given(everything(Record).map(lambda r: msgspec.structs.replace(r, v=VERSION)))
def test_every_record_comes_back(written):
    """The law of the format: whatever the schema allows is read as it was written."""
    assert read(encode(written)) == [written]


def test_null_and_zero_are_two_things():
    """A field that was not said is written as null, one that is zero as zero."""
    fields = orjson.loads(encode(record(usage=UsageReport(cached=0))))
    assert fields["usage"]["cached"] == 0
    assert fields["usage"]["input"] is None
