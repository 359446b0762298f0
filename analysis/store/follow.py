"""Records as they come: what is new in a journal's segments since one last looked.

One rule: a line counts when its end is there. One that is still being written is looked at again the
next time, from its first byte.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .base import StoreError
from .folder import pieces
from .recorded import Damage, Record, read_lines

if TYPE_CHECKING:
    from os import stat_result
    from pathlib import Path

    from .folder import FolderStore


@dataclass(frozen=True, slots=True)
class Piece:
    """Something new in a segment."""

    file: str
    read: Record | Damage


@dataclass(slots=True)
class Follower:
    """A reader's place in every segment of a folder."""

    store: FolderStore
    _places: dict[str, int] = field(default_factory=dict)
    """Bytes that have been read, by file: whole lines only."""

    def last(self, n: int) -> list[Record]:
        """The last `n` records by their end, the latest last. What stands there now is then old.

        Segments are read from the one written to last, and no more of them than it takes. Raises
        NoJournalError or StoreError.
        """
        found: list[Record] = []
        for file, state in self._by_age():
            if n == 0 or (len(found) == n and state.st_mtime_ns < ended_unix_ns(found[0])):
                self._places[file.name] = state.st_size
                continue
            found += [piece.read for piece in self._new(file) if isinstance(piece.read, Record)]
            found = sorted(found, key=ended_unix_ns)[-n:]
        return found

    def news(self) -> list[Piece]:
        """What has come since the last look, in order of the segments' names.

        Raises NoJournalError or StoreError.
        """
        return [piece for file in self.store.segments() for piece in self._new(file)]

    def _by_age(self) -> list[tuple[Path, stat_result]]:
        files = [(file, file.stat()) for file in self.store.segments()]
        return sorted(files, key=lambda pair: -pair[1].st_mtime_ns)

    def _new(self, file: Path) -> list[Piece]:
        place = self._places.get(file.name, 0)
        try:
            size = file.stat().st_size
            if size < place:
                place = 0  # it was emptied or replaced: all of it is new
            data = b"".join(pieces(file, place)) if size > place else b""
        except FileNotFoundError:
            return []  # taken away since it was listed
        except OSError as fault:
            raise StoreError(f"cannot read {file}: {fault.strerror or fault}") from fault
        whole = data[: data.rfind(b"\n") + 1]
        self._places[file.name] = place + len(whole)
        return [Piece(file.name, read) for read in read_lines([whole])]


def ended_unix_ns(record: Record) -> int:
    """Wall time of a record's end."""
    return record.at_unix_ns + record.timings.end_ns
