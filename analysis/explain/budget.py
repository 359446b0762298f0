"""Where the time of one exchange went: named segments that add up to the whole, to the nanosecond.

One rule: no segment is negative and none overlaps another. Marks come from two sockets and a clock
that others can disturb, so each is first put in its place: not before the mark it follows, not after
the end. What cannot be told apart is a segment too, says so in its name, and has its size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

from .prefill import PrefillCost, reported_ns, reported_prefill
from .prompt import Prompt, prompt, uncached_tokens
from .source import MEASURED, REPORTED, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from analysis.store.recorded import Record

    from .prefill import Cost
    from .prompt import PartName

SegmentName = Literal[
    "upload",
    "connect",
    "prefill: tools",
    "prefill: system",
    "prefill: history",
    "prefill: tool_results",
    "prefill: question",
    "prefill: media",
    "prefill: template",
    "prefill, not split",
    "queue and first step",
    "wait, not split",
    "reasoning",
    "answer",
    "caller not reading",
    "tail",
    "unknown",
]

PREFILL: Final[Mapping[PartName, SegmentName]] = {
    "tools": "prefill: tools",
    "system": "prefill: system",
    "history": "prefill: history",
    "tool_results": "prefill: tool_results",
    "question": "prefill: question",
    "media": "prefill: media",
    "template": "prefill: template",
    "unexplained": "prefill, not split",
}
"""What a part's share of the prefill is called."""

PLACE_UNKNOWN: Final = "; order unknown"
"""How the source of a share ends that tools and system have together: nobody but the template knows
which of them stands first."""

LEFT_OVER: Final = Source("estimated", "as what is left of TTFT")


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of an exchange's time with one cause."""

    name: SegmentName
    ns: int
    source: Source


@dataclass(frozen=True, slots=True)
class Budget:
    """The segments of one exchange, in the order in which they happen."""

    exchange: str
    """Its id."""
    whole_ns: int
    """First request byte to end."""
    segments: tuple[Segment, ...]
    decode_ns: int | None
    """Reasoning and answer; None when the reply's tokens were not seen and the server did not say."""

    @property
    def fixed_ns(self) -> int | None:
        """All that is not decode; None when decode is."""
        return None if self.decode_ns is None else self.whole_ns - self.decode_ns


@dataclass(frozen=True, slots=True)
class SummedSegment:
    """One cause's time in many exchanges."""

    name: SegmentName
    ns: int
    sources: tuple[Source, ...]
    """How its parts came about, without a word twice: those with most time first."""


@dataclass(frozen=True, slots=True)
class Sum:
    """The budgets of many exchanges, added up: their segments add up to the sum of the wholes."""

    exchanges: int
    whole_ns: int
    segments: tuple[SummedSegment, ...]
    """In the order in which they happen; none stands there twice."""


def summed(budgets: Iterable[Budget]) -> Sum:
    """Where the time of all of them went."""
    budgets = tuple(budgets)
    times: dict[SegmentName, dict[Source, int]] = {}
    for spent in budgets:
        for segment in spent.segments:
            by_source = times.setdefault(segment.name, {})
            by_source[segment.source] = by_source.get(segment.source, 0) + segment.ns
    names: tuple[SegmentName, ...] = get_args(SegmentName)
    segments = (
        SummedSegment(name, sum(times[name].values()), _most_first(times[name]))
        for name in names
        if name in times
    )
    return Sum(len(budgets), sum(spent.whole_ns for spent in budgets), tuple(segments))


def _most_first(times: Mapping[Source, int]) -> tuple[Source, ...]:
    """Sources of time; those of no time only where there is no other.

    One that says the same with a doubt covers the one without.
    """
    some = [source for source in times if times[source]] or list(times)
    said = [s for s in some if Source(s.kind, s.basis + PLACE_UNKNOWN) not in some]
    return tuple(sorted(said, key=lambda source: -times[source]))


class _Line:
    """The time of an exchange, cut from its front."""

    def __init__(self, whole_ns: int) -> None:
        self.whole_ns = whole_ns
        self.at_ns = 0
        self.segments: list[Segment] = []

    def until(self, mark_ns: int | None) -> int:
        """Time from the last cut to the mark, or 0 if that lies behind; cuts there."""
        if mark_ns is None:
            return 0
        mark_ns = min(max(mark_ns, self.at_ns), self.whole_ns)
        length = mark_ns - self.at_ns
        self.at_ns = mark_ns
        return length

    def rest(self) -> int:
        """All that is left."""
        return self.until(self.whole_ns)

    def add(self, name: SegmentName, ns: int, source: Source) -> None:
        """Write a segment down."""
        self.segments.append(Segment(name, ns, source))


