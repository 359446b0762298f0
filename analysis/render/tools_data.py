"""Tools, what cutting them saves, and prefix cache misses as JSON.

One rule: as in `data`: units in the names, null is not zero, a source beside what was not measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from analysis.explain.source import Refusal

if TYPE_CHECKING:
    from analysis.explain.misses import Miss, Misses, Place, Span
    from analysis.explain.prefix import Price
    from analysis.explain.savings import Cut, Savings
    from analysis.explain.tools import ServerSummary, Spent, Tools, ToolSummary

    Fields = dict[str, Any]

EXPECTED: Final = "estimated as what prompts share with earlier ones"
LOST: Final = "estimated as expected less reported"
COUNTED: Final = "as of each tool"


def tools_fields(tools: Tools, saved: Savings) -> Fields:
    """The tools one by one and by MCP server, and what cutting some of them saves."""
    return {
        "answers": tools.answers,
        "offering_answers": tools.offering,
        "unlisted_answers": tools.unlisted,
        "never_called_tools": len(tools.never_called()),
        "tools": [_tool(tool) for tool in tools.tools],
        "mcp_servers": [_server(server) for server in tools.servers],
        "savings": _savings(saved),
    }


def _tool(tool: ToolSummary) -> Fields:
    return {
        "name": tool.name,
        "mcp_server": tool.server,
        "tokens": tool.tokens,
        "tokens_source": str(tool.source),
        "offered_answers": tool.offered,
        "called_answers": tool.called,
        "last_called_unix_ns": tool.last_called_unix_ns,
        **price_fields(tool.price),
        **_spent(tool.spent),
    }


def _server(server: ServerSummary) -> Fields:
    return {
        "name": server.server,
        "offered_tools": server.tools,
        "never_called_tools": server.unused,
        "tokens": server.tokens,
        "tokens_source": COUNTED,
        "calls": server.called,
        "last_called_unix_ns": server.last_called_unix_ns,
        **price_fields(server.price),
    }


def _savings(saved: Savings) -> Fields:
    gain = saved.gain
    turn: Fields = {"refused": gain.reason} if isinstance(gain, Refusal) else {"refused": None}
    if not isinstance(gain, Refusal):
        low, high = gain.interval_ns or (None, None)
        turn |= {
            "turns": gain.turns,
            "measured": "before",
            "turn_factor": gain.speedup.median,
            "saved_ns": gain.saved_ns.median,
            "saved_low_ns": low,
            "saved_high_ns": high,
            "total_saved_ns": gain.total_saved_ns,
        }
    return {
        "never_called": None if saved.unused is None else _cut(saved.unused),
        "whole_servers": [_cut(cut) for cut in saved.servers],
        "other_tools": None if saved.others is None else _cut(saved.others),
        "a_turn_as_lived": turn,
        "doubts": list(saved.doubts),
        "rarely_called": [tool.name for tool in saved.rarely],
    }


def _cut(cut: Cut) -> Fields:
    return {
        "mcp_server": cut.server,
        "names": list(cut.names),
        "tokens": cut.tokens,
        "tokens_source": COUNTED,
        **price_fields(cut.price),
        **_spent(cut.spent),
    }


def _spent(spent: Spent | None) -> Fields:
    return {
        "all_cold_ns": None if spent is None else spent.cold_ns,
        "all_as_lived_ns": None if spent is None else spent.lived_ns,
        "a_turn_as_lived_ns": None if spent is None else spent.a_turn_ns,
    }


def price_fields(price: Price | None) -> Fields:
    """Cold and as lived, each with its 95 % interval."""
    cold = (None if price is None else price.cold_interval_ns) or (None, None)
    lived = (None if price is None else price.lived_interval_ns) or (None, None)
    return {
        "cold_ns": None if price is None else price.cold_ns,
        "cold_low_ns": cold[0],
        "cold_high_ns": cold[1],
        "as_lived_ns": None if price is None else price.lived_ns,
        "as_lived_low_ns": lived[0],
        "as_lived_high_ns": lived[1],
        "time_source": None if price is None else str(price.source),
    }


def misses_fields(misses: Misses) -> Fields:
    """Cache misses by cause."""
    return {
        "compared_prompts": misses.compared,
        "compared_turns": misses.turns,
        "first_prompts": misses.first,
        "unreported_prompts": misses.unreported,
        "expected_tokens": misses.expected,
        "expected_tokens_source": EXPECTED,
        "reported_tokens": misses.reported,
        "reported_tokens_source": "reported by the server",
        "sampled": misses.sampled,
        "causes": [_miss(miss) for miss in misses.causes],
    }


def _miss(miss: Miss) -> Fields:
    seconds, ages = miss.seconds, miss.ages_ns
    low, high = (seconds.interval_ns if seconds else None) or (None, None)
    return {
        "cause": miss.cause,
        "stable_prefix": miss.stable,
        "prompts": miss.prompts,
        "unreported_prompts": miss.unreported,
        "lost_tokens": miss.tokens,
        "lost_tokens_source": LOST,
        "lost_ns": seconds.ns if seconds else None,
        "lost_low_ns": low,
        "lost_high_ns": high,
        "time_source": str(seconds.source) if seconds else None,
        "least_age_ns": ages.low if ages else None,
        "most_age_ns": ages.high if ages else None,
        "places": [_place(place) for place in miss.places],
    }


def _place(place: Place) -> Fields:
    first, last = _ends(place.messages)
    return {
        "part": place.part,
        "tool": place.tool,
        "different_tools": place.tools,
        "first_message": first,
        "last_message": last,
        "least_offset_characters": place.offsets.low,
        "most_offset_characters": place.offsets.high,
        "prompts": place.prompts,
        "lost_tokens": place.tokens,
        "lost_tokens_source": LOST,
    }


def _ends(span: Span | None) -> tuple[int | None, int | None]:
    return (None, None) if span is None else (span.low, span.high)
