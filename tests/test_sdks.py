"""The vendors' own SDKs against llama.cpp's real server, in every dialect that it speaks, through the proxy.

Each request is asked once, streamed and not, bare and with tools; the tests hold what the SDK was told
against what the journal says. The model is random words: only numbers and shapes mean something.
"""

from __future__ import annotations

from dataclasses import dataclass

import anthropic
import openai
import orjson
import pytest

from demo.chat import tools as chat_tools
from demo.proxied import recording, wait_for_record

pytest_plugins = ("tests.support.real_server",)
pytestmark = pytest.mark.real

KEY = "sk-canary-91c2"
SYSTEM = "You are a helpful assistant."
QUESTION = "What does the wombat eat?"
LIMIT = 24
MORE = {"seed": 1, "ignore_eos": True}
"""llama.cpp's own fields: the same random words each time, and as many as are allowed."""

TOOLS = [tool["function"] for tool in chat_tools()[:3]]


@dataclass
class Told:
    """What an SDK's user was told. Tokens of the prompt with those from the cache, as the record has them."""

    input: int
    output: int
    cached: int
    text: str


def chat_told(usage, text):
    """From a chat completion's, or a text completion's, usage."""
    cached = usage.prompt_tokens_details.cached_tokens
    return Told(usage.prompt_tokens, usage.completion_tokens, cached, text)


