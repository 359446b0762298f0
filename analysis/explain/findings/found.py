"""All findings, ranked.

One rule: most seconds of the mean turn first; what has no seconds stands behind, in the order of the list.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, get_args

from .answers import decode_dominates, first_token_dominates, reasoning_first, stalls
from .base import FindingName
from .cache import cache_not_reused, prefix_broken
from .prompt import (
    bloated_tools,
    client_inflates,
    counts_disagree,
    oversized_system,
    template_drops_tools,
    unused_tools,
)
from .trouble import errors, redirects, retries
from .waits import far_server, hidden_requests, proxy_slow, queueing, slow_caller

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .base import Finding, Seen

LOOKS: Final[tuple[Callable[[Seen], Iterator[Finding]], ...]] = (
    unused_tools,
    bloated_tools,
    oversized_system,
    client_inflates,
    template_drops_tools,
    counts_disagree,
    prefix_broken,
    cache_not_reused,
    hidden_requests,
    queueing,
    slow_caller,
    far_server,
    proxy_slow,
    reasoning_first,
    first_token_dominates,
    decode_dominates,
    stalls,
    retries,
    errors,
    redirects,
)

DISJOINT: Final = frozenset({"unused tools", "bloated tools"})
"""Both shorten the reading of tools, but not of the same ones."""


def findings(seen: Seen) -> tuple[Finding, ...]:
    """What is worth a word; empty when all is well."""
    names: tuple[FindingName, ...] = get_args(FindingName)
    found = [finding for look in LOOKS for finding in look(seen)]
    found.sort(key=lambda f: (-(f.saves_ns or 0.0), f.saves_ns is None, names.index(f.name)))
    return tuple(_overlapping(found))


def _overlapping(found: Iterable[Finding]) -> Iterator[Finding]:
    """Each with the names of the others that would shorten the same segments."""
    every = list(found)
    for finding in every:
        others = (f.name for f in every if f is not finding and _overlap(f, finding))
        yield replace(finding, overlaps=tuple(others))


def _overlap(one: Finding, other: Finding) -> bool:
    return bool(one.takes & other.takes) and {one.name, other.name} != DISJOINT
