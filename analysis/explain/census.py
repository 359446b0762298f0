"""What a journal holds and what it lacks, counted.

One rule: whatever the rest of the report leaves out is counted here, so that the page can say so.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from analysis.store.recorded import verdict

from .prefill import engine
from .turns import Standing, standing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from analysis.store.base import Gap, Journal, Sampling, Unreadable
    from analysis.store.recorded import Loss
    from analysis.store.tallies import Tallies


@dataclass(frozen=True, slots=True)
class Census:
    """What was recorded, and what was not."""

    exchanges: int
    turns: int
    """With a whole answer at their end, however many exchanges each has; where the records are a sample, all
    that were begun."""
    standings: Mapping[Standing, int]
    """Every exchange is one of these."""
    first_unix_ns: int | None
    """Wall time of the first exchange's first byte; None when there is no exchange."""
    last_unix_ns: int | None
    """Wall time of the last exchange's first byte."""
    routes: Mapping[str, int]
    """Exchanges by route (its label or listen address, and its upstream), most first."""
    models: Mapping[str, int]
    """Generations by model, as served where the server said, most first."""
    clients: Mapping[str, int]
    """Generations by client, most first."""
    failures: Mapping[str, int]
    """Errors and cut answers by the console's verdict, most first."""
    losses: tuple[Loss, ...]
    gaps: tuple[Gap, ...]
    unreadable: tuple[Unreadable, ...]
    sampling: Sampling | None = None
    """From how many of them the explanations are made; None: from all."""

    @property
    def lost(self) -> int:
        """Exchanges of which the recorder itself said that it lost them."""
        return sum(len(loss.ids) for loss in self.losses)

    @property
    def missing(self) -> int:
        """Exchanges that have a number and nothing else."""
        return sum(gap.count for gap in self.gaps)


def census(journal: Journal, turns: int) -> Census:
    """Count a journal that holds so many turns; of a sample, what it was taken from."""
    if journal.sampling is not None and journal.tallies is not None:
        return _tallied(journal, journal.tallies)
    records = journal.records
    generations = [r for r in records if r.kind != "not_generation"]
    standings = Counter(standing(r) for r in records)
    return Census(
        exchanges=len(records),
        turns=turns,
        standings={name: standings[name] for name in get_args(Standing)},
        first_unix_ns=records[0].at_unix_ns if records else None,
        last_unix_ns=records[-1].at_unix_ns if records else None,
        routes=_most(f"{r.label or r.route} -> {r.upstream}" for r in records),
        models=_most(engine(r).model for r in generations),
        clients=_most(r.client for r in generations),
        failures=_most(verdict(r) for r in records if r.error_kind is not None),
        losses=journal.losses,
        gaps=journal.gaps,
        unreadable=journal.unreadable,
    )


def _tallied(journal: Journal, counted: Tallies) -> Census:
    return Census(
        exchanges=counted.exchanges,
        turns=counted.turns,
        standings={name: counted.standings.get(name, 0) for name in get_args(Standing)},
        first_unix_ns=counted.first_unix_ns,
        last_unix_ns=counted.last_unix_ns,
        routes=counted.routes,
        models=counted.models,
        clients=counted.clients,
        failures=counted.failures,
        losses=journal.losses,
        gaps=journal.gaps,
        unreadable=journal.unreadable,
        sampling=journal.sampling,
    )


def _most(names: Iterable[str | None]) -> dict[str, int]:
    """How often each name stands there, the most frequent first; nameless ones are left out."""
    return dict(Counter(name for name in names if name).most_common())
