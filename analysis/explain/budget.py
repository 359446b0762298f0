"""Where the time of one exchange went: named segments that add up to the whole, to the nanosecond.

One rule: no segment is negative and none overlaps another. Marks come from two sockets and a clock
that others can disturb, so each is first put in its place: not before the mark it follows, not after
the end. What cannot be told apart is a segment too, says so in its name, and has its size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from .prefill import PrefillCost
from .prompt import Prompts, uncached_tokens
from .readings import NS_PER_S, reported_ns, reported_prefill
from .segment import (
    PLACE_UNKNOWN,
    Budget,
    Segment,
    SegmentName,
    Sum,
    SummedSegment,
    summed,
)
from .source import MEASURED, REPORTED, Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analysis.store.recorded import Record

    from .prefill import Cost
    from .prompt import PartName, PartTokens

__all__ = [
    "PLACE_UNKNOWN",
    "Budget",
    "Segment",
    "SegmentName",
    "Sum",
    "SummedSegment",
    "budget",
    "reported_queue_ns",
    "summed",
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

LEFT_OVER: Final = Source("estimated", "as what is left of TTFT")
FROM_BASE: Final = Source("estimated", "from what an empty prompt waits")


class _Line:
    """The time of an exchange, cut from its front."""

    def __init__(self, whole_ns: int, prompts: Prompts) -> None:
        self.whole_ns = whole_ns
        self.prompts = prompts
        self.at_ns = 0
        self.own_ns = 0
        """This proxy's own time, taken out so far."""
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

    def without_own(self, record: Record, begin_ns: int, *stretches: int) -> tuple[int, ...]:
        """The stretches from `begin_ns` to the cut, less this proxy's own delay of the first reply piece."""
        first_ns, own_ns = record.timings.first_byte_ns, record.self.first_ns
        if first_ns is None or own_ns is None:
            return stretches
        until_ns = min(self.at_ns, first_ns + max(0, own_ns))
        *kept, own = _take(max(0, until_ns - max(begin_ns, first_ns)), *stretches)
        self.own_ns += own
        return tuple(kept)


def budget(record: Record, cost: Cost, prompts: Prompts | None = None) -> Budget:
    """The budget of one exchange.

    `cost` is what a prompt token costs on its engine; it is only used where the server did not say
    how long it read this very prompt. `prompts`: those that were taken apart already.
    """
    marks = record.timings
    line = _Line(max(0, marks.end_ns), prompts or Prompts())
    line.add("upload", line.until(marks.request_end_ns), MEASURED)
    connect = line.until(marks.upstream_connected_ns)
    line.add("connect", connect + line.until(marks.upstream_sent_ns), MEASURED)
    place = len(line.segments)
    if marks.first_token_ns is None:
        decode = _unseen(line, record, cost)
    else:
        _wait(line, record, cost)
        decode = _seen(line, record)
    line.segments.insert(place, Segment("proxy itself", line.own_ns, MEASURED))
    return Budget(record.id, line.whole_ns, tuple(line.segments), decode)


def reported_queue_ns(record: Record) -> int | None:
    """How long the request waited in the server before it was worked on, as the server said.

    vLLM: `metrics.queue_time_ms`. SGLang: `meta_info.queue_time`, in seconds. None: it did not say.
    """
    ns = reported_ns(record, "queue_time_ms")
    return reported_ns(record, "queue_time", NS_PER_S) if ns is None else ns


def _wait(line: _Line, record: Record, cost: Cost) -> None:
    """From the request's leaving to the first token."""
    begin_ns = line.at_ns
    wait = line.until(record.timings.first_token_ns)
    (wait,) = line.without_own(record, begin_ns, wait)
    queue_ns = reported_queue_ns(record)
    if queue_ns is not None:
        wait, queue = _take(queue_ns, wait)
        line.add("server queue", queue, REPORTED)
    read, tokens = reported_prefill(record), uncached_tokens(record)
    if read is not None:
        prefill = min(read.ns, wait)
        _split(line, record, _Prefill(prefill, REPORTED, cost))
        _before_first(line, wait - prefill, cost, "queue and first step")
    elif isinstance(cost, PrefillCost) and tokens is not None:
        prefill = min(cost.of(tokens), wait)
        low, high = cost.of_range(tokens)
        ends = (max(0, min(low, wait)), max(0, min(high, wait))) if cost.interval else None
        _split(line, record, _Prefill(prefill, cost.estimate, cost, ends))
        _before_first(line, wait - prefill, cost, "unknown")
    else:
        line.add("wait, not split", wait, MEASURED)


