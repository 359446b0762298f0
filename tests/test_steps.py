"""What context adds to a generated token: found where answers tell, refused with the reason elsewhere."""

from __future__ import annotations

import msgspec
import pytest

from analysis.explain.source import Refusal
from analysis.explain.steps import step_cost
from proxy.journal.record import Load, Output
from tests.support import truth

RECORDS = truth.made(truth.steps, 1).records
TRUE = truth.Costs()


def busy(records):
    """The same, each beside others."""
    load = Load(in_flight_at_arrival=2, in_flight_mean=2.0, in_flight_peak=2)
    return [msgspec.structs.replace(record, load=load) for record in records]


def test_context_has_a_price():
    """A token's step is what the model takes without context, and so much for each token of it."""
    cost = step_cost(RECORDS)

    assert cost.ns_per_context_token == pytest.approx(TRUE.carried, rel=0.2)
    assert cost.base_ns == pytest.approx(TRUE.step, rel=0.2)
    assert cost.of(1_000, 100) == round(cost.ns_per_context_token * 100_000)
    assert cost.exchanges == 30
    assert str(cost.source) == "estimated from TPOT of 30 exchanges"


def test_busy_answers_stand_in_where_quiet_ones_are_too_few():
    """And it is said."""
    quiet, mixed = step_cost(RECORDS + busy(RECORDS)), step_cost(busy(RECORDS[5:]) + RECORDS[:5])

    assert (quiet.exchanges, mixed.exchanges) == (30, 30)
    assert "beside" not in str(quiet.source)
    assert str(mixed.source) == "estimated from TPOT of 30 exchanges, some beside others"


@pytest.mark.parametrize("records", [[], RECORDS[:5]], ids=["none", "few"])
def test_few_answers_are_refused(records):
    """With what would tell."""
    cost = step_cost(records)

    assert isinstance(cost, Refusal)
    assert "behind short and behind long prompts" in cost.reason


def test_answers_without_a_time_a_token_do_not_count():
    """Fewer than 16 tokens: TPOT is refused, so there is nothing to fit."""
    short = [
        msgspec.structs.replace(r, output=Output(tokens=8, source="usage", events=8))
        for r in RECORDS
    ]

    assert isinstance(step_cost(short), Refusal)
