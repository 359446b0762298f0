"""What each tool costs, and whether it was of use."""

from __future__ import annotations

import pytest

from analysis.explain.overview import overview
from analysis.explain.prefill import prefill_costs
from analysis.explain.tools import tools
from proxy.journal.record import ToolEntry, Tools, ToolSet, UsageReport
from tests.support import journals
from tests.support.builders import COUNTED, S, part, parts, record


def tool_set(name="set", **tokens):
    """A set with these tools and their tokens."""
    entries = [ToolEntry(name=tool, tokens=n) for tool, n in tokens.items()]
    return ToolSet(set_hash=name, source=COUNTED, tools=entries)


def offering(listed, *called, **changes):
    """An answer to a request that offered a set and called some of it."""
    count = len(listed.tools)
    offered = Tools(set_hash=listed.set_hash, count=count, tokens=None, called=list(called))
    return record(**{"tools": offered, "parts": parts(tools=300, question=700), **changes})


def summary(records, *sets):
    """The tools over these records."""
    return tools(records, {s.set_hash: s for s in sets}, prefill_costs(records))


def test_the_field_reports_tools():
    """31 tools of 6,603 tokens, 24 of them never called; their rows add up to the part."""
    read = overview(journals.field_report()).tools

    assert len(read.tools) == 31
    assert len(read.never_called()) == 24
    assert sum(t.tokens for t in read.tools) == 6603
    assert sum(t.price.cold_ns for t in read.tools) / S == pytest.approx(4.247, abs=1e-3)
    assert read.tools[0].name == "browser_snapshot"


def test_offers_and_calls_are_counted_over_answers():
    """A tool called twice in one answer was called in one answer."""
    both, one = tool_set("both", a=200, b=100), tool_set("one", a=300)
    records = [offering(both, "a", "a"), offering(both), offering(one, "a"), record(tools=None)]

    read = summary(records, both, one)

    assert [(t.name, t.offered, t.called) for t in read.tools] == [("a", 3, 2), ("b", 2, 0)]
    assert (read.answers, read.offering, read.unlisted) == (4, 3, 0)


def test_no_answer_counts_for_nothing():
    """A request that got no answer, or asked for none, neither offers nor calls."""
    listed = tool_set(a=100)
    failed = offering(listed, generation="none", error_kind="http_error")
    asked_for_none = offering(listed, kind="not_generation")

    assert summary([failed, asked_for_none], listed).answers == 0


def test_hidden_requests_are_answers_too():
    """A title generator that drags the tools along pays for them like any other."""
    listed = tool_set(a=100)

    assert summary([offering(listed, kind="hidden")], listed).tools[0].offered == 1


def test_counts_are_brought_to_the_scale_of_the_prompt():
    """A set counted as 3 + 3 + 4 of a part of 301 tokens is 90 + 90 + 121: none is lost."""
    listed = tool_set(a=3, b=3, c=4)

    read = summary([offering(listed, parts=parts(tools=301, question=700))], listed)

    assert {t.name: t.tokens for t in read.tools} == {"c": 121, "a": 90, "b": 90}


def test_the_last_offer_tells_the_tokens():
    """A definition that grew has its present size."""
    small, large = tool_set("small", a=100), tool_set("large", a=300)
    records = [offering(small, parts=parts(tools=100)), offering(large, parts=parts(tools=300))]

    assert [t.tokens for t in summary(records, small, large).tools] == [300]


def test_as_lived_is_the_share_that_was_read():
    """Cached in one of two answers: half the price, and the cold one stays."""
    listed = tool_set(a=100)
    cold = offering(listed, usage=UsageReport(input=1000, cached=0))
    warm = offering(listed, usage=UsageReport(input=1000, cached=300))

    price = summary([cold, warm], listed).tools[0].price

    assert price.lived_ns == pytest.approx(price.cold_ns / 2, abs=1)


def test_a_dropped_tool_costs_nothing():
    """Where the server's template drops the tools, none has a price in seconds."""
    listed = tool_set(a=100)
    dropped = part("tools", 300, source=f"{COUNTED}, not in the bill")
    turn = offering(listed, parts=[dropped, part("question", 700)], usage=UsageReport(input=700))

    price = summary([turn], listed).tools[0].price

    assert (price.cold_ns, price.lived_ns) == (0, 0)


def test_a_set_without_its_file_is_said():
    """Its tools are in no row, and the answers that offered them are counted."""
    read = summary([offering(tool_set(a=100), "a")])

    assert (read.tools, read.offering, read.unlisted) == ((), 1, 1)


def test_tools_that_nobody_counted_stand_last():
    """Null tokens: no price, and no place among the largest."""
    listed = tool_set(a=None, b=5)
    uncounted = offering(listed, parts=parts(tools=None))

    read = summary([uncounted], listed)

    assert [(t.name, t.tokens) for t in read.tools] == [("b", 5), ("a", None)]
    assert read.tools[1].price is None
    assert str(read.tools[0].source) == "counted by tiktoken o200k_base"


def test_a_set_of_uncounted_tools_in_a_counted_prompt():
    """A part without any count of its tools is shared out to none of them."""
    listed = tool_set(a=None)

    assert summary([offering(listed)], listed).tools[0].tokens is None


def test_a_tool_named_twice_counts_once():
    """Two definitions of one name are one row."""
    twice = ToolSet(set_hash="set", source=COUNTED, tools=[ToolEntry(name="a", tokens=1)] * 2)

    assert [t.offered for t in summary([offering(twice)], twice).tools] == [1]
