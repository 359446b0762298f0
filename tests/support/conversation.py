"""One conversation with a real server through the whole program: what was seen, written and reported.

The client is the OpenAI SDK, the proxy is the installed command, and so is the report. It is held once;
any number of tests look at it.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from dataclasses import dataclass, field

import openai
import orjson

from demo import chat
from demo.proxied import command, recording, wait_for_record

KEY = "sk-canary-7f3a"
"""The client's key: it must not be written anywhere."""
WORD = "quokka"
"""Part of every question: the same."""
ROUNDS = 7
"""Streams of the same kind: for figures that one of them alone would not give."""


@dataclass
class Seen:
    """What the client saw of one request. Wall times, as the record's origin is one."""

    usage: object = None
    sent_unix_ns: int = 0
    """When the SDK was done with the request and handed it to its HTTP client."""
    first_unix_ns: int = 0
    """When the first chunk with content was in the client's hands."""
    text: str = ""
    models: list[str] = field(default_factory=list)


def stamp(request):
    """Note when a request leaves the SDK."""
    request.extensions["sent_unix_ns"] = time.time_ns()


def stream(client, model, *, leave_after=None, **more):
    """Ask with a stream and read it, or only so many chunks of it."""
    seen = Seen()
    chunks = client.chat.completions.create(
        model=model,
        messages=[
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "content": f"Tell me about the {WORD}."},
        ],
        stream=True,
        stream_options={"include_usage": True},
        **more,
    )
    with chunks:
        seen.sent_unix_ns = chunks.response.request.extensions["sent_unix_ns"]
        for number, chunk in enumerate(chunks):
            text = chunk.choices[0].delta.content if chunk.choices else None
            if text and not seen.text:
                seen.first_unix_ns = time.time_ns()
            seen.text += text or ""
            seen.usage = chunk.usage or seen.usage
            if leave_after == number:
                break
    return seen


def whole(client, model):
    """Ask for the answer in one piece."""
    question = [{"role": "user", "content": f"What is a {WORD}?"}]
    reply = client.chat.completions.create(model=model, messages=question, max_tokens=24)
    return Seen(usage=reply.usage, text=reply.choices[0].message.content or "")


def refused(client, model):
    """Ask for something that the server refuses."""
    with contextlib.suppress(openai.BadRequestError):
        client.chat.completions.create(model=model, messages="no list")
        raise AssertionError("the server took it")
    return Seen()


ENDLESS = {"max_tokens": 4_000, "extra_body": {"ignore_eos": True}}
SIXTEEN = {"max_tokens": 16, "seed": 1, "extra_body": {"ignore_eos": True}}
REQUESTS = {
    "models": lambda client, _: Seen(models=[m.id for m in client.models.list()]),
    **{
        f"stream {n}": lambda client, model: stream(client, model, **SIXTEEN) for n in range(ROUNDS)
    },
    "whole": whole,
    "tools": lambda client, model: stream(client, model, tools=chat.tools(), **SIXTEEN),
    "tools again": lambda client, model: stream(client, model, tools=chat.tools(), **SIXTEEN),
    "left": lambda client, model: stream(client, model, leave_after=3, **ENDLESS),
    "refused": refused,
}


@dataclass(frozen=True)
class Talk:
    """One conversation, all of it."""

    seen: dict[str, Seen]
    records: dict[str, dict]
    files: dict[str, bytes]
    """What is in the journal's folder, and what the proxy printed."""
    report: dict


def hold(server, folder):
    """Hold the conversation: every request of the table, recorded, stopped and reported."""
    journal, log = folder / "journal", folder / "proxy.log"
    http = openai.DefaultHttpxClient(event_hooks={"request": [stamp]}, timeout=60)
    with (
        recording(server.url, journal, log) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0, http_client=http) as client,
    ):
        seen = {}
        for name, ask in REQUESTS.items():
            seen[name] = ask(client, server.model)
            # After the first one: the recorder is up, and no longer takes what the client needs.
            wait_for_record(journal, log)
    files = {path.name: path.read_bytes() for path in [log, *journal.iterdir()]}
    lines = [
        orjson.loads(line)
        for name, data in files.items()
        if name.endswith(".jsonl")
        for line in data.splitlines()
    ]
    lines.sort(key=lambda line: int(line["id"].rpartition("-")[2]))
    run = [command("turnscope"), "report", "--json", "--journal", journal]
    done = subprocess.run(run, check=True, capture_output=True, timeout=60)
    return Talk(seen, dict(zip(REQUESTS, lines, strict=True)), files, orjson.loads(done.stdout))
