"""The report as a screen of text.

One rule: colour adds nothing that the words do not say, and without a terminal there is none: the
text is then plain, without a single escape code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from .exchanges import last_table
from .headline import headline
from .masthead import masthead
from .prompts import prefix_table, tools_table
from .turn import budget_table, speed_table, sum_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from analysis.explain.overview import Overview

    from .headline import Statement
    from .masthead import Entry
    from .screen import Screen
    from .table import Column, Table


def report_text(report: Overview, screen: Screen) -> str:
    """The whole report; it ends with a line feed."""
    tables = [last_table(report, screen.zone)]
    if report.median is not None:
        tables = [
            budget_table(report.median),
            sum_table(report.spent),
            prefix_table(report),
            tools_table(report),
            speed_table(report.median, report.turns),
            *tables,
        ]
    blocks = [_masthead(masthead(report.census, screen.zone)), _statements(headline(report))]
    blocks += [_table(table) for table in tables if table is not None]
    return _print(blocks, screen)


def _print(blocks: Iterable[Grid], screen: Screen) -> str:
    """Blocks with an empty line between them; no line ends in blanks."""
    console = Console(
        width=screen.width,
        force_terminal=screen.colour,
        color_system="standard" if screen.colour else None,
        no_color=not screen.colour,
        legacy_windows=False,
        emoji=False,
        highlight=False,
        markup=False,
    )
    with console.capture() as captured:
        for number, block in enumerate(blocks):
            if number:
                console.print()
            console.print(block)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _grid() -> Grid:
    return Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)


def _masthead(entries: Iterable[Entry]) -> Grid:
    grid = _grid()
    grid.add_column(no_wrap=True)
    grid.add_column()
    for entry in entries:
        grid.add_row(Text(entry.name, "bold"), Text(entry.text))
    return grid


def _statements(statements: Iterable[Statement]) -> Grid:
    grid = _grid()
    grid.add_column(ratio=7)
    grid.add_column(ratio=3)
    grid.expand = True
    for statement in statements:
        grid.add_row(Text(statement.text, "bold"), Text(statement.source, "dim"))
    return grid


def _table(table: Table) -> Grid:
    rows = _grid()
    rows.show_header = True
    for column in table.columns:
        rows.add_column(
            _heading(column), justify="right" if column.right else "left", overflow="fold"
        )
    for row in table.rows:
        rows.add_row(*(Text(cell) for cell in row))
    grid = _grid()
    grid.add_column()
    grid.add_row(rows)
    for note in table.notes:
        grid.add_row(Padding(Text(note, "dim"), (0, 0, 0, 2)))
    return grid


def _heading(column: Column) -> Text:
    lines = f"{column.title}\n{column.unit}" if column.unit else column.title
    return Text(lines, "bold")
