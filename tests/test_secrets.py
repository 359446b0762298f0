"""Credentials are nowhere: a secret of its own in each place, and every byte that was written is searched.

The places are those in which clients, upstreams and operators put keys, and those in which they end up by
mistake. What is searched: the journal's folder, whole, and all that the program and its child printed.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from tests.support.bodies import chunked, delta, head, reply, request, sse
from tests.support.caller import Caller
from tests.support.edge import refusing_port, silent_port
from tests.support.plants import Plants
from tests.support.program import STATUS, Program
from tests.support.talk import BODY, stream
from tests.support.upstream import Await, Close, Hang, Send, Upstream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHAT = "/v1/chat/completions"


@pytest.fixture
def plant() -> Plants:
    """A field to plant in."""
    return Plants()


class Started(Program):
    """The program, also where it says in text where it listens."""

    def event(self, name: str) -> dict[str, Any] | None:
        """Of text only the port can be read."""
        port = re.search(rb"http://(127\.0\.0\.1:\d+) -> ", self.output)
        spoken = {"listen": port[1].decode()} if port and name == "route.listening" else None
        return super().event(name) or spoken


def written_by(proxy: Program) -> bytes:
    """All that one run left: what it and its recorder printed, and each file with its name."""
    files = [path for path in proxy.journal.rglob("*") if path.is_file()]
    parts = [bytes(proxy.output)]
    for path in files:
        parts += [path.name.encode(), path.read_bytes()]
    return b"\n".join(parts)


async def status_pages(proxy: Program) -> bytes:
    """What they say now."""
    (port,) = re.findall(rb"http://127.0.0.1:(\d+)/metrics", proxy.output) or re.findall(
        rb'"status.listening","listen":"127.0.0.1:(\d+)"', proxy.output
    )
    said = b""
    for path in ("/metrics", "/healthz"):
        async with await Caller.connect(int(port)) as caller:
            await caller.send(head(f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{int(port)}"))
            said += await caller.read_all()
    assert 2 == said.count(b" 200 OK")
    return said


def requests_with(plant: Plants, authority: str) -> Iterator[bytes]:
    """Every place in a request in which a key may stand."""
    for name in ("Authorization", "Proxy-Authorization"):
        yield request(BODY, f"{name}: Bearer {plant(name)}")
    yield request(BODY, f"authorization:Basic {plant('basic')}")
    for name in ("x-api-key", "api-key", "X-Goog-Api-Key", "Cookie", "Set-Cookie", "X-Auth-Token"):
        yield request(BODY, f"{name}: {plant(name)}")
    for name in ("OpenAI-Organization", "Referer", "Origin", "Traceparent", "X-Session-Id"):
        yield request(BODY, f"{name}: https://a.test/?key={plant(name)}")
    for name in ("key", "api_key", "api-key", "access_token", "token", "anything"):
        yield request(BODY, line=f"POST {CHAT}?alt=sse&{name}={plant(f'?{name}')}")
    for mark in ("%3Fkey=", "#", "%23", ";key=", "%3bkey=", "&key="):
        yield request(BODY, line=f"POST {CHAT}{mark}{plant(f'path {mark}')}")
    yield request(BODY, line=f"POST http://{authority}{CHAT}?key={plant('absolute form')}")
    yield request(BODY, line=f"POST http://me:{plant('userinfo')}@{authority}{CHAT}")
    yield request(BODY, line=f"POST //me:{plant('userinfo in a path')}@{authority}{CHAT}")
    trailer = f"Authorization: {plant('trailer')}\r\n".encode()
    fields = ("Host: in.test", "Transfer-Encoding: chunked", "Trailer: Authorization")
    yield head(f"POST {CHAT} HTTP/1.1", *fields) + chunked(BODY, trailers=trailer)
    size = b"%x;token=%b\r\n" % (len(BODY), plant("chunk extension").encode())
    extended = size + BODY + b"\r\n0\r\n\r\n"
    yield head(f"POST {CHAT} HTTP/1.1", *fields[:2]) + extended
    yield request(BODY, f"User-Agent: client/1.0 (key {plant('user agent')})")
    yield from bodies_with(plant)


def bodies_with(plant: Plants) -> Iterator[bytes]:
    """And in its body, known field or not."""
    asked = orjson.loads(BODY)
    for name in ("api_key", "user", "safety_identifier", "prompt_cache_key"):
        yield request(orjson.dumps(asked | {name: plant(f"body {name}")}))
    yield request(orjson.dumps(asked | {"metadata": {"key": plant("metadata")}}))
    function = {"name": "f", "description": plant("tool"), "parameters": {"key": plant("schema")}}
    server = {"server_url": "https://mcp.test", "headers": {"Authorization": plant("mcp headers")}}
    tools = [{"type": "function", "function": function}, {"type": "mcp", **server}]
    yield request(orjson.dumps(asked | {"tools": tools}))
    image = {"type": "image_url", "image_url": {"url": f"https://a.test/?sig={plant('image url')}"}}
    yield request(orjson.dumps(asked | {"messages": [{"role": "user", "content": [image]}]}))
    yield request(b'{"messages": [{"role": "user", "content": "' + plant("cut body").encode())


def replies_with(plant: Plants) -> Iterator[bytes]:
    """Every place in a reply in which a key may stand."""
    for name in ("Set-Cookie", "WWW-Authenticate", "X-Request-Id", "Location", "Authorization"):
        yield reply(b"{}", f"{name}: {plant(f'reply {name}')}")
    for status in ("401 Unauthorized", "403 Forbidden", "400 Bad Request", "500 Oops"):
        echo = f"Incorrect API key provided: {plant(status)}. Find yours at https://a.test."
        for error in ({"message": echo, "type": "invalid_request_error"}, echo):
            yield reply(orjson.dumps({"error": error}), status=status)
    for key in ("type", "code", "status"):
        yield reply(orjson.dumps({"error": {key: plant(f"error {key}")}}), status="401 No")
    yield reply(plant("no json").encode(), status="401 No")
    event = sse({"error": {"message": f"bad key {plant('error event')}"}})
    stream_head = ("Content-Type: text/event-stream", "Transfer-Encoding: chunked")
    yield head("HTTP/1.1 200 OK", *stream_head) + chunked(delta("a"), event)
    trailer = f"X-Key: {plant('reply trailer')}\r\n".encode()
    yield head("HTTP/1.1 200 OK", *stream_head) + chunked(delta("a"), trailers=trailer)
    yield reply(b"{}", status=f"200 {plant('reason phrase')}")
    yield head("HTTP/1.1 103 Early Hints", f"Link: <{plant('early hints')}>") + reply(b"{}")


FORMS = pytest.mark.parametrize("form", ["text", "json"])


@FORMS
async def test_no_key_of_a_request_is_written(tmp_path: Path, plant: Plants, form: str):
    """Header, query, target, trailer, body: the bytes pass, and nothing of them stays."""
    answer = reply(b'{"choices": [{"message": {"content": "hi"}}]}')
    asked = list(requests_with(plant, "in.test"))
    async with (
        Upstream([Await(), Send(answer), Hang()]) as up,
        Started(up.url, tmp_path, config=f'[console]\nformat = "{form}"\n{STATUS}') as proxy,
    ):
        for each in asked:
            async with await Caller.connect(proxy.port) as caller:
                await caller.send(each)
                await caller.read_message()
        await proxy.wait_records(len(asked))
        pages = await status_pages(proxy)
        await proxy.stop()
        passed = b"".join(bytes(there.received) for there in up.connections)

    dropped = {"userinfo"}  # with the authority of an absolute form
    assert plant.places.keys() - dropped == set(plant.found_in(passed)), "not all of it was sent"
    assert [] == plant.found_in(written_by(proxy) + pages)


@FORMS
async def test_no_key_of_a_reply_is_written(tmp_path: Path, plant: Plants, form: str):
    """Header, error body, trailer, interim head, reason phrase: passed on and not kept."""
    replies = list(replies_with(plant))
    scripts = [[Await(), Send(each), Close()] for each in replies]
    async with (
        Upstream(*scripts) as up,
        Started(up.url, tmp_path, config=f'[console]\nformat = "{form}"\n{STATUS}') as proxy,
    ):
        passed = b""
        for _ in replies:
            async with await Caller.connect(proxy.port) as caller:
                await caller.send(request(BODY))
                passed += await caller.read_all()
        await proxy.wait_records(len(replies))
        pages = await status_pages(proxy)
        await proxy.stop()

    assert plant.places.keys() == set(plant.found_in(passed)), "not all of it was sent"
    assert [] == plant.found_in(written_by(proxy) + pages)


async def test_no_key_of_a_websocket_is_written(tmp_path: Path, plant: Plants):
    """In the query and the headers of the upgrade, in a subprotocol, in what is said inside."""
    upgrade = head(
        f"GET /v1/responses?key={plant('query')} HTTP/1.1",
        *(
            "Host: in.test",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
        ),
        f"Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.{plant('subprotocol')}",
        f"Authorization: Bearer {plant('authorization')}",
        f"Sec-WebSocket-Key: {plant('websocket key')}",
    )
    accepted = head(
        "HTTP/1.1 101 Switching Protocols", *("Connection: Upgrade", "Upgrade: websocket")
    )
    message = orjson.dumps({"type": "response.create", "model": "m", "input": plant("input")})
    said = orjson.dumps({"type": "error", "error": {"message": plant("error")}})
    async with (
        Upstream([Await(), Send(accepted), Await(size=20), Send(text_frame(said)), Close()]) as up,
        Started(up.url, tmp_path) as proxy,
    ):
        async with await Caller.connect(proxy.port) as caller:
            await caller.send(upgrade)
            await caller.read_until(b"\r\n\r\n")
            await caller.send(masked(message))
            passed = await caller.read_all()
        await proxy.wait_records(1)
        await proxy.stop()
        passed += bytes(up.connections[0].received)

    assert plant.places.keys() == set(plant.found_in(passed)), "not all of it was sent"
    assert [] == plant.found_in(written_by(proxy))


def text_frame(text: bytes) -> bytes:
    """A whole text message of a server (RFC 6455 section 5.2)."""
    return b"\x81\x7e" + len(text).to_bytes(2, "big") + text


def masked(text: bytes) -> bytes:
    """The same of a client, its mask being zeros: the test looks for the text in it."""
    return b"\x81\xfe" + len(text).to_bytes(2, "big") + bytes(4) + text


async def test_no_key_is_in_an_answer_of_our_own(tmp_path: Path, plant: Plants):
    """502 and 504 name the upstream and the remedy, and repeat nothing of what was asked."""
    fields = (f"Authorization: Bearer {plant('header')}", f"Cookie: {plant('cookie')}")
    asked = request(BODY, *fields, line=f"POST {CHAT}?key={plant('query')}")
    with refusing_port() as refusing, silent_port() as silent:
        routes = "".join(
            f'[[route]]\nlisten = "127.0.0.1:0"\nupstream = "http://127.0.0.1:{port}"\n'
            "connect_timeout_s = 0.2\n"
            for port in (refusing, silent)
        )
        async with Started("", tmp_path, config=routes) as proxy:
            listening = [line for line in proxy.said if line["event"] == "route.listening"]
            answers = b""
            for line in listening:
                async with await Caller.connect(int(line["listen"].rpartition(":")[2])) as caller:
                    await caller.send(asked)
                    answers += await caller.read_all()
            await proxy.wait_records(2)
            await proxy.stop()

    assert [b"502", b"504"] == re.findall(rb"HTTP/1.1 (\d+)", answers)
    assert [] == plant.found_in(written_by(proxy) + answers)


async def test_no_key_is_written_by_a_program_that_is_hurt(tmp_path: Path, plant: Plants):
    """A recorder killed in mid stream: neither its successor nor the loss file has seen a key."""
    asked = request(BODY, f"x-api-key: {plant('header')}", line=f"POST {CHAT}?key={plant('query')}")
    words = [f"w{n}" for n in range(60)]
    async with (
        Upstream([*stream(words, 0.03), Hang()], [Await(), Send(reply(b"{}")), Hang()]) as up,
        Started(up.url, tmp_path) as proxy,
    ):
        async with await Caller.connect(proxy.port) as caller:
            await caller.send(asked)
            await caller.read_until(b"w1")
            os.kill(proxy.recorder, signal.SIGSTOP)
            async with await Caller.connect(proxy.port) as other:
                await other.send(asked)
                await other.read_message()
            await asyncio.sleep(0.2)  # by now it is in the recorder's pipe
            os.kill(proxy.recorder, signal.SIGKILL)
            await caller.read_until(b"\r\n0\r\n\r\n")
        await proxy.wait_records(1)
        await proxy.stop()

    assert proxy.losses(), "nothing was lost: the test is about what is said of it"
    assert [] == plant.found_in(written_by(proxy))
