"""Closed segments become compacted ones: a twentieth of the size, and read in a tenth of the time.

One rule: at every moment each record stands in a file that has its name. The compacted segment is on disk
and has been read back before the segment goes, and whoever is killed in between leaves both, of which
readers count each exchange once.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from itertools import count
from threading import Event
from typing import TYPE_CHECKING, BinaryIO, Final

from .base import StoreError
from .closed import Closed, sync_folder
from .engine import ask, database
from .folder import PIECE, is_packed, is_segment
from .packed import ASIDE, holds, same, write
from .taking import TooLongError, rows, take

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from .folder import FolderStore

    Progress = Callable[[str, int, int], None]
    """What is being done, and how much of how much, in bytes."""

WORTHWHILE: Final = 8 * 2**20
"""Bytes of closed segments below which nothing is gained: they are read in half a second, and what is
small stays a text that any tool reads."""

SETTLED_NS: Final = 10 * 10**9
"""So long after it was last written to is a segment left alone: somebody may still follow it."""


def compact(store: FolderStore, progress: Progress, least: int = WORTHWHILE) -> list[str]:
    """Compact what is closed, if it is `least` bytes or more. Returns the names of what was written.

    Raises StoreError if the folder cannot be listed. A file that cannot be compacted stays as it is: one
    that is being written or compacted, in a folder that is read-only or full, or with a line that is too
    long to keep.
    """
    sizes = [(file, size) for file in store.files() if (size := _closed_size(file))]
    whole = sum(size for _, size in sizes)
    if whole < least or not _may_write(store.path):
        return []
    _sweep(store)
    written: list[str] = []
    done = 0
    stop = Event()
    # Two at a time: while one waits for Python, the database and the disk work for the other.
    with ThreadPoolExecutor(2) as pool:
        running = {pool.submit(_compact, file, stop): size for file, size in sizes}
        try:
            for each in as_completed(running):
                progress("compacting the journal", done, whole)
                done += running[each]
                if packed := each.result():
                    written.append(packed)
        except (
            BaseException
        ):  # Ctrl-C, as a rule: what is half done is left, what has not begun never does
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return sorted(written)


def _may_write(folder: Path) -> bool:
    effective = os.access in os.supports_effective_ids
    return os.access(folder, os.W_OK, effective_ids=effective)


def _closed_size(file: Path) -> int:
    """Bytes of a segment that nobody writes to or follows; 0 for any other file."""
    if not is_segment(file.name) or file.is_symlink():
        return 0
    try:
        with Closed(file, dry_run=True) as source:
            state = os.fstat(source.fileno())
    except OSError:
        return 0
    return state.st_size if time.time_ns() - state.st_mtime_ns >= SETTLED_NS else 0


class _StoppedError(Exception):
    """Told to stop."""


def _compact(file: Path, stop: Event) -> str | None:
    try:
        with Closed(file, dry_run=False) as source:
            return _written(file, source, stop)
    except (StoreError, OSError, TooLongError, _StoppedError):
        return None


def _written(file: Path, source: BinaryIO, stop: Event) -> str | None:
    """Name of the compacted segment; None if what was written there is not what was read."""
    state = os.fstat(source.fileno())
    with database(threads=1) as db:
        target = next(t for t in _targets(file) if not t.exists() or holds(db, t, source))
        if not target.exists():
            ask(db, "taken")
            take(db, file.name, rows(_pieces(source, stop), to_the_byte=True))
            write(db, "SELECT * EXCLUDE (file) FROM taken", target, state.st_mtime_ns)
            if not same(db, target, state.st_size):
                target.unlink()
                return None
    file.unlink()
    sync_folder(file.parent)
    return target.name


def _pieces(source: BinaryIO, stop: Event) -> Iterator[bytes]:
    source.seek(0)
    while piece := source.read(PIECE):
        if stop.is_set():
            raise _StoppedError
        yield piece


def _targets(file: Path) -> Iterator[Path]:
    """Its own name, and names behind it: process ids come again, in containers all the time."""
    stem, _, number = file.stem.rpartition("-")
    for n in count(int(number)):
        yield file.with_name(f"{stem}-{n}.parquet")


def _sweep(store: FolderStore) -> None:
    """Take away halves that killed runs left, of segments that are not there any more.

    Nobody is at work on one for an hour.
    """
    for half in store.path.glob(f"{ASIDE}*.parquet"):
        named = half.name.removeprefix(ASIDE)
        segment = half.with_name(named).with_suffix(".jsonl")
        with suppress(OSError):
            old = time.time_ns() - half.stat().st_mtime_ns > 3_600 * 10**9
            if old and is_packed(named) and not segment.exists():
                half.unlink()
