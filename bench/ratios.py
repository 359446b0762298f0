"""From figures to what is compared: added time, ratios within a round, and the goals.

One rule: a ratio is made of two figures of the same round, and only then is the median taken. Beside it
stand the lowest and the highest of the rounds: with five there is no better interval.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .result import Result

MEASURE: Final = "nginx"
"""What all others are divided by."""
NOTHING: Final = "direct"
"""What is taken off where time is added."""


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    title: str
    metric: str
    value: str
    unit: str
    added: bool = False
    """Whether the figure is what is beyond `direct` in the same round."""
    inverse: bool = False
    """Whether more is better."""


@dataclass(frozen=True)
class Figure:
    """One cell."""

    median: float
    ratio: float | None
    """To nginx; None: nginx has no such figure, or none above zero in any round."""
    low: float | None
    high: float | None
    """Lowest and highest ratio of a round."""


@dataclass(frozen=True)
class Goal:
    """What turnscope must reach in a row."""

    title: str
    row: Row
    at_most: float
    """Of the ratio to nginx, or of the figure itself."""
    absolute: bool = False


def _levels() -> tuple[Row, ...]:
    names = {"p50": "p50", "p99": "p99", "p999": "p99.9"}
    return tuple(
        Row(
            f"chunk, {n} stream{'s' if n > 1 else ''}, {said}",
            "chunks",
            f"n{n}_{p}_us",
            "us",
            added=True,
        )
        for n in (1, 8, 32, 64, 256)
        for p, said in names.items()
    )


TTFT: Final = Row("TTFT p50, kept connection", "ttft", "kept_p50_us", "us", added=True)
RELAY_PER_M: Final = Row("CPU per 1 M chunks, relay", "chunks", "relay_s_per_m", "s")
TOTAL_PER_M: Final = Row("CPU per 1 M chunks, with recorder", "chunks", "total_s_per_m", "s")
RELAY_PER_K: Final = Row("CPU per 1,000 requests, relay", "requests", "relay_s_per_k", "s")
BODY: Final = Row("2 MB request p50", "bodies", "mb2_p50_ms", "ms", added=True)
MEMORY: Final = Row("1,000 slow streams, RSS, relay", "memory", "relay_rss_mb", "MB")
RECORDER: Final = Row("recorder CPU per exchange", "recorder", "cpu_ms", "ms")

ROWS: Final = (
    TTFT,
    Row("TTFT p99, kept connection", "ttft", "kept_p99_us", "us", added=True),
    Row("TTFT p50, new connection", "ttft", "new_p50_us", "us", added=True),
    Row("TTFT p99, new connection", "ttft", "new_p99_us", "us", added=True),
    *_levels(),
    RELAY_PER_M,
    TOTAL_PER_M,
    Row("short requests, 8 connections", "requests", "per_s", "/s", inverse=True),
    RELAY_PER_K,
    Row("CPU per 1,000 requests, with recorder", "requests", "total_s_per_k", "s"),
    BODY,
    Row("50 MB request p50", "bodies", "mb50_p50_ms", "ms", added=True),
    MEMORY,
    Row("1,000 slow streams, PSS, relay", "memory", "relay_pss_mb", "MB"),
    Row("1,000 slow streams, RSS, recorder", "memory", "recorder_rss_mb", "MB"),
    RECORDER,
)
_P50_64: Final = next(row for row in ROWS if row.value == "n64_p50_us")
GOALS: Final = (
    Goal("added TTFT p50, 8k-token prompt", TTFT, 1.2),
    Goal("added delay per chunk p50, 64 paced streams", _P50_64, 1.0),
    Goal("relay CPU per 1 M chunks, 64 paced streams", RELAY_PER_M, 1.2),
    Goal("relay CPU per 1,000 short requests", RELAY_PER_K, 2.0),
    Goal("2 MB request, added p50", BODY, 1.5),
    Goal("memory of the relay, 1,000 slow streams", MEMORY, 60.0, absolute=True),
    Goal("relay and recorder CPU per 1 M chunks", TOTAL_PER_M, 1.6),
    Goal("recorder CPU per exchange, 8k-token prefix, 400 chunks", RECORDER, 8.0, absolute=True),
)


def figure(result: Result, row: Row, contestant: str) -> Figure | None:
    """One cell; None: it was not measured."""
    own = _of(result, row, contestant)
    if not own:
        return None
    nginx = _of(result, row, MEASURE)
    ratios = [own[n] / nginx[n] for n in own.keys() & nginx.keys() if nginx[n] > 0]
    median = statistics.median(own.values())
    if not ratios or own.keys().isdisjoint(nginx):
        return Figure(median, None, None, None)
    return Figure(median, statistics.median(ratios), min(ratios), max(ratios))


def reached(goal: Goal, figure: Figure | None) -> bool | None:
    """Whether a goal is reached; None: there is no figure to tell."""
    if figure is None:
        return None
    value = figure.median if goal.absolute else figure.ratio
    return None if value is None else value <= goal.at_most


def _of(result: Result, row: Row, contestant: str) -> Mapping[int, float]:
    figures = result.figures(row.metric, contestant, row.value)
    if not row.added or contestant == NOTHING:
        return figures
    direct = result.figures(row.metric, NOTHING, row.value)
    return {n: figures[n] - direct[n] for n in figures.keys() & direct.keys()}
