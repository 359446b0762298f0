"""Files of a journal as they lie around after weeks: of a day, of a size, of an age.

One rule: one moment is now, and every day is given by how long ago it was.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from proxy.journal.names import DAY_NS

if TYPE_CHECKING:
    from pathlib import Path

NOW_NS = 20_000 * DAY_NS + DAY_NS // 2
"""Noon, UTC, of 2024-10-04."""


def day(back: int) -> str:
    """The date so many days before now."""
    names = {0: "2024-10-04", 1: "2024-10-03", 2: "2024-10-02", 9: "2024-09-25", 30: "2024-09-04"}
    return names[back]


def put(folder: Path, name: str, size: int = 10, back: int | None = None) -> Path:
    """A file of this size, last written to so many days before now."""
    path = folder / name
    path.write_bytes(b"x" * size)
    if back is not None:
        os.utime(path, ns=(NOW_NS - back * DAY_NS,) * 2)
    return path


def names(folder: Path) -> list[str]:
    """What is there, less the note of what was removed."""
    return sorted(p.name for p in folder.iterdir() if p.name != "forgotten.jsonl")
