"""Asking a server for its own metrics: on time, without credentials, and never a harm to anything."""

from __future__ import annotations

import asyncio
import itertools
import os
import stat
import threading
import time

import pytest

from proxy import clock, gauge
from proxy.address import Origin
from proxy.config import Route
from proxy.gauge import Gauge, Running
from proxy.log import Log
from proxy.settings import Gauged, Settings, gauged
from tests.support import expositions
from tests.support.gauging import STEP_S, Asked, asking
from tests.support.metrics_server import Metrics
from tests.support.program import eventually
from tests.support.tls import self_signed


async def test_a_busy_server_is_asked_each_interval(tmp_path):
    """Each answer is a line; the next question comes an interval later, on the same connection."""
    metrics = Metrics(expositions.VLLM)
    async with metrics.serving() as up:
        began = time.monotonic()
        with asking(tmp_path, up.url) as asked:
            samples = await asked.wait(6)
            late = [line for line in asked.lines() if line.problem]
        took_s = time.monotonic() - began

    assert [s.running for s in samples] == [7] * 6
    assert [s.reset for s in samples] == [None] + [False] * 5
    assert {(s.engine, s.upstream, s.problem) for s in samples} == {("vllm", up.url, None)}
    assert {s.in_flight for s in samples[1:]} == {1}
    assert took_s >= 5 * STEP_S
    assert len(up.connections) <= 1 + sum(1 + line.dropped for line in late)
    steps = [b.at_unix_ns - a.at_unix_ns for a, b in itertools.pairwise(samples)]
    assert min(steps) >= STEP_S * 0.9e9


async def test_a_question_holds_no_credential_and_wants_no_coding(tmp_path):
    """Nothing of the operator's environment or of any client goes with it."""
    metrics = Metrics(expositions.VLLM)
    async with metrics.serving() as up:
        with asking(tmp_path, up.url) as asked:
            await asked.wait(1)

    line, *fields = metrics.heads[0].split("\r\n")
    names = {field.partition(":")[0].lower(): field.partition(": ")[2] for field in fields}
    assert line == "GET /metrics HTTP/1.1"
    assert names.keys() == {"host", "accept", "accept-encoding", "user-agent"}
    assert names["host"] == up.authority
    assert names["accept-encoding"] == "identity"


async def test_an_idle_server_is_left_in_peace_until_an_exchange_begins(tmp_path):
    """One question at the start, the next at once when there is something to see."""
    metrics = Metrics(expositions.VLLM)
    async with metrics.serving() as up:
        with Asked(tmp_path / "journal", up.url) as asked:
            await asked.wait(1)
            await asyncio.sleep(STEP_S * 8)
            assert len(metrics.asked) == 1
            asked.running.opened(up.url)
            samples = await asked.wait(3)

    assert [s.in_flight for s in samples] == [0, 1, 1]


def test_busy_lasts_a_while_after_the_last_exchange():
    """A server's gauges lag by seconds; then it is idle."""
    now = [0]
    running = Running(["a"], lambda: now[0])
    states = [running.busy("a")]
    running.opened("a")
    running.opened("b")  # nobody watches it
    states.append(running.busy("a"))
    running.ended("a")
    running.ended("b")
    for now[0] in (int(9.9e9), int(10.1e9)):
        states.append(running.busy("a"))

    assert states == [False, True, True, False]
    assert running.count("a") == 0


async def test_an_answer_that_is_late_is_dropped(tmp_path):
    """What it says may be of another moment; the gap is written once and its length counted."""
    metrics = Metrics(expositions.llamacpp(running=1))
    async with metrics.serving() as up:
        with asking(tmp_path, up.url) as asked:
            await asked.wait(1)
            metrics.text, metrics.delay_s = expositions.llamacpp(running=9), STEP_S * 3
            await asked.wait(1, lambda s: s.problem == "late")
            before = len(metrics.asked)
            await eventually(lambda: len(metrics.asked) > before + 3, "more questions")
            metrics.text, metrics.delay_s = expositions.llamacpp(running=2), 0.0
            await asked.wait(1, lambda s: s.running == 2)
            lines = asked.lines()

    assert 9 not in [s.running for s in lines]
    late = [s for s in lines if s.problem]
    assert {(s.running, s.engine, s.reset, s.problem) for s in late} == {(None, None, None, "late")}
    assert max(s.dropped for s in lines) >= 2


@pytest.mark.parametrize(
    ("status", "text", "problem"),
    [
        (401, "", "status 401"),
        (404, "", "status 404"),
        (302, expositions.VLLM, "status 302"),
        (501, "", "status 501"),
        (200, '[{"iter": 1}]', "no known metrics"),
    ],
)
async def test_a_server_without_metrics_is_said_so_and_left_in_peace(
    tmp_path, status, text, problem
):
    """One line in the journal, one in the log, and no further question for ten seconds."""
    metrics = Metrics(text)
    metrics.status = status
    async with metrics.serving() as up:
        with asking(tmp_path, up.url, step_s=0.3) as asked:
            (sample,) = await asked.wait(1)
            await asyncio.sleep(0.5)
            told = asked.told(1)

    assert (sample.problem, sample.engine) == (problem, None)
    assert metrics.asked == ["/metrics", "/prometheus/metrics"]
    assert told == [problem]


async def test_tensorrt_llms_metrics_are_found_at_its_own_path(tmp_path):
    """Its /metrics is JSON and no good; that is tried once."""
    metrics = Metrics(expositions.TENSORRT_LLM, path="/prometheus/metrics")
    metrics.elsewhere = (200, "[]")
    async with metrics.serving() as up:
        with asking(tmp_path, up.url) as asked:
            samples = await asked.wait(3)

    assert [s.running for s in samples] == [6, 6, 6]
    assert metrics.asked[:3] == ["/metrics", "/prometheus/metrics", "/prometheus/metrics"]


