"""What of a run is a fault: contestants that failed, and bytes that differ against a promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .contestants import ALL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .contestants import Keeps
    from .result import Result

_PROMISED: Final[Mapping[Keeps, tuple[str, ...]]] = {
    "bytes": ("request_head", "request_body", "reply", "reply_body"),
    "bodies": ("request_body", "reply_body"),
    "meaning": (),
}


def problems(result: Result) -> list[str]:
    """A sentence for each, in the order of the run."""
    return [*_faults(result), *_differences(result)]


def _faults(result: Result) -> Iterator[str]:
    for each in result.faults():
        yield f"{each.contestant} failed in {each.metric}, round {each.round}: {each.fault}"


def _differences(result: Result) -> Iterator[str]:
    for each in result.measurements:
        if each.metric == "exact":
            for name in _PROMISED[ALL[each.contestant].keeps]:
                if each.values.get(name) == 0:
                    yield f"{each.contestant} changed the {name} in round {each.round}"
