"""Files of a journal that nobody writes to: locked, replaced and removed, each in one step.

One rule: whoever looks at any moment, or comes after a kill, finds the old file or the new one, whole.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ASIDE: Final = ".forget-"
"""In front of the name of a file while it is written anew."""


class Closed:
    """A file that nobody writes to, open and locked. Raises BlockingIOError if somebody does."""

    def __init__(self, file: Path, *, dry_run: bool) -> None:
        self._file = file
        self._dry_run = dry_run

    def __enter__(self) -> BinaryIO:
        while True:
            # For writing: over NFS an exclusive lock needs it. To look only, a shared one is enough.
            source = self._file.open("rb" if self._dry_run else "r+b")
            try:
                how = fcntl.LOCK_SH if self._dry_run else fcntl.LOCK_EX
                fcntl.flock(source, how | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(source.fileno()), self._file.stat()):
                    self._source: BinaryIO = source
                    return source
            except BaseException:
                source.close()
                raise
            source.close()  # it was replaced between the two: look at the new one

    def __exit__(self, *_: object) -> None:
        self._source.close()


def replace(file: Path, lines: Iterator[bytes], mtime_ns: int) -> int:
    """Put these lines in the file's place, in one step. Returns their bytes."""
    with replacing(file, ASIDE, mtime_ns) as aside, aside.open("wb") as out:
        return sum(out.write(line) for line in lines)


@contextmanager
def replacing(file: Path, prefix: str, mtime_ns: int) -> Iterator[Path]:
    """An empty file beside it, nobody else's to read; what is in it at the end takes the file's place.

    In one step, and on disk by then. Raises OSError.
    """
    aside = file.with_name(f"{prefix}{file.name}")
    aside.unlink(missing_ok=True)
    try:
        os.close(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        yield aside
        with aside.open("rb") as written:
            os.fsync(written.fileno())
        os.utime(aside, ns=(mtime_ns, mtime_ns))  # it was not written to: readers go by that
        aside.replace(file)
    except BaseException:  # Ctrl-C too: nothing half is left behind
        aside.unlink(missing_ok=True)
        raise
    sync_folder(file.parent)


def sync_folder(path: Path) -> None:
    """Have on disk which files there are. Raises OSError."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def remove_unless_used(file: Path, mtime_ns: int) -> bool:
    """Remove a tool set whose stamp is still this one; False if a proxy has used it since.

    It is taken aside first. A proxy that finds it gone writes it anew, so there is no moment in which a
    record could be left without its tool set. Raises OSError.
    """
    aside = file.with_name(f".{file.name}")
    file.rename(aside)
    try:
        if aside.stat().st_mtime_ns == mtime_ns:
            aside.unlink()
            return True
        return False
    finally:
        with suppress(FileNotFoundError):  # it is gone, as it should be
            aside.rename(file)
