"""Prometheus itself reads what the program exposes: the real linter, and the real server's own API.

Skipped where Debian's package `prometheus` is not installed; CI installs it.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import subprocess
from typing import TYPE_CHECKING, Any, Self

import aiohttp
import pytest

from tests.support.caller import Caller
from tests.support.own_pages import get
from tests.support.program import STATUS, Program
from tests.support.talk import ASK, stream
from tests.support.upstream import Hang, Upstream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

PROMETHEUS, PROMTOOL = shutil.which("prometheus"), shutil.which("promtool")
pytestmark = pytest.mark.skipif(
    PROMETHEUS is None or PROMTOOL is None,
    reason="needs prometheus and promtool: apt-get install prometheus",
)
EXCHANGES = 3


@contextlib.asynccontextmanager
async def used(folder: Path) -> AsyncIterator[tuple[Program, int]]:
    """A program with some exchanges in its journal, and the port of its pages."""
    script = [step for _ in range(EXCHANGES) for step in stream(["a", "b", "c"], 0.005)]
    async with (
        Upstream([*script, Hang()]) as up,
        Program(up.url, folder, "--label", "home", config=STATUS) as proxy,
    ):
        async with await Caller.connect(proxy.port) as caller:
            for _ in range(EXCHANGES):
                caller.pieces.clear()
                await caller.send(ASK)
                await caller.read_message()
        await proxy.wait_records(EXCHANGES)
        yield proxy, await proxy.status_port()


def checked(page: str) -> subprocess.CompletedProcess[bytes]:
    """What the linter says of a page."""
    command = [str(PROMTOOL), "check", "metrics"]
    given = page.encode()
    return subprocess.run(command, input=given, capture_output=True, timeout=20, check=False)


async def test_promtool_finds_no_fault(tmp_path: Path):
    """Neither in the format nor in names, units, help and types."""
    async with used(tmp_path) as (_, port):
        page = (await get(port)).text
    done = checked(page)

    assert "turnscope_time_to_first_token_seconds_bucket" in page
    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)


def test_promtool_can_find_a_fault():
    """The test before this one can fail."""
    assert 0 != checked("# TYPE turnscope_x counter\nturnscope_x 1\n").returncode


class Prometheus:
    """A server of our own, with its data in a folder that goes away."""

    def __init__(self, folder: Path, target: int) -> None:
        self._folder = folder
        self._target = target
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            self._port = sock.getsockname()[1]

    async def __aenter__(self) -> Self:
        config = self._folder / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
            "scrape_configs:\n"
            f"- {{job_name: turnscope, static_configs: [{{targets: ['127.0.0.1:{self._target}']}}]}}\n"
        )
        self._log = (self._folder / "prometheus.log").open("wb")
        command = [
            str(PROMETHEUS),
            f"--config.file={config}",
            f"--storage.tsdb.path={self._folder / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{self._port}",
        ]
        self._process = subprocess.Popen(  # noqa: ASYNC220 - it is waited for at the end alone
            command, stdout=self._log, stderr=subprocess.STDOUT
        )
        self._session = aiohttp.ClientSession()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()
        self._process.terminate()
        await asyncio.to_thread(self._process.wait, 20)
        self._log.close()

    async def value(self, query: str) -> float | None:
        """What a query gives; None: nothing yet."""
        found = await self._ask("query", {"query": query})
        return float(found["result"][0]["value"][1]) if found and found["result"] else None

    async def until(self, query: str, want: float) -> None:
        """Wait until a query gives that; AssertionError with its last answer otherwise."""
        value: float | None = None
        for _ in range(400):
            if (value := await self.value(query)) == want:
                return
            await asyncio.sleep(0.1)
        log = (self._folder / "prometheus.log").read_text()[-2000:]
        raise AssertionError(f"{query} is {value}, not {want}; {log}")

    async def targets(self) -> list[Any]:
        """What it says of those that it scrapes."""
        return (await self._ask("targets", {}))["activeTargets"]

    async def _ask(self, what: str, query: dict[str, str]) -> Any:
        url = f"http://127.0.0.1:{self._port}/api/v1/{what}"
        try:
            async with self._session.get(url, params=query) as reply:
                return (await reply.json())["data"] if reply.status == 200 else None
        except aiohttp.ClientError:
            return None


async def test_a_real_prometheus_scrapes_it(tmp_path: Path):
    """Its own API has the series, a quantile over vLLM's buckets, and no complaint about the target."""
    async with used(tmp_path) as (_, port), Prometheus(tmp_path, port) as prometheus:
        await prometheus.until(
            "sum(turnscope_exchanges_total{route='home',kind='turn'})", EXCHANGES
        )
        await prometheus.until("up{job='turnscope'}", 1)
        await prometheus.until("turnscope_recorder_up", 1)
        await prometheus.until("sum(turnscope_event_gap_seconds_count)", 2 * EXCHANGES)
        await prometheus.until("sum(turnscope_prompt_tokens_total)", 30 * EXCHANGES)
        metric = "turnscope_time_to_first_token_seconds_bucket"
        ttft_s = await prometheus.value(f"histogram_quantile(0.5, sum by (le) ({metric}))")
        (target,) = await prometheus.targets()

    assert ttft_s is not None
    assert 0.005 <= ttft_s < 0.25
    assert ("up", "") == (target["health"], target["lastError"])
