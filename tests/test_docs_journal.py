"""docs/journal.md is complete both ways: all that is written is explained, nothing else is."""

from __future__ import annotations

import ast
import re
from typing import get_args, get_type_hints

import msgspec
import pytest

from proxy.journal import scaled
from proxy.journal.gauge import GaugeSample
from proxy.journal.hidden import Purpose, Sign
from proxy.journal.record import Cause, ErrorKind, Forgotten, Loss, OutcomeName, Record, ToolSet
from tests.support.source import ROOT, modules

PAGE = (ROOT / "docs" / "journal.md").read_text("utf-8")
SECTIONS = dict(
    section.partition("\n")[::2] for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
)
NOTERS = {"Note", "note", "_note", "_stop"}
"""Functions whose first argument is the code of a note."""


def rows(section):
    """The rows of a section's table: cells of each, the first without its backquotes."""
    cells = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in SECTIONS[section].splitlines()
        if line.startswith("| `")
    ]
    return {first.strip("`"): rest for first, *rest in cells}


def fields(kind, prefix=""):
    """Dotted names of all fields of a struct and of the structs in it, with their types."""
    for name, hint in get_type_hints(kind).items():
        yield f"{prefix}{name}", hint
        for inner in (hint, *get_args(hint)):
            if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
                step = "[]." if str(hint).startswith("list") else "."
                yield from fields(inner, f"{prefix}{name}{step}")


STRUCTS = pytest.mark.parametrize(
    ("section", "kind"),
    [
        *(("Record", Record), ("Tool set", ToolSet), ("Loss", Loss), ("Forgotten", Forgotten)),
        ("Gauge sample", GaugeSample),
    ],
)


@STRUCTS
def test_every_field_is_explained_and_no_other(section, kind):
    """Recursively, and in the order in which the fields are written."""
    assert list(rows(section)) == [name for name, _ in fields(kind)]


@STRUCTS
def test_every_row_says_what_the_field_is(section, kind):
    """A row has a sentence; one that may be null says what null means."""
    for name, hint in fields(kind):
        _unit, what, null = rows(section)[name]
        assert len(what) > 3, name
        assert null or type(None) not in get_args(hint), name


@STRUCTS
def test_durations_are_explained_by_both_ends(section, kind):
    """A mark says from where to where, and its unit is the one in its name."""
    for name, _hint in fields(kind):
        unit, what, _null = rows(section)[name]
        assert (unit == "ns") == name.endswith("_ns"), name
        if name.startswith("timings.") and "the same" not in what:
            assert "first request byte -> " in what, name


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("Outcomes", OutcomeName),
        ("Kinds of error", ErrorKind),
        ("Causes of a loss", Cause),
        ("Purposes of hidden requests", Purpose),
        ("Signs of hidden requests", Sign),
    ],
)
def test_closed_lists_are_explained(section, words):
    """Each word of a closed list has its row."""
    assert list(rows(section)) == list(get_args(words))


def test_assumptions_are_printed_as_they_are_made():
    """The sources that the page names are those that the code writes."""
    assert scaled.TEMPLATE_ASSUMED in rows("Sources of token counts")
    assert scaled.TEMPLATE_REST in rows("Sources of token counts")


def noted():
    """Codes of all notes that the product makes, with the place of each."""
    for module in modules("proxy"):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and node.args and _called(node) in NOTERS:
                first = node.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    yield first.value, f"{module.path}:{node.lineno}"


def _called(call):
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def test_every_note_code_is_explained():
    """A note that nobody can look up helps nobody."""
    explained = rows("Note codes")
    assert [f"{place}: {code}" for code, place in noted() if code not in explained] == []


def test_no_note_code_is_explained_that_is_not_made():
    """What the page explains can be found in a journal."""
    made = {code for code, _ in noted()}
    assert sorted(set(rows("Note codes")) - made) == []


def test_note_codes_are_in_order():
    """A reader looks a code up by its name."""
    codes = list(rows("Note codes"))
    assert codes == sorted(codes)
    assert len(codes) > 20