def budget(record: Record, cost: Cost) -> Budget:
    """The budget of one exchange.

    `cost` is what a prompt token costs on its engine; it is only used where the server did not say
    how long it read this very prompt.
    """
    marks = record.timings
    line = _Line(max(0, marks.end_ns))
    line.add("upload", line.until(marks.request_end_ns), MEASURED)
    connect = line.until(marks.upstream_connected_ns)
    line.add("connect", connect + line.until(marks.upstream_sent_ns), MEASURED)
    if marks.first_token_ns is None:
        decode = _unseen(line, record)
    else:
        _wait(line, record, cost)
        decode = _seen(line, record)
    return Budget(record.id, line.whole_ns, tuple(line.segments), decode)


def _wait(line: _Line, record: Record, cost: Cost) -> None:
    """From the request's leaving to the first token."""
    wait = line.until(record.timings.first_token_ns)
    read, tokens = reported_prefill(record), uncached_tokens(record)
    if read is not None:
        prefill = min(read.ns, wait)
        _split(line, prompt(record), prefill, REPORTED)
        line.add("queue and first step", wait - prefill, LEFT_OVER)
    elif isinstance(cost, PrefillCost) and tokens is not None:
        prefill = min(cost.of(tokens), wait)
        _split(line, prompt(record), prefill, cost.estimate)
        line.add("unknown", wait - prefill, LEFT_OVER)
    else:
        line.add("wait, not split", wait, MEASURED)


def _split(line: _Line, prompt: Prompt | None, ns: int, source: Source) -> None:
    """Prefill time laid on the parts by their uncached tokens, without a nanosecond lost."""
    if prompt is None or prompt.uncached == 0:
        line.add("prefill, not split", ns, source)
        return
    if source is REPORTED:
        source = Source("estimated", "from reported prefill by tokens")
    doubtful = Source(source.kind, source.basis + PLACE_UNKNOWN)
    parts = (*prompt.parts, prompt.unexplained) if prompt.unexplained else prompt.parts
    whole = sum(part.uncached for part in parts)
    tokens = spent = 0
    for part in parts:
        tokens += part.uncached
        upto = ns * tokens // whole
        line.add(PREFILL[part.part], upto - spent, doubtful if part.shared else source)
        spent = upto


def _seen(line: _Line, record: Record) -> int:
    """From the first token to the end, when tokens were seen; gives the decode time."""
    marks = record.timings
    spoken = [m for m in (marks.first_visible_text_ns, marks.first_tool_call_ns) if m is not None]
    thinking = 0
    if marks.first_reasoning_ns is not None:
        thinking = line.until(min(spoken) if spoken else marks.last_token_ns)
    answer = line.until(marks.last_token_ns)
    rest = line.rest()
    # Where in the reply the caller stopped reading is not in a record. Tokens that waited for it
    # came late, so the time is taken out of the answer first.
    answer, thinking, rest, stall = _take(max(0, record.stall_ns), answer, thinking, rest)
    if marks.first_reasoning_ns is not None:
        line.add("reasoning", thinking, MEASURED)
    line.add("answer", answer, MEASURED)
    line.add("caller not reading", stall, MEASURED)
    line.add("unknown" if marks.last_token_ns is None else "tail", rest, MEASURED)
    return thinking + answer


def _take(ns: int, *stretches: int) -> tuple[int, ...]:
    """Takes `ns` out of the stretches, the first first; what was taken stands at the end."""
    left = ns
    kept = []
    for stretch in stretches:
        taken = min(left, stretch)
        kept.append(stretch - taken)
        left -= taken
    return (*kept, ns - left)


def _unseen(line: _Line, record: Record) -> int | None:
    """From the request's leaving to the end, when no token was seen.

    A reply in one piece, an error, or an answer that never began: only the server can tell prefill
    from decode here. llama.cpp does, in every reply that succeeded.
    """
    left = line.rest()
    left, stall = _take(max(0, record.stall_ns), left)
    read, decode = reported_prefill(record), None
    if read is not None:
        prefill = min(read.ns, left)
        _split(line, prompt(record), prefill, REPORTED)
        left -= prefill
    written_ns = reported_ns(record, "predicted_ms")
    if written_ns is not None:
        decode = min(written_ns, left)
        line.add("answer", decode, REPORTED)
        left -= decode
    line.add("caller not reading", stall, MEASURED)
    line.add("wait, not split" if read is None else "unknown", left, MEASURED)
    return decode
