"""Findings about how answers come: what a faster engine can change, and what it cannot.

One rule: a share is that of the median turn whose decode time is known, as in the what-ifs.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from analysis.explain.source import MEASURED, Refusal, Source

from .base import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from analysis.explain.whatif import WhatIf, WhatIfName

    from .base import Seen

MOSTLY_FIXED: Final = 0.5
"""Of a turn that is not decode: from here on an engine that decodes twice as fast is felt as 1.33 x or less."""

MOSTLY_DECODE: Final = 0.8
"""Of a turn that is decode: from here on nearly all of a faster engine arrives."""

MUCH_THOUGHT: Final = 0.2
"""Of the mean turn, spent on reasoning."""

STALLED_NS: Final = 1_000_000_000
STALLED_TIMES: Final = 10
"""A pause within an answer that a reader takes for its end: a second, and ten of its usual gaps."""
OFTEN: Final = 0.05
"""Answers of which a pause is a finding."""


def first_token_dominates(seen: Seen) -> Iterator[Finding]:
    """Most of a turn is not decode, so a faster decode is diluted."""
    fixed = _fixed_shares(seen)
    if fixed and median(fixed) >= MOSTLY_FIXED:
        twice = _gain(seen, "decode x 2")
        figures = {"share": median(fixed), "turns": len(fixed)}
        if twice is not None and not isinstance(twice.gain, Refusal):
            figures["factor"] = twice.gain.speedup.median
        yield Finding("first token dominates", None, MEASURED, figures)


def decode_dominates(seen: Seen) -> Iterator[Finding]:
    """Most of a turn is decode, so a faster engine is what helps."""
    fixed = _fixed_shares(seen)
    if not fixed or median(fixed) > 1 - MOSTLY_DECODE:
        return
    twice = _gain(seen, "decode x 2")
    if twice is None or isinstance(twice.gain, Refusal):
        return
    saved = twice.gain.total_saved_ns / twice.gain.turns
    if seen.felt(saved):
        figures = {"share": 1 - median(fixed), "factor": twice.gain.speedup.median}
        yield Finding(
            "decode dominates", saved, twice.source, figures, takes=frozenset({"reasoning", "answer"})
        )  # fmt: skip


def reasoning_first(seen: Seen) -> Iterator[Finding]:
    """The reader waits for thoughts that they do not see."""
    ns = seen.mean_ns("reasoning")
    if seen.felt(ns) and ns >= MUCH_THOUGHT * seen.turn_ns:
        thinking = sum(1 for r in seen.answers if r.timings.first_reasoning_ns is not None)
        figures = {"share": ns / seen.turn_ns, "answers": thinking}
        yield Finding(
            "reasoning before the answer", ns, MEASURED, figures, takes=frozenset({"reasoning"})
        )


def stalls(seen: Seen) -> Iterator[Finding]:
    """Answers that stand still for a second in the middle."""
    streamed = [r.output for r in seen.answers if r.output.gap_max_ns is not None]
    stood = [o.gap_max_ns or 0 for o in streamed if _stalled(o.gap_max_ns or 0, o.gap_p50_ns)]
    if not stood or len(stood) < OFTEN * len(streamed):
        return
    yield Finding(
        "stalls",
        sum(stood) / len(seen.turns) if seen.turns else None,
        Source("measured", "as the longest gap of each answer"),
        {"answers": len(stood), "of_answers": len(streamed), "longest_ns": max(stood)},
        takes=frozenset({"answer"}),
    )


def _stalled(longest_ns: int, usual_ns: int | None) -> bool:
    return longest_ns >= STALLED_NS and longest_ns >= STALLED_TIMES * (usual_ns or 0)


def _fixed_shares(seen: Seen) -> Sequence[float]:
    return [
        (spent.fixed_ns or 0) / spent.whole_ns
        for _, spent in seen.turns
        if spent.decode_ns and spent.whole_ns
    ]


def _gain(seen: Seen, name: WhatIfName) -> WhatIf | None:
    return next((line for line in seen.outlook.what_ifs if line.name == name), None)
