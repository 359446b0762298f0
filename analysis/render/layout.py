"""Blocks of text (entries, statements, tables) laid out for a screen.

One rule: colour adds nothing that the words do not say, and without a terminal there is none: the
text is then plain, without a single escape code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .headline import Statement
    from .masthead import Entry
    from .screen import Screen
    from .table import Column, Table


def printed(blocks: Iterable[Grid], screen: Screen) -> str:
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


def entries_block(entries: Iterable[Entry]) -> Grid:
    """A name and what there is to say of it, line by line."""
    grid = _grid()
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for entry in entries:
        grid.add_row(Text(entry.name, "bold"), Text(entry.text))
    return grid


def statements_block(statements: Iterable[Statement]) -> Grid:
    """Sentences, with their sources at their side."""
    grid = _grid()
    grid.add_column(ratio=7)
    grid.add_column(ratio=3)
    grid.expand = True
    for statement in statements:
        grid.add_row(Text(statement.text, "bold"), Text(statement.source, "dim"))
    return grid


def table_block(table: Table) -> Grid:
    """A table and its notes."""
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
