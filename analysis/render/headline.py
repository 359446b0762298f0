"""The first lines of the report: what a turn takes, and why, in plain words.

One rule: seconds before tokens, and beside every sentence how its figures came about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from analysis.explain.source import Refusal

from .units import NOTHING, count, duration, factor, percent, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.explain.brief import Brief
    from analysis.explain.overview import MedianTurn, Overview
    from analysis.explain.prefix import PartSummary
    from analysis.explain.tools import Tools

SHOWN_SPEEDUP: Final = 2.0
"""The faster engine of the headline."""


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
    return (
        _turn(report.median, report.turns),
        *_waits(report),
        *_front(report),
        *_price(report),
        _engine(report.median),
    )


def _turn(median: MedianTurn, turns: int) -> Statement:
    which = "The only turn recorded took" if turns == 1 else f"The median of {turns:,} turns took"
    line = median.brief
    text = f"{which} {duration(line.whole_ns)}"
    if line.ttft_ns is None or line.decode_ns is None:
        why = "its reply was not streamed, so reading and writing cannot be told apart"
        return Statement(f"{text}; {why}.", "measured")
    share = percent(line.ttft_ns / line.whole_ns) if line.whole_ns else NOTHING
    text += f": {duration(line.ttft_ns)} ({share}) until the first token,"
    text += f" {duration(line.decode_ns)} decoding."
    return Statement(text, "measured")


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
    front = [part for part in report.prefix.front() if part.tokens]
    if not report.prefix.parts:
        yield Statement(
            "What its prompt was made of is not known: its tokens were not counted.", ""
        )
    elif not front:
        yield Statement("The client puts neither tools nor a system prompt before your words.", "")
    else:
        parts = " and ".join(_part(part, report.tools) for part in front)
        if len(front) > 1:
            parts = f"{count(sum(part.tokens for part in front))} tokens: {parts}"
        where = _where(front[0], report.prefix.turns)
        sources = dict.fromkeys(str(part.source) for part in front)
        yield Statement(
            f"Before your words{where} the client puts {parts}.",
            "; ".join(sources),
        )


def _part(part: PartSummary, tools: Tools) -> str:
    if part.part != "tools":
        return f"{plural(part.tokens, 'token')} of system prompt"
    if not part.read:
        return (
            f"{plural(part.tokens, 'token')} in tool definitions, which the server's template drops"
        )
    unused = len(tools.never_called())
    listed = plural(len(tools.tools), "tool definition") if tools.tools else "tool definitions"
    if not unused:
        return f"{plural(part.tokens, 'token')} in {listed}"
    never = "none ever called" if unused == len(tools.tools) else f"{unused:,} never called"
    return f"{plural(part.tokens, 'token')} in {listed} ({never})"


def _where(part: PartSummary, turns: int) -> str:
    return "" if part.turns == turns else f" (in {part.turns:,} of {turns:,} turns)"


def _price(report: Overview) -> Iterator[Statement]:
    front = [part for part in report.prefix.front() if part.tokens]
    priced = [(part, part.price) for part in front if part.price is not None]
    if front and not priced:
        yield Statement(f"What they cost in seconds is not known: {_refusal(report)}.", "")
    if not priced:
        return
    cold = sum(price.cold_ns for _, price in priced)
    lived = sum(price.lived_ns for _, price in priced)
    tools = next((p for part, p in priced if part.part == "tools"), None)
    text = f"Reading them takes {duration(cold)} when none are cached"
    if tools is not None and len(priced) > 1:
        text += f" ({duration(tools.cold_ns)} of it the tools)"
    text += f"; as lived, {duration(lived)} a turn that carried them"
    yield Statement(f"{text}{_cache(report)}.", str(priced[0][1].source))


def _cache(report: Overview) -> str:
    prefix = report.prefix
    if prefix.cached is None:
        return " (the server does not say what it cached; none is assumed)"
    share = prefix.cached / prefix.cached_of if prefix.cached_of else 0.0
    return f", with {percent(share)} of all prompt tokens from the cache"


def _refusal(report: Overview) -> str:
    refused = [cost.reason for cost in report.costs.values() if isinstance(cost, Refusal)]
    return refused[0] if refused else "no cost of a token is known"


def _engine(median: MedianTurn) -> Statement:
    gain = next((g for g in median.faster if g.decode_speedup == SHOWN_SPEEDUP), None)
    if gain is None:
        return Statement(
            "What a faster engine would bring is not known: no decode time was seen.", ""
        )
    text = (
        f"An engine that decodes {SHOWN_SPEEDUP:g} times as fast makes this turn"
        f" {factor(gain.turn_speedup)} as fast: {duration(gain.turn_ns)}"
        f" instead of {duration(median.budget.whole_ns)}."
    )
    if median.ceiling is not None:
        text += f" No decode speed can make it more than {factor(median.ceiling)}."
    return Statement(text, "estimated: all but decoding stays as it is")
