"""The prompt by part over turns, cold and as lived."""

from __future__ import annotations

import pytest

from analysis.explain.overview import overview
from analysis.explain.prefill import prefill_costs
from analysis.explain.prefix import prefix
from proxy.journal.record import UsageReport
from tests.support import journals
from tests.support.builders import COUNTED, S, part, parts, record


def rows(turns):
    """Parts by name."""
    return {p.part: p for p in prefix(turns, prefill_costs(turns)).parts}


def test_the_field_reports_prefix():
    """6,603 tokens of tools are 70 % of the prompt and 4.25 s; cold and as lived are one."""
    read = rows([record()])

    assert list(read) == ["tools", "system", "history", "question"]
    assert read["tools"].tokens == 6603
    assert read["tools"].share == pytest.approx(6603 / 9459)
    assert read["tools"].price.cold_ns == read["tools"].price.lived_ns
    assert read["tools"].price.cold_ns / S == pytest.approx(4.247, abs=1e-3)


def test_a_cache_that_hits_hides_the_cold_price():
    """The demo's tools: 9.3 s cold, half of it as lived, because one of two turns had them cached."""
    read = overview(journals.demo()).prefix
    tools = next(p for p in read.parts if p.part == "tools")

    assert tools.price.cold_ns / S == pytest.approx(9.26, abs=0.01)
    assert tools.price.lived_ns / S == pytest.approx(4.60, abs=0.01)
    assert (tools.answers, read.answers) == (2, 3)
    assert (read.cached, read.cached_of) == (1248, 2538)


def test_a_part_is_described_over_the_turns_that_carry_it():
    """Turns without tools do not make the tools smaller; the lower of two middles is a real one."""
    turns = [record(parts=parts(tools=n, question=10)) for n in (100, 200)]
    turns.append(record(parts=parts(question=50)))

    read = rows(turns)

    assert (read["tools"].tokens, read["tools"].answers) == (100, 2)
    assert (read["question"].tokens, read["question"].answers) == (10, 3)


def test_parts_stand_in_template_order():
    """Whatever turn brought a part first, tools stand first, and last what no part explains."""
    turns = [
        record(parts=[part("question", 1), part("template", 7)]),
        record(parts=parts(tools=5, system=4, history=3, tool_results=2, question=1)),
    ]

    assert list(rows(turns)) == [
        "tools",
        "system",
        "history",
        "tool_results",
        "question",
        "template",
        "unexplained",
    ]


def test_without_a_cost_there_are_tokens_and_no_seconds():
    """A short prompt has parts and no price."""
    assert rows([record(parts=parts(question=9), usage=UsageReport())])["question"].price is None


def test_what_was_dropped_costs_nothing():
    """Tools that the server's template drops keep their tokens and have no share and no seconds."""
    dropped = part("tools", 900, source=f"{COUNTED}, not in the bill")
    turn = record(parts=[dropped, part("question", 400)], usage=UsageReport(input=400))

    read = rows([turn])

    assert (read["tools"].tokens, read["tools"].read, read["tools"].share) == (900, False, 0.0)
    assert read["tools"].price.cold_ns == read["tools"].price.lived_ns == 0
    assert read["question"].share == 1.0


def test_a_bill_far_from_the_parts_has_a_row_of_its_own():
    """300 billed, 16 counted: 284 are not explained, and shares are of the bill."""
    read = rows([record(parts=parts(question=16), usage=UsageReport(input=300))])

    assert (read["unexplained"].tokens, read["unexplained"].answers) == (284, 1)
    assert read["unexplained"].share == pytest.approx(284 / 300)
    assert read["question"].share == pytest.approx(16 / 300)


def test_what_stands_in_front_is_of_one_turn():
    """Tools and system of the same turn, the middle one by their sum, not of a median each."""
    turns = [
        record(id=f"r1-{n}", parts=parts(tools=tools, system=system, question=5))
        for n, (tools, system) in enumerate([(75, 6), (61, 10), (70, 30)])
    ]
    turns.append(record(id="r1-9", parts=parts(system=900, question=5)))

    front = prefix(turns, prefill_costs(turns)).front

    assert [(p.counted.tokens, p.answers) for p in front.parts] == [(75, 3), (6, 4)]
    assert (front.tokens, front.answers) == (81, 3)


def test_the_fronts_price_is_of_the_turns_that_have_it():
    """Cold: all of the one turn's front. As lived: the mean over the turns with tools."""
    sent = {"parts": parts(tools=600, system=200, question=200)}
    turns = [
        record(id="r1-1", usage=UsageReport(input=1000, cached=0), **sent),
        record(id="r1-2", usage=UsageReport(input=1000, cached=800), **sent),
        record(id="r1-3", parts=parts(system=9, question=1), usage=UsageReport(input=10)),
    ]
    costs = prefill_costs(turns)
    a_token = next(iter(costs.values())).ns_per_token

    price = prefix(turns, costs).front.price

    assert price.cold_ns == pytest.approx(800 * a_token, abs=2)
    assert price.lived_ns == pytest.approx(400 * a_token, abs=2)


def test_a_system_prompt_alone_is_a_front():
    """Without tools anywhere, the turns with a system prompt are the ones that count."""
    turns = [record(parts=parts(system=30, question=5)), record(parts=parts(question=5))]
    front = prefix(turns, prefill_costs(turns)).front

    assert ([p.counted.part for p in front.parts], front.answers) == (["system"], 1)
    assert prefix(turns[1:], prefill_costs(turns)).front is None


def test_nothing_counted_is_no_prefix():
    """Turns whose prompt nobody counted are not turns of no tokens."""
    read = prefix([record(parts=[])], prefill_costs([record(parts=[])]))

    assert (read.parts, read.answers, read.cached) == ((), 0, None)


def test_an_empty_prompt_has_no_share():
    """Parts of no tokens at all share nothing."""
    assert rows([record(parts=parts(question=0))])["question"].share == 0.0
