"""How much of a journal is kept: the oldest files go, whole, beyond an age or a size.

One rule: a file goes only if its name is one of ours and nobody writes to it. Whoever writes holds an
exclusive `flock` on the file, which the kernel lets go with the process, `kill -9` included; so whoever
gets that lock knows that the file is closed, in this process and across processes. A closed file is
never opened for writing again.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from . import clock
from .journal.lines import encode
from .journal.names import DAY_NS, FORGOTTEN, Dated, dated, tool_set_hash
from .journal.record import Forgotten

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EVERY_NS: Final = 3_600 * 10**9
"""How often a journal that is written to is looked over."""

_SETTLED_NS: Final = 60 * 10**9
"""So long after its last use is a tool set left alone: the record that names it may be on its way."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is kept."""

    keep_days: int | None = None
    """Whole days behind the day of a file (UTC); None: for ever."""
    max_bytes: int | None = None
    """Of all files of the journal together; None: any number."""

    def segment_bytes(self, most: int) -> int:
        """How long a segment may be: what goes, goes by whole files, and one must not be most of it."""
        return most if self.max_bytes is None else min(most, self.max_bytes // 8)


@dataclass(slots=True)
class Swept:
    """What one pass removed."""

    files: int = 0
    bytes: int = 0
    before_unix_ns: int = 0
    """All that was removed began before this."""
    faults: list[str] = field(default_factory=list)
    """What could not be listed or removed, in the system's words."""

    def took(self, size: int) -> None:
        """One more file went."""
        self.files += 1
        self.bytes += size


@dataclass(frozen=True, slots=True)
class _Found:
    path: Path
    state: os.stat_result
    name: Dated

    @property
    def age(self) -> tuple[int, int, str]:
        """The oldest first."""
        return self.name.begin_unix_ns, self.state.st_mtime_ns, self.path.name


class Retention:
    """Keeps one folder within its bounds."""

    def __init__(
        self,
        bounds: Bounds,
        say: Callable[[int, int], None],
        complain: Callable[[str], None],
        unix_ns: Callable[[], int] = clock.unix_ns,
    ) -> None:
        """`say` is told files and bytes each time that some went; `complain` once what stays stuck."""
        self.bounds = bounds
        self._say = say
        self._complain = complain
        self._unix_ns = unix_ns
        self._last_ns = 0
        self._stuck = False

    @property
    def due(self) -> bool:
        """Whether the last pass is an hour ago, or the clock was set."""
        return abs(self._unix_ns() - self._last_ns) >= EVERY_NS

    @property
    def now_unix_ns(self) -> int:
        """The clock that it goes by."""
        return self._unix_ns()

    def sweep(self, folder: Path, room: int) -> None:
        """One pass. `room` is what the segment that is being begun may come to. Never raises."""
        now = self._last_ns = self._unix_ns()
        if self.bounds == Bounds():
            return
        done = sweep(folder, self.bounds, now, room)
        if done.files:
            self._say(done.files, done.bytes)
        if done.faults and not self._stuck:
            more = f" (and {len(done.faults) - 1} more)" if len(done.faults) > 1 else ""
            self._complain(f"{folder}: cannot remove what is too old: {done.faults[0]}{more}")
        self._stuck = bool(done.faults)


def sweep(folder: Path, bounds: Bounds, now_unix_ns: int, room: int = 0) -> Swept:
    """Remove the oldest closed files beyond the bounds, then tool sets that nothing names any more."""
    swept = Swept()
    try:
        files, tool_sets = _listed(folder)
    except FileNotFoundError:
        return swept
    except OSError as fault:
        swept.faults.append(_words(fault))
        return swept
    kept = _sweep_files(
        files, sum(s.st_size for _, s in tool_sets), (bounds, now_unix_ns, room), swept
    )
    # A writer stamps a tool set with the time of each record that names it (segments.py); so one whose
    # stamp is older than the day of the oldest segment left is named by none of them. Reading them all
    # to know it would stop the recorder for seconds.
    oldest = min(
        (f.name.begin_unix_ns for f in kept if f.name.sort == "records"), default=now_unix_ns
    )
    for path, state in tool_sets:
        if state.st_mtime_ns < min(oldest, now_unix_ns - _SETTLED_NS):
            _remove_tool_set(path, state, swept)
    if swept.before_unix_ns:
        _note(folder, swept, now_unix_ns)
    return swept


def _listed(folder: Path) -> tuple[list[_Found], list[tuple[Path, os.stat_result]]]:
    """Files of lines, the oldest first, and tool sets. Links and folders are never ours."""
    files, tool_sets = [], []
    with os.scandir(folder) as entries:
        for entry in entries:
            name, is_set = dated(entry.name), tool_set_hash(entry.name) is not None
            if (name or is_set) and entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):  # another proxy on this folder was faster
                    state = entry.stat(follow_symlinks=False)
                    path = folder / entry.name
                    if name:
                        files.append(_Found(path, state, name))
                    else:
                        tool_sets.append((path, state))
    return sorted(files, key=lambda found: found.age), tool_sets


