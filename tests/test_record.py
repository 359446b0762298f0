"""The schema on disk: names and units that readers of old journals rely on."""

from __future__ import annotations

import msgspec
import pytest

from proxy.journal.record import Load, Loss, Output, Record, Request, Self, Timings, ToolSet
from tests.support.builders import part, record, timings


@pytest.mark.parametrize("kind", [Record, ToolSet, Loss])
def test_the_version_stands_first(kind):
    """A reader knows a line by its first bytes, and which version it has."""
    assert kind.__struct_fields__[0] == "v"


def test_the_default_record_fits_the_schema():
    """What tests start from is what the journal may hold."""
    assert msgspec.convert(msgspec.to_builtins(record()), Record) == record()


@pytest.mark.parametrize(
    "changes",
    [{"outcome": "fine"}, {"generation": "done"}, {"kind": "title"}, {"error_kind": "oops"}],
)
def test_closed_lists_are_closed(changes):
    """A word that is not in the list is no record."""
    with pytest.raises(msgspec.ValidationError, match="Invalid enum value"):
        msgspec.convert(msgspec.to_builtins(record(**changes)), Record)


def test_durations_end_in_their_unit():
    """Every field of the marks and of the proxy's own delays is in ns."""
    numbers = {*Timings.__struct_fields__, *Self.__struct_fields__} - {"left_out_bytes"}
    assert all(name.endswith("_ns") for name in numbers)
    assert {n for n in Output.__struct_fields__ if "gap" in n} == {
        "gap_p50_ns",
        "gap_p95_ns",
        "gap_max_ns",
    }


@pytest.mark.parametrize(
    "empty",
    [Output(), Load(), Self(), Timings(end_ns=1), Request(method=None, path=None)],
)
def test_what_is_not_said_is_null(empty):
    """No field stands at zero unless something was counted to be none."""
    said = {k: v for k, v in msgspec.to_builtins(empty).items() if v is not None}
    assert said in (
        {"source": "unknown"},
        {},
        {"left_out_bytes": 0},
        {"end_ns": 1},
        {"bytes": 0, "sampling": {}},
    )


def test_records_do_not_change():
    """A record is a fact: nobody downstream edits it."""
    with pytest.raises(AttributeError):
        record().kind = "hidden"


def test_records_do_not_share_their_lists():
    """Two records made without parts have each their own empty list."""
    one, two = (Record(**{**_fields(), "id": name}) for name in ("a", "b"))
    assert one.parts == []
    assert one.parts is not two.parts


def _fields():
    """Fields of a record, without those that default to a collection."""
    whole = msgspec.structs.asdict(record())
    return {k: v for k, v in whole.items() if k not in ("parts", "reported", "prefix", "notes")}


@pytest.mark.parametrize(
    ("name", "role"),
    [("tools", "tool"), ("system", "system"), ("tool_results", "tool"), ("question", "user")],
)
def test_the_builder_gives_a_part_its_usual_role(name, role):
    """Parts and marks of the builders are what their names say."""
    assert part(name, 5).role == role
    assert part(name, 5, "developer").role == "developer"
    assert timings(end_ns=7).end_ns == 7
