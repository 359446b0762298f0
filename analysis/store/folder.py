"""A journal in a folder: the one place of analysis that opens files.

One rule: nothing here looks into a line. What a name means is decided by its pattern, what bytes mean
by `contents` and `proxy.journal`.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .base import Journal, NoJournalError, StoreError
from .contents import Contents
from .packed import segment_bytes
from .recorded import FORGOTTEN, dated, tool_set_hash

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .recorded import Sort

PIECE: Final = 2**20
"""Bytes read at a time: a segment of any size fits into the memory of its records."""

LOOKS: Final = 50
LOOK_EVERY_S: Final = 0.02
"""How often and how soon again one looks for the rest of a line that is being written: 1 s in all."""
IN_WRITING_NS: Final = 2 * 10**9
"""A file that changed within this time is being written; a line torn before that is not waited for."""


@dataclass(frozen=True, slots=True)
class FolderStore:
    """The folder that a proxy writes to, or a copy of it; `duck` is for more than fits into memory."""

    path: Path

    def journal(self) -> Journal:
        """All that the folder holds. Raises NoJournalError, or StoreError if it cannot be listed."""
        contents = Contents()
        for file in self.files():
            try:
                _take(contents, file)
            except FileNotFoundError:
                continue  # removed since it was listed, as old files are
            except OSError as fault:
                contents.unreadable(file.name, None, fault.strerror or str(fault))
            except StoreError as fault:
                contents.unreadable(file.name, None, str(fault))
        return contents.journal()

    def segments(self) -> list[Path]:
        """The segments that are there now, by name."""
        return [file for file in self.files() if is_segment(file.name)]

    def files(self) -> list[Path]:
        """All plain files, by name. Raises NoJournalError, or StoreError if it cannot be listed."""
        try:
            return sorted(file for file in self.path.iterdir() if file.is_file())
        except FileNotFoundError:
            raise NoJournalError(f"there is no folder {self.path}") from None
        except OSError as fault:
            why = fault.strerror or str(fault)
            raise StoreError(
                f"cannot read the journal folder {self.path}: {why}."
                " Name the folder that the proxy writes to with --journal."
            ) from fault


def is_segment(name: str) -> bool:
    """True for a file of records: `<date>-<pid>-<n>.jsonl`."""
    return _holds(name, "records")


def is_packed(name: str) -> bool:
    """True for a compacted segment: `<date>-<pid>-<n>.parquet`."""
    named = dated(name)
    return named is not None and (named.sort, named.form) == ("records", "parquet")


def is_loss(name: str) -> bool:
    """True for a file of loss lines."""
    return _holds(name, "losses")


def is_gauge(name: str) -> bool:
    """True for a file of gauge samples."""
    return _holds(name, "gauge")


def is_tool_set(name: str) -> bool:
    """True for a file that names the tools of a set."""
    return tool_set_hash(name) is not None


def _holds(name: str, sort: Sort) -> bool:
    named = dated(name)
    return named is not None and named.sort == sort and named.form == "jsonl"


def _take(contents: Contents, file: Path) -> None:
    if is_segment(file.name):
        contents.segment(file.name, pieces(file))
    elif is_packed(file.name):
        contents.segment(file.name, segment_bytes(file))
    else:
        take_beside(contents, file)


def take_beside(contents: Contents, file: Path) -> None:
    """Read a file that stands beside the segments; nothing of any other. Raises OSError."""
    if is_loss(file.name):
        contents.loss(file.name, b"".join(pieces(file)))
    elif is_gauge(file.name):
        contents.gauge(file.name, b"".join(pieces(file)))
    elif is_tool_set(file.name):
        contents.tool_set(file.name, file.read_bytes())
    elif file.name == FORGOTTEN:
        contents.forgotten(file.name, b"".join(pieces(file)))


def pieces(file: Path, start: int = 0, looks: int = LOOKS) -> Iterator[bytes]:
    """The bytes of a file from `start` to its present end. Raises OSError.

    What a write adds becomes visible page by page, so a reader may meet half a line that is whole a
    moment later. While the last line has no end and the file has only just changed, it is looked at
    again, `looks` times at most.
    """
    with file.open("rb", buffering=0) as source:
        source.seek(start)
        whole = True
        while True:
            while piece := source.read(PIECE):
                yield piece
                whole = piece.endswith(b"\n")
            if whole or not looks or not _in_writing(source.fileno()):
                return
            looks -= 1
            time.sleep(LOOK_EVERY_S)


def _in_writing(file: int) -> bool:
    return abs(time.time_ns() - os.fstat(file).st_mtime_ns) < IN_WRITING_NS
