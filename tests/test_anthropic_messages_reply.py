"""Replies of Messages: what is a token, in which channel, and what the bill says."""

from __future__ import annotations

import pytest

from proxy.dialects.anthropic_messages_reply import MessagesReply
from proxy.dialects.base import Usage
from proxy.dialects.tally import Tally


def stream(*events):
    """The reading of events 10 ns apart; the type may stand in the SSE name."""
    tally, reply = Tally(200), MessagesReply()
    for n, event in enumerate(events, 1):
        name, value = event if isinstance(event, tuple) else ("message", event)
        tally.begin(n * 10)
        reply.event(name, value, tally)
        tally.end()
    return tally.reading(streamed=True)


def whole(**message):
    """The reading of a whole body."""
    tally = Tally(200)
    tally.begin(None)
    MessagesReply().body(message, tally)
    tally.end()
    return tally.reading(streamed=False)


def start(block):
    """A content block as it starts."""
    return {"type": "content_block_start", "index": 0, "content_block": block}


def delta(**fields):
    """A piece of a content block."""
    return {"type": "content_block_delta", "index": 0, "delta": fields}


def opening(**usage):
    """The message as it begins."""
    return {"type": "message_start", "message": {"model": "m", "content": [], "usage": usage}}


def ending(reason="end_turn", **usage):
    """The message as it ends."""
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


SILENT = {
    "the opening": opening(input_tokens=3, output_tokens=1),
    "a text block": start({"type": "text", "text": ""}),
    "a thinking block": start({"type": "thinking", "thinking": "", "signature": ""}),
    "encrypted thinking": start({"type": "redacted_thinking", "data": "RXFv"}),
    "what a server's tool found": start({"type": "web_search_tool_result", "content": [{"title": "T"}], "text": "T"}),
    "an empty piece": delta(type="input_json_delta", partial_json=""),
    "a signature": delta(type="signature_delta", signature="RXFv"),
    "a citation": delta(type="citations_delta", citation={"cited_text": "a"}),
    "a piece of another type": delta(type="text_delta", text=7),
    "the end of a block": {"type": "content_block_stop", "index": 0},
    "a ping": {"type": "ping"},
    "the end": {"type": "message_stop"},
    "nothing": {},
    "what nobody knows": {"type": "telepathy", "delta": {"text": "a"}},
    "a call without a name": start({"type": "tool_use", "input": {}}),
}  # fmt: skip


@pytest.mark.parametrize("event", SILENT.values(), ids=SILENT)
def test_an_event_without_output_is_no_token(event):
    """What only frames, signs, cites or bills moves no clock."""
    reading = stream(event, delta(type="text_delta", text="a"))

    assert reading.token_event_ns == (20,)
    assert (stream(event).text, stream(event).called) == ("", ())


CHANNELS = {
    "text": (delta(type="text_delta", text="a"), "first_visible_text_ns", "a"),
    "thinking": (delta(type="thinking_delta", thinking="a"), "first_reasoning_ns", "a"),
    "arguments": (delta(type="input_json_delta", partial_json="a"), "first_tool_call_ns", "a"),
    "a piece without a type": (delta(text="a"), "first_visible_text_ns", "a"),
    "a block that starts with text": (start({"type": "text", "text": "a"}), "first_visible_text_ns", "a"),
    "a call's name": (start({"type": "tool_use", "name": "a", "input": {}}), "first_tool_call_ns", "a"),
    "a whole call": (start({"type": "tool_use", "name": "a", "input": {"b": 1}}), "first_tool_call_ns", 'a{"b":1}'),
    "a server's call": (start({"type": "server_tool_use", "name": "a"}), "first_tool_call_ns", "a"),
    "a whole message": ({"type": "message", "content": [{"type": "text", "text": "a"}]}, "first_visible_text_ns", "a"),
    "the type in the name": (("content_block_delta", {"delta": {"text": "a"}}), "first_visible_text_ns", "a"),
}  # fmt: skip


@pytest.mark.parametrize(("event", "mark", "text"), CHANNELS.values(), ids=CHANNELS)
def test_each_channel_is_a_token(event, mark, text):
    """Output in any channel is the first token, and its text is kept for counting."""
    reading = stream({"type": "ping"}, event)

    assert reading.first_token_ns == getattr(reading, mark) == 20
    assert reading.text == text


def test_calls_are_counted_once_each():
    """By the start of their block, not by their pieces."""
    call = start({"type": "tool_use", "name": "look", "input": {}})
    piece = delta(type="input_json_delta", partial_json="{}")

    assert stream(call, piece, call, piece).called == ("look", "look")


