"""Budgets of single exchanges: segments that add up, whatever the marks are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from analysis.explain.budget import PLACE_UNKNOWN, budget, summed
from analysis.explain.prefill import PrefillCost, prefill_cost
from analysis.explain.source import Refusal, Source
from proxy.journal.record import Timings, UsageReport
from tests.support.absurd import absurd
from tests.support.builders import MS, part, record, timings

OWN = 90_000
"""The proxy's own delay in the default record, in ns."""

NO_COST = Refusal("not known")
COST = PrefillCost(0.5 * MS, 0.5 * MS, 0.5 * MS, 3, 500, 5000, Source("estimated", "from TTFT"))


def segments(spent):
    """Names and lengths of the segments that have one."""
    return {s.name: s.ns for s in spent.segments if s.ns}


def sources(spent):
    """What is said of each segment that has a length."""
    return {s.name: str(s.source) for s in spent.segments if s.ns}


def test_the_field_reports_turn():
    """Of 16.089 s, 4.247 s are tools, 0.971 s system, 10.002 s the answer; all of it has a name."""
    turn = record()

    spent = budget(turn, prefill_cost([turn]))

    assert spent.whole_ns == sum(s.ns for s in spent.segments) == 16_089 * MS
    assert [(name, round(ns / MS)) for name, ns in segments(spent).items()] == [
        ("upload", 2),
        ("connect", 0),
        ("proxy itself", 0),
        ("prefill: tools", 4247),
        ("prefill: system", 971),
        ("prefill: history", 843),
        ("prefill: question", 24),
        ("answer", 10_002),
        ("tail", 1),
    ]
    assert spent.decode_ns == 10_002 * MS
    assert spent.fixed_ns == 6_087 * MS


def test_the_servers_prefill_time_is_split_and_the_rest_is_its_queue():
    """With `prompt_ms`, what is left of the wait is queue and first step."""
    turn = record(
        usage=UsageReport(input=9459, cached=8112),
        reported={"prompt_ms": 1347.0, "prompt_n": 1347},
    )

    spent = segments(budget(turn, COST))

    assert spent["prefill: history"] == 1310 * MS
    assert spent["prefill: question"] == 37 * MS
    assert "prefill: tools" not in spent
    assert spent["queue and first step"] == (6084 - 1347) * MS - 100_000 - OWN


def test_a_prefill_longer_than_the_wait_is_cut_to_it():
    """Two clocks may disagree; the wait that was seen is the limit."""
    turn = record(reported={"prompt_ms": 60_000.0, "prompt_n": 9459})

    spent = budget(turn, NO_COST)

    assert sum(ns for name, ns in segments(spent).items() if "prefill" in name) == (
        6084 * MS - 100_000 - OWN
    )
    assert "queue and first step" not in segments(spent)


def test_a_reported_prefill_without_counts_is_not_split():
    """No parts: the server's time stands undivided."""
    spent = budget(record(parts=[], reported={"prompt_ms": 1000.0, "prompt_n": 9459}), NO_COST)

    assert segments(spent)["prefill, not split"] == 1000 * MS
    assert sources(spent)["prefill, not split"] == "reported by the server"


def test_a_fully_cached_prompt_is_not_split():
    """Where no counted token was read anew, there is nothing to split by."""
    turn = record(
        usage=UsageReport(input=9459, cached=9459), reported={"prompt_ms": 5.0, "prompt_n": 1}
    )

    assert segments(budget(turn, NO_COST))["prefill, not split"] == 5 * MS


def test_an_estimated_prefill_leaves_the_unknown():
    """By another exchange's cost, what is not prefill is unknown and has its size."""
    spent = budget(record(), COST)

    assert segments(spent)["unknown"] == 6084 * MS - 100_000 - OWN - 9459 * MS // 2
    assert sources(spent)["prefill: tools"] == "estimated from TTFT"
    assert sources(spent)["unknown"] == "estimated as what is left of TTFT"


def test_without_any_cost_the_wait_is_not_split():
    """No token counts, no server figures: the wait is measured and whole."""
    assert segments(budget(record(), NO_COST))["wait, not split"] == 6084 * MS - 100_000 - OWN
    uncounted = record(parts=[], usage=UsageReport())
    assert "wait, not split" in segments(budget(uncounted, COST))


def test_reasoning_stands_before_the_answer():
    """Thinking runs from the first token to the first that is not thinking."""
    first = timings().first_token_ns
    turn = record(
        timings=timings(
            first_reasoning_ns=first,
            first_visible_text_ns=first + 3000 * MS,
            first_tool_call_ns=first + 5000 * MS,
        )
    )

    spent = budget(turn, NO_COST)

    assert segments(spent)["reasoning"] == 3000 * MS
    assert segments(spent)["answer"] == 7002 * MS
    assert spent.decode_ns == 10_002 * MS


def test_an_answer_of_thinking_alone():
    """Cut while it was thinking: all of the decode is reasoning."""
    first = timings().first_token_ns
    turn = record(timings=timings(first_reasoning_ns=first, first_visible_text_ns=None))

    assert segments(budget(turn, NO_COST))["reasoning"] == 10_002 * MS


def test_a_caller_that_does_not_read_is_named():
    """Its time is taken out of the answer first, then out of what follows."""
    assert segments(budget(record(stall_ns=4000 * MS), NO_COST)) == {
        "upload": 2 * MS,
        "connect": 100_000,
        "proxy itself": OWN,
        "wait, not split": 6084 * MS - 100_000 - OWN,
        "answer": 6002 * MS,
        "caller not reading": 4000 * MS,
        "tail": 1 * MS,
    }
    endless = segments(budget(record(stall_ns=10**15), NO_COST))
    assert endless["caller not reading"] == 10_003 * MS


