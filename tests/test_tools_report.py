"""What each tool costs, and whether it was of use."""

from __future__ import annotations

from datetime import UTC

import pytest

from analysis.explain.overview import overview
from analysis.explain.prefill import prefill_costs
from analysis.explain.tools import tools
from analysis.render.tools import servers_table, short_name, tools_table
from analysis.store.base import Journal
from analysis.store.tallies import Calls, Offers, Tallies
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


def listed(*entries, name="set"):
    """A set of tools, each (name, tokens, MCP server)."""
    tools = [ToolEntry(name=tool, tokens=n, server=server) for tool, n, server in entries]
    return ToolSet(set_hash=name, source=COUNTED, tools=tools)


def test_the_last_call_is_dated():
    """The last of two answers that called it; never called is null, not the epoch."""
    both = tool_set("both", a=200, b=100)
    records = [
        offering(both, "a", at_unix_ns=10 * S),
        offering(both, "a", at_unix_ns=30 * S),
        offering(both, at_unix_ns=50 * S),
    ]
    a, b = summary(records, both).tools

    assert (a.last_called_unix_ns, b.last_called_unix_ns) == (30 * S, None)


def test_an_agent_loop_is_one_turn():
    """Three requests of one turn, the tools cached from the second on: a turn paid for them once."""
    held = tool_set(a=100)
    loop = [
        offering(held, id=f"r1-{n}", turn="r1-0", usage=UsageReport(input=1000, cached=cached))
        for n, cached in enumerate((0, 300, 300))
    ]
    read = summary(loop, held).tools[0]

    assert (read.offered, read.spent.turns) == (3, 1)
    assert read.spent.lived_ns == read.spent.a_turn_ns == read.price.cold_ns
    assert read.spent.cold_ns == pytest.approx(3 * read.price.cold_ns, abs=3)
    assert read.price.lived_ns == pytest.approx(read.price.cold_ns / 3, abs=1)


def test_a_turn_that_offered_two_sets_is_one_turn():
    """A client that loads a tool in the middle of a turn."""
    small, large = tool_set("small", a=100), tool_set("large", a=100, b=100)
    loop = [offering(small, id="r1-1", turn="t"), offering(large, id="r1-2", turn="t")]

    assert [t.spent.turns for t in summary(loop, small, large).tools] == [1, 1]


def test_servers_have_a_row_each():
    """Tools, never called, tokens, calls, last call, seconds: sums over the server's tools."""
    held = listed(("a1", 100, "a"), ("a2", 50, "a"), ("b1", 90, "b"), ("own", 60, None))
    records = [offering(held, "a1", "own", at_unix_ns=S), offering(held, "a1", at_unix_ns=2 * S)]
    read = summary(records, held)
    a, b, own = read.servers

    assert [s.server for s in read.servers] == ["a", "b", None]
    assert (a.tools, a.unused, a.tokens, a.called, a.last_called_unix_ns) == (2, 1, 150, 2, 2 * S)
    assert (a.never_called, b.never_called, own.never_called) == (False, True, False)
    assert sum(s.price.cold_ns for s in read.servers) == sum(t.price.cold_ns for t in read.tools)


def test_exact_counts_win_over_a_samples():
    """Of a tenth of the answers: offers, calls and dates are the journal's, sums are brought to its size.

    A set that no answer of the sample was offered has its row all the same.
    """
    seen, unseen = tool_set("seen", a=100), tool_set("unseen", b=7)
    sample = [offering(seen, "a", id="r1-1"), offering(seen, id="r1-2")]
    exact = Tallies(
        answers=25,
        offering=24,
        offered={"seen": Offers(20, 9 * S), "unseen": Offers(3, S), "gone": Offers(1, S)},
        called={"a": Calls(5, 8, 7 * S), "b": Calls(1, 1, S)},
    )
    sets = {s.set_hash: s for s in (seen, unseen)}
    read = tools(sample, sets, prefill_costs(sample), exact)
    whole = tools(sample, sets, prefill_costs(sample))
    a, b = read.tools

    assert [(t.offered, t.called, t.last_called_unix_ns) for t in (a, b)] == [
        (20, 5, 7 * S),
        (3, 1, S),
    ]
    assert (read.answers, read.offering, read.unlisted) == (25, 24, 1)
    assert a.spent.lived_ns == pytest.approx(10 * whole.tools[0].spent.lived_ns, abs=10)
    assert (a.spent.turns, a.price.lived_ns) == (20, whole.tools[0].price.lived_ns)
    assert (b.tokens, b.price, b.spent) == (7, None, None)


def test_a_price_that_depends_on_the_place_is_shared_by_tokens():
    """Where a token costs more the further back it stands, the rows still add up to the part."""
    lengths = [400 * n for n in range(1, 40)]
    reads = [
        record(
            id=f"r1-{n}",
            parts=parts(tools=tokens // 2, question=tokens - tokens // 2),
            tools=Tools(set_hash="set", count=2, tokens=None),
            usage=UsageReport(input=tokens, cached=0),
            reported={"prompt_n": tokens, "prompt_ms": tokens * 0.1 + tokens**2 * 2e-5},
        )
        for n, tokens in enumerate(lengths)
    ]
    held = tool_set(a=30, b=70)
    costs = prefill_costs(reads)
    (cost,) = costs.values()
    found = tools(reads, {"set": held}, costs)
    whole = cost.of(lengths[-1])

    assert cost.stretches
    assert sum(t.price.cold_ns for t in found.tools) == pytest.approx(whole / 2, rel=1e-3)


def test_the_table_says_when_and_what_to_cut():
    """Time of day within a day, the day beyond one; a cut is marked, a called tool is not."""
    held = listed(("mcp__play__click", 100, "play"), ("mcp__play__drag", 50, "play"))
    first = offering(held, "mcp__play__click", id="r1-1")
    later = [
        offering(held, id="r1-2", at_unix_ns=first.at_unix_ns + days * 86_400 * S)
        for days in (0, 3)
    ]
    day, days = (
        tools_table(overview(Journal((first, each), {"set": held})), UTC) for each in later
    )

    assert [(row[0], row[4], row[-1]) for row in day.rows] == [
        ("click", "14:13:20", "play"),
        ("drag", "-", "play  <- cut"),
    ]
    assert days.rows[0][4] == "2026-09-21"


def test_servers_have_a_table_where_names_tell_of_them():
    """Otherwise there is none."""
    held = listed(("mcp__play__drag", 50, "play"), ("own", 10, None))
    journal = Journal((offering(held, "own"),), {"set": held})
    table = servers_table(overview(journal), UTC)

    assert [(row[0], row[-1]) for row in table.rows] == [
        ("play", "<- cut the server"),
        ("no server named", ""),
    ]
    none = Journal((offering(tool_set(a=1)),), {"set": tool_set(a=1)})
    assert servers_table(overview(none), UTC) is None


@pytest.mark.parametrize(("name", "server", "short"), [
    ("mcp__play__click", "play", "click"),
    ("mcp_play_click", "play", "click"),
    ("mcp--play--click", "play", "click"),
    ("click_mcp_play", "play", "click"),
    ("play__click", "play", "click"),
    ("clock", None, "clock"),
    ("browser_click", "playwright", "browser_click"),
])  # fmt: skip
def test_a_tools_name_is_shown_without_its_server(name, server, short):
    """The server has a column of its own."""
    held = listed((name, 1, server))

    assert short_name(summary([offering(held)], held).tools[0]) == short
