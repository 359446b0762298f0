"""The tables of tools: one by one, and by MCP server; below them what to cut and what that saves.

One rule: cold and as lived stand side by side, because a cache that hits hides what a miss costs; and
what is promised for a cut is of tools that were never called, with its interval and its doubts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from analysis.explain.source import Refusal

from .cutting import how_to_cut
from .names import printable
from .table import Column, Table, text
from .units import NOTHING, S, count, duration, factor, moment, plural, scale_for, time_of_day

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import tzinfo

    from analysis.explain.overview import Overview
    from analysis.explain.prefix import Price
    from analysis.explain.savings import Cut, Doubt, Savings
    from analysis.explain.tools import ServerSummary, ToolSummary

    from .units import Scale

TOOLS_SHOWN: Final = 10
SERVERS_SHOWN: Final = 10
RARELY_SHOWN: Final = 3

CUT: Final = "  <- cut"

DOUBTS: Final[Mapping[Doubt, str]] = {
    "few answers": "Few answers so far: a tool that was not called yet may still be.",
    "tokens are not the server's": (
        "Their tokens are not the server's own count, so the seconds are as far off as these are."
    ),
    "mostly cached": (
        "The cache holds them, so as lived little is saved; cold is what each miss of it costs."
    ),
    "cache not reported": (
        "The server did not say what it cached; none is assumed, so as lived may be less."
    ),
}


def tools_table(
    report: Overview, zone: tzinfo | None = None, most: int | None = TOOLS_SHOWN
) -> Table | None:
    """Tools, largest first, so many of them (None: all); None when none was listed."""
    tools = report.tools.tools
    if not tools:
        return None
    most = len(tools) if most is None else most
    shown, rest = tools[:most], tools[most:]
    scale = scale_for(sum(t.price.cold_ns for t in tools if t.price))
    columns = (
        text("TOOLS, largest first"),
        Column("tokens"),
        Column("offered", "answers"),
        Column("called", "answers"),
        Column("last"),
        Column("cold"),
        Column("as lived"),
        text("MCP server"),
    )
    rows = tuple(_row(tool, scale, _last(tool.last_called_unix_ns, report, zone)) for tool in shown)
    return Table(columns, rows, tuple(_notes(report, rest)))


def _row(tool: ToolSummary, scale: Scale, last: str) -> tuple[str, ...]:
    return (
        printable(short_name(tool), 24),
        count(tool.tokens),
        count(tool.offered),
        count(tool.called),
        last,
        *_seconds(tool.price, scale),
        printable(tool.server, 14) + ("" if tool.called else CUT),
    )


def short_name(tool: ToolSummary) -> str:
    """Without the MCP server that stands in it, which has a column of its own."""
    before, found, rest = tool.name.partition(tool.server) if tool.server else ("", "", "")
    return rest.lstrip("_-./") or before.removesuffix("_mcp_") if found else tool.name


def _seconds(price: Price | None, scale: Scale) -> tuple[str, str]:
    return (
        scale.text(price.cold_ns if price else None),
        scale.text(price.lived_ns if price else None),
    )


def _last(at_unix_ns: int | None, report: Overview, zone: tzinfo | None) -> str:
    """The day of a call, or the time of day where all was recorded within one."""
    first, last = report.census.first_unix_ns, report.census.last_unix_ns
    if at_unix_ns is None or first is None or last is None:
        return NOTHING
    within_a_day = last - first < 86_400 * S
    return time_of_day(at_unix_ns, zone) if within_a_day else moment(at_unix_ns, zone)[:10]


def servers_table(report: Overview, zone: tzinfo | None = None) -> Table | None:
    """The same by MCP server; None when no tool's name tells of one."""
    servers = report.tools.servers
    if not any(s.server for s in servers):
        return None
    scale = scale_for(sum(s.price.cold_ns for s in servers if s.price))
    columns = (
        text("TOOLS, by MCP server"),
        Column("tools"),
        Column("never called"),
        Column("tokens"),
        Column("calls"),
        Column("last"),
        Column("cold"),
        Column("as lived"),
        text(""),
    )
    shown, rest = servers[:SERVERS_SHOWN], servers[SERVERS_SHOWN:]
    rows = tuple(_server(s, scale, _last(s.last_called_unix_ns, report, zone)) for s in shown)
    tokens = plural(sum(s.tokens for s in rest), "token")
    return Table(columns, rows, (f"and {len(rest):,} more: {tokens}.",) if rest else ())


