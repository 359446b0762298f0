"""`turnscope forget`: what began before a moment is taken out of a journal, and nothing else.

One rule: the journal is whole at every moment. A file goes in one step or is replaced in one step by one
that is already on disk, and a file that a proxy still writes to is left alone: its writer holds an
exclusive `flock` on it, so whoever gets the lock knows that the file is closed.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, Final

import msgspec

from .store.base import StoreError
from .store.closed import ASIDE, Closed, remove_unless_used, replace
from .store.folder import FolderStore, pieces
from .store.recorded import (
    FORGOTTEN,
    UNREADABLE,
    Damage,
    Forgotten,
    dated,
    encode,
    read_lines,
    tool_set_hash,
)
from .store.trimming import trim

if TYPE_CHECKING:
    from pathlib import Path

    from .store.recorded import Dated, Sort

SETTLED_NS: Final = 60 * 10**9
"""So long after its last use is a tool set left alone: the record that names it may be on its way."""

_SET_HASH: Final = re.compile(rb'"set_hash":"([0-9a-f]{16})"')
_LONGEST_HASH: Final = 32
"""Bytes of what that finds."""


class _When(msgspec.Struct):
    at_unix_ns: int


_when: Final = msgspec.json.Decoder(_When)


@dataclass(frozen=True, slots=True)
class Left:
    """A file that holds something older and is still there."""

    file: str
    why: str


@dataclass(slots=True)
class Done:
    """What was done, or what would be."""

    removed: list[str] = field(default_factory=list)
    rewritten: list[str] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    lines: dict[Sort, int] = field(default_factory=lambda: {"records": 0, "losses": 0, "gauge": 0})
    """Lines that were forgotten; a line that cannot be read counts as what its file holds."""
    bytes_freed: int = 0


@dataclass(slots=True)
class Forgetting:
    """One pass over a journal."""

    folder: Path
    before_unix_ns: int
    dry_run: bool = False
    done: Done = field(default_factory=Done)
    cut_short: bool = False
    """True: it was told to stop, and did before it was through."""
    _told_to_stop: bool = False
    _named: set[str] = field(default_factory=set)
    """Hashes of the tool sets that what stays refers to."""
    _packed_ns: int | None = None
    """00:00 UTC of the oldest segment that stays and cannot be read here."""

    def run(self) -> None:
        """All of it. Raises NoJournalError, or StoreError if the folder cannot be listed."""
        files = [file for file in FolderStore(self.folder).files() if not file.is_symlink()]
        sets = [(f, f.stat()) for f in files if tool_set_hash(f.name)]  # before any record is read
        try:
            for file in files:
                if self._stops():
                    break
                if named := dated(file.name):
                    with suppress(FileNotFoundError):  # another hand was faster
                        self._file(file, named)
                elif file.name.startswith(ASIDE) and dated(file.name.removeprefix(ASIDE)):
                    self._left_over(file)
            for file, state in sets:
                if self._stops():
                    break
                self._tool_set(file, state)
        finally:
            if not self.dry_run and (self.done.rewritten or any(map(dated, self.done.removed))):
                self._note()

    def stop(self) -> None:
        """Stop behind the file that is at work. For a signal's handler."""
        self._told_to_stop = True

    def _stops(self) -> bool:
        self.cut_short = self._told_to_stop
        return self._told_to_stop

    def _file(self, file: Path, named: Dated) -> None:
        if named.begin_unix_ns >= self.before_unix_ns:
            self._stays(file, named)
            return
        try:
            with Closed(file, dry_run=self.dry_run) as source:
                self._closed(file, named, source)
        except BlockingIOError:
            self._open(file, named)
        except FileNotFoundError:
            raise
        except OSError as fault:
            self._stays(file, named)
            self.done.left.append(Left(file.name, fault.strerror or str(fault)))

    def _stays(self, file: Path, named: Dated) -> None:
        """A file that is left as it is: which tool sets does it name?"""
        if named.sort != "records":
            return
        try:
            if named.form == "parquet":
                kept = trim(file, named.begin_unix_ns, lambda _: False, dry_run=True)
                self._named |= kept.tool_sets
                return
            end = b""
            for piece in pieces(file):
                text = end + piece
                self._names(text)
                end = text[-_LONGEST_HASH:]
        except FileNotFoundError:
            return
        except (OSError, StoreError):
            pass  # it is not known what it names
        else:
            return
        known = named.begin_unix_ns if self._packed_ns is None else self._packed_ns
        self._packed_ns = min(named.begin_unix_ns, known)

    def _names(self, text: bytes) -> None:
        self._named.update(found.decode() for found in _SET_HASH.findall(text))

    def _closed(self, file: Path, named: Dated, source: BinaryIO) -> None:
        size = os.fstat(source.fileno()).st_size
        if named.form == "parquet":
            self._compacted(file, named, size)
            return
        old, kept = 0, 0
        for line in source:
            if not line.strip():
                continue
            if self._is_old(line):
                old += 1
                continue
            kept += 1
            if named.sort == "records":
                self._names(line)
        if kept == 0:
            self._remove(file, size)
        elif old:
            self._shorten(file, source, size)
        self.done.lines[named.sort] += old

    def _compacted(self, file: Path, named: Dated, size: int) -> None:
        try:
            found = trim(file, self.before_unix_ns, self._is_old, dry_run=self.dry_run)
        except StoreError as fault:
            if named.end_unix_ns <= self.before_unix_ns:
                self._remove(file, size)
                return
            self._stays(file, named)
            self.done.left.append(Left(file.name, f"it cannot be read: {fault}"))
            return
        self._named |= found.tool_sets
        self.done.lines[named.sort] += found.old
        if found.kept == 0:
            self._remove(file, size)
        elif found.old:
            # Before it is done this is a guess: how well the rest of the lines compresses is not known.
            guess = size * found.kept // (found.kept + found.old)
            left = guess if self.dry_run else file.stat().st_size
            self.done.rewritten.append(file.name)
            self.done.bytes_freed += size - left

    def _open(self, file: Path, named: Dated) -> None:
        """A file of a proxy that runs: only if it holds something older is there something to say."""
        self._stays(file, named)
        if named.form == "parquet":
            self.done.left.append(Left(file.name, "somebody else is at work on it"))
            return
        with file.open("rb") as source:
            old = sum(self._is_old(line) for line in source if line.endswith(b"\n"))
        if old:
            why = (
                f"a proxy is writing it, and {old:,} of its lines are older; stop that proxy, or wait"
                " until it has begun another file (it does each day, UTC), and forget again"
            )
            self.done.left.append(Left(file.name, why))

    def _is_old(self, line: bytes) -> bool:
        """Whether a line of a file whose day began before the moment did so too.

        One that cannot be read is as old as the day of its file, unless a whole record stands in it.
        """
        try:
            return _when.decode(line).at_unix_ns < self.before_unix_ns
        except UNREADABLE:
            read = [r for r in read_lines([line]) if not isinstance(r, Damage)]
            return all(record.at_unix_ns < self.before_unix_ns for record in read)

    def _remove(self, file: Path, size: int) -> None:
        if not self.dry_run:
            file.unlink()
        self.done.removed.append(file.name)
        self.done.bytes_freed += size

    def _shorten(self, file: Path, source: BinaryIO, size: int) -> None:
        source.seek(0)
        lines = (line for line in source if not line.strip() or not self._is_old(line))
        if self.dry_run:
            left = sum(map(len, lines))
        else:
            left = replace(file, lines, os.fstat(source.fileno()).st_mtime_ns)
        self.done.rewritten.append(file.name)
        self.done.bytes_freed += size - left

    def _left_over(self, aside: Path) -> None:
        """Half of a file that a killed run was writing anew; the file itself is still there."""
        file = aside.with_name(aside.name.removeprefix(ASIDE))
        if self.dry_run:
            return
        with suppress(OSError):  # whoever holds the lock is writing it just now
            if not file.exists():
                aside.unlink()
                return
            with Closed(file, dry_run=False):
                aside.unlink()

    def _tool_set(self, file: Path, state: os.stat_result) -> None:
        """Remove it if no record that stays names it; where one cannot be read, by the stamp.

        A proxy stamps a tool set with the time of each record that names it.
        """
        newest_ns = time.time_ns() - SETTLED_NS
        if self._packed_ns is not None:
            newest_ns = min(newest_ns, self._packed_ns)
        if tool_set_hash(file.name) in self._named or state.st_mtime_ns >= newest_ns:
            return
        try:
            if not self.dry_run and not remove_unless_used(file, state.st_mtime_ns):
                return
        except FileNotFoundError:
            return
        except OSError as fault:
            self.done.left.append(Left(file.name, fault.strerror or str(fault)))
            return
        self.done.removed.append(file.name)
        self.done.bytes_freed += state.st_size

    def _note(self) -> None:
        """Write down that it was done, so that what is missing is not taken for a loss."""
        now = time.time_ns()
        line = Forgotten(
            at_unix_ns=now,
            before_unix_ns=min(self.before_unix_ns, now),
            files=len(self.done.removed) + len(self.done.rewritten),
            bytes=self.done.bytes_freed,
        )
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(self.folder / FORGOTTEN, flags, 0o600), "wb") as out:
                out.write(encode(line))
        except OSError as fault:
            self.done.left.append(Left(FORGOTTEN, f"not written: {fault.strerror or fault}"))
