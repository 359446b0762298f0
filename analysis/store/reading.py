"""A folder opened for queries: its compacted segments where they lie, all other lines in a table.

One rule: what is read is what was there when it was listed. A file that went meanwhile, as old ones do,
and a segment when it is compacted, is a reason to list them once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .contents import Contents
from .engine import MovedError, ask, tell
from .folder import is_packed, is_segment, pieces, take_beside
from .packed import SHAPE, holds, packed_lines, shapes
from .recorded import read_pieces
from .taking import BLANK, as_row, rows, take

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from duckdb import DuckDBPyConnection

    from .compaction import Progress
    from .taking import Row


class Reading:
    """Tables `stored` (each exchange once) and `lost`, and what stands beside the segments."""

    def __init__(self, db: DuckDBPyConnection, progress: Progress) -> None:
        self.db = db
        self.contents = Contents()
        self._progress = progress

    def open(self, files: Sequence[Path]) -> None:
        """Read what has to be read of these. Raises MovedError if one is gone, duckdb.Error."""
        packed = [file for file in files if is_packed(file.name)]
        self.db.execute("SET preserve_insertion_order = false")  # queries say what order they need
        ask(self.db, "taken")
        self._open_packed(packed)
        self._take_segments([file for file in files if is_segment(file.name)], packed)
        for file in files:
            try:
                take_beside(self.contents, file)
            except FileNotFoundError:
                continue  # removed since it was listed, as old files are
            except OSError as fault:
                self.contents.unreadable(file.name, None, fault.strerror or str(fault))
        ask(self.db, "second")
        for name, exchange in ask(self.db, "seconds"):
            what = f"a second record of exchange {exchange}: left out"
            self.contents.unreadable(name, None, what)
        ask(self.db, "stored")
        ask(self.db, "lost", ids=[i for loss in self.contents.losses for i in loss.ids])
        ask(self.db, "found")

    def _open_packed(self, packed: Sequence[Path]) -> None:
        shaped = shapes(self.db, packed)
        usual = [str(file) for file in packed if shaped.get(file.name) == SHAPE]
        tell(self.db, packed_files=usual)
        ask(self.db, "packed" if usual else "no_packed")
        for name, row, place, line in ask(self.db, "damaged") if usual else ():
            again = self._again([(row, place, line)])
            take(self.db, name, self._noted(name, (r for r in again if r.text != BLANK)))
        for file in packed:
            if file.name not in shaped:
                self.contents.unreadable(
                    file.name, None, "not a compacted segment, or a broken one"
                )
            elif shaped[file.name] != SHAPE:
                lines = packed_lines(self.db.cursor(), file)
                take(self.db, file.name, self._noted(file.name, self._again(lines)))

    def _again(self, lines: Iterable[tuple[int, int, bytes]]) -> Iterator[Row]:
        """Lines that another version compacted, or could not read then."""
        for row, place, line in lines:
            for piece in read_pieces([line]):
                yield as_row(row, piece)._replace(place=place)

    def _take_segments(self, segments: Sequence[Path], packed: Sequence[Path]) -> None:
        sizes = [_size(file) for file in segments]
        whole, done = sum(sizes), 0
        for file, size in zip(segments, sizes, strict=True):
            self._progress("reading the journal", done, whole)
            self._take_segment(file, packed)
            done += size
        self._progress("reading the journal", whole, whole)

    def _take_segment(self, file: Path, packed: Sequence[Path]) -> None:
        twin = file.with_suffix(".parquet")
        try:
            if twin in packed:
                with file.open("rb") as source:
                    if holds(self.db, twin, source):
                        return  # somebody was killed between writing the one and removing the other
            take(self.db, file.name, self._noted(file.name, rows(pieces(file))))
        except FileNotFoundError:
            raise MovedError(f"{file} is gone") from None
        except OSError as fault:
            self.contents.unreadable(file.name, None, fault.strerror or str(fault))

    def _noted(self, name: str, found: Iterable[Row]) -> Iterator[Row]:
        """The same rows; what could not be read is noted on the way."""
        for row in found:
            if row.reason is not None:
                self.contents.unreadable(name, row.place, row.reason)
            yield row


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