def test_a_connection_made_for_it_is_named():
    """Time after the request's end in which there was no upstream yet."""
    u0 = timings().request_end_ns
    late = timings(upstream_connected_ns=u0 + 300 * MS, upstream_sent_ns=u0 + 301 * MS)

    assert segments(budget(record(timings=late), NO_COST))["connect"] == 301 * MS


def test_a_connection_that_was_there_costs_nothing():
    """A reused connection was ready before the exchange began."""
    reused = timings(upstream_dial_ns=None, upstream_connected_ns=-5000 * MS)

    assert segments(budget(record(timings=reused), NO_COST))["connect"] == 100_000


def not_streamed(**changes):
    """A reply in one piece after 3 s."""
    marks = Timings(
        request_end_ns=MS, upstream_sent_ns=MS, first_byte_ns=2999 * MS, end_ns=3000 * MS
    )
    return record(timings=marks, **changes)


def test_a_reply_in_one_piece_is_one_wait():
    """Without a token's time nothing tells reading from writing."""
    spent = budget(not_streamed(), COST)

    assert segments(spent) == {
        "upload": MS,
        "proxy itself": OWN,
        "wait, not split": 2999 * MS - OWN,
    }
    assert spent.decode_ns is None
    assert spent.fixed_ns is None


def test_a_reply_in_one_piece_is_split_by_the_servers_figures():
    """llama.cpp says how long it read and wrote in such a reply as well."""
    figures = {"prompt_ms": 1000.0, "prompt_n": 9459, "predicted_ms": 1500.0}

    spent = budget(not_streamed(reported=figures, stall_ns=9 * MS), NO_COST)

    assert sum(ns for name, ns in segments(spent).items() if "prefill" in name) == 1000 * MS
    assert segments(spent)["answer"] == spent.decode_ns == 1500 * MS
    assert segments(spent)["caller not reading"] == 9 * MS
    assert segments(spent)["unknown"] == (2999 - 2509) * MS - OWN
    assert sources(spent)["answer"] == "reported by the server"


def test_what_follows_an_unread_reply_is_unknown():
    """Where part of the reply was not read, its last token is not known, nor is a tail."""
    spent = budget(record(timings=timings(last_token_ns=None)), NO_COST)

    assert segments(spent)["unknown"] == 10_003 * MS
    assert "tail" not in segments(spent)


def test_a_share_of_the_front_says_so():
    """Where tools and system are read in part, both have time and say why it is a share."""
    turn = record(
        usage=UsageReport(input=9459, cached=8000),
        reported={"prompt_ms": 1459.0, "prompt_n": 1459},
    )

    spent = budget(turn, COST)

    assert (segments(spent)["prefill: tools"], segments(spent)["prefill: system"]) == (
        91 * MS,
        21 * MS,
    )
    for name in ("prefill: tools", "prefill: system"):
        assert sources(spent)[name] == f"estimated from reported prefill by tokens{PLACE_UNKNOWN}"
    assert sources(spent)["prefill: history"] == "estimated from reported prefill by tokens"


def test_unexplained_tokens_have_their_share_of_the_prefill():
    """300 billed, 16 counted: the parts do not carry the time of what nobody can name."""
    turn = record(
        parts=[part("question", 16)],
        usage=UsageReport(input=300),
        reported={"prompt_ms": 300.0, "prompt_n": 300},
    )

    spent = segments(budget(turn, NO_COST))

    assert spent["prefill: question"] == 16 * MS
    assert spent["prefill, not split"] == 284 * MS


def test_a_sum_keeps_each_cause_and_every_source():
    """Two turns: each segment once, in order, with the words for the larger part first."""
    reported = record(reported={"prompt_ms": 5000.0, "prompt_n": 9459})
    total = summed([budget(record(), COST), budget(reported, COST), budget(not_streamed(), COST)])

    by_name = {s.name: s for s in total.segments}
    tools = by_name["prefill: tools"]
    assert (total.budgets, total.whole_ns) == (3, (2 * 16_089 + 3000) * MS)
    assert tools.ns == 6603 * MS // 2 + 5000 * MS * 6603 // 9459
    assert [str(source) for source in tools.sources] == [
        "estimated from reported prefill by tokens",
        "estimated from TTFT",
    ]
    assert by_name["wait, not split"].ns == 2999 * MS - OWN
    assert list(by_name)[:3] == ["upload", "connect", "proxy itself"]


@settings(max_examples=300)
@given(absurd)
def test_segments_add_up_whatever_the_marks(turn):
    """For any marks, missing or absurd, no segment is negative or lost, nor in the sum of several."""
    for cost in (NO_COST, COST):
        spent = budget(turn, cost)

        assert spent.whole_ns == max(0, turn.timings.end_ns)
        assert sum(s.ns for s in spent.segments) == spent.whole_ns
        assert all(type(s.ns) is int and s.ns >= 0 for s in spent.segments)
        assert spent.decode_ns is None or 0 <= spent.decode_ns <= spent.whole_ns
        total = summed([spent, budget(record(), cost), spent])
        names = [s.name for s in total.segments]
        assert (
            sum(s.ns for s in total.segments) == total.whole_ns == 2 * spent.whole_ns + 16_089 * MS
        )
        assert len(names) == len(set(names))


@pytest.mark.parametrize("cost", [NO_COST, COST])
def test_names_stand_once(cost):
    """A segment's name is enough to find it."""
    names = [s.name for s in budget(record(stall_ns=1), cost).segments]

    assert len(names) == len(set(names))
