"""The recorder beside a local inference server: a machine with more to do than it has cores."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from tests.support.caller import Caller
from tests.support.program import Program
from tests.support.talk import ASK, stream
from tests.support.upstream import Hang, Upstream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def busy_machine() -> Iterator[None]:
    """Twice as many busy processes as cores: what a local inference server looks like."""
    spin = "import time\nend = time.monotonic() + 30\nwhile time.monotonic() < end: pass"
    count = 2 * (os.cpu_count() or 1)
    busy = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


async def test_a_busy_machine_does_not_starve_the_recorder(tmp_path: Path):
    """20 exchanges are in the journal within 5 s of the last, with all their content."""
    script = [step for _ in range(21) for step in stream(["one", "two"], 0.0)]
    async with (
        Upstream([*script, Hang()]) as up,
        Program(up.url, tmp_path) as proxy,
        await Caller.connect(proxy.port) as caller,
    ):
        await caller.send(ASK)
        await proxy.wait_records(1)  # its start (imports, tables) is not what is measured here
        with busy_machine():
            for _ in range(20):
                await caller.send(ASK)
                await caller.read_message(within=20)
            ended = time.monotonic()
            records = await proxy.wait_records(21)
            took_s = time.monotonic() - ended
        await proxy.stop()

    assert took_s < 5
    assert all(record.notes == [] and record.usage.output == 3 for record in records)
