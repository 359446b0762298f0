"""The report as JSON, for programs.

One rule: the shape is a promise. `schema` names it; a change that could break a reader raises its
number. Every number's unit is in its name (`_ns`, `tokens`, `_per_s`, shares are 0 to 1, factors are
ratios), null is not zero, and what was not measured has its source beside it.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import orjson

from analysis.explain.source import Refusal
from analysis.store.selection import EVERYTHING, Selection

from .findings import findings_fields
from .outlook_data import outlook_fields
from .tools_data import misses_fields, price_fields, tools_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analysis.explain.brief import Brief
    from analysis.explain.budget import Sum
    from analysis.explain.census import Census
    from analysis.explain.overview import MedianTurn, Overview
    from analysis.explain.prefill import Cost, Engine
    from analysis.explain.prefix import Prefix
    from analysis.explain.prompt import Count
    from analysis.explain.steps import Carried, StepCost
    from analysis.store.base import Sampling

    Fields = dict[str, Any]

SCHEMA: Final = "turnscope.report/2"

UNREADABLE_SHOWN: Final = 100


def report_json(report: Overview, selection: Selection = EVERYTHING) -> bytes:
    """The whole report, indented, keys in a fixed order; it ends with a line feed.

    `selection`: what it is of, for whoever reads it later.
    """
    fields: Fields = {
        "schema": SCHEMA,
        "selection": asdict(selection),
        "census": _census(report.census),
        "turns": report.turns,
        "answers": report.answers,
        "median_turn": None if report.median is None else _median(report.median),
        "all_turns": _sum(report.spent),
        "shortest_and_longest_wait": [_brief(line) for line in report.waits or ()],
        "prefill_costs": [_cost(engine, cost) for engine, cost in report.costs.items()],
        "decode_costs": [_step(engine, cost) for engine, cost in report.steps.items()],
        "prompt": _prompt(report.prefix),
        "tools": tools_fields(report.tools, report.savings),
        "cache_misses": misses_fields(report.misses),
        **outlook_fields(report.outlook),
        "findings": findings_fields(report.findings),
        "last_exchanges": [_brief(line) for line in report.last],
    }
    return orjson.dumps(fields, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _census(census: Census) -> Fields:
    return {
        "exchanges": census.exchanges,
        "turns": census.turns,
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
        "sample": None if census.sampling is None else _sample(census.sampling),
        "unreadable_pieces": len(census.unreadable),
        "unreadable": [
            {"file": piece.file, "line": piece.line, "reason": piece.reason}
            for piece in census.unreadable[:UNREADABLE_SHOWN]
        ],
    }


def _sample(sampling: Sampling) -> Fields:
    return {
        "exchanges": sampling.taken,
        "of_exchanges": sampling.of,
        "turns": sampling.turns_taken,
        "of_turns": sampling.turns_of,
    }


def _named(unit: str, names: Mapping[str, int]) -> list[Fields]:
    return [{"name": name, unit: n} for name, n in names.items()]


def _median(median: MedianTurn) -> Fields:
    spent = median.budget
    output = median.brief.output
    return {
        "id": median.turn.id,
        "exchanges": len(median.turn.exchanges),
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
                "leaves_out": speed.leaves_out,
                "shown_by": speed.shown_by,
                "tokens_per_s": speed.figure.value,
                "refused": speed.figure.refused,
                "median_tokens_per_s": speed.median,
                "median_over_turns": speed.turns,
            }
            for speed in median.speeds
        ],
        "step_ns": None if median.step is None else median.step.ns,
        "step_tokens": None if median.step is None else median.step.tokens,
        "step_tokens_source": None if output is None else str(output.source),
        "prefix_in_decode": None if median.carried is None else _carried(median.carried),
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
        "turns": total.budgets,
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


def _step(engine: Engine, cost: StepCost | Refusal) -> Fields:
    fields: Fields = {"upstream": engine.upstream, "model": engine.model}
    if isinstance(cost, Refusal):
        return fields | {"added_ns_per_token": None, "refused": cost.reason}
    base_low, base_high = cost.base_range_ns or (None, None)
    return fields | {
        "added_ns_per_token": cost.ns_per_context_token,
        "refused": None,
        "low_added_ns_per_token": cost.low_ns_per_context_token,
        "high_added_ns_per_token": cost.high_ns_per_context_token,
        "base_ns": cost.base_ns,
        "low_base_ns": base_low,
        "high_base_ns": base_high,
        "exchanges": cost.exchanges,
        "least_context_tokens": cost.least_tokens,
        "most_context_tokens": cost.most_tokens,
        "context_tokens_source": "prompt and half the answer",
        "curved": cost.curved,
        "source": str(cost.source),
    }


def _carried(carried: Carried) -> Fields:
    low, high = carried.interval_ns
    return {
        "duration_ns": carried.ns,
        "low_ns": low,
        "high_ns": high,
        "prefix_tokens": carried.tokens,
        "prefix_tokens_source": "as of the parts",
        "generated_tokens": carried.generated,
        "generated_tokens_source": "as of each answer",
        "source": str(carried.source),
    }


def _prompt(prefix: Prefix) -> Fields:
    return {
        "answers": prefix.answers,
        "cached_tokens": prefix.cached,
        "cached_of_tokens": prefix.cached_of,
        "parts": [
            {
                "part": part.part,
                "tokens": part.tokens,
                "tokens_source": str(part.source),
                "read_by_server": part.read,
                "share": part.share,
                "answers": part.answers,
                **price_fields(part.price),
            }
            for part in prefix.parts
        ],
    }
