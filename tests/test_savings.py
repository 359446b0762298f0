"""What cutting tools saves that were never called, in tokens, in seconds, and to a whole turn."""

from __future__ import annotations

import re

import pytest

from analysis.explain.overview import overview
from analysis.explain.prefill import PrefillCost
from analysis.explain.savings import FEW
from analysis.explain.source import Refusal
from analysis.store.base import Journal
from proxy.journal.record import ToolEntry, Tools, ToolSet, UsageReport
from tests.support import method
from tests.support.builders import AT_UNIX_NS, COUNTED, S, parts, record, timings
from tests.support.reports import words

SERVER_COUNTED = "server tokenizer"


def tool_set(*entries, source=COUNTED):
    """A set of tools, each (name, tokens, MCP server)."""
    tools = [ToolEntry(name=name, tokens=n, server=server) for name, n, server in entries]
    return ToolSet(set_hash="set", source=source, tools=tools)


def journal(listed, *called, cached=0, **changes):
    """Turns of 600 tokens of tools and 400 of question; `called` is what each of them called."""
    turns = [
        record(
            id=f"r1-{n}",
            at_unix_ns=AT_UNIX_NS + n * 60 * S,
            parts=parts(tools=600, question=400),
            tools=Tools(set_hash="set", count=len(listed.tools), tokens=600, called=names),
            usage=UsageReport(input=1000, output=377, cached=cached),
            **changes,
        )
        for n, names in enumerate(called)
    ]
    return Journal(records=tuple(turns), tool_sets={"set": listed})


def saved(listed, *called, **changes):
    """What can be saved in such a journal."""
    return overview(journal(listed, *called, **changes)).savings


ONE_OF_TWO = tool_set(("used", 200, None), ("idle", 400, None))


def test_the_field_reports_saving():
    """24 of 31 tools, 5,118 tokens, about 3.29 s cold and as lived, and the turn 1.26 x as fast without them."""
    read = overview(method.method())
    unused, gain = read.savings.unused, read.savings.gain

    assert (len(read.tools.tools), sum(t.tokens for t in read.tools.tools)) == (31, 6603)
    assert (len(unused.names), unused.tokens) == (24, 5118)
    assert unused.price.cold_ns / S == pytest.approx(3.29, abs=0.03)
    assert unused.price.lived_ns / S == pytest.approx(3.29, abs=0.03)
    assert gain.speedup.median == pytest.approx(1.26, abs=0.005)


def test_the_field_reports_saving_has_an_interval():
    """It holds the saving, is that of the cost of a token, and is printed beside the seconds."""
    read = overview(method.method())
    price = read.savings.unused.price
    cost = next(c for c in read.costs.values() if isinstance(c, PrefillCost))
    low, high = price.cold_interval_ns

    assert cost.interval
    assert low <= price.cold_ns <= high
    assert high / low == pytest.approx(cost.high_ns_per_token / cost.low_ns_per_token, rel=1e-6)
    second = r"3\.[23]\d s"
    assert re.search(
        rf"24 never called: 5,118 tokens, {second} cold \({second} to {second}\), {second} as lived\.",
        words(method.method()),
    )


def test_a_cut_is_of_tools_that_nobody_called():
    """One of two tools was called once: the other one is the saving, and its share of the seconds."""
    read = saved(ONE_OF_TWO, ["used"], [])

    assert read.unused.names == ("idle",)
    assert read.unused.tokens == 400
    assert read.unused.price.cold_ns == pytest.approx(6.084 * S * 400 / 1000, rel=1e-6)


def test_the_saving_is_summed_over_turns():
    """Three turns that paid 400 tokens each paid 1,200, and a turn's share is a third of it."""
    spent = saved(ONE_OF_TWO, ["used"], [], []).unused.spent

    assert spent.turns == 3
    assert spent.lived_ns == spent.cold_ns == pytest.approx(3 * 6.084 * S * 0.4, rel=1e-6)
    assert spent.a_turn_ns == pytest.approx(6.084 * S * 0.4, rel=1e-6)


