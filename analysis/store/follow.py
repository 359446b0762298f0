"""Records as they come: what is new in a journal's segments since one last looked.

One rule: a line counts when its end is there. One that is still being written is looked at again the
next time, from its first byte.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .base import StoreError
from .folder import is_packed, is_segment, pieces
from .packed import segment_bytes
from .recorded import Damage, Record, read_lines
from .selection import EVERYTHING

if TYPE_CHECKING:
    from os import stat_result
    from pathlib import Path

    from .folder import FolderStore
    from .selection import Selection


@dataclass(frozen=True, slots=True)
class Piece:
    """Something new in a segment."""

    file: str
    read: Record | Damage


@dataclass(slots=True)
class Follower:
    """A reader's place in every segment of a folder."""

    store: FolderStore
    selection: Selection = EVERYTHING
    """Records that are asked for; damage is told of in any case."""
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
            if is_packed(file.name):
                found += self._packed(file)
                found = sorted(found, key=ended_unix_ns)[-n:]
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
        """Compacted segments too: nothing new comes there, but the last records may stand in one."""
        held = [f for f in self.store.files() if is_segment(f.name) or is_packed(f.name)]
        files = [(file, file.stat()) for file in held]
        return sorted(files, key=lambda pair: -pair[1].st_mtime_ns)

    def _packed(self, file: Path) -> list[Record]:
        try:
            reads = list(read_lines(segment_bytes(file)))
        except FileNotFoundError:
            return []
        return [r for r in reads if isinstance(r, Record) and self.selection.takes(r)]

    def _new(self, file: Path) -> list[Piece]:
        place = self._places.get(file.name, 0)
        try:
            size = file.stat().st_size
            if size < place:
                place = 0  # it was emptied or replaced: all of it is new
            data = b"".join(pieces(file, place, looks=0)) if size > place else b""
        except FileNotFoundError:
            return []  # taken away since it was listed
        except OSError as fault:
            raise StoreError(f"cannot read {file}: {fault.strerror or fault}") from fault
        whole = data[: data.rfind(b"\n") + 1]
        self._places[file.name] = place + len(whole)
        reads = (Piece(file.name, read) for read in read_lines([whole]))
        return [p for p in reads if isinstance(p.read, Damage) or self.selection.takes(p.read)]


def ended_unix_ns(record: Record) -> int:
    """Wall time of a record's end."""
    return record.at_unix_ns + record.timings.end_ns