def chat(client, model, *, stream, tools=()):
    """Chat completions."""
    more = {"tools": [{"type": "function", "function": tool} for tool in tools]} if tools else {}
    more |= {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    reply = client.chat.completions.create(
        model=model,
        messages=[{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}],
        max_tokens=LIMIT,
        extra_body=MORE,
        **more,
    )
    if not stream:
        return chat_told(reply.usage, reply.choices[0].message.content)
    text, usage = "", None
    for chunk in reply:
        usage = chunk.usage or usage
        text += "".join(choice.delta.content or "" for choice in chunk.choices)
    return chat_told(usage, text)


def completion(client, model, *, stream):
    """The old text completions."""
    reply = client.completions.create(model=model, prompt=QUESTION, max_tokens=LIMIT, stream=stream)
    if not stream:
        return chat_told(reply.usage, reply.choices[0].text)
    text, usage = "", None
    for chunk in reply:
        usage = chunk.usage or usage
        text += "".join(choice.text for choice in chunk.choices)
    return chat_told(usage, text)


def response(client, model, *, stream, tools=()):
    """Responses; a stream's last event holds the whole."""
    more = {"tools": [{"type": "function", **tool} for tool in tools]} if tools else {}
    reply = client.responses.create(
        model=model,
        instructions=SYSTEM,
        input=QUESTION,
        max_output_tokens=LIMIT,
        extra_body=MORE,
        stream=stream,
        **more,
    )
    if stream:
        *_, last = reply
        reply = last.response
    usage = reply.usage
    cached = usage.input_tokens_details.cached_tokens
    return Told(usage.input_tokens, usage.output_tokens, cached, reply.output_text)


def message(client, model, *, stream, tools=()):
    """Anthropic's messages, whose input tokens leave out the cached ones."""
    form = [
        {"name": t["name"], "description": t["description"], "input_schema": t["parameters"]}
        for t in tools
    ]
    more = {"tools": form} if tools else {}
    asked = {
        "model": model,
        "system": SYSTEM,
        "messages": [{"role": "user", "content": QUESTION}],
        "max_tokens": LIMIT,
        "extra_body": MORE,
        **more,
    }
    if stream:
        with client.messages.stream(**asked) as events:
            reply = events.get_final_message()
    else:
        reply = client.messages.create(**asked)
    usage = reply.usage
    cached = usage.cache_read_input_tokens or 0
    text = "".join(block.text for block in reply.content if block.type == "text")
    return Told(usage.input_tokens + cached, usage.output_tokens, cached, text)


@dataclass(frozen=True)
class Ask:
    """One request."""

    dialect: str
    call: object
    stream: bool
    tools: int = 0


def kinds(dialect, call):
    """Bare and with tools; each streamed and not."""
    for stream in (True, False):
        way = "streamed" if stream else "whole"
        yield f"{dialect} {way}", Ask(dialect, call, stream)
        yield f"{dialect} {way}, tools", Ask(dialect, call, stream, len(TOOLS))


ASKS = {
    **dict(kinds("openai_chat", chat)),
    **dict(kinds("openai_responses", response)),
    **dict(kinds("anthropic_messages", message)),
    "openai_completions streamed": Ask("openai_completions", completion, stream=True),
    "openai_completions whole": Ask("openai_completions", completion, stream=False),
}


def ask(client, model, asked):
    """Send one."""
    if asked.dialect == "openai_completions":
        return asked.call(client, model, stream=asked.stream)
    return asked.call(client, model, stream=asked.stream, tools=TOOLS[: asked.tools])


@dataclass(frozen=True)
class Talk:
    """All that was asked, by name: what the SDK was told and what the journal says."""

    told: dict[str, Told]
    records: dict[str, dict]
    written: bytes


@pytest.fixture(scope="module")
def talk(tiny_server, tmp_path_factory):
    """Everything asked once, one after the other."""
    folder = tmp_path_factory.mktemp("sdks")
    journal, log = folder / "journal", folder / "proxy.log"
    told = {}
    with recording(tiny_server.url, journal, log) as url:
        # llama.cpp ends a connection behind a stream. An SDK that sends its next request into that
        # moment loses it, with or without a proxy: so each request has a connection of its own.
        alone = {"Connection": "close"}
        theirs = {"api_key": KEY, "max_retries": 0, "timeout": 60, "default_headers": alone}
        with (
            openai.OpenAI(base_url=f"{url}/v1", **theirs) as of_openai,
            anthropic.Anthropic(base_url=url, **theirs) as of_anthropic,
        ):
            for name, asked in ASKS.items():
                client = of_anthropic if asked.dialect.startswith("anthropic") else of_openai
                told[name] = ask(client, tiny_server.model, asked)
                wait_for_record(journal, log)
    files = [path for path in journal.glob("*.jsonl") if path.name[0].isdigit()]
    records = [orjson.loads(line) for path in files for line in path.read_bytes().splitlines()]
    records.sort(key=lambda record: record["at_unix_ns"])
    written = b"".join(path.read_bytes() for path in [log, *journal.iterdir()])
    return Talk(told, dict(zip(ASKS, records, strict=True)), written)


each = pytest.mark.parametrize("name", ASKS)


@each
def test_the_record_is_of_what_was_asked(talk, name):
    """Dialect, kind and end are right, and nothing was left that could not be understood."""
    record, asked = talk.records[name], ASKS[name]

    assert (record["dialect"], record["kind"]) == (asked.dialect, "turn")
    assert (record["outcome"], record["generation"], record["status"]) == (
        "complete",
        "complete",
        200,
    )
    assert bool(record["request"]["stream"]) is asked.stream
    assert record["notes"] == []


@each
def test_the_bill_is_the_one_that_the_sdk_shows(talk, name):
    """Prompt, output and cached tokens, whatever the dialect leaves out of which."""
    usage, told = talk.records[name]["usage"], talk.told[name]

    assert (usage["input"], usage["output"]) == (told.input, told.output)
    assert (usage["cached"] or 0) == told.cached
    assert talk.records[name]["output"]["tokens"] == told.output


@each
def test_the_parts_add_up_to_the_bill(talk, name):
    """To the token; where there is a chat, by the server's own tokenizer."""
    record = talk.records[name]
    sources = {part["source"] for part in record["parts"]}

    assert sum(part["tokens"] for part in record["parts"]) == talk.told[name].input
    assert sources == {"server tokenizer"} or ASKS[name].dialect == "openai_completions"


@each
def test_tools_are_counted(talk, name):
    """As many as were offered, and none called by random words."""
    tools, asked = talk.records[name]["tools"], ASKS[name]

    assert (tools["count"] if tools else 0) == asked.tools
    assert (tools["called"] if tools else []) == []


@each
def test_only_a_stream_has_a_first_token(talk, name):
    """And events that carry one; what comes in one piece has neither."""
    record, asked = talk.records[name], ASKS[name]
    marks = record["timings"]
    # Not every dialect takes `ignore_eos`: a random model may end before its first word.
    spoke = bool(talk.told[name].text)

    assert (marks["first_token_ns"] is not None) is (asked.stream and spoke)
    assert (marks["terminal_event_ns"] is not None) is asked.stream
    assert (record["output"]["events"] is not None) is asked.stream


def test_one_question_is_as_long_in_every_dialect(talk):
    """Chat, Responses and Messages make the same prompt of the same question and tools."""
    for way in ("streamed", "whole", "streamed, tools", "whole, tools"):
        shapes = {
            tuple((part["part"], part["tokens"]) for part in talk.records[f"{name} {way}"]["parts"])
            for name in ("openai_chat", "openai_responses", "anthropic_messages")
        }
        assert len(shapes) == 1, (way, shapes)


def test_nothing_that_was_said_is_written(talk):
    """No key and no word of the prompt is in the journal or on the console."""
    assert KEY.encode() not in talk.written
    assert b"wombat" not in talk.written