def test_hidden_requests_pay_as_well_and_are_no_turns():
    """What they paid is in the sum and in no turn."""
    held = journal(ONE_OF_TWO, ["used"], [])
    first, second = held.records
    hidden = record(
        **{
            name: getattr(second, name)
            for name in ("id", "at_unix_ns", "parts", "tools", "usage", "timings")
        },
        kind="hidden",
    )
    spent = overview(Journal((first, hidden), held.tool_sets)).savings.unused.spent

    assert (spent.turns, spent.lived_ns) == (1, pytest.approx(2 * spent.a_turn_ns, abs=2))


def test_where_all_were_called_there_is_nothing_to_cut():
    """No cut, no doubt, and a line of the report less."""
    read = saved(ONE_OF_TWO, ["used", "idle"])

    assert (read.unused, read.servers, read.others, read.doubts) == (None, (), None, ())
    assert "never called: " not in words(journal(ONE_OF_TWO, ["used", "idle"]))


def test_a_server_of_which_nothing_was_called_is_cut_whole():
    """The larger one first; a server with one call keeps its place, its idle tools are cut one by one."""
    listed = tool_set(
        ("a1", 10, "a"), ("a2", 20, "a"), ("b1", 90, "b"), ("c1", 5, "c"), ("c2", 5, "c")
    )
    read = saved(listed, ["c1"])

    assert [(cut.server, cut.names) for cut in read.servers] == [
        ("b", ("b1",)),
        ("a", ("a2", "a1")),
    ]
    assert read.others.names == ("c2",)
    assert len(read.unused.names) == 4
    said = words(journal(listed, ["c1"]))
    assert "Server a: 2 tools, none called: cut the server" in said
    assert "Server c" not in said


def test_a_clients_own_tools_are_no_server():
    """Tools whose name tells of no server are never cut as one."""
    assert saved(tool_set(("own", 10, None))).servers == ()


def test_rarely_called_is_no_saving():
    """One call in 101 answers: named, not counted; one in 100 is not rare."""
    rare = saved(ONE_OF_TWO, ["used", "idle"], *[["used"]] * 100)
    often = saved(ONE_OF_TWO, ["used", "idle"], *[["used"]] * 99)

    assert [t.name for t in rare.rarely] == ["idle"]
    assert (rare.unused, often.rarely) == (None, ())
    held = journal(ONE_OF_TWO, ["used", "idle"], *[["used"]] * 100)
    assert "Rarely called" in words(held)


def test_doubts_are_named():
    """Few answers, another tokenizer's count, a cache that is not spoken of."""
    assert saved(ONE_OF_TWO, ["used"], cached=None).doubts == (
        "few answers",
        "tokens are not the server's",
        "cache not reported",
    )


def test_what_the_server_counted_often_enough_is_no_doubt():
    """Its own tokens over enough answers, with its word on the cache."""
    counted = tool_set(("used", 200, None), ("idle", 400, None), source=SERVER_COUNTED)
    held = journal(counted, *[["used"]] * FEW)
    own = [
        record(
            id=t.id,
            at_unix_ns=t.at_unix_ns,
            tools=t.tools,
            usage=t.usage,
            parts=[part_of_server("tools", 600), part_of_server("question", 400)],
        )
        for t in held.records
    ]

    assert overview(Journal(tuple(own), held.tool_sets)).savings.doubts == ()


def part_of_server(name, tokens):
    """A part that the server's own tokenizer counted."""
    part = parts(**{name: tokens})[0]
    return type(part)(part=part.part, role=part.role, tokens=tokens, source=SERVER_COUNTED)


def test_a_cache_that_holds_the_tools_is_said():
    """As lived next to nothing, cold as ever: both stand there, with why."""
    first = journal(ONE_OF_TWO, ["used"]).records
    later = journal(ONE_OF_TWO, *[["used"]] * 21, cached=900).records[1:]
    held = Journal((*first, *later), {"set": ONE_OF_TWO})
    read = overview(held).savings

    assert "mostly cached" in read.doubts
    assert read.unused.price.lived_ns < read.unused.price.cold_ns / 10
    assert "cold is what each miss of it costs" in words(held)


def test_without_seconds_the_tokens_remain():
    """No token was seen and no cost is known: what can be said is said."""
    gone = timings(first_token_ns=None, first_visible_text_ns=None, last_token_ns=None)
    read = saved(ONE_OF_TWO, ["used"], timings=gone)

    assert (read.unused.tokens, read.unused.price, read.unused.spent) == (400, None, None)
    assert isinstance(read.gain, Refusal)
