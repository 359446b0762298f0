"""What a compacted segment holds that began before a moment, and the segment without it.

One rule: lines stay to the byte and keep their numbers; a line is judged as one of an open segment is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .base import StoreError
from .engine import ask, database, tell
from .packed import SHAPE, shapes, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from duckdb import DuckDBPyConnection


class Trimming(NamedTuple):
    """What was found."""

    old: int
    """Lines that go."""
    kept: int
    """Lines that stay, blank ones aside."""
    tool_sets: frozenset[str]
    """Hashes that the lines that stay name."""


def trim(
    file: Path, before_unix_ns: int, is_old: Callable[[bytes], bool], *, dry_run: bool
) -> Trimming:
    """Write it anew without what is old, if that is some of it and not all.

    `is_old` judges a line in which something could not be read. Raises StoreError, OSError.
    """
    with database() as db:
        found = _judged(db, file, before_unix_ns, is_old)
        if found.old and found.kept and not dry_run:
            left = "SELECT * FROM trimmed ANTI JOIN old_places USING (place) ORDER BY row"
            write(db, left, file, file.stat().st_mtime_ns)
        return found


def _judged(
    db: DuckDBPyConnection, file: Path, before_unix_ns: int, is_old: Callable[[bytes], bool]
) -> Trimming:
    if shapes(db, [file]).get(file.name) != SHAPE:
        raise StoreError("it was compacted by another version, or is broken")
    tell(db, trimmed_file=str(file))
    ask(db, "trimmed")
    lines: dict[int, bytes] = {}
    for place, piece in ask(db, "damaged_lines"):
        lines[place] = lines.get(place, b"") + piece
    damaged = [place for place, line in lines.items() if is_old(line)]
    ask(db, "old_places", before_unix_ns=before_unix_ns, damaged=damaged)
    ((old, kept),) = ask(db, "trimmed_counts")
    return Trimming(old, kept, frozenset(name for (name,) in ask(db, "trimmed_sets")))
