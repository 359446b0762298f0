"""Several relay processes: one port, one recorder, one journal, and no worker that the others need."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

from proxy import slots
from proxy.config import Config
from proxy.configfile import load
from proxy.slots import Figures, Slots
from proxy.worker import WorkerSettings, decode, encode
from soak import processes
from tests.support.caller import Caller
from tests.support.edge import EndedError
from tests.support.program import ROOT, Program, eventually
from tests.support.talk import ASK, stream, whole
from tests.support.upstream import Hang, Upstream

if TYPE_CHECKING:
    from collections.abc import Sequence

THREE = "[relay]\nworkers = 3\n"
WORDS = [f"w{n}" for n in range(20)]
CALLERS = 24


def children(pid: int) -> list[int]:
    """Process ids, in the order of their start."""
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def runs(ids: Sequence[str]) -> set[str]:
    """The relay processes that these exchanges went through."""
    return {name.rpartition("-")[0] for name in ids}


class Crowd:
    """Callers that ask at once."""

    async def __aenter__(self) -> Self:
        self.callers: list[Caller] = []
        return self

    async def ask(self, port: int) -> None:
        """Connect and ask."""
        for _ in range(CALLERS):
            caller = await Caller.connect(port)
            self.callers.append(caller)
            await caller.send(ASK)

    async def __aexit__(self, *_: object) -> None:
        for caller in self.callers:
            caller.close()


async def test_workers_share_a_port_a_recorder_and_a_journal(tmp_path: Path):
    """24 callers at once get all their bytes; the load that is recorded is that of all workers."""
    async with (
        Upstream([*stream(WORDS, 0.05), Hang()]) as up,
        Program(up.url, tmp_path, config=THREE) as proxy,
        Crowd() as crowd,
    ):
        await crowd.ask(proxy.port)
        await asyncio.gather(*(caller.read_message() for caller in crowd.callers))
        for caller in crowd.callers:
            assert whole(WORDS) == bytes(caller.received)
        records = await proxy.wait_records(CALLERS)
        assert 0 == await proxy.stop()

    assert len(runs([record.id for record in records])) > 1
    assert 1 == len(list(proxy.journal.glob("2*.jsonl")))
    assert CALLERS == max(record.load.in_flight_peak or 0 for record in records)
    assert {"complete"} == {record.outcome for record in records}
    assert {"exchanges": CALLERS, "cut": 0, "lost": 0}.items() <= proxy.event(
        "proxy.stopped"
    ).items()


async def test_a_killed_worker_costs_its_own_connections_and_no_other(tmp_path: Path):
    """Its exchanges are sealed as `proxy_killed`, the others go on, and it is started again."""
    async with (
        Upstream([*stream(WORDS, 0.1), Hang()]) as up,
        Program(up.url, tmp_path, config=THREE) as proxy,
        Crowd() as crowd,
    ):
        await crowd.ask(proxy.port)
        await asyncio.gather(*(caller.read_until(b"w1") for caller in crowd.callers))
        _recorder, worker, _other = children(proxy.process.pid)
        os.kill(worker, signal.SIGKILL)
        whole_ones = await asyncio.gather(*(_is_whole(caller) for caller in crowd.callers))
        records = await proxy.wait_records(CALLERS)
        await eventually(lambda: len(children(proxy.process.pid)) == 3, "it is started again")
        assert 0 == await proxy.stop()

    outcomes = [record.outcome for record in records]
    assert 0 < outcomes.count("proxy_killed") < CALLERS
    assert sum(whole_ones) == outcomes.count("complete")
    assert CALLERS == outcomes.count("complete") + outcomes.count("proxy_killed")
    assert proxy.event("worker.lost") is not None


async def _is_whole(caller: Caller) -> bool:
    with contextlib.suppress(EndedError):
        await caller.read_until(b"\r\n0\r\n\r\n")
    return whole(WORDS) == bytes(caller.received)


async def test_a_killed_recorder_is_followed_in_every_worker(tmp_path: Path):
    """Each exchange that runs then keeps its record."""
    async with (
        Upstream([*stream(WORDS, 0.1), Hang()]) as up,
        Program(up.url, tmp_path, config=THREE) as proxy,
        Crowd() as crowd,
    ):
        await crowd.ask(proxy.port)
        await asyncio.gather(*(caller.read_until(b"w1") for caller in crowd.callers))
        os.kill(proxy.recorder, signal.SIGKILL)
        await asyncio.gather(*(caller.read_message() for caller in crowd.callers))
        records = await proxy.wait_records(CALLERS)
        assert 0 == await proxy.stop()

    assert {"complete"} == {record.outcome for record in records}
    assert len(runs([record.id for record in records])) > 1
    assert all(any(note.startswith("resumed") for note in r.notes) for r in records)


async def test_a_stop_waits_for_streams_of_every_worker(tmp_path: Path):
    """The grace is for all of them; a second signal ends all of them."""
    slow = [*stream(["a", "b"], 30.0), Hang()]
    async with (
        Upstream(slow) as up,
        Program(up.url, tmp_path, config=THREE) as proxy,
        Crowd() as crowd,
    ):
        await crowd.ask(proxy.port)
        await asyncio.gather(*(caller.read_until(b"200 OK") for caller in crowd.callers))
        proxy.process.send_signal(signal.SIGINT)
        await eventually(lambda: proxy.event("proxy.stopping"), "it stops")
        proxy.process.send_signal(signal.SIGINT)
        assert 0 == await proxy.wait()

    assert CALLERS == proxy.event("proxy.stopped")["cut"]
    assert ["shutdown"] * CALLERS == [record.outcome for record in proxy.records()]


async def test_workers_end_with_their_main_process(tmp_path: Path):
    """Kill -9 of the main process: no process is left, and every exchange has its record."""
    async with (
        Upstream([*stream(["a", "b"], 30.0), Hang()]) as up,
        Program(up.url, tmp_path, config=THREE) as proxy,
        Crowd() as crowd,
    ):
        await crowd.ask(proxy.port)
        await asyncio.gather(*(caller.read_until(b"200 OK") for caller in crowd.callers))
        left = children(proxy.process.pid)
        await asyncio.sleep(0.3)  # 20 ms are enough when idle
        proxy.process.kill()
        await eventually(lambda: not any(Path(f"/proc/{p}").exists() for p in left), "all end")

    outcomes = [record.outcome for record in proxy.records()]
    assert CALLERS == len(outcomes)
    assert {"proxy_killed", "shutdown"} == set(outcomes)


async def test_a_port_in_use_is_refused_with_workers_too(tmp_path: Path):
    """A port that may be shared would otherwise be shared with a stranger, who is never told."""
    async with Upstream([Hang()]) as up, Program(up.url, tmp_path, config=THREE) as proxy:
        second = tmp_path / "second.toml"
        second.write_text(THREE)
        where = ["--listen", f"127.0.0.1:{proxy.port}", "--upstream", up.url]
        command = [sys.executable, "-m", "proxy", "--config", str(second), *where]
        done = await asyncio.to_thread(
            subprocess.run, command, cwd=ROOT, capture_output=True, check=False
        )

    assert 2 == done.returncode
    assert b"in use already" in done.stderr


def test_what_a_process_counted_outlives_it():
    """Its exchanges still count; what it had in flight does not, nor does the next one inherit it."""
    fd, all_of_them = slots.make(2)
    os.close(fd)
    all_of_them.write(0, Figures(pulse_ns=9, in_flight=1, exchanges=10, late_most_ns=3))
    all_of_them.write(1, Figures(pulse_ns=8, in_flight=2, exchanges=5, late_most_ns=7))
    all_of_them.retire(1)
    all_of_them.write(1, Figures(pulse_ns=20, in_flight=4, exchanges=1, late_most_ns=1))

    total = all_of_them.total()
    assert (9, 5, 16, 7) == (total.pulse_ns, total.in_flight, total.exchanges, total.late_most_ns)


def test_a_slot_is_read_as_it_was_written():
    """Also through a second mapping of the same memory; other slots stay empty."""
    fd, written = slots.make(3)
    figures = Figures(*range(1, len(Figures._fields) + 1))
    written.write(1, figures)
    try:
        assert [Figures(), figures, Figures()] == Slots(fd, 3).all()
    finally:
        os.close(fd)


@pytest.mark.parametrize("text", ["", '[[route]]\nlabel = "gpu"\n[tokenizer]\nfile = "/t.json"\n'])
def test_a_worker_gets_the_config_that_the_main_process_read(text: str, tmp_path: Path):
    """Paths and addresses included."""
    file = tmp_path / "config.toml"
    file.write_text(text)
    settings = WorkerSettings(config=load(file) if text else Config(), index=1, slots=2)
    assert settings == decode(encode(settings))


async def test_a_worker_that_hangs_is_killed_in_the_end(tmp_path: Path):
    """A stop does stop, whatever a worker does."""
    config = "[relay]\nworkers = 2\ngrace_s = 0.1\ndrain_s = 0.1\n"
    async with Upstream([Hang()]) as up, Program(up.url, tmp_path, config=config) as proxy:
        (worker,) = processes.workers(proxy.process.pid)
        os.kill(worker, signal.SIGSTOP)

        assert 0 == await proxy.stop()
        assert not processes.figures([worker]).descriptors
