"""A run as data: what was measured under which conditions. Its JSON is what is kept of a run.

One rule: raw figures of each round and no ratio; those are made anew from here, by `ratios`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from pathlib import Path


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one contestant in one round."""

    round: int
    """From 1 on."""
    metric: str
    contestant: str
    values: dict[str, float]
    """Figures by name; the end of a name is its unit."""
    fault: str | None = None
    """Why there are no values; None: all went well."""


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how it ran."""

    started_at: str
    """ISO 8601, UTC."""
    cores: int
    processor: str
    system: str
    python: str
    load_average: float
    """Of the last minute before the run: others may have had work, too."""
    load_core: int | None
    """The core of upstream and client; None: there was but one."""
    effort: Literal["full", "quick"]
    rounds: int
    seed: int
    versions: dict[str, str]
    """What each contestant says of itself."""
    missing: dict[str, str]
    """Contestants that are not installed, with the command that installs them."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """A run."""

    v: Literal[1] = 1
    conditions: Conditions
    took_s: float
    measurements: list[Measurement]

    def contestants(self) -> list[str]:
        """Names of those that were measured."""
        return sorted({each.contestant for each in self.measurements})

    def figures(self, metric: str, contestant: str, value: str) -> dict[int, float]:
        """One figure by round; rounds in which it was not had are absent."""
        return {
            each.round: each.values[value]
            for each in self.measurements
            if (each.metric, each.contestant) == (metric, contestant) and value in each.values
        }

    def faults(self) -> list[Measurement]:
        """What went wrong."""
        return [each for each in self.measurements if each.fault is not None]


def write(result: Result, path: Path) -> None:
    """Write it as JSON, over what was there."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1))