BILLS = {
    "input leaves out what was cached": (
        [opening(input_tokens=1, cache_read_input_tokens=19, cache_creation_input_tokens=5), ending(output_tokens=6)],
        Usage(input=25, output=6, cached=19, cache_write=5),
    ),
    "the last bill wins": (
        [opening(input_tokens=0, output_tokens=1), ending(input_tokens=9, output_tokens=6)],
        Usage(input=9, output=6),
    ),
    "field by field": (
        [opening(input_tokens=1, cache_read_input_tokens=19), ending(input_tokens=2, output_tokens=6)],
        Usage(input=21, output=6, cached=19),
    ),
    "null is not said": (
        [opening(input_tokens=3, cache_read_input_tokens=None), ending(output_tokens=None)],
        Usage(input=3),
    ),
    "thinking is part of the output": (
        [ending(output_tokens=40, output_tokens_details={"thinking_tokens": 30})],
        Usage(output=40, reasoning=30),
    ),
    "what was cached is no prompt": ([opening(cache_read_input_tokens=19)], Usage(cached=19)),
    "the opening bills no output": ([opening(input_tokens=3, output_tokens=8)], Usage(input=3)),
    "no bill": ([ending()], Usage()),
}  # fmt: skip


@pytest.mark.parametrize(("events", "usage"), BILLS.values(), ids=BILLS)
def test_bills(events, usage):
    """Cumulative, never summed over events, and the prompt is all of it."""
    assert stream(*events).usage == usage


def test_a_bill_is_final_with_a_reason_only():
    """One that comes while the answer goes on is a running count."""
    token = delta(text="a")

    assert stream(token, ending(None, output_tokens=2)).output_source == "continuous usage"
    assert stream(token, ending(output_tokens=2)).output_source == "usage"


def test_a_running_bill_tells_the_tokens_of_an_event():
    """Where it comes with the first output itself, as in a faked stream."""
    reading = stream(
        {"type": "message", "content": [{"type": "text", "text": "a b"}], "usage": {"output_tokens": 2}}
    )  # fmt: skip

    assert reading.k1 == 2


def test_the_end_is_the_first_sign_of_it():
    """The stop reason, or else the last event."""
    first = stream(ending("max_tokens"), {"type": "message_stop"})
    last = stream(ending(None), {"type": "message_stop"})

    assert (first.terminal_event_ns, first.finish_reason) == (10, "max_tokens")
    assert (last.terminal_event_ns, last.finish_reason) == (20, None)


def test_a_whole_message():
    """All blocks, the reason, the model and the bill; no times."""
    reading = whole(
        model="m",
        content=[
            {"type": "thinking", "thinking": "Hm."},
            {"type": "text", "text": "Yes."},
            {"type": "tool_use", "name": "look", "input": {"a": 1}},
            {"type": "tool_use", "name": "look", "input": None},
            "no block",
        ],
        stop_reason="tool_use",
        usage={"input_tokens": 3, "output_tokens": 9},
    )

    assert (reading.model, reading.finish_reason) == ("m", "tool_use")
    assert (reading.text, reading.called) == ('Hm.Yes.look{"a":1}look', ("look", "look"))
    assert (reading.usage, reading.output_source) == (Usage(input=3, output=9), "usage")
    assert reading.first_token_ns is None


def test_what_cannot_be_read_is_noted():
    """Encrypted thinking is output that no count of the text holds."""
    notes = stream(start({"type": "redacted_thinking", "data": "RXFv"})).notes

    assert [str(note) for note in notes] == ["content_encrypted: reply, redacted_thinking"]


def test_the_servers_own_figures():
    """How often its tools ran goes under its own name."""
    usage = {"output_tokens": 9, "server_tool_use": {"web_search_requests": 2}, "service_tier": "x"}

    assert stream(ending(**usage)).reported == {"server_tool_use.web_search_requests": 2}


ODD = [
    {"type": "message_start"}, {"type": "message_start", "message": 7}, {"type": ["a"]}, start(None), delta(),
    {"type": "message_start", "message": {"content": 7, "model": 7, "usage": [], "stop_reason": 7}},
    {"type": "message_delta", "delta": None, "usage": {"input_tokens": "9", "output_tokens": -1}},
]  # fmt: skip


@pytest.mark.parametrize("event", ODD, ids=map(str, ODD))
def test_fields_of_other_types_are_not_there(event):
    """Nothing raises, nothing is made up."""
    reading = stream(event)

    assert (reading.usage, reading.model, reading.text) == (Usage(), None, "")
