"""Programs that this one starts: each is stopped in order, and none outlives it.

One rule: a child lives as long as the pipe to it. When this process dies in any way, the kernel
closes the pipe and the child ends (`llama` reads it itself, any other command is put on `leash`).
Roads not taken: signals (a kill leaves no time for them), PR_SET_PDEATHSIG (Linux only).
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT: Final = Path(__file__).resolve().parents[1]
"""The checkout."""

_STOP_S: Final = 20.0
_TAIL_LINES: Final = 8
_DEATHS: Final = {
    -signal.SIGKILL: "it was killed: most likely the machine is out of memory (it needs 400 MB)",
    -signal.SIGILL: "this processor lacks instructions (AVX2) for which it was built",
}


class ChildError(Exception):
    """A program did not start or broke off: the message says which, why, and what to do."""


@contextlib.contextmanager
def child(
    command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command that ends when its standard input does; what it says on stderr goes to `log`.

    `environment` is added to this process's own. A session of its own keeps Ctrl-C away from it: this process decides the order of the end.
    """
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=ROOT,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
    try:
        yield process
    except BaseException:
        stop(process)
        raise
    if code := stop(process):
        raise ChildError(f"the {log.stem} did not stop in order: {_ended(code)}")


def stop(process: subprocess.Popen[bytes]) -> int:
    """End it by its pipe, within a deadline, and by force after that. Gives its exit code."""
    _pipe(process.stdin).close()
    try:
        return process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # its own session, with all that it started
        return process.wait()
    finally:
        _pipe(process.stdout).close()


def first_line(process: subprocess.Popen[bytes], log: Path, within_s: float) -> str:
    """The first line on its standard output: its word that it is ready.

    Raises ChildError when it ends or says nothing in time, with the end of its log.
    """
    out = _pipe(process.stdout).fileno()
    said = b""
    deadline = time.perf_counter() + within_s
    while b"\n" not in said:
        ready, _, _ = select.select([out], [], [], max(0.0, deadline - time.perf_counter()))
        piece = os.read(out, 4096) if ready else b""
        if not piece:
            raise ChildError(died(process, log, within_s if not ready else None))
        said += piece
    return said.partition(b"\n")[0].decode("utf-8", "replace")


def died(process: subprocess.Popen[bytes], log: Path, waited_s: float | None) -> str:
    """What is known of a program that did not start: the reason, then the end of its log."""
    if waited_s is not None:
        reason = f"it said nothing for {waited_s:.0f} s"
    else:
        reason = _ended(process.wait())
    return reason + tail(log)


def tail(log: Path) -> str:
    """The last lines of a log, to stand below a sentence; each begins with a new line."""
    lines = log.read_text("utf-8", "replace").splitlines()[-_TAIL_LINES:]
    return "".join(f"\n  | {line}" for line in lines)


def _ended(code: int) -> str:
    return _DEATHS.get(code, f"it ended with exit code {code}")


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise TypeError("started without a pipe")
    return stream


def leashed(command: Sequence[str]) -> list[str]:
    """The command under a small parent that ends it, orderly, when the pipe closes."""
    return [sys.executable, "-m", "demo.leash", *command]
