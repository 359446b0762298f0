"""One server's answers in order: what each adds to the one before, and which of them are worth a line.

One rule: a reader of the lines alone knows as much as we did. A counter that started anew is marked, what
gave no sample is counted, and a problem is written when it begins, not each second that it lasts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxy.journal.gauge import GaugeSample

if TYPE_CHECKING:
    from .exposition import Exposition


@dataclass(frozen=True, slots=True)
class Question:
    """When something was asked, and what was going on then."""

    at_unix_ns: int
    took_ns: int
    in_flight: int


class Following:
    """Follows one upstream."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._before: Exposition | None = None
        self.problem: str | None = None
        """What the last question met with; None: an answer."""
        self.dropped = 0
        """Questions without an answer since the last line."""

    @property
    def refused(self) -> bool:
        """Whether it is there and does not want to say: asking soon again would change nothing."""
        return self.problem is not None and self.problem.startswith(("status", "no known"))

    def answered(self, said: Exposition, question: Question) -> GaugeSample:
        """The line of an answer."""
        reset = None if self._before is None else starts_anew(self._before, said)
        sample = GaugeSample(
            at_unix_ns=question.at_unix_ns,
            took_ns=question.took_ns,
            upstream=self._upstream,
            engine=said.engine,
            dropped=self.dropped,
            in_flight=question.in_flight,
            reset=reset,
            **said.figures,  # type: ignore[arg-type]  # the table's names are fields; a test holds them to it
        )
        self._before, self.problem, self.dropped = said, None, 0
        return sample

    def missed(self, problem: str, question: Question) -> GaugeSample | None:
        """The line of a question that gave nothing; None while the same problem lasts."""
        if problem == self.problem:
            self.dropped += 1
            return None
        sample = GaugeSample(
            at_unix_ns=question.at_unix_ns,
            took_ns=question.took_ns,
            upstream=self._upstream,
            problem=problem,
            dropped=self.dropped,
            in_flight=question.in_flight,
        )
        self.problem, self.dropped = problem, 0
        return sample


def starts_anew(before: Exposition, now: Exposition) -> bool:
    """Whether differences between the two mean nothing.

    Series that were not there before are no sign of it: a label appears when it is first needed.
    """
    if before.engine != now.engine or before.started != now.started:
        return True
    return any(now.counters.get(series, -1) < value for series, value in before.counters.items())
