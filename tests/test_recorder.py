"""The recorder's process: it never goes on with half of itself."""

from __future__ import annotations

import subprocess
import sys

from tests.support.program import ROOT

BROKEN = """
import sys, threading, time
from proxy.log import Log
from proxy.recorder import _write

class Writing:
    def run(self, todo):
        raise ValueError("of a third party's bytes")

threading.Thread(target=_write, args=(Writing(), None, Log(1, "json"))).start()
time.sleep(20)
"""


def test_when_writing_fails_the_recorder_ends():
    """Else it would read on for ever and write nothing, and nobody would count the loss."""
    command = [sys.executable, "-c", BROKEN]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=15
    )

    assert 1 == done.returncode
    assert '"recorder.failed"' in done.stdout
    assert "third party" not in done.stdout
