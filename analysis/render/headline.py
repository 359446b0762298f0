"""The first lines of the report: what a turn takes, and why, in plain words.

One rule: seconds before tokens, and beside every sentence how its figures came about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from analysis.explain.source import Refusal

from .mean_turn import hides, mean_turn, twice
from .units import NOTHING, count, duration, factor, percent, plural
from .whatif import switch_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.explain.brief import Brief
    from analysis.explain.overview import MedianTurn, Overview
    from analysis.explain.prefix import FrontPart
    from analysis.explain.tools import Tools

SHOWN_SPEEDUP: Final = 2.0
"""The faster engine of the headline."""

LITTLE: Final = 0.01
"""Of a turn: a saving below it is not named as one."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence or two, and where their figures come from."""

    text: str
    source: str


def headline(report: Overview) -> tuple[Statement, ...]:
    """The report in a few sentences; what cannot be said is said to be unknown."""
    if not report.census.exchanges:
        return (Statement("No exchange could be read.", ""),)
    if report.median is None:
        return (Statement("No turn came to its end, so there is no time to take apart.", ""),)
    first = [Statement(mean_turn(report), "measured; the split estimated")] if hides(report) else []
    return (
        *first,
        _turn(report.median, report.turns),
        *_waits(report),
        *_front(report),
        *_price(report),
        *_cut(report, report.median),
        *_engine(report),
    )


def _turn(median: MedianTurn, turns: int) -> Statement:
    line, decode_ns = median.brief, median.budget.decode_ns
    text = f"{_which(median, turns)} took {duration(median.budget.whole_ns)}"
    if len(median.turn.exchanges) > 1:
        text += _loop(median)
    elif line.ttft_ns is not None and line.decode_ns is not None:
        share = percent(line.ttft_ns / line.whole_ns) if line.whole_ns else NOTHING
        text += f": {duration(line.ttft_ns)} ({share}) until the first token,"
        text += f" {duration(line.decode_ns)} decoding"
    elif decode_ns is None:
        text += "; its reply was not streamed, so reading and writing cannot be told apart"
    else:
        text += f"; its reply was not streamed, but the server says {duration(decode_ns)} decoding"
    others = turns - median.among
    if others:
        text += f". {_others(others)}: no decoding was seen, so nothing tells reading from writing"
    return Statement(f"{text}.", "measured")


def _loop(median: MedianTurn) -> str:
    """A turn of several requests: the client's own time is in it as well."""
    spent = median.budget
    client = sum(s.ns for s in spent.segments if s.name.startswith("client: "))
    text = f" in {len(median.turn.exchanges):,} requests: {duration(client)} in the client between them"
    if spent.decode_ns is None:
        return f"{text}; not all replies were streamed, so reading and writing cannot be told apart"
    rest = spent.whole_ns - client - spent.decode_ns
    return f"{text}, {duration(spent.decode_ns)} decoding, {duration(rest)} waiting"


def _which(median: MedianTurn, turns: int) -> str:
    """The turn that stands for all, and how it was chosen."""
    n = median.among
    if n == 1:
        return "The only turn recorded" if turns == 1 else "The only turn with a split"
    kind = "turns" if n == turns else "turns with a split"
    middle = "" if n % 2 else " (of the two in the middle, the shorter)"
    return f"The median of {n:,} {kind}{middle}"


def _others(n: int) -> str:
    return "1 more turn came in one piece" if n == 1 else f"{n:,} more turns came in one piece"


def _waits(report: Overview) -> Iterator[Statement]:
    if report.waits is None:
        return
    least, longest = report.waits
    text = f"The longest wait for a first token was {_wait(longest)}; the shortest {_wait(least)}."
    yield Statement(text, "measured; tokens reported or ~ counted")


def _wait(line: Brief) -> str:
    wait = duration(line.ttft_ns or 0)
    if line.input is None:
        return wait
    own = "" if line.input.source.kind == "reported" else "~"
    tokens = f"{own}{plural(line.input.tokens, 'prompt token')}"
    if line.cached is not None:
        tokens = f"{count(max(0, line.input.tokens - line.cached))} of {tokens} read anew"
    return f"{wait} ({tokens})"


def _front(report: Overview) -> Iterator[Statement]:
    front, answers = report.prefix.front, report.prefix.answers
    if not report.prefix.parts:
        yield Statement(
            "What its prompt was made of is not known: its tokens were not counted.", ""
        )
    elif front is None:
        yield Statement("The client puts neither tools nor a system prompt before your words.", "")
    else:
        alike = len({part.answers for part in front.parts}) == 1
        wheres = ["" if alike else _where(part.answers, answers) for part in front.parts]
        parts = [
            _part(part, report.tools, where)
            for part, where in zip(front.parts, wheres, strict=True)
        ]
        text = " and ".join(parts)
        if len(parts) > 1:
            text = f"{count(front.tokens)} tokens: {text}"
        where = _bracketed(_where(front.parts[0].answers, answers)) if alike else ""
        sources = list(dict.fromkeys(str(part.counted.source) for part in front.parts))
        if front.answers > 1:
            sources.append(f"of the middle one of {front.answers:,} requests")
        yield Statement(f"Before your words{where} the client puts {text}.", "; ".join(sources))


