"""Pieces of a prompt summed into piles, one for each part and role, and whole numbers shared among them.

One rule: what is shared out adds up to what there was, to the token.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from proxy.dialects.base import PartName, PromptPart

_ORDER: Final[tuple[PartName, ...]] = (
    "tools",
    "system",
    "history",
    "tool_results",
    "question",
    "media",
    "template",
)
"""As templates render them."""

Key = tuple["PartName", str]


@dataclass(frozen=True, slots=True)
class Pile:
    """All pieces of one part and role."""

    part: PartName
    role: str
    tokens: int | None
    source: str
    count: int = 0
    """Messages in it, or tools, or media; 0 for the template."""

    def says(self, tokens: int | None, source: str) -> Pile:
        """The same pieces, counted otherwise."""
        return replace(self, tokens=tokens, source=source)


def key(part: PromptPart) -> Key:
    """Part and role of a piece. Media are told apart by their kind: what one costs says nothing of others."""
    return (part.part, part.text if part.part == "media" else part.role)


def piled(parts: Sequence[PromptPart], counts: Sequence[int | None], source: str) -> list[Pile]:
    """Sums in template order; roles in the order in which they first come."""
    sums: dict[Key, int | None] = {}
    pieces: dict[Key, set[tuple[str, int]]] = {}
    for n, (part, count) in enumerate(zip(parts, counts, strict=True)):
        place = key(part)
        sums[place] = None if count is None else (sums.get(place) or 0) + count
        one = part.part in ("tools", "media") or part.message is None
        pieces.setdefault(place, set()).add(("piece", n) if one else ("message", part.message or 0))
    ordered = sorted(sums.items(), key=lambda item: _ORDER.index(item[0][0]))
    return [
        Pile(*place, tokens, "not counted" if tokens is None else source, len(pieces[place]))
        for place, tokens in ordered
    ]


def shared(total: int, weights: Sequence[int]) -> list[int]:
    """`total` in proportion to the weights: the largest remainders get the tokens that are left over.

    Without any weight the first gets all.
    """
    whole = sum(weights)
    if not whole:
        return [total if n == 0 else 0 for n in range(len(weights))]
    shares = [divmod(weight * total, whole) for weight in weights]
    left = total - sum(share for share, _ in shares)
    by_remainder = sorted(range(len(weights)), key=lambda n: -shares[n][1])
    raised = set(by_remainder[:left])
    return [share + (n in raised) for n, (share, _) in enumerate(shares)]


def summed(piles: Iterable[Pile]) -> int:
    """Tokens of all that are counted."""
    return sum(p.tokens or 0 for p in piles)
