"""A gauge at work in this process: its thread, its journal and what it logs.

with asking(tmp_path, up.url) as asked:
samples = await asked.wait(3)
"""

from __future__ import annotations

import contextlib
import itertools
import os

import msgspec
import orjson

from proxy import clock
from proxy.gauge import Gauge, Running
from proxy.journal.gauge import GaugeSample
from proxy.log import Log
from proxy.settings import Gauged, Settings
from tests.support.program import eventually

STEP_S = 0.1
"""Between two questions. On a busy machine an answer may be late all the same."""


class Asked:
    """A gauge at work, its journal and what it said."""

    def __init__(self, folder, url, step_s=STEP_S):
        self.folder = folder
        self._read, write = os.pipe()
        os.set_blocking(self._read, False)
        settings = Settings(
            journal=str(folder),
            nice=0,
            retain_bytes=65_536,
            quiet=True,
            form="json",
            gauges=(Gauged(upstream=url, interval_s=step_s),),
        )
        self.url = url
        self.running = Running([url], clock.monotonic_ns)
        self.log = write
        self.gauge = Gauge(settings, Log(write, "json"), self.running)
        self._said = b""

    def __enter__(self):
        self.gauge.start()
        return self

    def __exit__(self, *_):
        self.gauge.stop()
        for end in (self._read, self.log):
            with contextlib.suppress(OSError):
                os.close(end)

    def lines(self):
        """All samples."""
        files = sorted(self.folder.glob("gauge-*.jsonl")) if self.folder.is_dir() else []
        whole = b"".join(file.read_bytes() for file in files)
        return [msgspec.json.decode(line, type=GaugeSample) for line in whole.splitlines()]

    def said(self):
        """All events that it logged."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._read, 65_536):
                self._said += data
        return [orjson.loads(line) for line in self._said.splitlines()]

    def told(self, least):
        """The problems that it told, None for none, each once in a row; None if there are fewer."""
        told = [line["problem"] for line in self.said() if line["event"] == "gauge.asked"]
        found = [key for key, _ in itertools.groupby(p for p in told if p != "late")]
        return found if len(found) >= least else None

    async def wait(self, count, what=lambda sample: sample.problem != "late"):
        """The first `count` samples of a sort, late ones left out unless asked for, when they are there."""

        def enough():
            found = [line for line in self.lines() if what(line)]
            return found if len(found) >= count else None

        return (await eventually(enough, f"{count} samples", 10.0))[:count]


@contextlib.contextmanager
def asking(tmp_path, url, step_s=STEP_S):
    """A gauge that asks, with an exchange in flight."""
    with Asked(tmp_path / "journal", url, step_s) as asked:
        asked.running.opened(url)
        yield asked
