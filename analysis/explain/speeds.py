"""One turn has many speeds: each definition by its name, side by side for the same turns.

One rule: no speed without its definition. 37.7 and 23.4 tok/s are the same turn.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from analysis.store.recorded import (
    client_speed,
    decode_ns,
    decode_speed,
    request_speed,
    step_speed,
    tpot_ns,
    turn_speed,
)

from .working_point import concurrent, distribution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from analysis.store.recorded import Figure, Output, Record, Timings

NS_PER_S: Final = 1_000_000_000


class Definition(NamedTuple):
    """What a speed is, so that a user can find the number that their own client shows."""

    formula: str
    """n is all output tokens, k1 those of the first event; docs/metrics.md has both ends."""
    function: Callable[[Timings, Output], Figure]
    leaves_out: str
    """What the turn had besides and this number does not show."""
    shown_by: str
    """Programs that show it; empty: none that was looked at."""


SPEEDS: Final[Mapping[str, Definition]] = {
    "client_style": Definition(
        "n / (end - first token)",
        client_speed,
        "the wait",
        "chat clients",
    ),
    "decode": Definition(
        "n / (last token - first token)",
        decode_speed,
        "the wait, the tail",
        "llama.cpp, older builds",
    ),
    "decode_after_first": Definition(
        "(n - k1) / (last token - first token)",
        step_speed,
        "the wait, the first event",
        "vllm bench, AIPerf",
    ),
    "per_request": Definition(
        "n / (last token - end of the request)",
        request_speed,
        "the tail",
        "streaming probes",
    ),
    "whole_turn": Definition(
        "n / (end - end of the request)",
        turn_speed,
        "nothing",
        "a stopwatch",
    ),
}
"""Every speed that one exchange has by itself."""


@dataclass(frozen=True, slots=True)
class Speed:
    """One definition, for one turn and for all."""

    name: str
    formula: str
    figure: Figure
    """Of the turn that stands for all, in tok/s; or why there is none."""
    median: float | None
    """Median over the turns that have one, in tok/s; None if none has."""
    turns: int
    """How many those are."""
    leaves_out: str = ""
    shown_by: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """A decode step of one turn: the other way to the speed after the first event."""

    ns: float
    """TPOT x tokens per event: time from one event to the next, mean."""
    tokens: float
    """Tokens per event: near the acceptance length under speculative decoding."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """All turns together, by the wall clock: what a server shows, not what a user waits for."""

    tokens: int
    """Sum of n over the turns that have one."""
    turns: int
    wall_ns: int
    """First request byte of the first -> end of the last."""
    idle_ns: int
    """Of it, with none of these turns in flight."""
    steady_at: int
    """Turns in flight that count as steady: the median over busy time."""
    steady_tokens: float
    """Tokens that came while so many or more were in flight, each turn's evenly over its decode."""
    steady_ns: int

    @property
    def idle_share(self) -> float:
        """Of the wall clock, 0 to 1."""
        return self.idle_ns / self.wall_ns

    @property
    def tokens_per_s(self) -> float:
        """Sum of n / wall clock: it holds the gaps between requests."""
        return self.tokens * NS_PER_S / self.wall_ns

    @property
    def busy_tokens_per_s(self) -> float:
        """Sum of n / time with anything in flight."""
        return self.tokens * NS_PER_S / (self.wall_ns - self.idle_ns)

    @property
    def steady_tokens_per_s(self) -> float:
        """In the steady state alone."""
        return self.steady_tokens * NS_PER_S / self.steady_ns


class Joint(NamedTuple):
    """As `Definition`, of all turns together."""

    formula: str
    function: Callable[[Aggregate], float]
    leaves_out: str
    shown_by: str


TOGETHER: Final[Mapping[str, Joint]] = {
    "aggregate": Joint(
        "sum of n / wall clock",
        lambda all_: all_.tokens_per_s,
        "nothing, not even pauses",
        "benchmarks' throughput",
    ),
    "busy": Joint(
        "sum of n / time with any in flight",
        lambda all_: all_.busy_tokens_per_s,
        "pauses",
        "",
    ),
    "steady": Joint(
        "tokens in it / time with the usual load or more",
        lambda all_: all_.steady_tokens_per_s,
        "pauses, start, end",
        "",
    ),
}
"""Every speed that only all of them have."""


def speeds(turn: Record, turns: Sequence[Record]) -> tuple[Speed, ...]:
    """Every definition, of `turn` and over `turns`."""
    rows = []
    for name, how in SPEEDS.items():
        each = [how.function(t.timings, t.output).value for t in turns]
        known = [value for value in each if value is not None]
        middle = median(known) if known else None
        figure = how.function(turn.timings, turn.output)
        rows.append(
            Speed(name, how.formula, figure, middle, len(known), how.leaves_out, how.shown_by)
        )
    return tuple(rows)


def step(turn: Record) -> Step | None:
    """The decode step of a turn; None where TPOT is refused or events were not counted."""
    tpot, tokens = tpot_ns(turn.timings, turn.output).value, turn.output.tokens_per_event
    if tpot is None or tokens is None:
        return None
    return Step(tpot * tokens, tokens)


def aggregate(turns: Iterable[Record]) -> Aggregate | None:
    """Of turns whose output was counted; None without any, or when none took time."""
    counted = [(t, t.output.tokens) for t in turns if t.output.tokens is not None]
    # One server or many: a user's wall clock is one, so turns of all upstreams stand on it together.
    spans = [(t.at_unix_ns, t.at_unix_ns + max(0, t.timings.end_ns)) for t, _ in counted]
    stretches = list(concurrent(spans))
    busy = distribution(stretches)
    if busy is None:
        return None
    at = busy.reached(0.5)
    steady = [(start, end) for start, end, n in stretches if n >= at]
    return Aggregate(
        tokens=sum(n for _, n in counted),
        turns=len(counted),
        wall_ns=max(end for _, end in spans) - min(start for start, _ in spans),
        idle_ns=busy.idle_ns,
        steady_at=at,
        steady_tokens=_delivered(counted, steady),
        steady_ns=sum(end - start for start, end in steady),
    )


def _delivered(counted: Iterable[tuple[Record, int]], steady: Sequence[tuple[int, int]]) -> float:
    """Tokens that came within these stretches, which are in order and apart."""
    starts = [start for start, _ in steady]
    before = [0, *accumulate(end - start for start, end in steady)]

    def upto(at: int) -> int:
        """Steady time before a moment."""
        n = bisect_right(starts, at)
        return before[n] - max(0, steady[n - 1][1] - at) if n else 0

    tokens = 0.0
    for turn, n in counted:
        first, last = _came(turn)
        tokens += n * (upto(last) - upto(first)) / (last - first) if last > first else 0
    return tokens


def _came(turn: Record) -> tuple[int, int]:
    """When its tokens came: first to last, or where that was not seen from its start to its end."""
    marks = turn.timings
    if marks.first_token_ns is None or not decode_ns(marks):
        return turn.at_unix_ns, turn.at_unix_ns + max(0, marks.end_ns)
    return turn.at_unix_ns + marks.first_token_ns, turn.at_unix_ns + (marks.last_token_ns or 0)
