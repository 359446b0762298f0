"""The two commands of turnscope, started as anybody starts them.

One rule: flags in, exit codes and printed text out. Nothing of `proxy` or `analysis` is imported.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .child import ROOT, ChildError, child, died, leashed, tail

if TYPE_CHECKING:
    from collections.abc import Iterator

_READY_S: Final = 30.0
_RECORD_S: Final = 90.0
_REPORT_S: Final = 120.0
_RETRY_S: Final = 0.05


def command(name: str) -> str:
    """The path of an installed command, beside the Python that runs this. Raises ChildError."""
    path = Path(sys.executable).with_name(name)
    if not path.exists():
        raise ChildError(f"the command {name} is not installed here: make install")
    return str(path)


@contextlib.contextmanager
def recording(upstream: str, journal: Path, log: Path, *more: str) -> Iterator[str]:
    """Run `turnscope-proxy` in front of the upstream while the block runs; gives its base URL.

    `more` are further flags. Raises ChildError when it does not come up.
    """
    port = free_port()
    flags = ["--listen", f"127.0.0.1:{port}", "--upstream", upstream, "--journal", str(journal)]
    flags += ["--status", "off"]
    flags += more
    with child(leashed([command("turnscope-proxy"), *flags]), log) as process:
        deadline = time.perf_counter() + _READY_S
        while not _answers(port):
            late = time.perf_counter() > deadline
            if late or process.poll() is not None:
                why = died(process, log, _READY_S if late else None)
                raise ChildError(f"turnscope-proxy did not start: {why}")
            time.sleep(_RETRY_S)
        yield f"http://127.0.0.1:{port}"


def wait_for_record(journal: Path, log: Path) -> None:
    """Wait for the first record. Raises ChildError when none comes.

    By then the recorder has read its token tables. That takes seconds of the processor, which would be
    missing to the model and would show as a slow first answer.
    """
    deadline = time.perf_counter() + _RECORD_S
    while not any(segment.stat().st_size for segment in journal.glob("*.jsonl")):
        if time.perf_counter() > deadline:
            raise ChildError(f"no record came within {_RECORD_S:.0f} s; the proxy said:{tail(log)}")
        time.sleep(_RETRY_S)


def report(journal: Path) -> None:
    """Run `turnscope report` on the journal: it prints where this program prints.

    Raises ChildError when it fails or takes too long.
    """
    run = [command("turnscope"), "report", "--journal", shown(journal)]
    try:
        subprocess.run(run, cwd=ROOT, check=True, timeout=_REPORT_S)
    except subprocess.SubprocessError as error:
        raise ChildError(f"the report failed: {error}") from error


def shown(path: Path) -> str:
    """A path as one would type it in the checkout."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def free_port() -> int:
    """A port of loopback that nobody holds at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _answers(port: int) -> bool:
    """Whether somebody accepts there. A connection without a byte leaves no record."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
