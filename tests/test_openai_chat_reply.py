"""Replies of chat completions: channels, choices, and which piece belongs to which call."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.dialects.openai_chat_reply import ChatReply
from proxy.dialects.tally import Tally


def stream(*deltas):
    """The reading of events 10 ns apart; a delta stands for an event with one choice."""
    tally, reply = Tally(200), ChatReply()
    for n, delta in enumerate(deltas, 1):
        tally.begin(n * 10)
        choices = delta if isinstance(delta, list) else [{"index": 0, "delta": delta}]
        reply.event("message", {"choices": choices}, tally)
        tally.end()
    return tally.reading(streamed=True)


def whole(message):
    """The reading of a whole body with one message."""
    tally = Tally(200)
    tally.begin(None)
    ChatReply().body({"choices": [{"index": 0, "message": message}]}, tally)
    tally.end()
    return tally.reading(streamed=False)


def call(name=None, arguments=None, **rest):
    """A piece of a tool call."""
    function = {"name": name, "arguments": arguments}
    return {"function": {k: v for k, v in function.items() if v is not None}} | rest


SILENT = (
    {"role": "assistant"}, {"content": None}, {"content": ""}, {"content": []}, {"content": 7}, {},
    {"reasoning": "", "reasoning_content": None}, {"tool_calls": []}, {"tool_calls": [{}]}, {"tool_calls": None},
    {"tool_calls": [call("", "")]}, {"function_call": {}}, {"refusal": None}, {"audio": {"id": "a"}}, {"content": {"a": 1}},
)  # fmt: skip


@pytest.mark.parametrize("delta", SILENT, ids=map(str, SILENT))
def test_a_delta_without_output_is_no_token(delta):
    """Openers, nulls, empty strings and fields of the wrong type move no clock."""
    reading = stream(delta, {"content": "a"})

    assert reading.token_event_ns == (20,)
    assert stream(delta).text == whole(delta).text == ""


CHANNELS = {
    "content": ({"content": "a"}, "first_visible_text_ns", "a"),
    "reasoning": ({"reasoning": "a"}, "first_reasoning_ns", "a"),
    "reasoning_content": ({"reasoning_content": "a"}, "first_reasoning_ns", "a"),
    "both names of a thought": ({"reasoning": "a", "reasoning_content": "a"}, "first_reasoning_ns", "a"),
    "one name is empty": ({"reasoning": "", "reasoning_content": "a"}, "first_reasoning_ns", "a"),
    "refusal": ({"refusal": "a"}, "first_visible_text_ns", "a"),
    "a transcript": ({"audio": {"transcript": "a"}}, "first_visible_text_ns", "a"),
    "a text part": ({"content": [{"type": "text", "text": "a"}]}, "first_visible_text_ns", "a"),
    "a thinking part": (
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}]},
        "first_reasoning_ns",
        "a",
    ),
    "a reasoning part": ({"content": [{"type": "reasoning", "text": "a"}]}, "first_reasoning_ns", "a"),
    "a call's name": ({"tool_calls": [call("a", index=0)]}, "first_tool_call_ns", "a"),
    "a call's arguments": ({"tool_calls": [call(None, "a", index=0)]}, "first_tool_call_ns", "a"),
    "arguments as an object": ({"tool_calls": [call("a", {"b": 1}, index=0)]}, "first_tool_call_ns", 'a{"b":1}'),
    "a custom tool": ({"tool_calls": [{"index": 0, "custom": {"name": "a", "input": "b"}}]}, "first_tool_call_ns", "ab"),
    "a legacy call": ({"function_call": {"name": "a", "arguments": "b"}}, "first_tool_call_ns", "ab"),
}  # fmt: skip


@pytest.mark.parametrize(("delta", "mark", "text"), CHANNELS.values(), ids=CHANNELS)
def test_each_channel_is_a_token(delta, mark, text):
    """Output in any channel is the first token, and its text is kept for counting."""
    reading = stream({"role": "assistant"}, delta)

    assert reading.first_token_ns == getattr(reading, mark) == 20
    assert reading.text == whole(delta).text == text


def test_audio_without_a_transcript_is_noted():
    """Sound alone has no text that could be counted."""
    assert [note.code for note in stream({"audio": {"data": "UklG"}}).notes] == ["audio_output"]


CALLS = {
    "an index each": ([call("a", index=0, id="1"), call("b", index=1, id="2")], ["a", "b"]),
    "the same tool twice": ([call("a", index=0), call("a", index=1)], ["a", "a"]),
    "a name with each piece": ([call("a", index=0, id="1"), call("a", "{", index=0, id="1")], ["a"]),
    "a name and no id with each piece": ([call("a", index=0), call("a", "{", index=0)], ["a"]),
    "a name in pieces": ([call("get_", index=0, id="1"), call("time", index=0)], ["get_time"]),
    "index 0 for all, ids differ": ([call("a", index=0, id="1"), call("a", index=0, id="2")], ["a", "a"]),
    "a new id without a name": ([call("a", index=0, id="1"), call(None, "{", index=0, id="2")], ["a"]),
    "no index, ids differ": ([call("a", id="1"), call(None, "{"), call("a", id="2")], ["a", "a"]),
    "no index, no id, names differ": ([call("a"), call(None, "{"), call("b")], ["a", "b"]),
    "no index, no id, the same name": ([call("a"), call("a", "{")], ["a"]),
    "no name ever": ([call(None, "{", index=0)], []),
    "an index of another type": ([call("a", index="0", id="1"), call("b", index="1", id="2")], ["a", "b"]),
}  # fmt: skip


@pytest.mark.parametrize(("pieces", "called"), CALLS.values(), ids=CALLS)
def test_pieces_of_calls_are_told_apart(pieces, called):
    """However a server marks its pieces, each call is counted once."""
    assert list(stream(*[{"tool_calls": [piece]} for piece in pieces]).called) == called


def test_calls_in_one_event():
    """Several entries without index in one event are several calls, also of one tool."""
    reading = stream({"tool_calls": [call("a", "{}"), call("a", "{}")]})

    assert reading.called == ("a", "a")
    assert reading.token_event_ns == (10,)


def test_calls_of_a_whole_message():
    """In a whole message each entry is a call, whatever its index says."""
    message = {"tool_calls": [call("a", "{}", index=0), call("a", "{}", index=0), call("b")]}

    assert whole(message).called == ("a", "a", "b")


def test_calls_of_two_choices():
    """The same index in two choices is two calls."""
    choices = [
        {"index": n, "delta": {"tool_calls": [call("a", index=0)]}, "finish_reason": None} for n in (0, 1)
    ]  # fmt: skip

    assert stream(choices).called == ("a", "a")


def test_every_choice_is_looked_at():
    """A token or a finish of any choice counts; that there were several is noted."""
    reading = stream(
        [{"index": 1, "delta": {"content": "a"}, "finish_reason": None}],
        [{"index": 0, "delta": {}, "finish_reason": "length"}],
        [{"index": 1, "delta": {"content": "b"}, "finish_reason": "stop"}],
    )

    assert reading.token_event_ns == (10, 30)
    assert (reading.terminal_event_ns, reading.finish_reason) == (20, "length")
    assert [note.code for note in reading.notes] == ["several_choices"]


@pytest.mark.parametrize("reason", [None, "", 7, {}])
def test_no_reason_is_no_finish(reason):
    """Only a word ends the generation."""
    assert stream([{"delta": {"content": "a"}, "finish_reason": reason}]).terminal_event_ns is None


NAMES = (
    "choices", "delta", "message", "content", "tool_calls", "function", "name", "arguments", "index", "id",
    "usage", "type", "text", "finish_reason", "audio", "token_ids",
)  # fmt: skip

json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=20,
)


@given(json_like)
def test_no_shape_raises(value):
    """Fields of any type anywhere are read without an exception."""
    for choices in (value, [value], [{"delta": value}], [{"delta": {"tool_calls": [value]}}]):
        tally = Tally(200)
        tally.begin(1)
        ChatReply().event("message", {"choices": choices, "usage": value, "timings": value}, tally)
        ChatReply().body({"choices": choices}, tally)
        tally.end()
        tally.reading(streamed=True)
