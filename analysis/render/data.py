"""The report as JSON, for programs.

One rule: the shape is a promise. `schema` names it; a change that could break a reader raises its
number. Every number's unit is in its name (`_ns`, `tokens`, `_per_s`, shares are 0 to 1, factors are
ratios), null is not zero, and what was not measured has its source beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from analysis.explain.source import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analysis.explain.brief import Brief
    from analysis.explain.budget import Sum
    from analysis.explain.census import Census
    from analysis.explain.overview import MedianTurn, Overview
    from analysis.explain.prefill import Cost, Engine
    from analysis.explain.prefix import Prefix, Price
    from analysis.explain.prompt import Count
    from analysis.explain.tools import Tools

    Fields = dict[str, Any]

SCHEMA: Final = "turnscope.report/1"

UNREADABLE_SHOWN: Final = 100


def report_json(report: Overview) -> bytes:
    """The whole report, indented, keys in a fixed order; it ends with a line feed."""
    fields: Fields = {
        "schema": SCHEMA,
        "census": _census(report.census),
        "turns": report.turns,
        "median_turn": None if report.median is None else _median(report.median),
        "all_turns": _sum(report.spent),
        "shortest_and_longest_wait": [_brief(line) for line in report.waits or ()],
        "prefill_costs": [_cost(engine, cost) for engine, cost in report.costs.items()],
        "prompt": _prompt(report.prefix),
        "tools": _tools(report.tools),
        "last_exchanges": [_brief(line) for line in report.last],
    }
    return orjson.dumps(fields, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _census(census: Census) -> Fields:
    return {
        "exchanges": census.exchanges,
        "standings": dict(census.standings),
        "first_unix_ns": census.first_unix_ns,
        "last_unix_ns": census.last_unix_ns,
        "routes": _named("exchanges", census.routes),
        "models": _named("generations", census.models),
        "clients": _named("generations", census.clients),
        "failures": _named("exchanges", census.failures),
        "lost_exchanges": census.lost,
        "losses": [
            {"at_unix_ns": loss.at_unix_ns, "ids": loss.ids, "why": loss.why}
            for loss in census.losses
        ],
        "exchanges_without_record": census.missing,
        "gaps": [{"run": g.run, "first": g.first, "last": g.last} for g in census.gaps],
        "unreadable_pieces": len(census.unreadable),
        "unreadable": [
            {"file": piece.file, "line": piece.line, "reason": piece.reason}
            for piece in census.unreadable[:UNREADABLE_SHOWN]
        ],
    }


def _named(unit: str, names: Mapping[str, int]) -> list[Fields]:
    return [{"name": name, unit: n} for name, n in names.items()]


def _median(median: MedianTurn) -> Fields:
    spent = median.budget
    return {
        "exchange": _brief(median.brief),
        "among_turns": median.among,
        "whole_ns": spent.whole_ns,
        "decode_ns": spent.decode_ns,
        "fixed_ns": spent.fixed_ns,
        "segments": [
            {"name": segment.name, "duration_ns": segment.ns, "source": str(segment.source)}
            for segment in spent.segments
        ],
        "speeds": [
            {
                "name": speed.name,
                "formula": speed.formula,
                "tokens_per_s": speed.figure.value,
                "refused": speed.figure.refused,
                "median_tokens_per_s": speed.median,
                "median_over_turns": speed.turns,
            }
            for speed in median.speeds
        ],
        "faster_engine": {
            "measured": "before",
            "source": "estimated: all but decoding stays as it is",
            "ceiling_factor": median.ceiling,
            "what_ifs": [
                {
                    "decode_factor": gain.decode_speedup,
                    "turn_factor": gain.turn_speedup,
                    "turn_ns": gain.turn_ns,
                }
                for gain in median.faster
            ],
        },
    }


def _sum(total: Sum) -> Fields:
    return {
        "turns": total.exchanges,
        "whole_ns": total.whole_ns,
        "segments": [
            {
                "name": segment.name,
                "duration_ns": segment.ns,
                "source": "; ".join(map(str, segment.sources)),
            }
            for segment in total.segments
        ],
    }


def _brief(line: Brief) -> Fields:
    return {
        "id": line.id,
        "at_unix_ns": line.at_unix_ns,
        "standing": line.standing,
        "ending": line.ending,
        "method": line.method,
        "path": line.path,
        "model": line.model,
        **_count("input", line.input),
        "cached_tokens": line.cached,
        **_count("output", line.output),
        "ttft_ns": line.ttft_ns,
        "decode_ns": line.decode_ns,
        "whole_ns": line.whole_ns,
    }


def _count(name: str, count: Count | None) -> Fields:
    return {
        f"{name}_tokens": None if count is None else count.tokens,
        f"{name}_tokens_source": None if count is None else str(count.source),
    }


def _cost(engine: Engine, cost: Cost) -> Fields:
    fields: Fields = {"upstream": engine.upstream, "model": engine.model}
    if isinstance(cost, Refusal):
        return fields | {"ns_per_token": None, "refused": cost.reason}
    return fields | {
        "ns_per_token": cost.ns_per_token,
        "refused": None,
        "low_ns_per_token": cost.low_ns_per_token,
        "high_ns_per_token": cost.high_ns_per_token,
        "exchanges": cost.exchanges,
        "least_uncached_tokens": cost.least_tokens,
        "most_uncached_tokens": cost.most_tokens,
        "cache_unspoken": cost.cache_unspoken,
        "source": str(cost.source),
    }


def _prompt(prefix: Prefix) -> Fields:
    return {
        "turns": prefix.turns,
        "cached_tokens": prefix.cached,
        "cached_of_tokens": prefix.cached_of,
        "parts": [
            {
                "part": part.part,
                "tokens": part.tokens,
                "tokens_source": str(part.source),
                "read_by_server": part.read,
                "share": part.share,
                "turns": part.turns,
                **_price(part.price),
            }
            for part in prefix.parts
        ],
    }


def _tools(tools: Tools) -> Fields:
    return {
        "answers": tools.answers,
        "offering_answers": tools.offering,
        "unlisted_answers": tools.unlisted,
        "never_called_tools": len(tools.never_called()),
        "tools": [
            {
                "name": tool.name,
                "mcp_server": tool.server,
                "tokens": tool.tokens,
                "tokens_source": str(tool.source),
                "offered_answers": tool.offered,
                "called_answers": tool.called,
                **_price(tool.price),
            }
            for tool in tools.tools
        ],
    }


def _price(price: Price | None) -> Fields:
    return {
        "cold_ns": None if price is None else price.cold_ns,
        "as_lived_ns": None if price is None else price.lived_ns,
        "time_source": None if price is None else str(price.source),
    }
