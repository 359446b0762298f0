"""Findings about what stands in the prompts: tools, system prompt, and who made it so long.

One rule: what a part costs is its segment in the turns' budgets, as lived; cold prices stay with the tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from analysis.explain.prefix import within
from analysis.explain.source import MEASURED, REPORTED, Refusal, Source

from .base import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analysis.explain.prefix import PartSummary

    from .base import Seen

MOST_TOOLS_SHARE: Final = 0.3
"""Of the prompt: tool definitions that are more of it are the largest thing that a user can change."""

LONG_SYSTEM: Final = 1_000
"""Tokens of a system prompt above which it is worth reading what stands in it."""

OFF_BY: Final = 0.1
"""Of the bill: a count that misses it by more names another tokenizer, or a part that nobody saw."""

VENDORS_OWN: Final = "api.anthropic.com"
DEFERS_TOOLS: Final = ("claude-cli", "claude-code", "claude code")
"""Clients that load tool definitions when they are needed, but only from the vendor's own host."""
LOADER: Final = "ToolSearch"
"""The tool by which such a client loads the others."""


def unused_tools(seen: Seen) -> Iterator[Finding]:
    """Tools that no answer called, where reading them is felt."""
    cut, gain = seen.savings.unused, seen.savings.gain
    if cut is None or isinstance(gain, Refusal):
        return
    mean_ns = gain.total_saved_ns / gain.turns
    if not seen.felt(mean_ns):
        return
    line = next(line for line in seen.outlook.what_ifs if line.name == "no unused tools")
    yield Finding(
        "unused tools",
        mean_ns,
        line.source,
        {
            "tools": len(cut.names),
            "of_tools": len(seen.tools.tools),
            "tokens": cut.tokens,
            "offering": seen.tools.offering,
            "factor": gain.total_speedup,
        },
        interval_ns=within(mean_ns, cut.price.spread) if cut.price else None,
        doubts=tuple(seen.savings.doubts),
        takes=frozenset({"prefill: tools"}),
    )


def bloated_tools(seen: Seen) -> Iterator[Finding]:
    """Tools that are called, and whose definitions are a large part of the prompt all the same."""
    part, used = _part(seen, "tools"), [t for t in seen.tools.tools if t.called]
    gain = seen.savings.gain
    unused_ns = 0.0 if isinstance(gain, Refusal) else gain.total_saved_ns / gain.turns
    left_ns = seen.mean_ns("prefill: tools") - unused_ns
    if part is None or part.share < MOST_TOOLS_SHARE or not used or not seen.felt(left_ns):
        return
    yield Finding(
        "bloated tools",
        left_ns,
        seen.source_of("prefill: tools") or MEASURED,
        {
            "tokens": sum(t.tokens or 0 for t in used),
            "tools": len(used),
            "largest": used[0].name,
            "largest_tokens": used[0].tokens or 0,
            "share": part.share,
        },
        takes=frozenset({"prefill: tools"}),
    )


def oversized_system(seen: Seen) -> Iterator[Finding]:
    """A long system prompt that is felt."""
    part, mean_ns = _part(seen, "system"), seen.mean_ns("prefill: system")
    if part is None or part.tokens < LONG_SYSTEM or not seen.felt(mean_ns):
        return
    yield Finding(
        "oversized system prompt",
        mean_ns,
        seen.source_of("prefill: system") or MEASURED,
        {"tokens": part.tokens, "share": part.share},
        interval_ns=seen.interval_of("prefill: system"),
        takes=frozenset({"prefill: system"}),
    )


def template_drops_tools(seen: Seen) -> Iterator[Finding]:
    """The client sends tools, and the bill shows that the model never saw them."""
    part = _part(seen, "tools")
    if part is not None and not part.read:
        yield Finding(
            "template drops tools", None, REPORTED, {"tokens": part.tokens, "answers": part.answers}
        )


def counts_disagree(seen: Seen) -> Iterator[Finding]:
    """Parts were counted by another tokenizer than the server's, and it shows."""
    told = [
        (r.counting.residual, r.counting.billed)
        for r in seen.answers
        if r.counting.residual is not None and r.counting.billed
    ]
    off = [abs(residual) / billed for residual, billed in told if abs(residual) > OFF_BY * billed]
    if 2 * len(off) > len(told):
        yield Finding(
            "token counts disagree",
            None,
            Source("counted", "against the bill"),
            {"answers": len(off), "of_answers": len(told), "share": sorted(off)[len(off) // 2]},
        )


def client_inflates(seen: Seen) -> Iterator[Finding]:
    """A client that sends all definitions because the host is not its vendor's."""
    sent = [
        r
        for r in seen.answers
        if r.tools is not None
        and _host(r.upstream) != VENDORS_OWN
        and (r.client or "").lower().startswith(DEFERS_TOOLS)
    ]
    names = {tool.name for tool in seen.tools.tools}
    foreign = [tool for tool in seen.tools.tools if tool.server is not None]
    if not sent or not foreign or LOADER in names:
        return
    yield Finding(
        "client inflates its prompt",
        None,
        Source("assumed", "from the client's name and its tools"),
        {
            "client": sent[-1].client or "",
            "tools": len(foreign),
            "tokens": sum(tool.tokens or 0 for tool in foreign),
        },
        takes=frozenset({"prefill: tools"}),
    )


def _host(upstream: str) -> str:
    """Of `scheme://host:port`."""
    return upstream.partition("://")[2].partition(":")[0]


def _part(seen: Seen, name: str) -> PartSummary | None:
    return next((part for part in seen.prefix.parts if part.part == name), None)
