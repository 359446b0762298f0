"""The journal on disk: lines appended to segments, tool sets beside them, losses by name.

One rule: a disk that is full or gone is counted and said, never fatal; writing resumes by itself. One
writer a folder file: the name holds the process, so two proxies never share a segment.
"""

from __future__ import annotations

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .journal.lines import encode
from .journal.record import Loss

if TYPE_CHECKING:
    from collections.abc import Callable

    from .journal.record import Record, ToolSet

SEGMENT_BYTES: Final = 64 * 1024 * 1024
"""A segment longer than this is closed and the next one begun."""

_MOST_NAMED: Final = 10_000
"""Ids of unwritten records that are kept to be named later; beyond that they are only counted."""


class Appender:
    """Appends lines to `<prefix><date>-<pid>-<n>.jsonl`, a new file for each day and size."""

    def __init__(self, folder: Path, prefix: str = "", segment_bytes: int = SEGMENT_BYTES) -> None:
        self._folder = folder
        self._most = segment_bytes
        self._prefix = prefix
        self._file: int | None = None
        self._date = ""
        self._number = 0
        self._size = 0
        self._torn = False
        """True when the last line was cut by a full disk: the next one begins on a line of its own."""

    def append(self, line: bytes, at_unix_ns: int) -> None:
        """Write one line, whole. Raises OSError when it is not on disk whole."""
        file = self._segment(f"{datetime.fromtimestamp(at_unix_ns / 1e9, UTC):%Y-%m-%d}")
        data = b"\n" + line if self._torn else line
        written = os.write(file, data)
        self._size += written
        self._torn = written != len(data) or (self._torn and written == 0)
        if self._torn:
            raise OSError(f"only {written} of {len(data)} bytes could be written")

    def close(self) -> None:
        """Close the segment."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _segment(self, date: str) -> int:
        fits = date == self._date and self._size < self._most
        # Somebody may have deleted the file: what is written there then would be nowhere.
        if self._file is not None and fits and os.fstat(self._file).st_nlink:
            return self._file
        self.close()
        self._number += 1
        name = f"{self._prefix}{date}-{os.getpid()}-{self._number}.jsonl"
        self._folder.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._file = os.open(self._folder / name, flags, 0o600)
        self._date, self._size, self._torn = date, 0, False
        return self._file


class JournalFolder:
    """Everything that the recorder writes."""

    def __init__(self, folder: Path, complain: Callable[[str], None]) -> None:
        """`complain` is told once when writing begins to fail, and once when it works again."""
        self._folder = folder
        self._complain = complain
        self._records = Appender(folder)
        self._losses = Appender(folder, "loss-")
        self._unwritten: list[str] = []
        self.unwritten = 0
        """Records that could not be written since writing last worked."""

    def write(self, record: Record, tool_set: ToolSet | None) -> bool:
        """Append a record; True when it is on disk."""
        try:
            if tool_set is not None:
                self._write_tools(tool_set)
            self._records.append(encode(record), record.at_unix_ns)
        except OSError as fault:
            self._failed(record.id, fault)
            return False
        if self.unwritten:
            self._resumed(record.at_unix_ns)
        return True

    def write_loss(self, loss: Loss) -> None:
        """Append a line that names exchanges without a record."""
        try:
            self._losses.append(encode(loss), loss.at_unix_ns)
        except OSError as fault:
            self._complain(f"{self._folder}: cannot say what was lost: {fault}")

    def close(self) -> None:
        """Close what is open, and say what could not be written to the end."""
        if self.unwritten:
            self._complain(f"{self._folder}: {self.unwritten} records could not be written")
        self._records.close()
        self._losses.close()

    def _write_tools(self, tool_set: ToolSet) -> None:
        path = self._folder / f"tools-{tool_set.set_hash}.json"
        if path.exists():
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".tools-", dir=self._folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(encode(tool_set))
            Path(temporary).replace(path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise

    def _failed(self, record_id: str, fault: OSError) -> None:
        if not self.unwritten:
            self._complain(f"{self._folder}: cannot write records: {fault}; the stream goes on")
        self.unwritten += 1
        if len(self._unwritten) < _MOST_NAMED:
            self._unwritten.append(record_id)

    def _resumed(self, at_unix_ns: int) -> None:
        self._complain(f"{self._folder}: writing again; {self.unwritten} records were lost")
        self.write_loss(Loss(at_unix_ns=at_unix_ns, ids=self._unwritten, why="unwritable"))
        self._unwritten = []
        self.unwritten = 0