def _server(server: ServerSummary, scale: Scale, last: str) -> tuple[str, ...]:
    own = server.server is None
    return (
        "no server named" if own else printable(server.server, 30),
        count(server.tools),
        count(server.unused),
        count(server.tokens),
        count(server.called),
        last,
        *_seconds(server.price, scale),
        "<- cut the server" if server.never_called and not own else "",
    )


def _notes(report: Overview, rest: Sequence[ToolSummary]) -> Iterator[str]:
    tools = report.tools
    if rest:
        unused = sum(not tool.called for tool in rest)
        yield f"and {len(rest):,} more, {unused:,} of them never called: {_rest(rest)}."
    yield from saving_notes(report)
    sources = dict.fromkeys(str(tool.source) for tool in tools.tools)
    answers = f"{count(tools.answers)} in all, hidden and cut ones included"
    yield f"Tokens: {'; '.join(sources)}. Answers: {answers}."
    if tools.unlisted:
        yield unlisted(report)


def _rest(tools: Sequence[ToolSummary]) -> str:
    tokens = plural(sum(tool.tokens or 0 for tool in tools), "token")
    prices = [tool.price for tool in tools if tool.price]
    return f"{tokens}, {duration(sum(p.cold_ns for p in prices))} cold" if prices else tokens


def unlisted(report: Overview) -> str:
    """Answers whose tools are in no row."""
    answers = plural(report.tools.unlisted, "answer")
    return f"{answers} had tools whose list is not in the journal: these are in no row."


def saving_notes(report: Overview) -> Iterator[str]:
    """What to cut, what it saves, what is doubtful about that, and how it is done."""
    saved = report.savings
    if saved.unused is not None:
        yield f"{_unused(saved.unused)}. {_gain(saved)}{how_to_cut(report.census.clients)}"
        yield from (_whole_server(cut) for cut in saved.servers[:SERVERS_SHOWN])
        yield from (DOUBTS[doubt] for doubt in saved.doubts)
    if saved.rarely:
        names = [printable(tool.name, 36) for tool in saved.rarely]
        more = f" and {len(names) - RARELY_SHOWN:,} more" if len(names) > RARELY_SHOWN else ""
        yield (
            f"Rarely called, in less than one of a hundred answers that offered them, and not counted"
            f" as savings: {', '.join(names[:RARELY_SHOWN])}{more}."
        )


def _unused(cut: Cut) -> str:
    never = f"{len(cut.names):,} never called: {plural(cut.tokens, 'token')}"
    if cut.price is None:
        return never
    scale = scale_for(cut.price.cold_ns)
    cold = f"{scale.text(cut.price.cold_ns)} cold{_ends(cut.price.cold_interval_ns, scale)}"
    return f"{never}, {cold}, {scale.text(cut.price.lived_ns)} as lived"


def _ends(interval: tuple[int, int] | None, scale: Scale) -> str:
    return f" ({scale.text(interval[0])} to {scale.text(interval[1])})" if interval else ""


def _gain(saved: Savings) -> str:
    gain = saved.gain
    if isinstance(gain, Refusal):
        return ""
    turn, together = ("The turn", "")
    if gain.turns > 1:
        turn, together = ("The median turn", f", all together {factor(gain.total_speedup)}")
    return f"{turn} is {factor(gain.speedup.median)} as fast without them{together}. "


def _whole_server(cut: Cut) -> str:
    server = printable(cut.server)
    tools = plural(len(cut.names), "tool")
    return f"Server {server}: {tools}, none called: cut the server ({plural(cut.tokens, 'token')})."
