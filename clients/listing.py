"""The table: a row for each request of each client, and below it what differs.

One rule: a figure that nobody gave is a dash, never a zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .seen import Asked, Seen

WIDTH: Final = 132
"""Columns where there is no terminal to say how many it has."""

_TOKENS: Final = ("system", "tools: tokens", "user", "billed")


@dataclass(frozen=True, slots=True)
class Row:
    """One client's result."""

    client: str
    version: str
    seen: Seen | None
    """None: there was no turn; `differences` says why."""
    differences: Sequence[str] = ()
    seconds: float = 0.0


def table(rows: Sequence[Row]) -> Table:
    """The whole of it. A client's first line counts its requests; each further line is one of them."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("client", "version", "s", "requests", "kind", "dialect", *_TOKENS, "fits"):
        made.add_column(name, justify="right" if name in {"s", *_TOKENS} else "left", no_wrap=True)
    for row in rows:
        fits = f"{len(row.differences)} differ" if row.differences else "yes"
        front = [row.client, row.version, f"{row.seconds:.0f}", _requests(row.seen)]
        lines = [*_lines(row.seen)] or [("",) * 6]
        made.add_row(*front, *lines[0], fits)
        for line in lines[1:]:
            made.add_row("", "", "", "", *line, "")
    return made


def _requests(seen: Seen | None) -> str:
    if seen is None:
        return "none"
    hidden = sum(one.kind == "hidden" for one in seen.asked)
    others = f" + {len(seen.others)} other" if seen.others else ""
    return f"{len(seen.asked)}, {hidden} hidden{others}"


def _lines(seen: Seen | None) -> Iterator[tuple[str, ...]]:
    for one in seen.asked if seen else ():
        yield (one.kind, one.dialect, f"{one.system:,}", _tools(one), f"{one.user:,}", _billed(one))


def _tools(one: Asked) -> str:
    return f"{one.tools}: {one.tools_tokens:,}" if one.tools else "0"


def _billed(one: Asked) -> str:
    return "-" if one.billed is None else f"{one.billed:,}"
