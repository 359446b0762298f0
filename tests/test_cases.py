"""Public bug reports, played against the whole product: each must not happen here."""

from __future__ import annotations

import asyncio
import base64
import sys
import time
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from proxy.journal.record import Record
from tests.support.caller import Caller
from tests.support.cases import all_cases, answered, asked, holds
from tests.support.program import ROOT, Program
from tests.support.seen import Message, Seen
from tests.support.told import wrong
from tests.support.upstream import Await, Fin, Hang, Pause, Send, Upstream

if TYPE_CHECKING:
    from pathlib import Path

CASES = {case["id"]: case for case in all_cases()}
SPECIAL = {"sh-23-websocket-upgrade", "sh-24-torn-last-line"}
PLAIN = [case for name, case in CASES.items() if name not in SPECIAL]


async def play(port: int, exchange: dict[str, Any], up: Upstream, number: int) -> Seen:
    """One exchange: send, read or leave as the case says, and gather what both ends saw."""
    await asyncio.sleep(exchange.get("start_ms", 0) / 1000)
    request = asked(exchange["request"], f"127.0.0.1:{port}")
    caller = await Caller.connect(port)
    await caller.send(request.raw, within=30)
    asked_ns = caller.sent[-1].done_ns
    leaves = exchange.get("client")
    if leaves:
        await asyncio.sleep(leaves["disconnect_after_ms"] / 1000)
        caller.reset() if leaves["how"] == "reset" else caller.close()
    else:
        await read(caller)
    done_ns = time.monotonic_ns()
    there = await up.connection(number)
    if leaves:
        await there.wait_end()
    caller.close()
    ended = caller.ended
    return Seen(
        asked=request,
        answered=answered(exchange["upstream"]),
        client=Message.read(bytes(caller.received), ended=ended),
        client_ended=ended,
        asked_ns=asked_ns,
        done_ns=done_ns,
        there=there,
        upstream=Message.read(bytes(there.received), ended=None),
        caller=caller,
    )


async def read(caller: Caller) -> None:
    """Until the message is whole or the peer has ended."""
    async with asyncio.timeout(60):
        while caller.ended is None:
            if b"\r\n\r\n" in caller.received:
                message = Message.read(bytes(caller.received), ended=None)
                if message.whole:
                    return
            await asyncio.sleep(0.002)


@pytest.mark.parametrize("case", PLAIN, ids=[case["id"] for case in PLAIN])
async def test_a_reported_fault_does_not_happen(case: dict[str, Any], tmp_path: Path):
    """Bytes at both ends and the record, against every expectation of the case that applies."""
    exchanges = case.get("exchanges") or [case]
    scripts = [answered(exchange["upstream"]).steps for exchange in exchanges]
    async with Upstream(*scripts) as up, Program(up.url, tmp_path) as proxy:
        plays = [play(proxy.port, exchange, up, n) for n, exchange in enumerate(exchanges)]
        seen = await asyncio.gather(*plays)
        records = await proxy.wait_records(len(exchanges))
        await proxy.stop()

    by_start = sorted(records, key=lambda record: record.at_unix_ns)
    faults = judge_whole(case, proxy, len(up.connections))
    for exchange, saw, record in zip(exchanges, seen, by_start, strict=True):
        expect = exchange["expect"]
        faults += saw.check(expect)
        faults += wrong(record, proxy.journal, expect.get("record", {}))
    assert faults == []


def judge_whole(case: dict[str, Any], proxy: Program, requests: int) -> list[str]:
    """What is said of the case as a whole."""
    expect, records = case["expect"], proxy.records()
    generations = [record for record in records if record.kind != "not_generation"]
    written = bytes(proxy.output) + b"".join(p.read_bytes() for p in proxy.journal.iterdir())
    said = {
        "upstream_requests": requests,
        "records": len(records),
        "generation_records": len(generations),
    }
    faults = [
        f"{key}: said {said[key]}"
        for key in said
        if key in expect and not holds(said[key], expect[key])
    ]
    return faults + [
        f"{secret} was written"
        for secret in expect.get("secrets_absent", [])
        if secret.encode() in written
    ]


