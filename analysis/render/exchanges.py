"""The table of single exchanges.

One rule: a count that is not the server's own carries a `~`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .names import printable
from .table import Column, Table, text
from .units import NOTHING, count, scale_for, time_of_day

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo

    from analysis.explain.brief import Brief
    from analysis.explain.overview import Overview
    from analysis.explain.prompt import Count


def last_table(report: Overview, zone: tzinfo | None) -> Table | None:
    """The last exchanges one by one; None when there is none."""
    if not report.last:
        return None
    scale = scale_for(max(line.whole_ns for line in report.last))
    run = _one_run(report.last)
    rows = tuple(
        (
            time_of_day(line.at_unix_ns, zone),
            printable(line.id.removeprefix(f"{run}-"), 40),
            _asked(line),
            _counted(line.input),
            count(line.cached),
            scale.text(line.ttft_ns),
            _counted(line.output),
            scale.text(line.decode_ns),
            scale.text(line.whole_ns),
            _ended(line),
        )
        for line in report.last
    )
    columns = (
        text(f"LAST {len(rows)}" if len(rows) > 1 else "LAST"),
        text("id"),
        text("asked"),
        Column("in", "tokens"),
        Column("cached", "tokens"),
        Column("TTFT"),
        Column("out", "tokens"),
        Column("decode"),
        Column("whole"),
        text("ended"),
    )
    return Table(columns, rows, tuple(_notes(report.last, run)))


def _one_run(lines: Sequence[Brief]) -> str | None:
    """The run that all of them are of; None if there are several."""
    runs = {line.id.rpartition("-")[0] for line in lines}
    return runs.pop() if len(runs) == 1 else None


def _notes(lines: Sequence[Brief], run: str | None) -> Iterator[str]:
    own = any(_own(counted) for line in lines for counted in (line.input, line.output))
    yield "Tokens as reported by the server" + ("; ~ counted by a local tokenizer." if own else ".")
    if run:
        yield f"Each id begins with {printable(run)}-."


def _asked(line: Brief) -> str:
    """The model; the path where no model was asked for."""
    return printable(line.model or line.path, 22)


def _own(counted: Count | None) -> bool:
    return counted is not None and counted.source.kind != "reported"


def _counted(counted: Count | None) -> str:
    if counted is None:
        return NOTHING
    return f"{'~' if _own(counted) else ''}{count(counted.tokens)}"


def _ended(line: Brief) -> str:
    return line.standing if line.standing == "hidden" else line.ending
