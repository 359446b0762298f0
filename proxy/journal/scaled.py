"""Counts of somebody else's tokenizer made to fit the server's bill.

One rule: the piles add up to the bill exactly or they stay as counted, and each says which. What a chat
template writes is assumed, because no text shows it: marks around each message, the words around a list of
tools, the opener of the answer. The rest of the bill is shared out in proportion to what was counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from proxy.wire.exchange import Note

from .piles import Pile, shared, summed

if TYPE_CHECKING:
    from collections.abc import Sequence

MARKS: Final = 4
"""Tokens around a message, of ChatML, Llama 3 and Gemma: 4 or 5."""
OPENER: Final = 3
"""Tokens that open the answer, of the same."""
TOOLS_FRAME: Final = 12
"""Tokens around a list of tools. Templates differ by far (demo 7, Qwen 86): with few
tools in the prompt this is the largest error."""

TEMPLATE_ASSUMED: Final = f"assumed: {MARKS} around the question, {OPENER} for the answer"
TEMPLATE_REST: Final = "usage minus parts"

_PLAUSIBLE: Final = (0.6, 1.6)
"""Billed to counted, what is assumed aside. A foreign tokenizer was 0.84 to 1.21 off over Qwen 3, Llama 3,
English, German, Chinese, JSON and code; beyond these two something else is in the bill."""

_PLAUSIBLE_WITHOUT_TOOLS: Final = (0.65, 1.35)
"""Narrower, because it is taken as evidence that a template leaves the tools out."""

_TEMPLATE_SLACK: Final = 64
"""Tokens that a template may add beyond the assumption, such as a default system prompt of its own
(SmolLM2's has 20). In a prompt of ten tokens no ratio means anything."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The piles as the bill lets them stand."""

    piles: list[Pile]
    """With the template's, if there is one."""
    scale: float | None = None
    notes: tuple[Note, ...] = ()


def assumed(piles: Sequence[Pile]) -> list[int]:
    """Tokens that a template adds to each pile. A prompt without roles has no template."""
    framed = any(p.role for p in piles if p.part not in ("tools", "media"))
    return [_marks(p) if framed and p.tokens is not None else 0 for p in piles]


def _marks(pile: Pile) -> int:
    if pile.part == "tools":
        return TOOLS_FRAME
    if (
        pile.part == "question"
    ):  # the marks of one message are the template's: an empty chat has them
        return MARKS * max(pile.count - 1, 0)
    return MARKS * pile.count


def fitted(piles: Sequence[Pile], billed: int | None) -> Fit:
    """The piles and the template so that they add up to the bill, if the bill can be theirs."""
    if billed is None or any(p.tokens is None for p in piles):
        # With media in the prompt the bill holds tokens that no text accounts for: scaling would
        # put them on the text.
        return _as_counted(piles)
    fit = _to_bill(piles, billed, _PLAUSIBLE)
    if fit is not None:
        return fit
    rest = [p for p in piles if p.part != "tools"]
    fit = _to_bill(rest, billed, _PLAUSIBLE_WITHOUT_TOOLS) if len(rest) < len(piles) else None
    if fit is not None:
        tools = [dropped(p) for p in piles if p.part == "tools"]
        note = Note("template_drops_tools", "prompt", f"{billed} billed, {summed(piles)} counted")
        return Fit([*tools, *fit.piles], fit.scale, (note,))
    note = Note("count_mismatch", "prompt", f"{billed} billed, {summed(piles)} counted")
    return Fit(_as_counted(piles).piles, None, (note,))


def dropped(pile: Pile) -> Pile:
    """A pile that the model never saw: it keeps its count, which is in no bill."""
    return pile.says(pile.tokens, f"{pile.source}, not in the bill")


def _as_counted(piles: Sequence[Pile]) -> Fit:
    marked = [
        p.says(p.tokens + marks, p.source) if p.tokens is not None else p
        for p, marks in zip(piles, assumed(piles), strict=True)
    ]
    return Fit([*marked, *_template(_opening(piles), TEMPLATE_ASSUMED)])


def _to_bill(piles: Sequence[Pile], billed: int, plausible: tuple[float, float]) -> Fit | None:
    """None when the bill cannot be for these piles."""
    counted, marks, opening = summed(piles), assumed(piles), _opening(piles)
    target = billed - opening - sum(marks)
    low, high = plausible
    if counted and low <= target / counted <= high:
        texts = shared(target, [p.tokens or 0 for p in piles])
        scaled = [
            p.says(text + mark, f"{p.source}, scaled to usage")
            for p, text, mark in zip(piles, texts, marks, strict=True)
        ]
        return Fit([*scaled, *_template(opening, TEMPLATE_ASSUMED)], target / counted)
    if 0 <= billed - counted <= _TEMPLATE_SLACK:
        return Fit([*piles, *_template(billed - counted, TEMPLATE_REST)])
    return None


def _opening(piles: Sequence[Pile]) -> int:
    """What a chat has before anything was said in it."""
    framed = any(p.role for p in piles if p.part not in ("tools", "media"))
    return MARKS + OPENER if framed else 0


def _template(tokens: int, source: str) -> list[Pile]:
    return [Pile("template", "template", tokens, source)] if tokens else []
