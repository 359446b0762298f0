"""The whole program with a gauge: samples of a server beside the records of its exchanges, real ones too."""

from __future__ import annotations

import msgspec
import pytest
from openai import OpenAI

from analysis.store.folder import FolderStore
from proxy.journal.gauge import GaugeSample
from tests.support import expositions
from tests.support.bodies import request
from tests.support.caller import Caller
from tests.support.metrics_server import Metrics
from tests.support.program import Program, eventually

pytest_plugins = ("tests.support.real_server",)

ROUTE = """
[[route]]
listen = "127.0.0.1:0"
upstream = "{}"
gauge = {}
gauge_interval_s = 0.1
"""
ASK = request(b'{"model":"m","messages":[{"role":"user","content":"hello"}]}')


def samples(folder):
    """All lines of all gauge files."""
    files = sorted(folder.glob("gauge-*.jsonl"))
    lines = [line for file in files for line in file.read_bytes().splitlines()]
    return [msgspec.json.decode(line, type=GaugeSample) for line in lines]


async def test_a_server_is_sampled_while_its_exchanges_run(tmp_path):
    """Idle, then busy, then recorded: two files that a reader joins by upstream and time."""
    metrics = Metrics(expositions.llamacpp(running=1))
    metrics.delay_s = 0.05
    async with (
        metrics.serving() as up,
        Program("", tmp_path, config=ROUTE.format(up.url, "true")) as proxy,
    ):
        metrics.delay_s = 0.0
        await eventually(lambda: samples(proxy.journal), "the first sample")
        metrics.delay_s = 0.06
        async with await Caller.connect(proxy.port) as caller:
            for _ in range(8):
                await caller.send(ASK)
                await caller.read_message()
        metrics.delay_s = 0.0
        await proxy.wait_records(8)
        await eventually(lambda: len(samples(proxy.journal)) > 5, "more samples")
        assert 0 == await proxy.stop()
        said = proxy.event("gauge.asked")
    journal = FolderStore(proxy.journal).journal()

    assert {r.upstream for r in journal.records} == {s.upstream for s in journal.gauges} == {up.url}
    assert journal.unreadable == ()
    assert [s.at_unix_ns for s in journal.gauges] == sorted(s.at_unix_ns for s in journal.gauges)
    assert {0, 1} <= {s.in_flight for s in journal.gauges}
    assert {s.problem for s in journal.gauges} <= {None, "late"}
    assert (said["upstream"], said["engine"], said["problem"]) == (up.url, "llamacpp", None)


async def test_without_it_nobody_is_asked(tmp_path):
    """It is switched on by name."""
    metrics = Metrics(expositions.VLLM)
    async with (
        metrics.serving() as up,
        Program("", tmp_path, config=ROUTE.format(up.url, "false")) as proxy,
    ):
        async with await Caller.connect(proxy.port) as caller:
            await caller.send(ASK)
            await caller.read_message()
        await proxy.wait_records(1)
        assert 0 == await proxy.stop()

    assert metrics.asked == []
    assert samples(proxy.journal) == []


async def test_a_server_that_never_answers_costs_no_record_and_no_time(tmp_path):
    """Its metrics hang; exchanges, records and the stop do not."""
    metrics = Metrics(expositions.VLLM)
    async with (
        metrics.serving() as up,
        Program("", tmp_path, config=ROUTE.format(up.url, "true")) as proxy,
    ):
        await eventually(lambda: samples(proxy.journal), "the first sample")
        metrics.path, metrics.elsewhere = "/none", (200, "")
        async with await Caller.connect(proxy.port) as caller:
            for _ in range(5):
                await caller.send(ASK)
                await caller.read_message()
        records = await proxy.wait_records(5)
        assert 0 == await proxy.stop()

    assert {record.outcome for record in records} == {"complete"}


@pytest.mark.real
async def test_llama_cpps_own_figures_move_with_a_real_answer(tiny_server, tmp_path):
    """What the server generated between two samples is what the client was billed, or more with others."""
    async with Program("", tmp_path, config=ROUTE.format(tiny_server.url, "true")) as proxy:
        await eventually(lambda: samples(proxy.journal), "the first sample")
        (before, *_) = samples(proxy.journal)
        client = OpenAI(base_url=f"http://127.0.0.1:{proxy.port}/v1", api_key="-", max_retries=0)
        answer = client.chat.completions.create(
            model=tiny_server.model,
            messages=[{"role": "user", "content": "Count to ten, slowly and aloud."}],
            max_tokens=300,
            extra_body={"ignore_eos": True},  # random words would end at any of them
        )
        client.close()
        wanted = before.generation_tokens + answer.usage.completion_tokens
        after = await eventually(
            lambda: next(
                (s for s in samples(proxy.journal) if (s.generation_tokens or 0) >= wanted), None
            ),
            "the server's own count",
        )
        assert 0 == await proxy.stop()

    assert (before.engine, before.problem, before.reset) == ("llamacpp", None, None)
    assert after.prompt_tokens - before.prompt_tokens >= answer.usage.prompt_tokens
    assert after.cache_queries == after.prompt_tokens
    assert after.reset is False
    assert {s.in_flight for s in samples(proxy.journal)} >= {0, 1}
    assert max(s.running or 0 for s in samples(proxy.journal)) >= 1
