"""The whole program as a user starts it: the command, its recorder, its journal.

with Program(upstream=up.url, folder=tmp_path) as proxy:
    ...  # talk to 127.0.0.1:proxy.port
    proxy.stop()
assert proxy.records()[0].outcome == "complete"
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec
import orjson

from analysis.store.folder import pieces
from proxy.journal.lines import read_lines
from proxy.journal.record import Loss, Record

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent.parent
WITHIN_S = 30.0
STATUS = '[status]\nlisten = "127.0.0.1:0"\n'
"""Of a config file: status pages at a free port."""


async def eventually(check: Callable[[], Any], what: str, within: float = WITHIN_S) -> Any:
    """The first true value of `check`, asked every 10 ms; AssertionError when time is up."""
    deadline = time.monotonic() + within
    while not (value := check()):
        assert time.monotonic() < deadline, f"{what}: not within {within} s"
        await asyncio.sleep(0.01)
    return value


class Program:
    """`turnscope-proxy`, running."""

    def __init__(self, upstream: str, folder: Path, *flags: str, config: str = "") -> None:
        """`config` is TOML for a config file; routes there win over `upstream` if it is empty.

        Unless it says otherwise no upstream is asked to count: a scripted one would count the questions.
        Nor are there status pages; `config` with `STATUS` has them.
        """
        self.journal = folder / "journal"
        self._folder = folder
        command = [sys.executable, "-m", "proxy", "--journal", str(self.journal), *flags]
        if upstream:
            command += ["--listen", "127.0.0.1:0", "--upstream", upstream]
        if "[tokenizer]" not in config:
            config += '\n[tokenizer]\nserver = "off"\n'
        if "[status]" not in config and "--status" not in flags:
            config += "\n[status]\nenabled = false\n"
        (folder / "config.toml").write_text(config)
        command += ["--config", str(folder / "config.toml")]
        self._command = command
        self.said: list[dict[str, Any]] = []
        """What it logged, stdout and stderr, in order of arrival."""
        self.output = bytearray()

    async def __aenter__(self) -> Self:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self.process = subprocess.Popen(self._command, cwd=ROOT, **pipes)  # noqa: ASYNC220 - its pipe is read by a thread
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            listening = await eventually(lambda: self.event("route.listening"), "it listens")
        except AssertionError:
            await self.__aexit__()
            raise
        self.port = int(listening["listen"].rpartition(":")[2])
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        await eventually(lambda: not self._reader.is_alive(), "its recorder ends")

    async def status_port(self) -> int:
        """Where its status pages are."""
        said = await eventually(lambda: self.event("status.listening"), "it has status pages")
        return int(said["listen"].rpartition(":")[2])

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout:
            for line in self.process.stdout:
                self.output += line
                if line.startswith(b"{"):
                    self.said.append(orjson.loads(line))

    def event(self, name: str) -> dict[str, Any] | None:
        """The last event of that name; None if it was not said."""
        return next((line for line in reversed(self.said) if line["event"] == name), None)

    @property
    def recorder(self) -> int:
        """The recorder's process id; 0 while there is none."""
        pid = self.process.pid
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(text[0]) if text else 0

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Stop it in good order and return its exit code."""
        self.process.send_signal(number)
        return await self.wait()

    async def wait(self, within: float = WITHIN_S) -> int:
        """Wait until it has ended; return its exit code."""
        await eventually(lambda: self.process.poll() is not None, "it ends", within)
        return self.process.returncode

    def records(self) -> list[Record]:
        """All records, in the order of the lines; AssertionError if a line cannot be read."""
        found = list(self.lines())
        assert all(isinstance(line, Record) for line in found), found
        return [line for line in found if isinstance(line, Record)]

    def lines(self) -> list[Any]:
        """All lines of all segments: records and damages."""
        segments = [p for p in sorted(self.journal.glob("*.jsonl")) if p.name[0].isdigit()]
        return [line for path in segments for line in read_lines(pieces(path))]

    def losses(self) -> list[Loss]:
        """What the journal says was lost."""
        files = sorted(self.journal.glob("loss-*.jsonl"))
        lines = [line for path in files for line in b"".join(pieces(path)).splitlines()]
        return [msgspec.json.decode(line, type=Loss) for line in lines]

    async def wait_records(self, count: int, within: float = WITHIN_S) -> list[Record]:
        """Wait until so many records are in the journal."""
        try:
            await eventually(lambda: len(self.records()) >= count, f"{count} records", within)
        except AssertionError as fault:
            raise AssertionError(f"{fault}; it said: {self.output.decode()[-3000:]}") from None
        return self.records()
