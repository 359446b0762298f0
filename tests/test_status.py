"""The status pages of the whole program: what they say while it works, and when parts of it do not."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
from typing import TYPE_CHECKING

import orjson
import pytest

from proxy import __version__
from proxy.config import STATUS_LISTEN
from tests.support.bodies import STREAM_HEAD, request
from tests.support.caller import Caller
from tests.support.own_pages import figure, get
from tests.support.program import STATUS, Program, eventually
from tests.support.talk import ASK, BODY, SECRET, WORDS, stream
from tests.support.upstream import Await, Hang, Send, Upstream

if TYPE_CHECKING:
    from pathlib import Path

EXCHANGES = "turnscope_exchanges_total"


async def ask(proxy, text=ASK):
    """One exchange, to its end."""
    async with await Caller.connect(proxy.port) as caller:
        await caller.send(text)
        await caller.read_message()


async def scraped(port, name, want, **labels):
    """Scrape until a figure is that."""
    for _ in range(300):
        if figure((await get(port)).text, name, **labels) == want:
            return
        await asyncio.sleep(0.05)
    pytest.fail(f"{name} never was {want}")


async def test_an_exchange_is_on_the_page_once_it_has_its_record(tmp_path: Path):
    """Both halves of the page are there; the health report knows the route."""
    async with (
        Upstream([*stream(["a", "b", "c"], 0.01), Hang()]) as up,
        Program(up.url, tmp_path, "--label", "home", config=STATUS) as proxy,
    ):
        port = await proxy.status_port()
        await ask(proxy)
        await proxy.wait_records(1)
        await scraped(port, EXCHANGES, 1, route="home", kind="turn", generation="complete")
        said = (await get(port)).text
        health = await get(port, "/healthz")
        index = await get(port, "/")

    assert 1 == figure(said, "turnscope_relayed_exchanges_total")
    assert 1 == figure(said, "turnscope_time_to_first_token_seconds_count", route="home")
    assert 2 == figure(said, "turnscope_event_gap_seconds_count", route="home")
    assert 30 == figure(said, "turnscope_prompt_tokens_total")
    assert 3 == figure(said, "turnscope_output_tokens_total")
    assert 1 == figure(said, "turnscope_own_delay_seconds_count")
    told = orjson.loads(health.text)
    assert (200, "ok", __version__) == (health.status, told["status"], told["version"])
    assert ["home"] == [route["label"] for route in told["routes"]]
    assert 200 == index.status
    assert "src=" not in index.text
    assert "://" not in index.text


async def test_nothing_of_what_was_said_is_on_a_page(tmp_path: Path):
    """No credential of a header or a query, no prompt, no path, no model, no peer."""
    bodied = request(
        BODY, f"Authorization: Bearer {SECRET}", line=f"POST /v1/chat/completions?k={SECRET}"
    )
    async with (
        Upstream([*stream(["mellifluous"], 0.0), Hang()]) as up,
        Program(up.url, tmp_path, config=STATUS) as proxy,
    ):
        port = await proxy.status_port()
        await ask(proxy, bodied)
        await proxy.wait_records(1)
        await scraped(port, EXCHANGES, 1)
        pages = [(await get(port, path)).text for path in ("/", "/healthz", "/metrics")]

    for text in (SECRET, WORDS, "mellifluous", "chat/completions", '"tiny"', "127.0.0.1:5"):
        assert [] == [page for page in pages if text in page]


async def test_a_foreign_host_gets_no_page_of_the_program(tmp_path: Path):
    """Nor does it at the route's own port, which is the upstream's."""
    async with Program("http://127.0.0.1:9", tmp_path, config=STATUS) as proxy:
        port = await proxy.status_port()
        statuses = [
            (await get(port, path, host=f"evil.example:{port}")).status
            for path in ("/", "/healthz", "/metrics")
        ]
        written = (await get(port, method="POST")).status

    assert [403, 403, 403] == statuses
    assert 405 == written


async def test_a_dead_recorder_costs_its_own_part_alone(tmp_path: Path):
    """Kill -9: the page comes within its second, health stays 200, and the next recorder begins at 0."""
    async with (
        Upstream([*stream(["a"], 0.0), Hang()]) as up,
        Program(up.url, tmp_path, config=STATUS) as proxy,
    ):
        port = await proxy.status_port()
        await ask(proxy)
        await scraped(port, EXCHANGES, 1)
        os.kill(proxy.recorder, signal.SIGKILL)
        began = time.monotonic()
        page, health = await asyncio.gather(get(port), get(port, "/healthz"))
        took_s = time.monotonic() - began
        await scraped(port, "turnscope_recorder_restarts_total", 1)
        await scraped(port, "turnscope_records_unwritten_total", 0)
        after = (await get(port)).text

    assert (200, 200) == (page.status, health.status)
    assert took_s < 2
    assert 1 == figure(page.text, "turnscope_relayed_exchanges_total")
    assert figure(after, EXCHANGES) is None
    assert 1 == figure(after, "turnscope_recorder_up")


async def test_a_recorder_that_hangs_is_waited_for_a_second(tmp_path: Path):
    """Its part is left out and that is counted; who asks meanwhile waits no longer; then it is back."""
    async with Program("http://127.0.0.1:9", tmp_path, config=STATUS) as proxy:
        port = await proxy.status_port()
        await scraped(port, "turnscope_records_unwritten_total", 0)
        missed = figure((await get(port)).text, "turnscope_recorder_unanswered_total") or 0
        os.kill(proxy.recorder, signal.SIGSTOP)
        try:
            began = time.monotonic()
            replies = await asyncio.gather(*(get(port) for _ in range(5)))
            took_s = time.monotonic() - began
        finally:
            os.kill(proxy.recorder, signal.SIGCONT)
        await scraped(port, "turnscope_records_unwritten_total", 0)
        after = (await get(port)).text

    assert 1 <= took_s < 3
    for reply in replies:
        assert 1 == figure(reply.text, "turnscope_recorder_up")
        assert figure(reply.text, "turnscope_records_unwritten_total") is None
    assert missed + 5 == figure(after, "turnscope_recorder_unanswered_total")


async def test_many_may_ask_at_once(tmp_path: Path):
    """Each gets both halves."""
    async with Program("http://127.0.0.1:9", tmp_path, config=STATUS) as proxy:
        port = await proxy.status_port()
        await scraped(port, "turnscope_records_unwritten_total", 0)
        replies = await asyncio.gather(*(get(port) for _ in range(20)))

    for reply in replies:
        assert 0 == figure(reply.text, "turnscope_records_unwritten_total")
        assert 1 == reply.text.count("# TYPE turnscope_in_flight gauge")


async def test_in_flight_is_the_sum_over_the_workers(tmp_path: Path):
    """Whichever process the kernel gave a caller to."""
    config = f"{STATUS}[relay]\nworkers = 2\n"
    count = 8
    async with (
        contextlib.AsyncExitStack() as stack,
        Upstream([Await(), Send(STREAM_HEAD), Hang()]) as up,
        Program(up.url, tmp_path, config=config) as proxy,
    ):
        port = await proxy.status_port()
        for _ in range(count):
            caller = await stack.enter_async_context(await Caller.connect(proxy.port))
            await caller.send(ASK)
            await caller.read_until(b"\r\n\r\n")
        await scraped(port, "turnscope_in_flight", count)
        said = (await get(port)).text
        pulses = orjson.loads((await get(port, "/healthz")).text)["workers"]

    assert count == figure(said, "turnscope_callers") == figure(said, "turnscope_connections_total")
    assert [0, 1] == [pulse["worker"] for pulse in pulses]
    assert all(pulse["pulse_age_s"] < 5 for pulse in pulses)


async def test_it_can_be_done_without(tmp_path: Path):
    """`--status off` listens nowhere and says nothing of it."""
    async with Program("http://127.0.0.1:9", tmp_path, "--status", "off") as proxy:
        assert proxy.event("status.listening") is None
        assert proxy.event("status.failed") is None
        assert 0 == await proxy.stop()


@pytest.fixture
def taken():
    """Sockets that listen: at a port of the system's choice, and at the default of the pages."""
    with contextlib.ExitStack() as stack:
        found = []
        for port in (0, STATUS_LISTEN.port):
            sock = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):  # somebody else listens there: as good
                sock.bind(("127.0.0.1", port))
                sock.listen()
            found.append(sock)
        yield found[0].getsockname()[1]


