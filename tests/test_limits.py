"""What a stranger can use up: connections and descriptors, and that the page of limits is true."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.bodies import reply, request
from tests.support.caller import Caller
from tests.support.pages import page
from tests.support.program import ROOT, Program, eventually
from tests.support.upstream import Await, Hang, Send, Upstream

if TYPE_CHECKING:
    from pathlib import Path

LIMITS = page("docs/security.md").rows("Limits")
BOUNDS = {name: value for _, value, name in page("docs/transparency.md").rows("Bounds")}
DESCRIPTORS = 128
ROOM = DESCRIPTORS // 2 - 32


class Narrow(Program):
    """The program with few descriptors."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        limited = f'ulimit -n {DESCRIPTORS}; exec "$@"'
        self._command = ["sh", "-c", limited, "sh", *self._command]


async def test_beyond_the_limit_a_caller_is_turned_away_and_the_others_are_served(tmp_path: Path):
    """One more than there is room for is closed unheard, which is said once; room that is made is used."""
    async with (
        Upstream([Await(), Send(reply(b"hi")), Hang()]) as up,
        Narrow(up.url, tmp_path) as proxy,
    ):
        callers = [await Caller.connect(proxy.port) for _ in range(ROOM)]
        for each in callers:
            await each.send(request(b"{}"))
            assert reply(b"hi") == await each.read_message()
        for _ in range(5):
            async with await Caller.connect(proxy.port) as late:
                await late.wait_end()
                assert b"" == bytes(late.received)
        said = await eventually(lambda: proxy.event("connection.refused"), "it is said")
        assert (ROOM, 1) == (said["limit"], said["count"])
        callers.pop().close()
        assert await _served(proxy.port)
        for each in callers:
            each.close()
        await proxy.stop()

    assert 1 == sum(line["event"] == "connection.refused" for line in proxy.said)


async def _served(port: int) -> bool:
    """Whether a caller is served, once the proxy has seen that another has gone."""
    for _ in range(100):
        async with await Caller.connect(port) as caller:
            try:
                await caller.send(request(b"{}"))
                return await caller.read_message() == reply(b"hi")
            except ConnectionError:
                await asyncio.sleep(0.02)
    return False


def test_too_few_descriptors_are_no_start(tmp_path: Path):
    """With room for a handful of callers it says how to get more."""
    command = f'ulimit -n 70; exec "{sys.executable}" -m proxy --listen 127.0.0.1:0 --journal "$1"'

    done = subprocess.run(
        ["sh", "-c", command, "sh", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert 2 == done.returncode
    assert "only 70 file descriptors are allowed" in done.stderr
    assert "ulimit -n" in done.stderr


@pytest.mark.parametrize("row", LIMITS, ids=[row[0] for row in LIMITS])
def test_a_limit_on_the_page_is_the_codes_own_and_has_its_test(row: list[str]):
    """A bound that names its constant has the value of the other page; each row names a test that exists."""
    _what, bound, _beyond, _said, test = row
    if named := re.search(r"([\d.]+(?: \w+)?) \(`(\w+)`\)", bound):
        written = next(value for name, value in BOUNDS.items() if f"`{named[2]}` in" in name)
        assert written == named[1]
    if test != "the same":
        file, function = re.findall(r"`([^`]+)`", test)
        assert re.search(rf"^(async )?def {function}\(", (ROOT / file).read_text(), re.MULTILINE)
