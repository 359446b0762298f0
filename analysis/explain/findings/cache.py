"""Findings about the prefix cache: who empties it, and whether a stable prefix is used.

One rule: whose doing a miss was is the recorder's word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from analysis.explain.misses import CLIENTS

from .base import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from analysis.explain.misses import Miss
    from analysis.explain.segment import SegmentName

    from .base import FindingName, Seen

READ_AGAIN: Final[frozenset[SegmentName]] = frozenset(
    {
        "prefill: tools",
        "prefill: system",
        "prefill: history",
        "prefill: tool_results",
        "prefill: template",
        "prefill, not split",
    }
)


def prefix_broken(seen: Seen) -> Iterator[Finding]:
    """The client changes what stands in front, so the cache is of no use behind the change."""
    yield from _missed(seen, "prefix broken", lambda miss: miss.cause in CLIENTS)


def cache_not_reused(seen: Seen) -> Iterator[Finding]:
    """The prompt went on from an earlier one, and the server read it again all the same."""
    yield from _missed(seen, "cache not reused", lambda miss: miss.stable)


def _missed(seen: Seen, name: FindingName, mine: Callable[[Miss], bool]) -> Iterator[Finding]:
    """The dearest cause that is felt."""
    for miss in seen.misses.causes:
        if not mine(miss) or miss.seconds is None or not seen.turns:
            continue
        ns = miss.seconds.ns / len(seen.turns)
        if not seen.felt(ns):
            continue
        ends = miss.seconds.interval_ns
        yield Finding(
            name,
            ns,
            miss.seconds.source,
            {
                "cause": miss.cause,
                "prompts": miss.prompts,
                "compared": seen.misses.compared,
                "tokens": miss.tokens,
                **_place(miss),
            },
            interval_ns=None
            if ends is None
            else (round(ends[0] / len(seen.turns)), round(ends[1] / len(seen.turns))),
            doubts=("cache not reported",) if miss.unreported else (),
            takes=READ_AGAIN,
        )
        return


def _place(miss: Miss) -> dict[str, int | str]:
    """Where most of it begins to differ."""
    if not miss.places:
        return {}
    place = miss.places[0]
    where: dict[str, int | str] = {"part": place.part, "character": place.offsets.low}
    if place.tool is not None:
        where["tool"] = place.tool
    if place.messages is not None:
        where["message"] = place.messages.low
    return where