async def test_a_named_address_that_is_taken_stops_the_start(tmp_path: Path, taken):
    """With a sentence that says what and what to do."""
    proxy = Program("http://127.0.0.1:9", tmp_path, "--status", f"127.0.0.1:{taken}")
    with contextlib.suppress(
        AssertionError
    ):  # it does not come to listen, which is what it waits for
        async with asyncio.timeout(20):
            starting = asyncio.ensure_future(proxy.__aenter__())
            await eventually(lambda: b"status pages" in proxy.output, "it refuses")
            starting.cancel()
            await asyncio.wait((starting,))
    assert 2 == await proxy.wait()
    await proxy.__aexit__()

    assert f"127.0.0.1:{taken}, is in use already" in proxy.output.decode()
    assert "--status off" in proxy.output.decode()


async def test_the_default_address_may_be_taken(tmp_path: Path, taken):
    """Nobody asked for it by name: it is said, and the traffic goes on."""
    assert taken
    async with (
        Upstream([*stream(["a"], 0.0), Hang()]) as up,
        Program(up.url, tmp_path, config="[status]\n") as proxy,
    ):
        said = await eventually(lambda: proxy.event("status.failed"), "it is said")
        await ask(proxy)
        await proxy.wait_records(1)
        assert 0 == await proxy.stop()

    assert (str(STATUS_LISTEN), "is in use already") == (said["listen"], said["reason"])


async def test_pages_for_others_are_warned_of(tmp_path: Path):
    """As a route is that others can reach."""
    async with Program("http://127.0.0.1:9", tmp_path, "--status", "0.0.0.0:0") as proxy:
        said = await eventually(lambda: proxy.event("status.exposed"), "it warns")

    assert "warning" == said["level"]
    assert said["reason"].startswith("whoever reaches the status pages")