def _part(part: FrontPart, tools: Tools, where: str) -> str:
    tokens = plural(part.counted.tokens, "token")
    if part.counted.part != "tools":
        return f"{tokens} of system prompt{_bracketed(where)}"
    if not part.counted.read:
        return f"{tokens} in tool definitions{_bracketed(where)}, which the server's template drops"
    unused = len(tools.never_called())
    listed = plural(len(tools.tools), "tool definition") if tools.tools else "tool definitions"
    never = "none ever called" if unused == len(tools.tools) else f"{unused:,} never called"
    return f"{tokens} in {listed}{_bracketed(never if unused else '', where)}"


def _where(carried_by: int, answers: int) -> str:
    return "" if carried_by == answers else f"in {carried_by:,} of {answers:,} requests"


def _bracketed(*remarks: str) -> str:
    said = "; ".join(filter(None, remarks))
    return f" ({said})" if said else ""


def _price(report: Overview) -> Iterator[Statement]:
    front = report.prefix.front
    if front is None:
        return
    if front.price is None:
        yield Statement(f"What they cost in seconds is not known: {_refusal(report)}.", "")
        return
    tools = next((p.price for p in front.parts if p.counted.part == "tools"), None)
    text = f"Reading them takes {duration(front.price.cold_ns)} when none are cached"
    if tools is not None and len(front.parts) > 1:
        text += f" ({duration(tools.cold_ns)} of it the tools)"
    carried = "tools" if tools is not None else "them"
    text += f"; as lived, {duration(front.price.lived_ns)} a request that carried {carried}"
    yield Statement(f"{text}{_cache(report)}.", str(front.price.source))


def _cache(report: Overview) -> str:
    prefix = report.prefix
    if prefix.cached is None:
        return " (the server does not say what it cached; none is assumed)"
    share = prefix.cached / prefix.cached_of if prefix.cached_of else 0.0
    return f", with {percent(share)} of all prompt tokens from the cache"


def _cut(report: Overview, median: MedianTurn) -> Iterator[Statement]:
    """What the turns would be without the tools that were of no use."""
    unused, gain = report.savings.unused, report.savings.gain
    if unused is None or unused.price is None or isinstance(gain, Refusal):
        return
    whose = (
        "Without the only tool"
        if len(unused.names) == 1
        else f"Without the {len(unused.names):,} tools"
    )
    were = "was" if len(unused.names) == 1 else "were"
    saved = gain.saved_ns.median
    turn = "the turn takes" if gain.turns == 1 else "the median turn takes"
    if saved < LITTLE * median.budget.whole_ns:
        each = gain.total_saved_ns / gain.turns
        text = (
            f"{whose} that {were} never called the mean of {plural(gain.turns, 'turn')} is"
            f" {duration(each)} less; {turn} as long, because it read little of them."
        )
    else:
        ends = gain.interval_ns
        within = "" if ends is None else f" ({duration(ends[0])} to {duration(ends[1])})"
        text = (
            f"{whose} that {were} never called {turn} {duration(saved)}{within} less:"
            f" it is {factor(gain.speedup.median)} as fast."
        )
    yield Statement(text, str(unused.price.source))


def _refusal(report: Overview) -> str:
    refused = [cost.reason for cost in report.costs.values() if isinstance(cost, Refusal)]
    return refused[0] if refused else "no cost of a token is known"


def _engine(report: Overview) -> Iterator[Statement]:
    """What the user asked about, else an engine that decodes twice as fast."""
    if report.outlook.switched is not None:
        yield Statement(*switch_words(report.outlook.switched))
    elif hides(report) and (said := list(twice(report))):
        yield Statement(said[0], "estimated: all but decoding stays as it is")
    elif report.median is not None:
        yield _twice(report.median)


def _twice(median: MedianTurn) -> Statement:
    gain = next((g for g in median.faster if g.decode_speedup == SHOWN_SPEEDUP), None)
    if gain is None:
        return Statement(
            "What a faster engine would bring is not known: no turn's decode time was seen.", ""
        )
    text = (
        f"An engine that decodes {SHOWN_SPEEDUP:g} times as fast makes this turn"
        f" {factor(gain.turn_speedup)} as fast: {duration(gain.turn_ns)}"
        f" instead of {duration(median.budget.whole_ns)}."
    )
    if median.ceiling is not None:
        text += f" No decode speed can make it more than {factor(median.ceiling)}."
    return Statement(text, "estimated: all but decoding stays as it is")
