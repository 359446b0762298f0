"""The table: a row for each scenario, and below it what is wrong.

One rule: before and after are of the idle program, so that they can be compared; peaks stand beside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .processes import Figures
    from .runner import Level, Result

WIDTH: Final = 150
"""Columns where there is no terminal to say how many it has."""

_NUMBERS: Final = ("s", "exchanges", "records", "lost", "MB", "relay MB", "recorder MB", "fds")


def table(results: Sequence[Result]) -> Table:
    """The whole of it."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("scenario", *_NUMBERS, "verdict", "notes"):
        made.add_column(name, justify="right" if name in _NUMBERS else "left", no_wrap=True)
    for each in results:
        made.add_row(
            each.name, *_numbers(each), each.verdict, each.skipped or "; ".join(each.notes)
        )
    return made


def _numbers(result: Result) -> list[str]:
    if result.before is None or result.after is None:
        return [f"{result.seconds:.0f}", *["-"] * (len(_NUMBERS) - 1)]
    levels = (result.before, result.after)
    return [
        f"{result.seconds:.0f}",
        f"{result.exchanges:,}",
        f"{result.records:,}",
        f"{result.lost:,}",
        f"{result.megabytes:,.0f}",
        _megabytes(levels, lambda level: level.relay, result.peak_relay_mb),
        _megabytes(levels, lambda level: level.recorder, result.peak_recorder_mb),
        " ".join(f"{each.relay.descriptors}+{each.recorder.descriptors}" for each in levels),
    ]


def _megabytes(levels: Sequence[Level], of: Callable[[Level], Figures], peak: float) -> str:
    before, after = (of(level).rss_mb for level in levels)
    return f"{before:.0f} {after:.0f} ^{peak:.0f}"
