"""Load and faults in their short form, and that what they look for would be found."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from proxy.journal.lines import encode
from soak import processes
from soak.account import account
from soak.caller import Caller, Verdict
from soak.catalog import SCENARIOS, named
from soak.program import upstream
from soak.runner import run
from soak.wish import Wish, chat, request
from tests.support.builders import record
from tests.support.pages import page
from tests.support.source import ROOT
from tests.support.upstream import Await, Send, Upstream

SECONDS = 2.5
SHORT = ("short", "resets", "recorder-hangs", "disk-full")
"""Run side by side; the whole list is for `make soak`."""


async def test_nothing_is_harmed_by_load_and_faults(tmp_path):
    """Bytes are right, records and losses add up, nothing has grown: four scenarios, side by side."""
    with upstream(tmp_path) as port:
        scenarios = [run(each, port, SECONDS, seed=1) for each in named(SHORT)]
        results = await asyncio.gather(*scenarios)

    assert {each.name: ["fine", *each.faults] for each in results} == {
        name: ["fine"] for name in SHORT
    }
    assert all(each.exchanges == each.records + each.lost > 0 for each in results)
    assert {each.name for each in results if each.lost} <= {"recorder-hangs", "disk-full"}


def reply_to(asked, port):
    """All bytes of the upstream's reply."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
        sock.sendall(asked)
        reply = b""
        while not reply.endswith(b"\r\n0\r\n\r\n"):
            reply += sock.recv(65_536)
    return reply


@pytest.mark.parametrize(
    ("asked", "old", "new", "verdict"),
    [
        (b"What now?", b"", b"", Verdict.whole),
        (b"Whet now?", b"", b"", Verdict.wrong),
        (b"What now?", b"token", b"taken", Verdict.wrong),
        (b"What now?", b"chunked", b"Chunked", Verdict.wrong),
        (b"What now?", b"[DONE]", b"[DONE]\r\n\r\n", Verdict.wrong),
    ],
)
async def test_an_altered_byte_is_seen(tmp_path, asked, old, new, verdict):
    """In the request, in the reply, and in a head."""
    body = request(Wish(events=3), "a", chat("What now?"))
    with upstream(tmp_path) as port:
        reply = reply_to(body, port)

    script = [Await(), Send(reply.replace(old, new) if old else reply)]
    async with Upstream(script) as up, Caller(up.port) as caller:
        answer = await caller.ask([body.replace(b"What now?", asked)])
    assert verdict is answer.verdict


def test_what_is_missing_and_what_is_twice_is_seen(tmp_path):
    """A number without a record or a loss, and two records of one exchange."""
    ids = ("r-1", "r-2", "r-5", "r-5")
    lines = [encode(record(id=name)) for name in ids]
    (tmp_path / "2026-01-01-1-1.jsonl").write_bytes(b"".join(lines) + b'{"torn')
    known, _ = account(tmp_path)

    assert (known.records, known.missing, len(known.wrong), known.unreadable) == (3, 2, 1, 1)


def test_ctrl_c_ends_all_processes(tmp_path):
    """The proxy, its recorder and the upstream are gone, and the shell is told."""
    command = [sys.executable, "-m", "soak", "--only", "paced", "--seconds", "60"]
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    soak = subprocess.Popen(command, cwd=ROOT, env=env, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 20
    while not (logs := list(tmp_path.glob("*/proxy.log"))) or not logs[0].stat().st_size:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    started = re.search(r'"pid": ?(\d+)', logs[0].read_text())
    soak.send_signal(signal.SIGINT)
    _, said = soak.communicate(timeout=30)

    assert soak.returncode == 130, said
    assert started is not None
    assert not processes.figures([int(started[1])]).descriptors
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(("words", "code"), [(["--list"], 0), (["--only", "x"], 2), (["-x"], 2)])
def test_the_command_line(words, code):
    """A wrong word is no fault of the program that is strained."""
    done = subprocess.run(
        [sys.executable, "-m", "soak", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert code == done.returncode
    assert (len(SCENARIOS) if code == 0 else 0) == len(done.stdout.splitlines())


def test_the_page_has_every_scenario():
    """docs/soak.md lists what is run, in the same order."""
    listed = re.findall(r"^\| `([a-z-]+)` \|", page("docs/soak.md").text, re.MULTILINE)

    assert [each.name for each in SCENARIOS] == listed
