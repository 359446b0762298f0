"""docs/metrics.md is the contract of the names: its lists, formulas and numbers are the code's own."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import get_args, get_type_hints

import pytest

from analysis.explain import budget, source, speeds, turns, whatif, working_point
from analysis.render.speeds import SPEED_NAMES
from proxy.gauges.names import ENGINES
from proxy.journal import timing
from proxy.journal.gauge import GaugeSample
from proxy.journal.record import Generation, Kind, Timings
from tests.support.pages import page

METRICS = page("docs/metrics.md")


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        ("Marks", get_type_hints(Timings)),
        ("Speeds", speeds.SPEEDS),
        ("Speeds of all answers together", speeds.TOGETHER),
        ("What if", get_args(whatif.WhatIfName)),
        ("Working point", get_args(working_point.Sight)),
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
    written = {
        tuple(cell.strip("`") for cell in row)
        for heading in ("Speeds", "Speeds of all answers together")
        for row in METRICS.rows(heading)
    }
    alone = {
        (name, how.formula, how.leaves_out, how.shown_by, how.function.__name__)
        for name, how in speeds.SPEEDS.items()
    }
    together = {
        (name, how.formula, how.leaves_out, how.shown_by) for name, how in speeds.TOGETHER.items()
    }

    assert written == alone | together
    assert speeds.SPEEDS.keys() == SPEED_NAMES.keys()


ENGINE_NAMES = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "llamacpp": "llama.cpp",
    "tensorrt_llm": "TensorRT-LLM",
    "tgi": "TGI",
}


@pytest.mark.parametrize("engine", ENGINES)
def test_gauge_tables_are_the_codes_own(engine):
    """Each row of an engine's table stands on the page: figure, kind, what becomes of series, its names."""
    written = METRICS.rows(f"Names of {ENGINE_NAMES[engine]}")
    names = [
        [alt.split(" + ") for alt in row[3].replace("`", "").split(", else ")] for row in written
    ]

    assert [row[:3] for row in written] == [
        [f"`{row.figure}`", row.kind, row.over] for row in ENGINES[engine]
    ]
    assert names == [[list(alternative) for alternative in row.names] for row in ENGINES[engine]]


def test_gauge_figures_are_one_list():
    """The page explains each figure that a sample may hold, with its kind."""
    kinds = {row.figure: row.kind for rows in ENGINES.values() for row in rows}
    explained = {
        name.strip("`"): kind for name, kind, *_ in METRICS.rows("The server's own gauges")
    }

    assert explained == kinds
    assert [name for name in GaugeSample.__struct_fields__ if name in kinds] == list(explained)


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
