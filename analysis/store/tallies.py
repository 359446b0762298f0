"""Exact counts over all exchanges that were asked for, however many: what a sample must not guess.

One rule: a number here is what the same count over the records themselves would give. Tests hold the two
together, so queries may be as fast as they can be.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from .engine import ask
from .recorded import (
    Counting,
    Load,
    Output,
    Record,
    Request,
    Self,
    Timings,
    UsageReport,
    verdict,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from duckdb import DuckDBPyConnection


@dataclass(frozen=True, slots=True)
class Calls:
    """Use of one tool."""

    answers: int
    """Answers that called it, once or more."""
    calls: int
    last_unix_ns: int
    """First request byte of the last exchange that called it."""


@dataclass(frozen=True, slots=True)
class Offers:
    """One set of tools."""

    answers: int
    """Answers to requests that offered it."""
    last_unix_ns: int
    """First request byte of the last of these."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Prompt tokens that a cache could have had, by cause."""

    exchanges: int
    tokens: int
    """Those of the exchanges of which the number is known."""


@dataclass(frozen=True, slots=True)
class InFlight:
    """Exchanges in flight at one upstream through this proxy: all that asked a model, hidden ones too."""

    ns: Mapping[int, int]
    """Time with so many in flight, from 1 on: busy time, ascending."""
    idle_ns: int
    """Time without any, between the first start and the last end."""

    @property
    def busy_ns(self) -> int:
        """Time with one or more."""
        return sum(self.ns.values())


@dataclass(frozen=True, slots=True)
class Tallies:
    """What was counted. Names stand with the most frequent first, nameless ones are left out."""

    exchanges: int = 0
    turns: int = 0
    """However many exchanges each of them has."""
    first_unix_ns: int | None = None
    """First byte of the first exchange; None when there is none."""
    last_unix_ns: int | None = None
    """First byte of the last exchange."""
    standings: Mapping[str, int] = field(default_factory=dict)
    """As `explain.turns.standing` has it."""
    kinds: Mapping[str, int] = field(default_factory=dict)
    outcomes: Mapping[str, int] = field(default_factory=dict)
    generations: Mapping[str, int] = field(default_factory=dict)
    """How each generation ended: complete, incomplete, ..."""
    errors: Mapping[str, int] = field(default_factory=dict)
    """By `error_kind`."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """By the console's verdict."""
    routes: Mapping[str, int] = field(default_factory=dict)
    """By label or listen address, and upstream."""
    upstreams: Mapping[str, int] = field(default_factory=dict)
    models: Mapping[str, int] = field(default_factory=dict)
    """Generations by model, as served, else as asked for."""
    clients: Mapping[str, int] = field(default_factory=dict)
    """Generations by client."""
    answers: int = 0
    """Exchanges in which a model was asked and began."""
    offering: int = 0
    """Those of them whose request offered any tool."""
    offered: Mapping[str, Offers] = field(default_factory=dict)
    """By hash of the tool set."""
    called: Mapping[str, Calls] = field(default_factory=dict)
    """By name of the tool."""
    causes: Mapping[str, Lost] = field(default_factory=dict)
    """Cache misses by cause, most tokens first."""
    in_flight: Mapping[str, InFlight] = field(default_factory=dict)
    """By upstream: routes that lead to the same one share its load."""


_COLUMNS: Final = (
    "standing",
    "kind",
    "outcome",
    "generation",
    "error_kind",
    "route",
    "upstream",
    "model",
    "client",
)
"""Of groups.sql, in their order."""
_OF_FAILURES: Final = (
    "error_kind",
    "error_type",
    "error_detail",
    "status",
    "outcome",
    "generation",
)
"""Of failures.sql."""
_OF_GENERATIONS: Final = {"generation", "model", "client"}
"""Counted where a model was to be asked."""


def tallies(db: DuckDBPyConnection) -> Tallies:
    """Count what is in the view `selected`. Raises duckdb.Error."""
    groups = ask(db, "groups")
    counts = {name: dict(counter.most_common()) for name, counter in _counted(groups).items()}
    ((turns,),) = ask(db, "turn_counts")
    ((answers, offering),) = ask(db, "answers")
    return Tallies(
        exchanges=sum(n for *_, n, _, _ in groups),
        turns=turns,
        first_unix_ns=min((first for *_, first, _ in groups), default=None),
        last_unix_ns=max((last for *_, last in groups), default=None),
        standings=counts["standing"],
        kinds=counts["kind"],
        outcomes=counts["outcome"],
        generations=counts["generation"],
        errors=counts["error_kind"],
        failures=_failures(ask(db, "failures")),
        routes=counts["route"],
        upstreams=counts["upstream"],
        models=counts["model"],
        clients=counts["client"],
        answers=answers,
        offering=offering,
        offered={name: Offers(*rest) for name, *rest in ask(db, "tool_sets")},
        called={name: Calls(*rest) for name, *rest in ask(db, "calls")},
        causes={name: Lost(n, tokens or 0) for name, n, tokens in ask(db, "causes")},
        in_flight=_in_flight(ask(db, "in_flight")),
    )


def _counted(groups: Iterable[tuple[Any, ...]]) -> dict[str, Counter[str]]:
    """Exchanges by the values of each column, in the order of their first."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in _COLUMNS}
    for *values, n, _first, _last in groups:
        named = dict(zip(_COLUMNS, values, strict=True))
        for name, value in named.items():
            if value and (named["kind"] != "not_generation" or name not in _OF_GENERATIONS):
                counts[name][value] += n
    return counts


_FAILED: Final = Record(
    id="",
    at_unix_ns=0,
    route="",
    upstream="",
    peer="",
    kind="turn",
    dialect="",
    request=Request(method=None, path=None),
    timings=Timings(end_ns=0),
    output=Output(),
    usage=UsageReport(),
    counting=Counting(),
    load=Load(),
    self=Self(),
    outcome="complete",
    generation="none",
)
"""A record of which the console's verdict reads nothing but what failures.sql gives."""


def _failures(classes: Iterable[tuple[Any, ...]]) -> dict[str, int]:
    """By the console's own words: those need no SQL of their own."""
    counts: Counter[str] = Counter()
    for *values, n in classes:
        failed = dict(zip(_OF_FAILURES, values, strict=True))
        counts[verdict(replace(_FAILED, **failed))] += n
    return dict(counts.most_common())


def _in_flight(stretches: Iterable[tuple[str, int, int]]) -> dict[str, InFlight]:
    by_upstream: dict[str, dict[int, int]] = {}
    for upstream, many, ns in stretches:
        by_upstream.setdefault(upstream, {})[many] = ns
    return {
        upstream: InFlight({many: ns for many, ns in by.items() if many > 0}, by.get(0, 0))
        for upstream, by in by_upstream.items()
    }
