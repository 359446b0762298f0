"""The journal on disk: lines appended to segments, tool sets beside them, losses by name.

One rule: a disk that is full or gone is counted and said, never fatal; writing resumes by itself, and then
each record that could not be written is named. One writer a file: it is made new and locked as long as it
is written, so two proxies never share a segment, and whoever gets the lock knows that it is closed.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from . import clock
from .journal.lines import encode
from .journal.names import tool_set_name
from .journal.record import Loss

if TYPE_CHECKING:
    from collections.abc import Callable

    from .journal.record import Record, ToolSet
    from .retention import Retention

SEGMENT_BYTES: Final = 64 * 1024 * 1024
"""A segment longer than this is closed and the next one begun."""

_MOST_NAMED: Final = 100_000
"""Ids of unwritten records that are kept to be named later, some 10 MB; beyond that they are gaps."""
_IDS_A_LINE: Final = 1_000


class Appender:
    """Appends lines to `<prefix><date>-<pid>-<n>.jsonl`, a new file for each day and size."""

    def __init__(self, folder: Path, prefix: str = "", segment_bytes: int = SEGMENT_BYTES) -> None:
        self._folder = folder
        self._most = segment_bytes
        self._prefix = prefix
        self._file: int | None = None
        self._date = ""
        self._size = 0
        self._torn = False
        """True when the last line was cut by a full disk: the next one begins on a line of its own."""
        self.number = 0
        """Of the last segment that was begun."""

    def append(self, line: bytes, at_unix_ns: int) -> None:
        """Write one line, whole. Raises OSError when it is not on disk whole."""
        file = self._segment(_date(at_unix_ns))
        data = b"\n" + line if self._torn else line
        done = 0
        try:
            while done < len(data):  # after a short write the next one says why
                done += os.write(file, data[done:])
        except OSError:
            self._take_back(file, done)
            raise
        self._size += done
        self._torn = False

    def close(self) -> None:
        """Close the segment."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def close_before(self, unix_ns: int) -> None:
        """Close a segment of an earlier day: nothing more is to be written there, and it may go."""
        if self._file is not None and self._date < _date(unix_ns):
            self.close()

    def _take_back(self, file: int, done: int) -> None:
        """Leave no half line. The size is asked for: somebody else may have emptied the file."""
        if not done:
            return
        try:
            os.ftruncate(file, max(os.fstat(file).st_size - done, 0))
        except OSError:
            self._size += done
            self._torn = True

    def _segment(self, date: str) -> int:
        fits = date == self._date and self._size < self._most
        # Somebody may have deleted the file: what is written there then would be nowhere.
        if self._file is not None and fits and os.fstat(self._file).st_nlink:
            return self._file
        self.close()
        self._folder.mkdir(parents=True, exist_ok=True)
        self._file = self._begun(date)
        self._date, self._size, self._torn = date, 0, False
        return self._file

    def _begun(self, date: str) -> int:
        """A new file, locked. Process ids come again, in containers all the time: then a number is taken."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        while True:
            self.number += 1
            name = f"{self._prefix}{date}-{os.getpid()}-{self.number}.jsonl"
            try:
                file = os.open(self._folder / name, flags, 0o600)
            except FileExistsError:
                continue
            if not self._compacted(name) and _locked(file):
                return file
            os.close(file)

    def _compacted(self, name: str) -> bool:
        """Whether an analysis has compacted a segment of this name; then the new file goes again.

        Asked once the file is there: a compacted segment has its name before the other one goes.
        """
        path = self._folder / name
        if not path.with_suffix(".parquet").exists():
            return False
        path.unlink(missing_ok=True)
        return True


class JournalFolder:
    """Everything that the recorder writes."""

    def __init__(
        self,
        folder: Path,
        complain: Callable[[str], None],
        retention: Retention | None = None,
    ) -> None:
        """`complain` is told once when writing begins to fail, and once when it works again."""
        self._folder = folder
        self._complain = complain
        self._retention = retention
        most = SEGMENT_BYTES
        self._room = retention.bounds.segment_bytes(most) if retention else most
        self._records = Appender(folder, segment_bytes=self._room)
        self._losses = Appender(folder, "loss-", self._room)
        self._swept = 0
        """Number of the segment at whose beginning old files were last removed."""
        self._unnamed: dict[str, list[str]] = {}
        """Why, and the ids of records that no loss line names yet."""
        self._loss_failed = False
        self.unwritten = 0
        """Records that could not be written since writing last worked."""

    def begin(self) -> None:
        """Remove what is too old, before anything is written."""
        self._sweep()

    def write(self, record: Record, tool_set: ToolSet | None) -> bool:
        """Append a record; True when it is on disk."""
        try:
            if tool_set is not None:
                self._write_tools(tool_set, record.at_unix_ns)
            self._records.append(encode(record), record.at_unix_ns)
        except OSError as fault:
            self._failed(record.id, fault)
            return False
        if self._unnamed or self.unwritten:
            self._resumed(record.at_unix_ns)
        if self._records.number != self._swept or (self._retention and self._retention.due):
            self._sweep()
        return True

    def write_loss(self, loss: Loss) -> None:
        """Append a line that names exchanges without a record; if that fails, later."""
        self._keep(loss.why, loss.ids)
        self._name_lost(loss.at_unix_ns)

    def close(self) -> None:
        """Close what is open, and say what could not be written to the end."""
        if self._unnamed:
            self._name_lost(clock.unix_ns())
        if self.unwritten:
            self._complain(f"{self._folder}: {self.unwritten} records could not be written")
        self._records.close()
        self._losses.close()

    def _sweep(self) -> None:
        self._swept = self._records.number
        if self._retention is not None:
            self._losses.close_before(self._retention.now_unix_ns)
            self._retention.sweep(self._folder, self._room)

    def _write_tools(self, tool_set: ToolSet, at_unix_ns: int) -> None:
        """Write it once, and stamp it each time: what removes old sets goes by that.

        The stamp is never before the first byte of an exchange that names the set, so never before the
        day of a segment that does.
        """
        path = self._folder / tool_set_name(tool_set.set_hash)
        try:
            stamp = max(clock.unix_ns(), at_unix_ns, path.stat().st_mtime_ns + 1)
            os.utime(path, ns=(stamp, stamp))
        except FileNotFoundError:
            self._write_new(path, encode(tool_set))

    def _write_new(self, path: Path, data: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".tools-", dir=self._folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(temporary).replace(path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise

    def _failed(self, record_id: str, fault: OSError) -> None:
        why = fault.strerror or str(fault)
        if not self.unwritten:
            self._complain(f"{self._folder}: cannot write records: {why}; the stream goes on")
        self.unwritten += 1
        self._keep(f"unwritable: {why}", [record_id])

    def _keep(self, why: str, ids: list[str]) -> None:
        room = _MOST_NAMED - sum(map(len, self._unnamed.values()))
        self._unnamed.setdefault(why, []).extend(ids[:room])

    def _resumed(self, at_unix_ns: int) -> None:
        if self.unwritten:
            self._complain(f"{self._folder}: writing again; {self.unwritten} records were lost")
            self.unwritten = 0
        self._name_lost(at_unix_ns)

    def _name_lost(self, at_unix_ns: int) -> None:
        """A line for each reason and thousand ids. What cannot be written now is kept for the next time."""
        for why, ids in list(self._unnamed.items()):
            while ids:
                loss = Loss(at_unix_ns=at_unix_ns, ids=ids[:_IDS_A_LINE], why=why)
                try:
                    self._losses.append(encode(loss), at_unix_ns)
                except OSError as fault:
                    if not self._loss_failed:
                        self._complain(f"{self._folder}: cannot say yet what was lost: {fault}")
                    self._loss_failed = True
                    return
                del ids[:_IDS_A_LINE]
            del self._unnamed[why]
        self._loss_failed = False


def _date(unix_ns: int) -> str:
    return f"{datetime.fromtimestamp(unix_ns // 10**9, UTC):%Y-%m-%d}"


def _locked(file: int) -> bool:
    """Lock a file that was just made; False if it was taken for one that is closed, and removed."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks: nobody can get one there, so nobody removes the file
    return os.fstat(file).st_nlink > 0
