"""The whole program as a user starts it, in a process of its own, and the upstream behind it.

One rule: none of them outlives this process. Each is on a leash that ends it when this process ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import orjson

from demo.child import ChildError, child, died, first_line, leashed, tail
from demo.proxied import free_port

from . import processes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from pathlib import Path
    from subprocess import Popen

READY_S: Final = 30.0
STOP_S: Final = 40.0
_LOOK_S: Final = 0.02
_TRACE_LINES: Final = 30
_STILL_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Setup:
    """How a program is started."""

    config: str = ""
    """TOML beside the route, which is given by flags."""
    descriptors: int = 0
    """How many file descriptors it may have; 0: as many as this process."""
    environment: Mapping[str, str] = field(default_factory=dict)


class Program:
    """`turnscope-proxy`, running."""

    def __init__(self, process: Popen[bytes], journal: Path, log: Path) -> None:
        self.journal = journal
        self.port = 0
        self.pid = 0
        self.status = 0
        """Port of its own pages."""
        self._process = process
        self._log = log

    def events(self, name: str) -> list[dict[str, Any]]:
        """All that it said under that name."""
        marker = f'"{name}"'.encode()
        lines = self._log.read_bytes().splitlines()
        return [orjson.loads(line) for line in lines if line[:1] == b"{" and marker in line]

    @property
    def tracebacks(self) -> str:
        """What Python itself said, if anything of it died of a fault; empty otherwise."""
        _, found, rest = self._log.read_text("utf-8", "replace").partition("Traceback")
        plain = [line for line in rest.splitlines()[:_TRACE_LINES] if not line.startswith("{")]
        return found + "\n".join(plain)

    async def begin(self) -> None:
        """Wait until it listens. Raises ChildError when it does not."""
        await eventually(self._listens, "the program did not start", READY_S)
        listening, started = self.events("route.listening")[-1], self.events("proxy.started")[-1]
        self.port, self.pid = int(listening["listen"].rpartition(":")[2]), int(started["pid"])

    def _listens(self) -> bool:
        if self._process.poll() is not None:
            raise ChildError(f"the program did not start: {died(self._process, self._log, None)}")
        return bool(self.events("route.listening"))

    @property
    def relays(self) -> list[int]:
        """Process ids: the main one, then the workers."""
        return [self.pid, *processes.workers(self.pid)]

    @property
    def recorder(self) -> int:
        """The recorder's process id; 0 while there is none."""
        return next(iter(processes.recorders(self.pid)), 0)

    async def counted(self, name: str) -> int:
        """One number of its own metrics."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.status)
        request = f"GET /metrics HTTP/1.0\r\nHost: 127.0.0.1:{self.status}\r\n\r\n"
        writer.write(request.encode())
        text = (await reader.read(-1)).decode()
        writer.close()
        found = re.search(rf"^{name} ([0-9.]+)", text, re.MULTILINE)
        if found is None:
            raise ChildError(f"the program's metrics have no {name}: {text[:200]}")
        return int(float(found[1]))

    async def settle(self, most_descriptors: int = 0, within_s: float = 60.0) -> None:
        """Wait until it has worked off what it had: hardly a descriptor more, nor CPU time.

        `most_descriptors` is of the relays; 0: any number.
        """
        deadline = time.perf_counter() + within_s
        before = -1.0
        while time.perf_counter() < deadline:
            now = processes.figures([*self.relays, self.recorder])
            relays = processes.figures(self.relays)
            if now.cpu_s - before < 0.05 and (
                not most_descriptors or relays.descriptors <= most_descriptors
            ):
                return
            before = now.cpu_s
            await asyncio.sleep(_STILL_S)

    async def stop(self) -> dict[str, Any]:
        """Stop it in good order. Gives its last event; raises ChildError if it does not end."""
        os.kill(self.pid, signal.SIGTERM)
        await eventually(lambda: self._process.poll() is not None, "it does not end", STOP_S)
        if self._process.returncode or not (said := self.events("proxy.stopped")):
            raise ChildError(f"it ended with {self._process.returncode}:{tail(self._log)}")
        return said[-1]


async def eventually(check: Callable[[], object], what: str, within_s: float) -> None:
    """Wait until it is true. Raises ChildError when time is up."""
    deadline = time.perf_counter() + within_s
    while not check():
        if time.perf_counter() > deadline:
            raise ChildError(f"{what} within {within_s:g} s")
        await asyncio.sleep(_LOOK_S)


@contextlib.asynccontextmanager
async def running(upstream: int, folder: Path, setup: Setup) -> AsyncIterator[Program]:
    """The program in front of the upstream at that port, while the block runs."""
    journal, config, log = folder / "journal", folder / "config.toml", folder / "proxy.log"
    status = free_port()
    own = f'[tokenizer]\nserver = "off"\n[status]\nlisten = "127.0.0.1:{status}"\n'
    config.write_text(f"{setup.config}\n{own}", "utf-8")
    flags = ["--listen", "127.0.0.1:0", "--upstream", f"http://127.0.0.1:{upstream}"]
    flags += ["--journal", str(journal), "--config", str(config)]
    command = [sys.executable, "-m", "proxy", *flags]
    if setup.descriptors:
        command = ["sh", "-c", f'ulimit -n {setup.descriptors}; exec "$@"', "sh", *command]
    with child(leashed(command), log, setup.environment) as process:
        program = Program(process, journal, log)
        program.status = status
        await program.begin()
        yield program


@contextlib.contextmanager
def upstream(folder: Path) -> Iterator[int]:
    """The scripted upstream while the block runs; gives its port."""
    log = folder / "upstream.log"
    with child([sys.executable, "-m", "soak.upstream"], log) as process:
        yield int(first_line(process, log, READY_S))