def _before_first(line: _Line, left: int, cost: Cost, otherwise: SegmentName) -> None:
    """What is left of the wait beside prefill: as much as an empty prompt waits, and the rest.

    One step of the decode says nothing here: servers take the first token from the last pass of the
    prefill.
    """
    if not isinstance(cost, PrefillCost) or cost.base_ns is None:
        line.add(otherwise, left, LEFT_OVER)
        return
    rest, first = _take(max(0, cost.base_ns), left)
    ends = cost.base_range_ns
    interval = None if ends is None else (min(ends[0], left), min(ends[1], left))
    line.segments.append(Segment("first step", first, FROM_BASE, interval=interval))
    line.add("unknown", rest, LEFT_OVER)


class _Prefill(NamedTuple):
    """The time in which one prompt was read."""

    ns: int
    source: Source
    cost: Cost
    ends: tuple[int, int] | None = None
    """Where `ns` lies; None: measured, reported, or no interval is known."""

    def upto(self, tokens: int, whole: int) -> int:
        """Time for the first so many of its uncached tokens: later ones may cost more."""
        if isinstance(self.cost, PrefillCost) and self.cost.stretches:
            all_ns = self.cost.of(whole)
            if all_ns > 0:
                return min(self.ns, self.ns * self.cost.of(tokens) // all_ns)
        return self.ns * tokens // whole


def _split(line: _Line, record: Record, prefill: _Prefill) -> None:
    """Prefill time laid on the parts by their uncached tokens, without a nanosecond lost.

    A part that came from the cache has no time, and its tokens stand beside that.
    """
    asked, source = line.prompts.of(record), prefill.source
    if asked is None or asked.uncached == 0:
        line.segments.append(
            Segment("prefill, not split", prefill.ns, source, interval=prefill.ends)
        )
        return
    if source is REPORTED:
        source = Source("estimated", "from reported prefill by tokens")
    doubtful = Source(source.kind, source.basis + PLACE_UNKNOWN)
    parts = (*asked.parts, asked.unexplained) if asked.unexplained else asked.parts
    whole = sum(part.uncached for part in parts)
    tokens = spent = 0
    for part in parts:
        tokens += part.uncached
        upto = max(spent, prefill.upto(tokens, whole) if tokens < whole else prefill.ns)
        line.segments.append(
            Segment(
                PREFILL[part.part],
                upto - spent,
                doubtful if part.shared else source,
                part.uncached,
                None if asked.cached is None else _cached(part),
                _share(prefill.ends, part.uncached, whole),
            )
        )
        spent = upto


def _share(ends: tuple[int, int] | None, tokens: int, whole: int) -> tuple[int, int] | None:
    return None if ends is None else (ends[0] * tokens // whole, ends[1] * tokens // whole)


def _cached(part: PartTokens) -> int:
    return max(0, part.billed - part.uncached)


def _seen(line: _Line, record: Record) -> int:
    """From the first token to the end, when tokens were seen; gives the decode time."""
    marks = record.timings
    begin_ns = line.at_ns
    spoken = [m for m in (marks.first_visible_text_ns, marks.first_tool_call_ns) if m is not None]
    thinking = 0
    if marks.first_reasoning_ns is not None:
        thinking = line.until(min(spoken) if spoken else marks.last_token_ns)
    answer = line.until(marks.last_token_ns)
    rest = line.rest()
    thinking, answer, rest = line.without_own(record, begin_ns, thinking, answer, rest)
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


def _unseen(line: _Line, record: Record, cost: Cost) -> int | None:
    """From the request's leaving to the end, when no token was seen.

    A reply in one piece, an error, or an answer that never began: only the server can tell prefill
    from decode here. llama.cpp does, in every reply that succeeded.
    """
    begin_ns = line.at_ns
    left = line.rest()
    (left,) = line.without_own(record, begin_ns, left)
    left, stall = _take(max(0, record.stall_ns), left)
    queue_ns = reported_queue_ns(record)
    if queue_ns is not None:
        left, queue = _take(queue_ns, left)
        line.add("server queue", queue, REPORTED)
    read, decode = reported_prefill(record), None
    if read is not None:
        prefill = min(read.ns, left)
        _split(line, record, _Prefill(prefill, REPORTED, cost))
        left -= prefill
    written_ns = reported_ns(record, "predicted_ms")
    if written_ns is not None:
        decode = min(written_ns, left)
        line.add("answer", decode, REPORTED)
        left -= decode
    line.add("caller not reading", stall, MEASURED)
    line.add("wait, not split" if read is None else "unknown", left, MEASURED)
    return decode
