"""docs/report.schema.json and docs/explain.schema.json say what the commands print.

`GOLDEN=write pytest tests/test_schemas.py` writes them anew.
"""

from __future__ import annotations

import os

import orjson
import pytest

from analysis.explain.asked import Asked, Range, Switch
from analysis.explain.explained import Choice, explained, last, worst
from analysis.explain.overview import overview
from analysis.explain.versus import versus
from analysis.render import data, explain_data
from analysis.render import versus as render_versus
from analysis.store.base import Journal, Sampling
from analysis.store.selection import Selection
from analysis.store.tallies import Tallies
from proxy.journal.record import Request
from tests.support import journals, method
from tests.support.builders import record
from tests.support.schema import faults, schema
from tests.support.source import ROOT

ASKED = Asked(Switch(by_kind={"code": 2.5}, other=1.1), Range(1, 4))


def reports():
    """A report of each kind of journal."""
    names = ("field_report", "demo", "without_usage", "only_errors", "damaged")
    held = [Journal(), method.method(), *(getattr(journals, name)() for name in names)]
    made = [overview(journal) for journal in held]
    made.append(overview(method.method(), ASKED))
    made.append(overview(sampled()))
    chosen = Selection(1, 2, "r", "l", "c", "m", "t", turns_only=True)
    return [orjson.loads(data.report_json(report, chosen)) for report in made] + [
        orjson.loads(data.report_json(made[-1]))
    ]


def sampled():
    """A journal of which one record stands for twenty."""
    counted = Tallies(exchanges=20, turns=20, first_unix_ns=1, last_unix_ns=2)
    records = method.method().records[:1]
    return Journal(records=records, tallies=counted, sampling=Sampling(1, 20, 1, 20))


def explanations():
    """An explanation of exchanges of each kind of journal; the record in it has a page of its own."""
    made = []
    for held in (
        method.method(),
        journals.demo(),
        journals.only_errors(),
        journals.without_usage(),
    ):
        found = (last(held.records), worst(held.records, "whole"))
        made += [explained(choice, held.records) for choice in found if isinstance(choice, Choice)]
    shown = [orjson.loads(explain_data.explain_json(each)) for each in made]
    return [{**each, "record": {}} for each in shown]


def comparisons():
    """Before and after: compared, refused, with tools gone and with none."""
    whole, bare = method.method(), journals.demo()
    reports_ = overview(whole), overview(bare)
    same = versus(whole.records, whole.records, reports_[0], reports_[0])
    other = versus(whole.records, bare.records, *reports_)
    return [orjson.loads(render_versus.versus_json(each, "a", "b")) for each in (same, other)]


SHAPES = {
    "report": (data.SCHEMA, reports),
    "explain": (explain_data.SCHEMA, explanations),
    "versus": (render_versus.SCHEMA, comparisons),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_page_is_the_codes_own(name):
    """What stands in docs is what is drawn from what the code prints."""
    title, documents = SHAPES[name]
    path = ROOT / "docs" / f"{name}.schema.json"
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    drawn = orjson.dumps(schema(title, documents()), option=options)
    if os.environ.get("GOLDEN") == "write":
        path.write_bytes(drawn)

    assert path.read_bytes() == drawn, "GOLDEN=write pytest tests/test_schemas.py writes it anew"


@pytest.mark.parametrize("name", ["field_report", "only_errors"])
def test_a_report_is_as_described(name):
    """Each of its values has the type that the page gives it; one of another type is found."""
    drawn = orjson.loads((ROOT / "docs" / "report.schema.json").read_bytes())
    shown = orjson.loads(data.report_json(overview(getattr(journals, name)())))

    assert list(faults(shown, drawn)) == []
    assert list(faults(shown | {"turns": "one"}, drawn)) == ["$.turns: string, not integer"]


def test_the_json_says_what_it_is_of():
    """The choice, and from how many of the chosen the rest was worked out."""
    told = orjson.loads(data.report_json(overview(sampled()), Selection(label="home")))
    all_of_it = orjson.loads(data.report_json(overview(method.method())))

    assert told["selection"]["label"] == "home"
    assert told["census"]["sample"] == {
        "exchanges": 1, "of_exchanges": 20, "turns": 1, "of_turns": 20,
    }  # fmt: skip
    assert set(all_of_it["selection"].values()) == {None, False}
    assert all_of_it["census"]["sample"] is None


def test_a_hidden_journal_is_as_described():
    """No turn at all, only requests of a client for itself."""
    drawn = orjson.loads((ROOT / "docs" / "report.schema.json").read_bytes())
    asked = Request(method="POST", path="/v1/chat/completions", model="m")
    held = Journal(records=(record(kind="hidden", request=asked),))

    assert list(faults(orjson.loads(data.report_json(overview(held))), drawn)) == []
