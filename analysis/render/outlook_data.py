"""What-ifs, working point and aggregate as JSON.

One rule: as in `data`: units in the names, null is not zero, a source beside what was not measured. What is
infinite is null, and its key says what null means there.
"""

from __future__ import annotations

from math import isinf
from typing import TYPE_CHECKING, Any

from analysis.explain.source import Refusal
from analysis.explain.speeds import TOGETHER

if TYPE_CHECKING:
    from analysis.explain.outlook import Outlook
    from analysis.explain.quartiles import Quartiles
    from analysis.explain.speeds import Aggregate
    from analysis.explain.whatif import Gain, Switched
    from analysis.explain.working_point import Distribution, View, WorkingPoint

    Fields = dict[str, Any]


def outlook_fields(outlook: Outlook) -> Fields:
    """The keys that a report has for it."""
    together, point, asked = outlook.aggregate, outlook.working_point, outlook.switched
    return {
        "what_ifs": {
            "turns": outlook.turns,
            "measured": "before",
            "assumed": "all that a line does not name stays as it is",
            "ceiling_factor": _finite(outlook.ceiling),
            "lines": [
                {"name": line.name, "source": str(line.source), **_gain(line.gain)}
                for line in outlook.what_ifs
            ],
        },
        "decode_speedup": None if asked is None else _switched(asked),
        "working_point": None if point is None else _point(point),
        "all_answers": None if together is None else _aggregate(together),
    }


def _switched(switched: Switched) -> Fields:
    switch = switched.switch
    return {
        "measured": switch.measured,
        "by_content_kind": [{"name": k, "decode_factor": s} for k, s in switch.by_kind.items()],
        "other_decode_factor": switch.other,
        "ceiling_factor": _finite(switched.ceiling),
        "unnamed_kind_turns": switched.unnamed_turns,
        "source": "estimated: all but decoding stays as it is; the factors are as given",
        **_gain(switched.gain),
    }


def _gain(gain: Gain | Refusal) -> Fields:
    if isinstance(gain, Refusal):
        return {"refused": gain.reason}
    low, high = (None, None) if gain.interval_ns is None else gain.interval_ns
    return {
        "refused": None,
        "over_turns": gain.turns,
        "median_turn_factor": _finite(gain.speedup.median),
        "quartile_turn_factor": _ends(gain.speedup),
        "median_saved_ns": round(gain.saved_ns.median),
        "low_median_saved_ns": low,
        "high_median_saved_ns": high,
        "quartile_saved_ns": [round(gain.saved_ns.low), round(gain.saved_ns.high)],
        "all_turns_factor": _finite(gain.total_speedup),
        "all_turns_saved_ns": gain.total_saved_ns,
    }


def _ends(figure: Quartiles) -> list[float | None]:
    return [_finite(figure.low), _finite(figure.high)]


def _finite(times: float | None) -> float | None:
    """A factor; null for one without limit."""
    return None if times is None or isinf(times) else times


def _point(point: WorkingPoint) -> Fields:
    return {
        "read": point.column,
        "gauge_and_proxy_disagree": point.disagree,
        "views": [_view(view) for view in point.views],
    }


def _view(view: View) -> Fields:
    return {
        "by": view.sight,
        "source": str(view.source),
        "read": view.column,
        "least_exchanges": None if view.range is None else view.range.least,
        "most_exchanges": None if view.range is None else view.range.most,
        "waited_share": view.waited,
        "distribution": None if view.distribution is None else _distribution(view.distribution),
    }


def _distribution(seen: Distribution) -> Fields:
    return {
        "busy_ns": seen.whole_busy_ns,
        "idle_ns": seen.idle_ns,
        "mean_exchanges": seen.mean,
        "p50_exchanges": seen.reached(0.5),
        "p90_exchanges": seen.reached(0.9),
        "most_exchanges": max(seen.busy_ns),
        "at": [{"exchanges": n, "duration_ns": ns} for n, ns in seen.busy_ns.items()],
    }


def _aggregate(together: Aggregate) -> Fields:
    return {
        "answers": together.turns,
        "output_tokens": together.tokens,
        "output_tokens_source": "as of each answer",
        "wall_ns": together.wall_ns,
        "idle_ns": together.idle_ns,
        "idle_share": together.idle_share,
        "steady_exchanges": together.steady_at,
        "steady_ns": together.steady_ns,
        "speeds": [
            {
                "name": name,
                "formula": how.formula,
                "leaves_out": how.leaves_out,
                "shown_by": how.shown_by,
                "tokens_per_s": how.function(together),
            }
            for name, how in TOGETHER.items()
        ],
    }
