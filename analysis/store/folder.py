"""A journal in a folder: the one place of analysis that opens files.

One rule: nothing here looks into a line. What a name means is decided by its pattern, what bytes mean
by `contents` and `proxy.journal`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .base import Journal, NoJournalError, StoreError
from .contents import Contents

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PIECE: Final = 2**20
"""Bytes read at a time: a segment of any size fits into the memory of its records."""


@dataclass(frozen=True, slots=True)
class FolderStore:
    """The folder that a proxy writes to, or a copy of it."""

    path: Path

    def journal(self) -> Journal:
        """All that the folder holds. Raises NoJournalError, or StoreError if it cannot be listed."""
        contents = Contents()
        for file in self.files():
            try:
                _take(contents, file)
            except OSError as fault:
                contents.unreadable(file.name, None, fault.strerror or str(fault))
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
    """True for a file of records: `<date>-<pid>-<n>.jsonl`, and not a sort that is named before."""
    return name.endswith(".jsonl") and not name.startswith(("loss-", "gauge-", "."))


def is_loss(name: str) -> bool:
    """True for a file of loss lines."""
    return name.startswith("loss-") and name.endswith(".jsonl")


def is_tool_set(name: str) -> bool:
    """True for a file that names the tools of a set."""
    return name.startswith("tools-") and name.endswith(".json")


def _take(contents: Contents, file: Path) -> None:
    if is_segment(file.name):
        contents.segment(file.name, pieces(file))
    elif is_loss(file.name):
        contents.loss(file.name, file.read_bytes())
    elif is_tool_set(file.name):
        contents.tool_set(file.name, file.read_bytes())


def pieces(file: Path, start: int = 0) -> Iterator[bytes]:
    """The bytes of a file from `start` to its present end. Raises OSError."""
    with file.open("rb") as source:
        source.seek(start)
        while piece := source.read(PIECE):
            yield piece
