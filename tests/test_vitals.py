"""How the processes are: one look, as Prometheus and as the health report have it."""

from __future__ import annotations

import pytest

from proxy.slots import Figures, add
from proxy.vitals import STALE_S, Vitals, exposition
from tests.support.own_pages import figure

NOW = 10**12


def vitals(*each, **changes):
    """One look at processes with these figures."""
    total = Figures()
    for figures in each:
        total = add(total, figures)
    facts = {"at_ns": 10**12, "started_ns": 10**11, "recorder_up": True, "total": total}
    return Vitals(figures=each, **(facts | changes))


def test_figures_of_the_relay_processes_are_summed():
    """In flight is what all of them have in flight."""
    two = (Figures(pulse_ns=NOW, in_flight=3, exchanges=7), Figures(pulse_ns=NOW, in_flight=4))
    said = exposition(vitals(*two)).decode()

    assert 7 == figure(said, "turnscope_in_flight")
    assert 7 == figure(said, "turnscope_relayed_exchanges_total")
    assert 1 == figure(said, "turnscope_recorder_up")
    assert 900 == figure(said, "turnscope_uptime_seconds")


def test_the_loops_lateness_is_each_processs_own():
    """How often it was looked at, the sum and the largest, in seconds."""
    said = exposition(vitals(Figures(looks=4, late_ns=2 * 10**9, late_most_ns=10**9))).decode()

    name = "turnscope_event_loop_lateness"
    assert (4, 2) == tuple(
        figure(said, f"{name}_seconds_{end}", worker="0") for end in ("count", "sum")
    )
    assert 1 == figure(said, f"{name}_max_seconds", worker="0")


@pytest.mark.parametrize(
    ("pulses", "status"),
    [
        ((NOW,), "ok"),
        ((NOW, NOW - int(STALE_S * 1e9)), "ok"),
        ((NOW, NOW - int(STALE_S * 1e9) - 1), "stuck"),
        ((NOW, 0), "ok"),
        ((NOW + 5,), "ok"),
    ],
    ids=["fresh", "at the bound", "stale", "dead, and so without callers", "from the future"],
)
def test_health_is_judged_by_the_pulse(pulses, status):
    """A process that hangs keeps its callers waiting; one that died has none."""
    seen = vitals(*(Figures(pulse_ns=pulse) for pulse in pulses), recorder_up=False)

    assert status == seen.report["status"]
    assert seen.stuck is (status == "stuck")
    assert {"up": False, "restarts": 0} == seen.report["recorder"]
    assert [n for n, _ in enumerate(pulses)] == [w["worker"] for w in seen.report["workers"]]
