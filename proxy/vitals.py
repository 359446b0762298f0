"""How the processes are: one look at them, as a health report and as metrics for Prometheus.

One rule: a counter never falls but by a new start of its owner. So what relay processes counted is summed
with what those had counted that are gone, and what is each one's own has that process as its label.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from . import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.metrics_core import Metric

    from .slots import Figures

STALE_S: Final = 5.0
"""A relay process that has not looked at itself for so long is stuck: bytes wait in it."""

_NS: Final = 1e9
_COUNTERS: Final = (
    ("connections", "connections", "Callers that were let in."),
    ("relayed_exchanges", "exchanges", "Exchanges that began."),
    ("turned_away", "turned_away", "Callers for whom there was no room."),
    ("left_out_bytes", "left_out_bytes", "Bytes that flowed but were not kept for reading."),
    ("lost_records", "lost", "Records that died with a recorder, or were not written at the end."),
    ("tap_failures", "tap_failures", "Connections that could no longer be listened to."),
)
"""Name, figure, text: counted since the start, over all relay processes, gone ones included."""
_GAUGES: Final = (
    ("in_flight", "in_flight", "Exchanges in flight."),
    ("callers", "callers", "Callers that are connected."),
    ("queued_bytes", "queued_bytes", "Bytes that wait for the recorder."),
)
"""The same, of now."""


@dataclass(frozen=True, slots=True)
class Vitals:
    """One look."""

    at_ns: int
    started_ns: int
    figures: tuple[Figures, ...]
    """Of each relay process."""
    total: Figures
    """Of all of them, gone ones included."""
    recorder_up: bool
    recorder_restarts: int = 0
    worker_restarts: int = 0
    unanswered: int = 0
    """Questions that the recorder did not answer in time."""
    routes: tuple[dict[str, str], ...] = field(default=())

    def pulse_age_s(self, worker: int) -> float | None:
        """How long ago a relay process looked at itself; None: it does not run, or not yet."""
        pulse_ns = self.figures[worker].pulse_ns
        return max(0, self.at_ns - pulse_ns) / _NS if pulse_ns else None

    @property
    def stuck(self) -> bool:
        """Whether bytes wait in a relay process. One that died takes no callers, so no byte waits in it."""
        ages = map(self.pulse_age_s, range(len(self.figures)))
        return any(age is not None and age > STALE_S for age in ages)

    @property
    def report(self) -> dict[str, Any]:
        """The health report."""
        ages = [self.pulse_age_s(n) for n in range(len(self.figures))]
        return {
            "status": "stuck" if self.stuck else "ok",
            "version": __version__,
            "uptime_s": round((self.at_ns - self.started_ns) / _NS, 3),
            "routes": self.routes,
            "recorder": {"up": self.recorder_up, "restarts": self.recorder_restarts},
            "workers": [
                {"worker": n, "pulse_age_s": None if age is None else round(age, 3)}
                for n, age in enumerate(ages)
            ],
        }


def exposition(vitals: Vitals) -> bytes:
    """The metrics in Prometheus' text format 0.0.4."""
    registry = CollectorRegistry()
    registry.register(VitalsCollector(vitals))
    return generate_latest(registry)


class VitalsCollector(Collector):
    """One look as metric families."""

    def __init__(self, vitals: Vitals) -> None:
        self._vitals = vitals

    def collect(self) -> Iterator[Metric]:
        """All of them."""
        vitals = self._vitals
        build = InfoMetricFamily("turnscope_build", "What runs.")
        build.add_metric((), {"version": __version__})
        yield build
        uptime_s = (vitals.at_ns - vitals.started_ns) / _NS
        yield GaugeMetricFamily("turnscope_uptime_seconds", "Since the start.", uptime_s)
        up = "1: a recorder runs; 0: it died and is not started again yet."
        yield GaugeMetricFamily("turnscope_recorder_up", up, float(vitals.recorder_up))
        for name, text, value in (
            ("recorder_restarts", "Recorders that were started again.", vitals.recorder_restarts),
            ("worker_restarts", "Workers that were started again.", vitals.worker_restarts),
            (
                *(
                    "recorder_unanswered",
                    "Scrapes without the recorder's part: it was gone or late.",
                ),
                vitals.unanswered,
            ),
        ):
            yield CounterMetricFamily(f"turnscope_{name}", text, value)
        yield from self._gauges()
        yield from self._counters()
        yield from self._loop()

    def _gauges(self) -> Iterator[Metric]:
        for name, figure, text in _GAUGES:
            value = getattr(self._vitals.total, figure)
            yield GaugeMetricFamily(f"turnscope_{name}", text, value)

    def _counters(self) -> Iterator[Metric]:
        for name, figure, text in _COUNTERS:
            value = getattr(self._vitals.total, figure)
            yield CounterMetricFamily(f"turnscope_{name}", text, value)

    def _loop(self) -> Iterator[Metric]:
        late = SummaryMetricFamily(
            *(
                "turnscope_event_loop_lateness_seconds",
                "How late the event loop came to a set time.",
            ),
            labels=("worker",),
        )
        most = GaugeMetricFamily(
            *("turnscope_event_loop_lateness_max_seconds", "The latest since its start."),
            labels=("worker",),
        )
        pulse = GaugeMetricFamily(
            *("turnscope_pulse_age_seconds", "Since a relay process last looked at itself."),
            labels=("worker",),
        )
        for worker, figures in enumerate(self._vitals.figures):
            late.add_metric((str(worker),), figures.looks, figures.late_ns / _NS)
            most.add_metric((str(worker),), figures.late_most_ns / _NS)
            if (age_s := self._vitals.pulse_age_s(worker)) is not None:
                pulse.add_metric((str(worker),), age_s)
        yield from (late, most, pulse)