async def test_a_websocket_passes_both_ways(tmp_path: Path):
    """The upgrade is the two ends' own affair; the messages arrive as they were sent."""
    case = CASES["sh-23-websocket-upgrade"]
    sends = case["websocket"]["client_sends"], case["websocket"]["upstream_sends"]
    ours = [text_frame(message["text"], mask=b"abcd") for message in sends[0]]
    theirs = [text_frame(message["text"]) for message in sends[1]]
    steps = [*answered(case["upstream"]).steps, Await(size=len(b"".join(ours)))]
    for message, frame in zip(sends[1], theirs, strict=True):
        steps += [Pause(message["delay_ms"] / 1000), Send(frame)]
    started = time.monotonic()
    async with (
        Upstream([*steps, Send(CLOSE_FRAME), Fin()]) as up,
        Program(up.url, tmp_path) as proxy,
    ):
        async with await Caller.connect(proxy.port) as caller:
            request = asked(case["request"], f"127.0.0.1:{proxy.port}")
            await caller.send(request.raw)
            start = await caller.read_until(b"\r\n\r\n")
            await caller.send(b"".join(ours))
            came = await caller.read_all()
            await caller.fin()
        there = await up.connection(0)
        await proxy.wait_records(1)
        await proxy.stop()

    assert start.startswith(b"HTTP/1.1 101 ")
    assert b"".join([*theirs, CLOSE_FRAME]) == came
    assert bytes(there.received).endswith(b"".join(ours))
    assert holds(len(proxy.records()), case["expect"]["records"])
    assert time.monotonic() - started < 30


CLOSE_FRAME = b"\x88\x02\x03\xe8"


def text_frame(text: str, mask: bytes = b"") -> bytes:
    """One unfragmented text message (RFC 6455 section 5.2), masked as clients must."""
    data = text.encode()
    long = len(data) > 125
    length = bytes([126 if long else len(data)]) + (len(data).to_bytes(2, "big") if long else b"")
    if not mask:
        return b"\x81" + length + data
    masked = bytes(byte ^ mask[n % 4] for n, byte in enumerate(data))
    return b"\x81" + bytes([length[0] | 0x80]) + length[1:] + mask + masked


async def test_a_torn_last_line_spoils_no_other(tmp_path: Path):
    """Killed, its last line cut within a character, started again: all else is read and counted."""
    case = CASES["sh-24-torn-last-line"]
    script = answered(case["upstream"]).steps[:-1]
    wanted = {**case["expect"], "steps": case["steps"]}
    async with Upstream([*script * 3, Hang()], [*script, Hang()]) as up:
        async with Program(up.url, tmp_path) as proxy:
            await ask(proxy, case["request"], 3)
            await proxy.wait_records(3)
            proxy.process.kill()
            await proxy.wait()
        tear(proxy.journal, next(step for step in case["steps"] if step["do"] == "cut_log"))
        async with Program(up.url, tmp_path) as again:
            await ask(again, case["request"], 1)
            await again.stop()
    report = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "analysis", "report", "--json", "--journal", str(proxy.journal)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await report.communicate()

    records = [line for line in again.lines() if isinstance(line, Record)]
    assert 0 == report.returncode
    assert wanted["records_readable"] == len(records)
    assert wanted["damaged_lines_reported_if_supported"] == len(again.lines()) - len(records)
    assert len(orjson.loads(said)["census"]["unreadable"]) == len(again.lines()) - len(records)
    assert [] == [fault for r in records for fault in wrong(r, again.journal, wanted["record"])]


async def ask(proxy: Program, request: dict[str, Any], times: int) -> None:
    """The same request, one after another on one connection."""
    async with await Caller.connect(proxy.port) as caller:
        for _ in range(times):
            await caller.send(asked(request, f"127.0.0.1:{proxy.port}").raw)
            await caller.read_message()


def tear(folder: Path, step: dict[str, Any]) -> None:
    """Cut the newest segment's last line as a crash would."""
    path = max(folder.glob("[0-9]*.jsonl"), key=lambda p: p.stat().st_mtime_ns)
    *whole, last = path.read_bytes().splitlines(keepends=True)
    kept = last[: int(len(last) * step["keep_of_last_line"])]
    path.write_bytes(b"".join(whole) + kept + base64.b64decode(step["then_append_b64"]))
