"""Findings about what went wrong: errors, retries, and traffic that goes past this proxy.

One rule: a count with no time is a finding too; it has no seconds.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from analysis.explain.source import MEASURED
from analysis.explain.standing import standing
from analysis.store.recorded import verdict

from .base import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .base import Seen

OFTEN: Final = 0.02
"""Of the requests for output that failed: one in fifty."""
FEWEST: Final = 2
"""Failures: one alone is an accident."""

PAST: Final = "redirect_past_proxy"
"""The recorder's note."""


def errors(seen: Seen) -> Iterator[Finding]:
    """Requests for output that failed."""
    asked = [r for r in seen.records if r.kind != "not_generation"]
    failed = [verdict(r) for r in asked if r.error_kind is not None]
    if len(failed) >= FEWEST and len(failed) >= OFTEN * len(asked):
        most, times = Counter(failed).most_common(1)[0]
        figures: dict[str, float | int | str] = {
            "failed": len(failed),
            "asked": len(asked),
            "most": most,
            "times": times,
        }
        yield Finding("errors", None, MEASURED, figures)


def retries(seen: Seen) -> Iterator[Finding]:
    """Turns that came to their end only after an exchange of theirs had failed."""
    lost = [
        [r.timings.end_ns for r in turn.exchanges[:-1] if standing(r) != "turn"]
        for turn, _ in seen.turns
    ]
    again = [each for each in lost if each]
    ns = sum(map(sum, again)) / len(seen.turns) if seen.turns else 0
    if len(again) >= FEWEST and len(again) >= OFTEN * len(seen.turns):
        figures = {"turns": len(again), "of_turns": len(seen.turns)}
        yield Finding("retries", ns, MEASURED, figures)


def redirects(seen: Seen) -> Iterator[Finding]:
    """Replies that send the client to the upstream's own address."""
    told = [r for r in seen.records if any(note.startswith(PAST) for note in r.notes)]
    if told:
        figures: dict[str, float | int | str] = {
            "exchanges": len(told),
            "path": told[-1].request.path or "",
        }
        yield Finding("redirects past the proxy", None, MEASURED, figures)
