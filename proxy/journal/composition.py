"""What a prompt is made of: tokens by part, made to fit the server's bill where there is one.

One rule: the parts add up to the bill exactly or they stay as counted, and each says which. The chat
template's own tokens are never folded into a part: without the server's tokenizer they are assumed,
4 for each message and 3 that open the answer (the shape of ChatML), and the rest is scaled.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from proxy.wire.exchange import Note

from .record import Counting, Part, ToolEntry, Tools, ToolSet
from .tokens import NOT_COUNTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from proxy.dialects.base import PartName, PromptPart

    from .tokens import Tokenizer

TEMPLATE_PER_MESSAGE: Final = 4
TEMPLATE_OPENER: Final = 3
TEMPLATE_ASSUMED: Final = f"assumed: {TEMPLATE_PER_MESSAGE} a message"
TEMPLATE_REST: Final = "usage minus parts"

_ORDER: Final[tuple[PartName, ...]] = (
    "tools",
    "system",
    "history",
    "tool_results",
    "question",
    "media",
    "template",
)

_PLAUSIBLE: Final = (0.6, 1.6)
"""Billed to counted, template aside. A foreign tokenizer was 0.84 to 1.21 off over Qwen 3, Llama 3,
English, German, Chinese, JSON and code; beyond these two something else is in the bill."""

_PLAUSIBLE_WITHOUT_TOOLS: Final = (0.65, 1.35)
"""Narrower, because it is taken as evidence that a template leaves the tools out."""

_TEMPLATE_SLACK: Final = 64
"""Tokens that a template may add beyond the assumption, such as a default system prompt of its own
(SmolLM2's has 20). In a prompt of ten tokens no ratio means anything."""

_MCP_NAME: Final = (
    re.compile(r"mcp__(?P<server>.+?)(?:__|[./]).+"),  # Claude Code, Codex
    re.compile(r".+_mcp_(?P<server>.+)"),  # LibreChat
    re.compile(r"(?!mcp_)(?P<server>[A-Za-z0-9][\w.-]*?)__[A-Za-z0-9].*"),  # Goose, Gemini CLI
)


@dataclass(frozen=True, slots=True)
class Composition:
    """What the record says of a prompt, and the file that its tools go to."""

    parts: list[Part]
    counting: Counting
    tools: Tools | None = None
    tool_set: ToolSet | None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class _Pile:
    """All pieces of one part and role."""

    part: PartName
    role: str
    tokens: int | None
    source: str


@dataclass(frozen=True, slots=True)
class _Fit:
    """The piles as the bill lets them stand."""

    piles: list[_Pile]
    scale: float | None = None
    template: _Pile | None = None
    notes: tuple[Note, ...] = ()


def compose(
    parts: Sequence[PromptPart], billed: int | None, tokenizer: Tokenizer | None
) -> Composition:
    """Count a prompt and fit the count to `billed`, the server's number for all of it.

    Without a tokenizer every part has null tokens; without parts there is nothing to say.
    """
    parts = [p for p in parts if p.part != "template"]
    source = tokenizer.source if tokenizer else NOT_COUNTED
    counts = [_count(part, tokenizer) for part in parts]
    piles = _pile(parts, counts, source)
    counted = sum(n for n in counts if n is not None) if tokenizer and parts else None
    fit = _fit(piles, _assumed_template(parts), billed) if counted else _Fit(piles)
    counting = Counting(
        tokenizer=tokenizer.source if tokenizer and parts else None,
        counted=counted,
        billed=billed,
        residual=None if billed is None or counted is None else billed - counted,
        scale=fit.scale,
    )
    tool_set = _tool_set(parts, counts, source)
    all_piles = [*fit.piles, fit.template] if fit.template else fit.piles
    return Composition(
        parts=[Part(part=p.part, role=p.role, tokens=p.tokens, source=p.source) for p in all_piles],
        counting=counting,
        tools=_tools(tool_set, fit.piles),
        tool_set=tool_set,
        notes=fit.notes,
    )


def _count(part: PromptPart, tokenizer: Tokenizer | None) -> int | None:
    """None for media: what a picture costs is the server's secret, and its kind is not its text."""
    return None if tokenizer is None or part.part == "media" else tokenizer.count(part.text)


def _pile(parts: Iterable[PromptPart], counts: Iterable[int | None], source: str) -> list[_Pile]:
    """Sum over (part, role), in template order; roles in the order in which they first come."""
    sums: dict[tuple[PartName, str], int | None] = {}
    for part, count in zip(parts, counts, strict=True):
        key = (part.part, part.role)
        sums[key] = None if count is None else (sums.get(key) or 0) + count
    ordered = sorted(sums.items(), key=lambda item: _ORDER.index(item[0][0]))
    return [
        _Pile(part, role, tokens, NOT_COUNTED if tokens is None else source)
        for (part, role), tokens in ordered
    ]


def _assumed_template(parts: Iterable[PromptPart]) -> int:
    """0 for a prompt without roles: raw text goes to the model without a template."""
    messages = sum(1 for p in parts if p.role and p.part not in ("tools", "media"))
    return messages * TEMPLATE_PER_MESSAGE + TEMPLATE_OPENER if messages else 0


def _fit(piles: list[_Pile], assumed: int, billed: int | None) -> _Fit:
    """Make the piles and the template add up to the bill, if the bill can be theirs."""
    as_counted = _Fit(piles, None, _template(assumed, TEMPLATE_ASSUMED))
    if billed is None or any(p.tokens is None for p in piles):
        # With media in the prompt the bill holds tokens that no text accounts for: scaling would
        # put them on the text.
        return as_counted
    fit = _to_bill(piles, assumed, billed, _PLAUSIBLE)
    if fit is not None:
        return fit
    rest = [p for p in piles if p.part != "tools"]
    fit = (
        _to_bill(rest, assumed, billed, _PLAUSIBLE_WITHOUT_TOOLS)
        if len(rest) < len(piles)
        else None
    )
    if fit is not None:
        tools = [
            replace(p, source=f"{p.source}, not in the bill") for p in piles if p.part == "tools"
        ]
        note = Note("template_drops_tools", "prompt", f"{billed} billed, {_sum(piles)} counted")
        return replace(fit, piles=tools + fit.piles, notes=(note,))
    note = Note("count_mismatch", "prompt", f"{billed} billed, {_sum(piles)} counted")
    return replace(as_counted, notes=(note,))


def _to_bill(
    piles: list[_Pile], assumed: int, billed: int, plausible: tuple[float, float]
) -> _Fit | None:
    """None when the bill cannot be for these piles."""
    counted = _sum(piles)
    low, high = plausible
    target = billed - assumed
    if counted and low <= target / counted <= high:
        return _Fit(_scaled(piles, target), target / counted, _template(assumed, TEMPLATE_ASSUMED))
    if 0 <= billed - counted <= _TEMPLATE_SLACK:
        return _Fit(piles, None, _template(billed - counted, TEMPLATE_REST))
    return None


def _scaled(piles: list[_Pile], target: int) -> list[_Pile]:
    """Piles in proportion whose sum is `target`: largest remainders first get the tokens left over."""
    counted = _sum(piles)
    shares = [divmod((p.tokens or 0) * target, counted) for p in piles]
    left = target - sum(whole for whole, _ in shares)
    by_remainder = sorted(range(len(piles)), key=lambda n: -shares[n][1])
    raised = set(by_remainder[:left])
    return [
        replace(p, tokens=whole + (n in raised), source=f"{p.source}, scaled to usage")
        for n, (p, (whole, _)) in enumerate(zip(piles, shares, strict=True))
    ]


def _template(tokens: int, source: str) -> _Pile | None:
    return _Pile("template", "template", tokens, source) if tokens else None


def _sum(piles: Iterable[_Pile]) -> int:
    return sum(p.tokens or 0 for p in piles)


def _tools(tool_set: ToolSet | None, piles: list[_Pile]) -> Tools | None:
    if tool_set is None:
        return None
    tokens = [p.tokens for p in piles if p.part == "tools" and p.tokens is not None]
    return Tools(
        set_hash=tool_set.set_hash,
        count=len(tool_set.tools),
        tokens=sum(tokens) if tokens else None,
    )


def _tool_set(
    parts: Sequence[PromptPart], counts: Sequence[int | None], source: str
) -> ToolSet | None:
    tools = [(p, n) for p, n in zip(parts, counts, strict=True) if p.part == "tools"]
    if not tools:
        return None
    return ToolSet(
        set_hash=_set_hash(p for p, _ in tools),
        source=source,
        tools=[ToolEntry(name=p.name, tokens=n, server=mcp_server(p.name)) for p, n in tools],
    )


def _set_hash(tools: Iterable[PromptPart]) -> str:
    """The same for the same definitions in any order: the order is the prefix's concern."""
    one_by_one = sorted(
        blake2b(f"{t.name}\0{t.text}".encode("utf-8", "surrogatepass")).digest() for t in tools
    )
    return blake2b(b"".join(one_by_one), digest_size=8).hexdigest()


def mcp_server(tool: str) -> str | None:
    """The MCP server that a tool's name tells of, as clients build such names; None if it does not."""
    for pattern in _MCP_NAME:
        found = pattern.fullmatch(tool)
        if found:
            return found["server"]
    return None
