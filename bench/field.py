"""All contestants, running side by side in front of one upstream.

One rule: whatever happens, none outlives this program: each is on a leash, a pipe that the kernel cuts.
Cores are given so that nobody waits for a core in one setting that he need not wait for in the other;
docs/performance.md says how.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from demo.child import ROOT, child, first_line, leashed, stop, tail
from demo.proxied import free_port

from .client import connections, request
from .contestants import Place
from .processes import Tree
from .prompts import LongPrompt
from .script import Script

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .contestants import Contestant

_UPSTREAM_READY_S: Final = 10.0
_LISTEN: Final = "0A"
"""The state in the kernel's table of sockets."""


class StartError(Exception):
    """A contestant did not come up: which, and what it said."""


@dataclass(frozen=True)
class Target:
    """A running contestant, as metrics see it."""

    contestant: Contestant
    port: int
    """Where the client connects."""
    upstream_port: int
    headers: tuple[str, ...]
    tree: Tree | None
    """Its processes; None: nothing stands in between."""

    def request(self, body: bytes) -> bytes:
        """A chat request for this contestant."""
        return request(body, self.headers)


class Cores:
    """Which core the load has."""

    def __init__(self) -> None:
        self._all = os.sched_getaffinity(0)
        self.load = max(self._all) if len(self._all) > 1 else None
        """Of the client, and of the upstream when something stands between; None: there is but one core."""
        self.other = min(self._all) if len(self._all) > 1 else None
        """Of the upstream when nothing does. On one core the client would wait until the upstream sleeps,
        which it does not behind a proxy, and `direct` would look slower than it is."""

    def pin(self) -> None:
        """Put this process on the core of the load."""
        if self.load is not None:
            os.sched_setaffinity(0, {self.load})

    def place(self, upstream: int, *, direct: bool) -> None:
        """Put the upstream's process on its core."""
        core = self.other if direct else self.load
        if core is not None:
            os.sched_setaffinity(upstream, {core})

    @contextlib.contextmanager
    def free(self) -> Iterator[None]:
        """What is started in the block may run anywhere: children inherit."""
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, self._all)
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)


class Field:
    """Starts, restarts and ends contestants."""

    def __init__(self, folder: Path, cores: Cores) -> None:
        self._folder = folder
        self._cores = cores
        self._upstream_port = 0
        self._upstream_pid = 0
        self._stacks: dict[str, contextlib.ExitStack] = {}
        self._count = 0
        self.targets: dict[str, Target] = {}

    @contextlib.contextmanager
    def upstream(self) -> Iterator[None]:
        """Run the upstream, and at the end stop all."""
        command = [sys.executable, "-m", "bench.upstream"]
        log = self._folder / "upstream.log"
        with child(command, log) as process, contextlib.ExitStack() as stack:
            self._upstream_port = int(first_line(process, log, _UPSTREAM_READY_S))
            self._upstream_pid = process.pid
            stack.callback(lambda: self.stop(list(self._stacks)))
            yield

    async def start(self, contestant: Contestant) -> None:
        """Start it and let it have one long prompt, so that nothing is loaded later. Raises StartError."""
        stack = contextlib.ExitStack()
        self._stacks[contestant.name] = stack
        if contestant.command is None:
            port = self._upstream_port
            target = Target(contestant, port, port, (), None)
        else:
            self._count += 1
            folder = self._folder / f"{contestant.name}-{self._count}"
            folder.mkdir()
            place = Place(folder, free_port(), self._upstream_port)
            target = await self._run(contestant, place, stack)
        await _warm(target)
        self.targets[contestant.name] = target

    def ready(self, contestant: Contestant) -> Target | None:
        """The contestant as it is to be measured now; None: it does not run."""
        self._cores.place(self._upstream_pid, direct=contestant.command is None)
        return self.targets.get(contestant.name)

    async def restart(self, contestant: Contestant) -> None:
        """A new process in place of the old one. Raises StartError."""
        self.stop([contestant.name])
        await self.start(contestant)

    def stop(self, names: Iterable[str]) -> None:
        """End these, if they run."""
        for name in names:
            self.targets.pop(name, None)
            if (stack := self._stacks.pop(name, None)) is not None:
                stack.close()

    async def _run(
        self, contestant: Contestant, place: Place, stack: contextlib.ExitStack
    ) -> Target:
        log = place.folder / "log"
        command = contestant.command(place) if contestant.command else []
        with self._cores.free():
            process = stack.enter_context(_started(leashed(command), log))
        deadline = asyncio.get_running_loop().time() + contestant.ready_s
        while not _listens(place.port):
            late = asyncio.get_running_loop().time() > deadline
            if late or process.poll() is not None:
                why = f"is not ready after {contestant.ready_s:.0f} s" if late else "ended"
                raise StartError(f"{contestant.name} {why}{tail(log)}")
            await asyncio.sleep(0.05)
        headers = contestant.headers(place)
        return Target(contestant, place.port, place.upstream_port, headers, Tree(process.pid))


@contextlib.contextmanager
def _started(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """As `child`, but how a contestant ends is no concern of ours, so long as it does."""
    pipe = subprocess.PIPE
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=stderr, cwd=ROOT, start_new_session=True
        )
    try:
        yield process
    finally:
        stop(process)


def _listens(port: int) -> bool:
    """Asked of the kernel: a connection that only looks would be the first in somebody's journal."""
    lines = [
        line.split()
        for table in Path("/proc/net").glob("tcp*")
        for line in table.read_text("ascii").splitlines()
    ]
    return any(line[1].endswith(f":{port:04X}") and line[3] == _LISTEN for line in lines)


async def _warm(target: Target) -> None:
    prompt = LongPrompt(Script(2))
    async with connections(target.port, 1) as (connection,):
        for _ in range(2):
            await connection.ask(target.request(prompt.body()))
    if target.tree is not None:
        await target.tree.settled()
