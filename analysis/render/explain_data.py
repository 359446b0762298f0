"""One exchange in its turn as JSON, for programs.

One rule: as in the report's: `schema` names the shape, every number's unit is in its name, null is not
zero. `record` is the journal's own line; times of `waterfall` are ns after the turn's first request byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from analysis.store.recorded import encode

if TYPE_CHECKING:
    from analysis.explain.budget import Budget, Segment
    from analysis.explain.explained import Explained, NoChoice
    from analysis.explain.prompt import PartTokens, Prompt
    from analysis.explain.turns import Turn
    from analysis.explain.waterfall import Row, Waterfall

    Fields = dict[str, Any]

SCHEMA: Final = "turnscope.explain/1"


def explain_json(shown: Explained) -> bytes:
    """All of it, indented, keys in a fixed order; it ends with a line feed."""
    fields: Fields = {
        "schema": SCHEMA,
        "id": shown.record.id,
        "chosen": shown.choice.how or "named",
        "standing": shown.brief.standing,
        "ending": shown.brief.ending,
        "budget": _budget(shown.budget),
        "prompt": None if shown.prompt is None else _prompt(shown.prompt),
        "turn": None if shown.turn is None else _turn(shown.turn),
        "turn_budget": None if shown.whole is None else _budget(shown.whole),
        "waterfall": None if shown.waterfall is None else _waterfall(shown.waterfall),
        "record": orjson.Fragment(encode(shown.record).rstrip()),
    }
    return _dumped(fields)


def nothing_json(missing: NoChoice) -> bytes:
    """Why there is nothing."""
    return _dumped({"schema": SCHEMA, "id": None, "reason": missing.reason, "near": missing.near})


def _dumped(fields: Fields) -> bytes:
    return orjson.dumps(fields, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _budget(spent: Budget) -> Fields:
    return {
        "whole_ns": spent.whole_ns,
        "decode_ns": spent.decode_ns,
        "fixed_ns": spent.fixed_ns,
        "segments": [_segment(segment) for segment in spent.segments],
    }


def _segment(segment: Segment) -> Fields:
    low, high = segment.interval or (None, None)
    return {
        "name": segment.name,
        "duration_ns": segment.ns,
        "low_ns": low,
        "high_ns": high,
        "source": str(segment.source),
        "read_prompt_tokens": segment.tokens,
        "cached_prompt_tokens": segment.cached,
    }


def _prompt(prompt: Prompt) -> Fields:
    parts = (*prompt.parts, prompt.unexplained) if prompt.unexplained else prompt.parts
    return {"cached_tokens": prompt.cached, "parts": [_part(part, prompt) for part in parts]}


def _part(part: PartTokens, prompt: Prompt) -> Fields:
    return {
        "part": part.part,
        "tokens": part.tokens,
        "tokens_source": str(part.source),
        "read_by_server": part.read,
        "cached_tokens": None if prompt.cached is None else part.billed - part.uncached,
        "uncached_tokens": part.uncached,
        "order_unknown": part.shared,
    }


def _turn(turn: Turn) -> Fields:
    return {
        "id": turn.id,
        "standing": turn.standing,
        "begin_unix_ns": turn.begin_unix_ns,
        "whole_ns": turn.whole_ns,
        "exchanges": [record.id for record in turn.exchanges],
        "hidden": [record.id for record in turn.hidden],
        "hidden_in_the_way": [record.id for record in turn.in_the_way],
        "gaps": [
            {
                "after": gap.after,
                "why": gap.why,
                "begin_ns": gap.begin_ns,
                "duration_ns": gap.ns,
                "hidden_ns": gap.hidden_ns,
            }
            for gap in turn.gaps
        ],
    }


def _waterfall(fall: Waterfall) -> Fields:
    return {"whole_ns": fall.whole_ns, "rows": [_row(row) for row in fall.rows]}


def _row(row: Row) -> Fields:
    return {
        "kind": row.kind,
        "id": row.id,
        "begin_ns": row.begin_ns,
        "end_ns": row.end_ns,
        "standing": row.standing,
        "ending": row.ending,
        "model": row.model,
        "ttft_ns": row.ttft_ns,
        "called": row.called,
        "purpose": row.purpose,
        "in_the_way": row.in_the_way,
        "hidden_ns": row.hidden_ns,
        "phases": [
            {"name": phase.name, "begin_ns": phase.begin_ns, "end_ns": phase.end_ns}
            for phase in row.phases
        ],
        "marks": {mark.name: mark.at_ns for mark in row.marks},
    }
