"""What a longer context adds to each generated token: the second price of a prefix.

One rule: only what changes with the context is put down to it. The step of an empty context is the
model's own; content, drafts and load scatter around both, and that is what the interval is for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from analysis.stats.fit import Fit, line
from analysis.store.recorded import tpot_ns

from .prefill import engine
from .prompt import IN_FRONT, input_tokens, prompt
from .readings import quiet
from .source import Refusal, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from analysis.stats.fit import Unfit
    from analysis.store.recorded import Record

    from .prefill import Engine


@dataclass(frozen=True, slots=True)
class StepCost:
    """Time of a generated token, by the tokens that stand before it. Intervals are of 95 %."""

    ns_per_context_token: float
    """Each token of context adds this to each generated token. If the line bends: in the middle of the
    contexts."""
    low_ns_per_context_token: float
    high_ns_per_context_token: float
    base_ns: float | None
    """A generated token without context; None if the line bends."""
    base_range_ns: tuple[float, float] | None
    exchanges: int
    least_tokens: int
    """Shortest context of these exchanges: prompt and half the answer."""
    most_tokens: int
    curved: bool
    source: Source

    def of(self, context: int, generated: int) -> int:
        """Time that so many tokens of context add to so many generated tokens, in ns."""
        return round(self.ns_per_context_token * context * generated)

    def of_range(self, context: int, generated: int) -> tuple[int, int]:
        """The 95 % interval of the same."""
        carried = context * generated
        low, high = self.low_ns_per_context_token, self.high_ns_per_context_token
        return round(low * carried), round(high * carried)


class Carried(NamedTuple):
    """What tools and system prompt in front of the answers of a turn added to its decode."""

    tokens: int
    """Of them, in its largest prompt."""
    generated: int
    ns: int
    interval_ns: tuple[int, int]
    source: Source


class _Step(NamedTuple):
    context: int
    ns: float


def step_costs(records: Iterable[Record]) -> dict[Engine, StepCost | Refusal]:
    """The cost for each engine that the records speak of."""
    by_engine: dict[Engine, list[Record]] = {}
    for record in records:
        by_engine.setdefault(engine(record), []).append(record)
    return {name: step_cost(group) for name, group in by_engine.items()}


def step_cost(records: Iterable[Record]) -> StepCost | Refusal:
    """The cost over records of one engine, hidden ones included, or why there is none.

    Of exchanges that had the server to themselves if they are enough, else of all.
    """
    steps = [(record, step) for record in records if (step := _step(record))]
    alone = [step for record, step in steps if quiet(record)]
    seen = [step for _, step in steps]
    fit = _line(alone)
    if isinstance(fit, Fit):
        return _fitted(fit, alone, "")
    if len(alone) < len(seen) and fit.why != "flat":
        fit = _line(seen)
        if isinstance(fit, Fit):
            return _fitted(fit, seen, ", some beside others")
    return _refusal(fit)


def carried(
    exchanges: Iterable[Record], costs: Mapping[Engine, StepCost | Refusal]
) -> Carried | None:
    """Of one turn's exchanges together; None when one of them cannot be told."""
    found: list[tuple[int, int, StepCost]] = []
    for record in exchanges:
        cost, asked = costs.get(engine(record)), prompt(record)
        if asked is None or not isinstance(cost, StepCost) or record.output.tokens is None:
            return None
        parts = [part.billed for name in IN_FRONT if (part := asked.part(name)) is not None]
        found.append((sum(parts), record.output.tokens, cost))
    if not found or not any(tokens for tokens, _, _ in found):
        return None
    ends = [cost.of_range(tokens, n) for tokens, n, cost in found]
    return Carried(
        tokens=max(tokens for tokens, _, _ in found),
        generated=sum(n for _, n, _ in found),
        ns=sum(cost.of(tokens, n) for tokens, n, cost in found),
        interval_ns=(sum(low for low, _ in ends), sum(high for _, high in ends)),
        source=found[0][2].source,
    )


def _step(record: Record) -> _Step | None:
    """TPOT, and the context at the middle of the answer; None where TPOT is refused."""
    figure, asked = tpot_ns(record.timings, record.output).value, input_tokens(record)
    if not figure or asked is None or not asked.tokens:
        return None
    return _Step(asked.tokens + (record.output.tokens or 0) // 2, figure)


def _line(steps: Sequence[_Step]) -> Fit | Unfit:
    return line([s.context for s in steps], [s.ns for s in steps])


def _fitted(fit: Fit, steps: Sequence[_Step], how: str) -> StepCost:
    low, high = fit.intercept_low, fit.intercept_high
    return StepCost(
        ns_per_context_token=fit.slope,
        low_ns_per_context_token=fit.slope_low,
        high_ns_per_context_token=fit.slope_high,
        base_ns=fit.intercept,
        base_range_ns=None if low is None or high is None else (low, high),
        exchanges=len(steps),
        least_tokens=min(s.context for s in steps),
        most_tokens=max(s.context for s in steps),
        curved=fit.curved,
        source=Source("estimated", f"from TPOT of {len(steps):,} exchanges{how}"),
    )


def _refusal(fit: Unfit) -> Refusal:
    if fit.why == "flat":
        return Refusal(
            f"the time a token of {fit.n:,} answers does not grow with their context beyond its noise"
        )
    return Refusal(
        f"{fit.n:,} streamed answers with a time a token do not tell context from noise ({fit.reason});"
        " answers of 16 tokens or more behind short and behind long prompts would"
    )
