"""The whole program on a disk that is full for a while: bytes flow, and nothing is lost unnamed."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.support.bodies import reply, request
from tests.support.caller import Caller
from tests.support.program import Program, eventually
from tests.support.upstream import Await, Send, Upstream

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def journal(tmp_path: Path):
    """The journal's folder, a file system of 256 KiB."""
    folder = tmp_path / "journal"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


async def test_a_full_disk_costs_records_that_are_then_named(tmp_path: Path, journal: Path):
    """Every caller is answered; records and counted losses are the exchanges; writing resumes by itself."""
    script = [step for _ in range(30) for step in (Await(), Send(reply(b"{}")))]
    async with Upstream(script) as up, Program(up.url, tmp_path, "--quiet") as proxy:
        async with await Caller.connect(proxy.port) as caller:
            for number in range(30):
                if number == 10:
                    await proxy.wait_records(10)
                    fill(journal / "ballast")
                if number == 20:
                    await eventually(lambda: proxy.event("journal.failed"), "it says so")
                    (journal / "ballast").unlink()
                await caller.send(request(b"{}"))
                await caller.read_message()
        await proxy.stop()

    ids = [record.id.rpartition("-")[2] for record in proxy.records()]
    lost = [i.rpartition("-")[2] for loss in proxy.losses() for i in loss.ids]
    assert sorted(map(int, ids + lost)) == list(range(1, 31))
    assert lost
    assert {"unwritable: No space left on device"} == {loss.why for loss in proxy.losses()}
    assert "writing again" in proxy.event("journal.failed")["detail"]
    assert ids[-1] == "30"


def fill(file: Path) -> None:
    """Write until nothing fits any more."""
    with file.open("wb", buffering=0) as out:
        try:
            while out.write(bytes(4096)):
                pass
        except OSError:
            return
