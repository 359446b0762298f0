"""Lines into the database: each is read once, by the journal's own rules, and keeps its bytes.

One rule: what a query sees of a record is what a decoder made of it, upgraded and mended. A line as it
stands may hold a key twice or half of a surrogate pair, and two readers of JSON would not agree on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from .engine import ask
from .recorded import Record, encode, read_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from duckdb import DuckDBPyConnection

    from .recorded import Piece

BATCH: Final = 4_096
BATCH_BYTES: Final = 16 * 2**20
"""What goes into the database at a time: so many lines, or fewer if they are long."""


BLANK: Final = "null"
"""Stands for what is in a blank line."""


class Row(NamedTuple):
    """One piece of a line."""

    row: int
    """Its number in the file, from 0."""
    place: int
    """Its line."""
    line: bytes
    reason: str | None
    """Why it is no record."""
    text: str | None
    """The record as this version writes it, where its line is not that to the byte."""


class TooLongError(Exception):
    """A line that is too long to be kept: what holds it cannot be taken byte for byte."""


def take(db: DuckDBPyConnection, file: str, rows: Iterable[Row]) -> None:
    """Put the rows of a file into `taken`. Raises duckdb.Error."""
    for batch in _batches(rows):
        _put(db, file, batch)


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += len(row.line)
        if len(batch) == BATCH or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def rows(data: Iterable[bytes], *, to_the_byte: bool = False) -> Iterator[Row]:
    """All pieces of a segment.

    A line that is too long to be kept has none of its bytes, or raises TooLongError.
    """
    for number, piece in enumerate(read_pieces(data)):
        if piece.data is None and to_the_byte:
            raise TooLongError
        yield as_row(number, piece)


def as_row(row: int, piece: Piece) -> Row:
    """A piece as a row."""
    line, read = piece.data or b"", piece.read
    if isinstance(read, Record):
        text = encode(read)[:-1]
        return Row(row, piece.line, line, None, None if text == line else text.decode())
    if read is None:
        return Row(row, piece.line, line, None, BLANK)
    return Row(row, piece.line, line, read.reason, None)


def _put(db: DuckDBPyConnection, file: str, batch: list[Row]) -> None:
    numbers, places, lines, reasons, texts = (list(column) for column in zip(*batch, strict=True))
    ask(
        db,
        "take",
        file=file,
        rows=numbers,
        places=places,
        lines=lines,
        reasons=reasons,
        texts=texts,
    )