def _sweep_files(
    files: list[_Found], beside: int, limits: tuple[Bounds, int, int], swept: Swept
) -> list[_Found]:
    """Remove from the oldest on; return what stays. `beside`: bytes of what does not go by age."""
    bounds, now_unix_ns, room = limits
    total = beside + room + sum(found.state.st_size for found in files)
    begun_ns = -1 if bounds.keep_days is None else now_unix_ns - bounds.keep_days * DAY_NS
    most = total if bounds.max_bytes is None else bounds.max_bytes
    kept: list[_Found] = []
    for found in files:
        if (found.name.end_unix_ns > begun_ns and total <= most) or not _removed(found, swept):
            kept.append(found)
        else:
            total -= found.state.st_size
    return kept


def _removed(found: _Found, swept: Swept) -> bool:
    """Remove a file, unless it is being written."""
    try:
        # For writing: over NFS an exclusive lock needs it.
        file = os.open(found.path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError as fault:
        swept.faults.append(_words(fault))
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        found.path.unlink(missing_ok=True)
    except BlockingIOError:
        return False
    except OSError as fault:
        swept.faults.append(_words(fault))
        return False
    finally:
        os.close(file)
    swept.took(found.state.st_size)
    began = min(found.name.end_unix_ns, found.state.st_mtime_ns + 1)
    swept.before_unix_ns = max(swept.before_unix_ns, began)
    return True


def _remove_tool_set(path: Path, state: os.stat_result, swept: Swept) -> None:
    """Take it aside, look again, and put it back if a writer has used it since it was looked at.

    A writer that finds it gone writes it anew, so there is no moment in which a record could be left
    without its tool set, and nobody waits for a lock.
    """
    aside = path.with_name(f".{path.name}")
    try:
        path.rename(aside)
        try:
            if aside.stat().st_mtime_ns == state.st_mtime_ns:
                aside.unlink()
                swept.took(state.st_size)
        finally:
            with suppress(FileNotFoundError):  # it is gone, as it should be
                aside.rename(path)
    except FileNotFoundError:
        return
    except OSError as fault:
        swept.faults.append(_words(fault))


def _note(folder: Path, swept: Swept, now_unix_ns: int) -> None:
    """Write down what went, so that numbers which are missing since are not taken for a loss."""
    line = Forgotten(
        at_unix_ns=now_unix_ns,
        before_unix_ns=swept.before_unix_ns,
        files=swept.files,
        bytes=swept.bytes,
    )
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    try:
        file = os.open(folder / FORGOTTEN, flags, 0o600)
    except OSError as fault:
        swept.faults.append(_words(fault))
        return
    with os.fdopen(file, "wb", buffering=0) as out, suppress(OSError):  # a disk that is still full
        out.write(encode(line))


def _words(fault: OSError) -> str:
    return f"{fault.filename}: {fault.strerror}" if fault.filename else fault.strerror or str(fault)
