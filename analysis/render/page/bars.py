"""Bars: where the mean turn goes, and where it would go; and what stands in the prompts.

One rule: all bars of a picture are on one scale, so that what does not move is seen not to move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from analysis.explain.segment import DECODE
from analysis.render.findings import told
from analysis.render.names import printable
from analysis.render.units import count, duration, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from analysis.explain.overview import Overview

Kind = str
"""Names a colour and a pattern of the style sheet."""

KINDS: Final[Mapping[Kind, str]] = {
    "tools": "reading tools",
    "system": "reading the system prompt",
    "talk": "reading the conversation",
    "wait": "other waiting",
    "client": "the client itself",
    "decode": "writing the answer",
}
"""In the order in which they are drawn."""

_OF: Final[Mapping[str, Kind]] = {
    "prefill: tools": "tools",
    "prefill: system": "system",
    "prefill: history": "talk",
    "prefill: tool_results": "talk",
    "prefill: question": "talk",
    "prefill: media": "talk",
    "prefill: template": "talk",
    "prefill, not split": "talk",
    "client: tools": "client",
    "client: between requests": "client",
    "hidden requests in the way": "client",
    "caller not reading": "client",
}

LEAST_LABEL: Final = 0.08
"""Of the picture's width: a narrower piece has its words in the table alone."""


class Piece(NamedTuple):
    """A part of a bar."""

    kind: Kind
    share: float
    """Of the whole picture's width, 0 to 1."""
    text: str
    """Inside of it; empty when it is too narrow."""
    title: str
    """All that there is to say."""


class Bar(NamedTuple):
    """One bar with its name."""

    name: str
    whole: str
    pieces: tuple[Piece, ...]
    words: str
    """The same for whoever does not see it."""


def turn_bars(report: Overview) -> tuple[Bar, ...]:
    """The mean turn as it is, and with one thing changed at a time. Empty without turns."""
    if not report.turns or not report.spent.whole_ns:
        return ()
    now = _mean(report)
    rows = [("as it is", now), *_changed(report, now)]
    widest = max(sum(each.values()) for _, each in rows)
    return tuple(_bar(name, each, widest) for name, each in rows)


def _mean(report: Overview) -> dict[Kind, float]:
    spent = dict.fromkeys(KINDS, 0.0)
    for segment in report.spent.segments:
        kind = "decode" if segment.name in DECODE else _OF.get(segment.name, "wait")
        spent[kind] += segment.ns / report.turns
    return spent


def _changed(report: Overview, now: dict[Kind, float]) -> Iterator[tuple[str, dict[Kind, float]]]:
    unused = next((f for f in report.findings if f.name == "unused tools"), None)
    if unused is not None:
        left = max(0.0, now["tools"] - (unused.saves_ns or 0.0))
        yield f"{told(unused)[0]}", {**now, "tools": left}
    if report.misses.causes or now["tools"] or now["system"]:
        why = "" if report.misses.causes else "; what empties it is not known"
        yield f"a cache that keeps what stands in front{why}", {**now, "tools": 0.0, "system": 0.0}
    if now["decode"]:
        yield "an engine that decodes 2 x as fast", {**now, "decode": now["decode"] / 2}


def _bar(name: str, spent: Mapping[Kind, float], widest: float) -> Bar:
    whole = sum(spent.values())
    pieces = [
        _piece(kind, ns / widest, duration(ns), f"{KINDS[kind]}: {duration(ns)}")
        for kind, ns in spent.items()
        if ns > 0
    ]
    said = ", ".join(piece.title for piece in pieces)
    return Bar(name, duration(whole), tuple(pieces), f"{name}: {duration(whole)}; {said}")


def _piece(kind: Kind, share: float, text: str, title: str) -> Piece:
    return Piece(kind, round(share, 5), text if share >= LEAST_LABEL else "", title)


class PromptBar(NamedTuple):
    """The prompt, tool by tool, and what is behind them."""

    title: str
    pieces: tuple[Piece, ...]
    words: str


def prompt_bar(report: Overview) -> PromptBar | None:
    """None when nothing was counted."""
    parts = [p for p in report.prefix.parts if p.read and p.tokens]
    whole = sum(p.tokens for p in parts)
    if not whole:
        return None
    pieces: list[Piece] = []
    for part in parts:
        if part.part == "tools":
            pieces += _tools(report, part.tokens, whole)
        else:
            title = f"{part.part.replace('_', ' ')}: {count(part.tokens)} tokens"
            pieces.append(_piece(_kind(part.part), part.tokens / whole, part.part, title))
    largest = max(parts, key=lambda p: p.tokens)
    title = (
        f"{percent(largest.tokens / whole)} of what is read before each answer is {largest.part}"
    )
    return PromptBar(title, tuple(pieces), "; ".join(p.title for p in pieces[:40]))


def _kind(part: str) -> Kind:
    return "system" if part == "system" else "talk"


def _tools(report: Overview, tokens: int, whole: int) -> Sequence[Piece]:
    listed = [t for t in report.tools.tools if t.tokens]
    counted = sum(t.tokens or 0 for t in listed)
    if not counted:
        title = f"tools: {count(tokens)} tokens"
        return [_piece("tools", tokens / whole, "tools", title)]
    pieces = []
    for tool in listed:
        # Tools come and go between prompts: all that were seen share the width of the usual prompt's.
        share = (tool.tokens or 0) / counted * tokens / whole
        name = printable(tool.name)
        called = "never called" if not tool.called else f"called in {count(tool.called)} answers"
        kind = "tools" if tool.called else "unused"
        pieces.append(
            _piece(kind, share, name, f"{name}: {count(tool.tokens or 0)} tokens, {called}")
        )
    return pieces
