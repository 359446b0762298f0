"""What the kernel knows of a contestant: its processes, their CPU time, their memory.

One rule: read from /proc, so that nothing runs in the contestant for it. A recorder is told apart by its
command line; all other processes of a contestant relay.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_RECORDER: Final = b"proxy.recorder"
_STILL_S: Final = 0.2
_IDLE: Final = 0.05
"""The share of a core that is no work: timers."""
_SETTLED_WITHIN_S: Final = 20.0


@dataclass(frozen=True)
class Cpu:
    """Seconds of CPU, user and system together."""

    relay_s: float
    recorder_s: float

    def since(self, earlier: Cpu) -> Cpu:
        """What was spent between the two."""
        return Cpu(self.relay_s - earlier.relay_s, self.recorder_s - earlier.recorder_s)

    @property
    def total_s(self) -> float:
        """All processes."""
        return self.relay_s + self.recorder_s


@dataclass(frozen=True)
class Memory:
    """Of all processes that relay, and of the recorder, in MB of a million bytes."""

    relay_rss_mb: float
    relay_pss_mb: float
    recorder_rss_mb: float


class Tree:
    """All processes below one; that one only holds the leash and does not count."""

    def __init__(self, root: int) -> None:
        self._root = root

    def cpu(self) -> Cpu:
        """What they have spent so far."""
        relays, recorders = self._processes()
        return Cpu(sum(map(_cpu_s, relays)), sum(map(_cpu_s, recorders)))

    def memory(self) -> Memory:
        """What they hold now."""
        relays, recorders = self._processes()
        return Memory(
            sum(_rollup_mb(pid, "Rss") for pid in relays),
            sum(_rollup_mb(pid, "Pss") for pid in relays),
            sum(_rollup_mb(pid, "Rss") for pid in recorders),
        )

    @property
    def has_recorder(self) -> bool:
        """Whether one of them records."""
        return bool(self._processes()[1])

    async def settled(self) -> Cpu:
        """Wait until they have worked off what they had; a timer now and then is no work."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _SETTLED_WITHIN_S
        before = self.cpu()
        while loop.time() < deadline:
            await asyncio.sleep(_STILL_S)
            after = self.cpu()
            if after.since(before).total_s < _IDLE * _STILL_S:
                return after
            before = after
        return before

    def _processes(self) -> tuple[list[int], list[int]]:
        pids, waiting = [], _children(self._root)
        while waiting:
            pid = waiting.pop()
            pids.append(pid)
            waiting += _children(pid)
        recorders = [pid for pid in pids if _RECORDER in _read(pid, "cmdline")]
        return [pid for pid in pids if pid not in recorders], recorders


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""  # it has ended


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*")
    return [
        int(child) for task in tasks for child in _read(pid, f"task/{task.name}/children").split()
    ]


def _cpu_s(pid: int) -> float:
    """Of one process, user and system, over its threads.

    The sum of `stat` is the same in ticks of 10 ms, cut off: too coarse for a thousand requests.
    """
    tasks = [
        _read(pid, f"task/{task.name}/schedstat") for task in Path(f"/proc/{pid}/task").glob("*")
    ]
    return sum(int(each.split()[0]) for each in tasks if each) / 1e9


def _rollup_mb(pid: int, name: str) -> float:
    for line in _read(pid, "smaps_rollup").decode().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0