async def test_a_server_that_comes_back_is_sampled_again_and_its_counters_start_anew(tmp_path):
    """Away and back: the gap has a name, and the difference over it means nothing."""
    metrics = Metrics(expositions.llamacpp(predicted=500))
    async with metrics.serving() as up:
        with asking(tmp_path, up.url) as asked:
            await asked.wait(2)
            metrics.away = True
            await asked.wait(1, lambda s: s.problem == "unreachable")
            metrics.away, metrics.text = False, expositions.llamacpp(predicted=3)
            (sample,) = await asked.wait(1, lambda s: s.generation_tokens == 3)
            told = await eventually(lambda: asked.told(3), "three events")

    assert sample.reset is True
    assert told == [None, "unreachable", None]


async def test_an_answer_without_end_is_given_up(tmp_path):
    """Nine MiB of something: too long, whatever it is."""
    metrics = Metrics("x" * (gauge.BODY_BYTES + 2**20))
    async with metrics.serving() as up:
        with asking(tmp_path, up.url, step_s=5.0) as asked:
            (sample,) = await asked.wait(1)

    assert sample.problem == "too long"


async def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path):
    """TLS is verified, as on the relay's own way there."""
    metrics = Metrics(expositions.VLLM)
    async with metrics.serving(tls=self_signed(tmp_path)) as up:
        with asking(tmp_path, up.url, step_s=2.0) as asked:
            (sample,) = await asked.wait(1)

    assert sample.problem == "TLS failed"
    assert metrics.asked == []


async def test_stopping_waits_for_no_answer(tmp_path):
    """The relay waits for the recorder then."""
    metrics = Metrics(expositions.VLLM)
    metrics.delay_s = 30.0
    async with metrics.serving() as up:
        with asking(tmp_path, up.url, step_s=60.0) as asked:
            await eventually(lambda: metrics.asked, "a question")
            began = time.monotonic()
            asked.gauge.stop()
            took_s = time.monotonic() - began
        for connection in up.connections:
            connection.close()

    assert took_s < 1.0


async def test_the_file_is_the_owners_alone(tmp_path):
    """As all files of a journal, and named for what is in it."""
    async with Metrics(expositions.VLLM).serving() as up:
        with asking(tmp_path, up.url) as asked:
            await asked.wait(1)

    (file,) = (tmp_path / "journal").iterdir()
    assert file.name.startswith("gauge-")
    assert file.name.endswith(f"-{os.getpid()}-1.jsonl")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_a_folder_that_cannot_be_written_is_said_once_and_writing_resumes(tmp_path):
    """Asking goes on all the while."""
    journal = tmp_path / "journal"
    journal.write_bytes(b"in the way")
    metrics = Metrics(expositions.VLLM)
    async with metrics.serving() as up:
        with asking(tmp_path, up.url) as asked:
            await eventually(lambda: len(metrics.asked) >= 4, "questions")
            journal.unlink()
            await asked.wait(2)
            said = [line for line in asked.said() if line["event"] == "journal.failed"]

    assert ["cannot write" in line["detail"] for line in said] == [True, False]


async def test_a_fault_of_ours_ends_nothing(tmp_path, monkeypatch):
    """It is written down as a problem, and asking goes on."""

    def broken(body):
        if body:
            raise ZeroDivisionError

    monkeypatch.setattr(gauge, "read", broken)
    metrics = Metrics(expositions.VLLM)
    async with metrics.serving() as up:
        with asking(tmp_path, up.url) as asked:
            await asked.wait(1, lambda s: s.problem == "failed: ZeroDivisionError")
            monkeypatch.undo()
            await asked.wait(1, lambda s: s.running == 7)


async def test_nothing_grows_while_it_asks(tmp_path):
    """After twenty questions: one connection, one thread, two tasks; none of them when it is stopped."""
    metrics = Metrics(expositions.VLLM)
    async with metrics.serving() as up:
        with asking(tmp_path, up.url, step_s=0.03) as asked:
            await eventually(lambda: len(metrics.asked) >= 20, "20 questions")
            tasks = len(asyncio.all_tasks(asked.gauge._loop))
            threads = [t.name for t in threading.enumerate() if t.name == "gauge"]

    assert tasks <= 3
    assert threads == ["gauge"]
    assert len(up.connections) < 10  # a question that came late costs its connection
    assert not [t for t in threading.enumerate() if t.name == "gauge"]


def test_nothing_runs_where_nothing_is_to_be_asked(tmp_path):
    """No thread, no import of a client."""
    settings = Settings(journal=str(tmp_path), nice=0, retain_bytes=1, quiet=True, form="json")
    asked = Gauge(settings, Log(2, "json"), Running([], clock.monotonic_ns))
    asked.start()
    names = [thread.name for thread in threading.enumerate()]
    asked.stop()

    assert "gauge" not in names


def test_a_server_behind_two_routes_is_asked_once():
    """As often as the more curious of the two wants; a route without a gauge adds nothing."""
    server, other = Origin("http", "10.0.0.1", 8000), Origin("https", "h", 443)
    routes = [
        Route(upstream=server, gauge=True, gauge_interval_s=5.0),
        Route(upstream=other),
        Route(upstream=server, gauge=True, gauge_interval_s=2.0),
    ]

    assert gauged(routes) == (Gauged(upstream="http://10.0.0.1:8000", interval_s=2.0),)
