"""One turn has many speeds: each definition by its name, side by side for the same turns.

One rule: no speed without its definition. 37.7 and 23.4 tok/s are the same turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from analysis.store.recorded import (
    client_speed,
    decode_speed,
    request_speed,
    step_speed,
    turn_speed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from analysis.store.recorded import Figure, Output, Record, Timings

SPEEDS: Final[Mapping[str, tuple[str, Callable[[Timings, Output], Figure]]]] = {
    "client_style": ("n / (end - first token)", client_speed),
    "decode": ("n / (last token - first token)", decode_speed),
    "decode_after_first": ("(n - k1) / (last token - first token)", step_speed),
    "per_request": ("n / (last token - end of the request)", request_speed),
    "whole_turn": ("n / (end - end of the request)", turn_speed),
}
"""Name, formula and function of each, n being all output tokens and k1 those of the first event;
docs/metrics.md has both ends."""


@dataclass(frozen=True, slots=True)
class Speed:
    """One definition, for one turn and for all."""

    name: str
    formula: str
    figure: Figure
    """Of the turn that stands for all, in tok/s; or why there is none."""
    median: float | None
    """Median over the turns that have one, in tok/s; None if none has."""
    turns: int
    """How many those are."""


def speeds(turn: Record, turns: Sequence[Record]) -> tuple[Speed, ...]:
    """Every definition, of `turn` and over `turns`."""
    rows = []
    for name, (formula, function) in SPEEDS.items():
        each = [function(t.timings, t.output).value for t in turns]
        known = [value for value in each if value is not None]
        middle = median(known) if known else None
        figure = function(turn.timings, turn.output)
        rows.append(Speed(name, formula, figure, middle, len(known)))
    return tuple(rows)
