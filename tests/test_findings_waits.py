"""Findings about waits, answers and failures: each fires on one journal and just does not on another."""

from __future__ import annotations

import pytest

from proxy.journal.record import Request, Self
from tests.support.builders import AT_UNIX_NS, MS, S, output
from tests.support.findings import (
    EVERY_S,
    TTFT_NS,
    U0,
    WHOLE_NS,
    failed,
    hidden,
    many,
    marks,
    of,
    turn,
)


@pytest.mark.parametrize(("took_s", "fires"), [(2, True), (1, False)])
def test_hidden_requests_in_the_way(took_s, fires):
    """Between two requests of a turn, so long that it is felt."""
    loops, titles = [], []
    for n in range(20):
        same = {"turn": f"t{n}", "thread": f"c{n}"}
        later = AT_UNIX_NS + n * EVERY_S * S + WHOLE_NS + took_s * S
        loops += [turn(n, **same), turn(100 + n, at_unix_ns=later, **same)]
        titles.append(hidden(n, took_s * S))
    found = of(*loops, *titles)

    assert ("hidden requests" in found) is fires
    if fires:
        assert found["hidden requests"].figures["turns"] == 20
        assert found["hidden requests"].saves_ns == pytest.approx(took_s * S, rel=0.1)


@pytest.mark.parametrize(("ms", "fires"), [(520, True), (480, False)])
@pytest.mark.parametrize("name", ["queueing", "slow caller", "far server"])
def test_a_wait_is_a_finding_from_a_twentieth_of_the_turn_on(name, ms, fires):
    """Queue, caller, network: each by its own segment."""
    changes = {
        "queueing": {"reported": {"prompt_ms": 200.0, "prompt_n": 200, "queue_time_ms": float(ms)}},
        "slow caller": {"stall_ns": ms * MS},
        "far server": {
            "timings": marks(upstream_dial_ns=U0, upstream_connected_ns=U0 + ms * MS, upstream_sent_ns=U0 + ms * MS)
        },
    }[name]  # fmt: skip
    found = of(*many(**changes))

    assert (name in found) is fires
    if fires:
        assert found[name].saves_ns == pytest.approx(ms * MS, rel=0.02)


@pytest.mark.parametrize(("ms", "fires"), [(10, True), (9, False)])
def test_the_proxy_itself(ms, fires):
    """It is held to ten milliseconds a turn."""
    found = of(*many(self=Self(first_ns=ms * MS, worst_ns=ms * MS, lateness_ns=MS)))

    assert ("proxy slow" in found) is fires


@pytest.mark.parametrize(("seconds", "fires"), [(2.1, True), (1.9, False)])
def test_reasoning_before_the_answer(seconds, fires):
    """From a fifth of the turn on."""
    begin = U0 + TTFT_NS
    thought = marks(first_reasoning_ns=begin, first_visible_text_ns=begin + round(seconds * S))

    assert ("reasoning before the answer" in of(*many(timings=thought))) is fires


@pytest.mark.parametrize(("ttft_s", "fires"), [(5.1, True), (4.9, False)])
def test_turns_that_mostly_wait(ttft_s, fires):
    """Half of the turn is not decode: a faster engine is diluted."""
    found = of(*many(timings=marks(ttft_ns=round(ttft_s * S))))

    assert ("first token dominates" in found) is fires
    if fires:
        assert found["first token dominates"].figures["factor"] == pytest.approx(1.32, abs=0.02)


@pytest.mark.parametrize(("ttft_s", "fires"), [(1.9, True), (2.1, False)])
def test_turns_that_mostly_decode(ttft_s, fires):
    """Four fifths of the turn are decode: there the engine is what helps."""
    found = of(*many(timings=marks(ttft_ns=round(ttft_s * S))))

    assert ("decode dominates" in found) is fires


def test_answers_that_stand_still():
    """A second, ten of the usual gaps, in one of twenty answers; each of the three is needed."""
    stalled = output(gap_p50_ns=50 * MS, gap_max_ns=S)

    assert of(*many(bad=2, output=stalled))["stalls"].figures["answers"] == 2
    assert "stalls" not in of(*many(bad=1, output=stalled))
    assert "stalls" not in of(*many(output=output(gap_max_ns=S - 1)))
    assert "stalls" not in of(*many(output=output(gap_p50_ns=101 * MS, gap_max_ns=S)))


def test_errors():
    """Two of a hundred, and never one alone."""
    assert of(*many(98), failed(98), failed(99))["errors"].figures["failed"] == 2
    assert "errors" not in of(*many(99), failed(99), failed(100))
    assert "errors" not in of(*many(20), failed(99))


def test_retries():
    """Turns that first failed: what the failure took is what they cost."""

    def again(n):
        same = {"turn": f"t{n}", "thread": f"c{n}"}
        later = AT_UNIX_NS + n * EVERY_S * S + 2 * S
        return [failed(n, **same), turn(200 + n, at_unix_ns=later, **same)]

    two = of(*again(0), *again(1), *(turn(n) for n in range(2, 40)))

    assert two["retries"].figures["turns"] == 2
    assert two["retries"].saves_ns == pytest.approx(2 * S / 40)
    assert "retries" not in of(*again(0), *(turn(n) for n in range(1, 40)))


def test_redirects_past_the_proxy():
    """The recorder's own note."""
    asked = Request(method="GET", path="/v1", model=None)
    note = "redirect_past_proxy: reply, Location names the upstream's own address"

    assert of(*many(), turn(99, kind="not_generation", request=asked, notes=[note]))[
        "redirects past the proxy"
    ].figures == {"exchanges": 1, "path": "/v1"}
    assert "redirects past the proxy" not in of(*many(notes=["redirect: reply"]))
