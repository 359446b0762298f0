"""The sentences on the mean turn, where the median turn would hide what turns cost.

One rule: one answer to a question. What is said of the mean here is said of the median nowhere in the headline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.explain.segment import DECODE
from analysis.explain.source import Refusal

from .turn import unlike
from .units import duration, factor, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.explain.overview import Overview


def hides(report: Overview) -> bool:
    """Whether the median turn tells another story than all turns together."""
    return report.median is not None and unlike(report.median.budget, report.spent)


def mean_turn(report: Overview) -> str:
    """`3 turns took 12.4 s, 4.1 s each in the mean: 69 % of it is reading tools, 2.9 s a turn`."""
    spent, turns = report.spent, report.spent.budgets
    text = f"{turns:,} turns took {duration(spent.whole_ns)}, {duration(spent.whole_ns / turns)} each in the mean"
    largest = max(spent.segments, key=lambda s: s.ns)
    share = percent(largest.ns / spent.whole_ns)
    return (
        f"{text}: {share} of it is {_words(largest.name)}, {duration(largest.ns / turns)} a turn."
    )


def twice(report: Overview) -> Iterator[str]:
    """What an engine that decodes twice as fast saves of the mean turn."""
    line = next((line for line in report.outlook.what_ifs if line.name == "decode x 2"), None)
    if line is None or isinstance(line.gain, Refusal):
        return
    gain = line.gain
    yield (
        f"An engine that decodes 2 times as fast saves {duration(gain.total_saved_ns / gain.turns)} of the"
        f" mean turn: all of them together are {factor(gain.total_speedup)} as fast."
    )


def _words(segment: str) -> str:
    head, _, part = segment.partition(": ")
    if head == "prefill" and part:
        return f"reading {part.replace('_', ' ')}"
    return "decoding" if segment in DECODE else segment
