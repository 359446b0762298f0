"""The whole program in front of a server that counts: who is asked, what is said, what the record has."""

from __future__ import annotations

import orjson
import pytest

from proxy.asking import allowed
from tests.support.caller import Caller
from tests.support.counting_server import Script, serving
from tests.support.program import Program, eventually

BODY = orjson.dumps(
    {
        "model": "m",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "what is it"},
        ],
    }
)
REQUEST = (
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer secret\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
)


def answer(_body):
    """A completion with its bill."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": "yes"},
        "finish_reason": "stop",
    }
    usage = {"prompt_tokens": 7, "completion_tokens": 1}
    return 200, orjson.dumps({"model": "m", "choices": [choice], "usage": usage})


def count(body):
    """Words, and two for the template."""
    return 200, orjson.dumps(
        {"input_tokens": 2 + sum(len(m["content"].split()) for m in body["messages"])}
    )


def script():
    """A server that answers and counts."""
    return Script(v1__chat__completions=answer, v1__chat__completions__input_tokens=count)


@pytest.mark.parametrize(("policy", "source"), [("private", "server tokenizer"), ("off", None)])
async def test_the_config_says_whether_a_server_is_asked(tmp_path, policy, source):
    """Asked at loopback unless switched off; the record says who counted, the log where, no key is sent."""
    played = script()
    config = f'[tokenizer]\nserver = "{policy}"\n'
    with serving(played) as authority:
        async with Program(f"http://{authority}", tmp_path, config=config) as proxy:
            async with await Caller.connect(proxy.port) as caller:
                await caller.send(REQUEST)
                await eventually(lambda: b"yes" in caller.received, "the answer")
            (record,) = await proxy.wait_records(1)
            await proxy.stop()
            said = proxy.event("tokenizer.asked")
    questions = [headers for path, headers, _ in played.asked if path.endswith("input_tokens")]
    if source is None:
        assert questions == []
        assert said is None
        assert record.counting.tokenizer.startswith("tiktoken")
        return
    assert record.counting.tokenizer == source
    assert [(p.part, p.tokens) for p in record.parts] == [
        ("system", 2),
        ("question", 3),
        ("template", 2),
    ]
    assert said["endpoint"] == "/v1/chat/completions/input_tokens"
    assert not any("Authorization" in headers for headers in questions)
    assert len(proxy.records()) == 1  # the questions are nobody's traffic


@pytest.mark.parametrize(
    ("backend", "near"),
    [
        ("127.0.0.1:80", True),
        ("127.8.9.1:80", True),
        ("[::1]:80", True),
        ("10.1.2.3:80", True),
        ("172.16.0.9:80", True),
        ("192.168.1.7:80", True),
        ("169.254.1.1:80", True),
        ("100.64.0.1:80", True),
        ("[fd00::1]:80", True),
        ("[fe80::1%eth0]:80", True),
        ("[::ffff:127.0.0.1]:80", True),
        ("8.8.8.8:443", False),
        ("[2606:4700::1]:443", False),
        ("[::ffff:8.8.8.8]:443", False),
        ("0.0.0.0:80", False),
        ("model.example:80", False),
        ("", False),
    ],
)
def test_only_near_addresses_are_asked(backend, near):
    """Loopback and private ones, by the address that was connected to; `any` and `off` override it."""
    assert allowed("private", backend) is near
    assert allowed("any", backend)
    assert not allowed("off", backend)
