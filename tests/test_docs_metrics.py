"""docs/metrics.md is the contract of the names: its lists, formulas and numbers are the code's own."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import get_args, get_type_hints

import pytest

from analysis.explain import budget, source, speeds, turns
from analysis.render.turn import SPEED_NAMES
from proxy.journal import timing
from proxy.journal.record import Generation, Kind, Timings
from tests.support.pages import page

METRICS = page("docs/metrics.md")


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        ("Marks", get_type_hints(Timings)),
        ("Speeds", speeds.SPEEDS),
        ("Reasons for a refusal", get_args(timing.Reason)),
        ("Budget", get_args(budget.SegmentName)),
        ("What counts as a turn", get_args(turns.Standing)),
        ("How a figure came about", get_args(source.Kind)),
    ],
)
def test_metrics_lists_are_the_codes_own(heading, names):
    """docs/metrics.md has a row for each name of a closed list, in its order, and no other."""
    assert METRICS.column(heading) == list(names)


def test_metrics_explains_every_figure():
    """Each public function of timing.py stands in a row, and each function in a row is one."""
    public = {
        name
        for name, value in vars(timing).items()
        if inspect.isfunction(value) and value.__module__ == timing.__name__ and name[0] != "_"
    }
    named = METRICS.column("Waiting and decoding", 5) + METRICS.column("Speeds", 4)

    assert sorted(named) == sorted(public)


def test_speeds_have_the_formula_that_the_report_prints():
    """The page, the report and the code mean the same by each name."""
    written = {name.strip("`"): (f, how) for name, f, _, _, how in METRICS.rows("Speeds")}

    assert written == {
        name: (f"`{formula}`", f"`{function.__name__}`")
        for name, (formula, function) in speeds.SPEEDS.items()
    }
    assert written.keys() == SPEED_NAMES.keys()


UNITS = {"KiB": 2**10, "MiB": 2**20}
NUMBERS = [
    row
    for text, head in [(METRICS, "Thresholds"), (page("docs/transparency.md"), "Bounds")]
    for row in text.rows(head)
]


@pytest.mark.parametrize(("what", "value", "where"), NUMBERS, ids=[row[0] for row in NUMBERS])
def test_numbers_are_the_codes_own(what, value, where):
    """A bound or threshold on a page is the constant that it names."""
    name, file = re.fullmatch(r"`(\w+)` in `([\w/]+)\.py`", where).groups()
    constant = getattr(importlib.import_module(file.replace("/", ".")), name)
    number, _, unit = value.partition(" ")
    written = float(number) * UNITS.get(unit, 1)

    assert constant == (written * 1000 if unit == "us" else written), what


def test_words_of_a_record_are_explained():
    """Each word of `kind` and `generation` stands in the row of its field in docs/journal.md."""
    text = page("docs/journal.md").text
    for field, words in (("kind", Kind), ("generation", Generation)):
        row = next(line for line in text.splitlines() if line.startswith(f"| `{field}` |"))
        assert [word for word in get_args(words) if f"`{word}`" not in row] == []
