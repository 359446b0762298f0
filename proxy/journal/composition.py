"""What a prompt is made of: tokens by part, exact where the server counts, else made to fit its bill.

One rule: the parts add up to the bill, or a note says that they do not, and each part says how its number
came about. The chat template's own tokens are never folded into a part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from proxy.wire.exchange import Note

from .exact import SERVER, shares
from .piles import Pile, piled, summed
from .record import Counting, Part, Tools, ToolSet
from .scaled import TEMPLATE_REST, Fit, dropped, fitted
from .tokens import NOT_COUNTED
from .tool_set import tool_set

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.dialects.base import PromptPart, RequestReading

    from .exact import Measured, Shares
    from .tokens import Tokenizer

_TEMPLATE_MOST: Final = 40
"""Tokens that a template may have without being a riddle; in a long prompt one in a hundred."""

_DIGITS_MATTER: Final = 1.02
"""Below two in a hundred it does not matter how numbers are counted."""

MEDIA_REST: Final = f"usage minus {SERVER}"


@dataclass(frozen=True, slots=True)
class Composition:
    """What the record says of a prompt, and the file that its tools go to."""

    parts: list[Part]
    counting: Counting
    tools: Tools | None = None
    tool_set: ToolSet | None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class _Bill:
    """The server's number."""

    tokens: int | None
    whole: bool
    """Whether the parts are all that it is for."""


@dataclass(frozen=True, slots=True)
class _Local:
    """Tokens of each piece, and who counted them."""

    each: list[int | None]
    source: str


@dataclass(frozen=True, slots=True)
class _Counted:
    """The piles, and what else is known of the count."""

    piles: list[Pile]
    counting: Counting
    local: _Local
    """What goes to the set of tools."""
    notes: tuple[Note, ...] = ()


def compose(
    asked: RequestReading,
    billed: int | None,
    tokenizer: Tokenizer | None,
    measured: Measured | None = None,
) -> Composition:
    """Count a prompt. `billed` is the server's number for all of it, `measured` its answers in parts.

    Without a tokenizer or answers every part has null tokens; without parts there is nothing to say. If
    the parts are not the whole prompt they stay as counted: the bill is for more than they are.
    """
    parts = [p for p in asked.parts if p.part != "template"]
    local = _counted(parts, tokenizer, measured.whole if measured else billed)
    bill = _Bill(billed, asked.whole)
    if measured is not None and asked.slices is not None and parts:
        laid = shares(parts, local.each, asked.slices, measured)
        found = _exact(parts, laid, bill, local.source if tokenizer else "length")
    else:
        found = _fitted(parts, local, bill)
    tools = [(p, n) for p, n in zip(parts, found.local.each, strict=True) if p.part == "tools"]
    entries = (
        tool_set([p for p, _ in tools], [n for _, n in tools], found.local.source)
        if tools
        else None
    )
    return Composition(
        parts=[
            Part(part=p.part, role=p.role, tokens=p.tokens, count=p.count, source=p.source)
            for p in found.piles
        ],
        counting=found.counting,
        tools=_tools(entries, found.piles),
        tool_set=entries,
        notes=found.notes,
    )


def _counted(
    parts: Sequence[PromptPart], tokenizer: Tokenizer | None, target: int | None
) -> _Local:
    """Each piece counted here, digit by digit if that comes nearer to what the server says of all.

    None for media: what a picture costs is the server's secret, and its kind is not its text.
    """
    if tokenizer is None:
        return _Local([None] * len(parts), NOT_COUNTED)
    counts = [
        None
        if part.part == "media"
        else tokenizer.measure(part.text, definition=part.part == "tools")
        for part in parts
    ]
    plain = sum(count.tokens for count in counts if count)
    split = plain + sum(count.digits for count in counts if count)
    if target and plain and target * target > plain * split > plain * plain * _DIGITS_MATTER:
        return _Local(
            [sum(c) if c else None for c in counts], f"{tokenizer.source}, digit by digit"
        )
    return _Local([c.tokens if c else None for c in counts], tokenizer.source)


def _fitted(parts: Sequence[PromptPart], local: _Local, bill: _Bill) -> _Counted:
    """Counted here, and scaled to the bill if it can be for these parts."""
    done = bool(parts) and local.source != NOT_COUNTED
    piles = piled(parts, local.each, local.source)
    counted = summed(piles) if done else None
    fit = fitted(piles, bill.tokens if bill.whole else None) if counted else Fit(piles)
    counting = Counting(
        tokenizer=local.source if done else None,
        counted=counted,
        billed=bill.tokens,
        residual=_less(bill.tokens, counted),
        scale=fit.scale,
    )
    return _Counted(fit.piles, counting, local, fit.notes)


def _exact(parts: Sequence[PromptPart], found: Shares, bill: _Bill, by: str) -> _Counted:
    """Counted by the server; what it cannot tell apart is shared `by` the counts made here."""
    piles = []
    for pile in piled(parts, found.each, SERVER):
        mixed = (pile.part, pile.role) in found.mixed
        piles.append(pile.says(pile.tokens, f"{SERVER}, shared by {by}") if mixed else pile)
    rest = Pile("template", "template", found.template, SERVER)
    measured = found.measured
    notes: list[Note] = []
    if measured.drops_tools:
        piles = [dropped(p.says(p.tokens, by)) if p.part == "tools" else p for p in piles]
        notes.append(Note("template_drops_tools", "prompt", f"{measured.whole} with and without"))
    missing = _less(bill.tokens, measured.whole) or 0
    pictures = [p for p in piles if p.part == "media"]
    if len(pictures) == 1 and missing >= 0 and bill.tokens is not None:
        piles = [p.says(missing, MEDIA_REST) if p.part == "media" else p for p in piles]
    elif not pictures and missing and _may_be_template(found.template + missing, measured.whole):
        rest = rest.says(found.template + missing, TEMPLATE_REST)
    elif not pictures and missing:
        told = f"{bill.tokens} billed, {measured.whole} counted by the server"
        notes.append(Note("count_mismatch", "prompt", told))
    counting = Counting(
        tokenizer=SERVER,
        counted=measured.whole,
        billed=bill.tokens,
        residual=_less(bill.tokens, measured.whole),
    )
    one = sum(p.part == "tools" for p in parts) == 1
    source = SERVER if one else f"{SERVER}, shared by {by}"
    return _Counted([*piles, rest], counting, _Local(found.each, source), tuple(notes))


def _may_be_template(tokens: int, whole: int) -> bool:
    return 0 <= tokens <= max(_TEMPLATE_MOST, whole // 100)


def _less(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one - other


def _tools(entries: ToolSet | None, piles: Sequence[Pile]) -> Tools | None:
    if entries is None:
        return None
    tokens = [p.tokens for p in piles if p.part == "tools" and p.tokens is not None]
    return Tools(
        set_hash=entries.set_hash,
        count=len(entries.tools),
        tokens=sum(tokens) if tokens else None,
    )
