"""A table as a value: columns with their units, rows of cells, notes below.

One rule: a cell is a finished piece of text. Its unit is in the cell, or its column names it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """What stands in one column."""

    title: str
    """The first one is the table's own."""
    unit: str = ""
    """What a bare number in it counts; empty when the cells or the title say so."""
    right: bool = True
    """Numbers stand at the right."""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns, rows and notes."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    """Each as long as `columns`."""
    notes: tuple[str, ...] = ()
    """Sentences below it: sources, what was left out."""


def text(title: str, unit: str = "") -> Column:
    """A column of words."""
    return Column(title, unit, right=False)
