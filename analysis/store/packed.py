"""A compacted segment: all bytes of it, and beside each line what queries ask for, as zstd Parquet.

One rule: it holds what the segment held, damage included; what is cheaper to read of it is only added.
One that another version shaped otherwise is read line by line, as the segment would be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final

from .closed import replacing
from .engine import ask, database, sql
from .recorded import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from duckdb import DuckDBPyConnection

SHAPE: Final = f"turnscope.segment/1 v{VERSION}"
"""What the columns mean and which version of a record they were taken from. Whoever changes `take.sql`
raises the number."""

ASIDE: Final = ".compact-"
"""In front of the name of one that is being written."""


def write(db: DuckDBPyConnection, rows: str, file: Path, mtime_ns: int) -> None:
    """Write what a query gives as a compacted segment, on disk whole before it has its name.

    Raises duckdb.Error, OSError.
    """
    with replacing(file, ASIDE, mtime_ns) as aside:
        # The file is there already and stays the same one: so it is nobody else's to read.
        db.execute(
            f"COPY ({rows}) TO '{_quoted(aside)}' (FORMAT parquet, COMPRESSION zstd,"
            f" COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 10240, USE_TMP_FILE false, KV_METADATA {{shape: '{SHAPE}'}})"
        )


def shapes(db: DuckDBPyConnection, found: Sequence[Path]) -> dict[str, str]:
    """The shape of each file, by name; of one that is no such file, nothing. Raises duckdb.Error."""
    import duckdb  # noqa: PLC0415 -- whoever has a connection has it already

    try:
        return dict(ask(db, "shapes", files=[str(file) for file in found])) if found else {}
    except (duckdb.Error, UnicodeDecodeError):
        if len(found) == 1:
            return {}
        half = len(found) // 2
        return shapes(db, found[:half]) | shapes(db, found[half:])


def packed_lines(db: DuckDBPyConnection, file: Path) -> Iterator[tuple[int, int, bytes]]:
    """Row, line number and bytes of each piece, in order. Raises duckdb.Error."""
    cursor = db.execute(sql("packed_lines"), {"file": str(file)})
    while some := cursor.fetchmany(2_048):
        yield from some


def holds(db: DuckDBPyConnection, file: Path, segment: BinaryIO) -> bool:
    """Whether it gives back every line of a segment, of which the last may have no end.

    Raises duckdb.Error, OSError.
    """
    segment.seek(0)
    left, at = b"", 0
    for _, place, piece in packed_lines(db, file):
        if place != at:
            if left:
                return False
            left, at = segment.readline().removesuffix(b"\n"), place
        if not left.startswith(piece):
            return False
        left = left[len(piece) :]
    return not left and not segment.read(1)


def same(db: DuckDBPyConnection, file: Path, size: int) -> bool:
    """Whether it has the rows of `taken`, and these the bytes of a segment of this size.

    The last line may lack its end. Raises duckdb.Error.
    """
    ((read, lines),) = ask(db, "taken_size")
    return (read or 0) + lines - size in (0, 1) and not ask(db, "unlike", file=str(file))


def segment_bytes(file: Path) -> Iterator[bytes]:
    """The segment as it was, but for a line feed that its last line may have lacked.

    Raises StoreError, OSError.
    """
    file.stat()  # in the system's words if it is gone
    with database() as db:
        last = 0
        for _, place, line in packed_lines(db, file):
            if last:
                yield b"\n" * (place - last)
            yield line
            last = place
        if last:
            yield b"\n"


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
