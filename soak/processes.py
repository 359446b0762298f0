"""What the kernel knows of the program's processes: memory, descriptors, threads, CPU time.

One rule: read from /proc, so that nothing runs in the program for it. A process that has ended has none.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_RECORDER: Final = b"proxy.recorder"
_WORKER: Final = b"proxy.worker"
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one process, or of several together."""

    rss_mb: float = 0.0
    """MB of a million bytes."""
    descriptors: int = 0
    threads: int = 0
    cpu_s: float = 0.0


def figures(pids: Iterable[int]) -> Figures:
    """The sums over these processes."""
    return Figures(
        rss_mb=sum(map(_rss_mb, (pids := list(pids)))),
        descriptors=sum(_entries(pid, "fd") for pid in pids),
        threads=sum(_entries(pid, "task") for pid in pids),
        cpu_s=sum(map(_cpu_s, pids)),
    )


def recorders(main: int) -> list[int]:
    """The recorder below the main process, if there is one now."""
    return _children(main, _RECORDER)


def workers(main: int) -> list[int]:
    """The further relay processes below the main one."""
    return _children(main, _WORKER)


def _children(pid: int, word: bytes) -> list[int]:
    found = []
    for task in _names(pid, "task"):
        found += [int(child) for child in _read(pid, f"task/{task}/children").split()]
    return [child for child in found if word in _read(child, "cmdline")]


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""  # it has ended


def _names(pid: int, name: str) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/{name}")  # noqa: PTH208 -- names of /proc, not paths
    except OSError:
        return []


def _entries(pid: int, name: str) -> int:
    return len(_names(pid, name))


def _cpu_s(pid: int) -> float:
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS if fields else 0.0


def _rss_mb(pid: int) -> float:
    for line in _read(pid, "smaps_rollup").splitlines():
        if line.startswith(b"Rss:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0
