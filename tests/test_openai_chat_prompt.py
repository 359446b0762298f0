"""Prompts of chat completions: which text is which part, in the order of the templates."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.dialects.json_text import compact
from proxy.dialects.openai_chat import OpenAiChat
from proxy.wire.head import RequestHead


def read(data=b"", **body):
    """The reading of a request with this body, as bytes or as fields."""
    head = RequestHead("POST", "/v1/chat/completions", (1, 1), ())
    return OpenAiChat().read_request(head, data or orjson.dumps(body))


def parts(*messages, **body):
    """Part, role and text of each piece of the prompt."""
    return [(p.part, p.role, p.text) for p in read(messages=messages, **body).parts]


def user(content):
    """A user message."""
    return {"role": "user", "content": content}


def assistant(content=None, **fields):
    """An assistant message."""
    return {"role": "assistant", "content": content, **fields}


def test_parts_stand_as_templates_render_them():
    """Tools come first, wherever the JSON has them; then the messages in their order."""
    tool = {"type": "function", "function": {"name": "look", "parameters": {"b": 1, "a": 2}}}
    reading = read(messages=[{"role": "system", "content": "Be kind."}, user("Hi")], tools=[tool])

    assert [(p.part, p.role, p.name) for p in reading.parts] == [
        ("tools", "tool", "look"),
        ("system", "system", ""),
        ("question", "user", ""),
    ]
    assert reading.parts[0].text == orjson.dumps(tool).decode()


TOOLS = {
    "a function": ({"type": "function", "function": {"name": "a"}}, "a"),
    "a custom tool": ({"type": "custom", "custom": {"name": "a", "format": {}}}, "a"),
    "a function without a type": ({"function": {"name": "a"}}, "a"),
    "a flat function": ({"type": "function", "name": "a"}, "a"),
    "a built-in": ({"type": "web_search"}, "web_search"),
    "no name at all": ({}, ""),
}


@pytest.mark.parametrize(("tool", "name"), TOOLS.values(), ids=TOOLS)
def test_tools_have_names(tool, name):
    """A tool goes by its name, else by its type, and all that was sent of it is counted."""
    [part] = read(tools=[tool]).parts

    assert (part.part, part.name, orjson.loads(part.text)) == ("tools", name, tool)


def test_functions_are_tools():
    """The form before there were tools."""
    [part] = read(functions=[{"name": "a"}]).parts

    assert (part.part, part.name, part.text) == ("tools", "a", '{"name":"a"}')


def test_a_conversation():
    """Earlier turns are history by role, the last user message is the question."""
    assert parts(
        {"role": "system", "content": "S"}, user("Q1"), assistant("A1"), user("Q2"), assistant("A2"), user("Q3")
    ) == [
        ("system", "system", "S"),
        ("history", "user", "Q1"),
        ("history", "assistant", "A1"),
        ("history", "user", "Q2"),
        ("history", "assistant", "A2"),
        ("question", "user", "Q3"),
    ]  # fmt: skip


def test_an_agents_loop():
    """The question stays the last user message; calls behind it are history, results are results."""
    calls = [{"id": "1", "function": {"name": "read", "arguments": '{"f":1}'}}]

    assert parts(
        user("Q1"),
        assistant("A1"),
        user("Q2"),
        assistant("Let me see.", tool_calls=calls),
        {"role": "tool", "tool_call_id": "1", "content": "text"},
        assistant(None, tool_calls=calls * 2),
        {"role": "tool", "content": [{"type": "text", "text": "more"}]},
    ) == [
        ("history", "user", "Q1"),
        ("history", "assistant", "A1"),
        ("question", "user", "Q2"),
        ("history", "assistant", "Let me see."),
        ("history", "assistant", 'read {"f":1}'),
        ("tool_results", "tool", "text"),
        ("history", "assistant", 'read {"f":1}'),
        ("history", "assistant", 'read {"f":1}'),
        ("tool_results", "tool", "more"),
    ]


def test_user_messages_in_a_row_are_one_question():
    """Context and question in messages of their own, also with a system message between, are one turn."""
    late = {"role": "system", "content": "Late."}

    assert parts(user("Q1"), assistant("A1"), user("Context"), late, user("Q2")) == [
        ("history", "user", "Q1"),
        ("history", "assistant", "A1"),
        ("question", "user", "Context"),
        ("system", "system", "Late."),
        ("question", "user", "Q2"),
    ]


def test_a_user_message_behind_results_is_the_question():
    """What the user says in mid-loop is the question; the one before is history."""
    results = {"role": "tool", "content": "R"}
    calls = [{"function": {"name": "a", "arguments": ""}}]

    assert parts(user("Q1"), assistant(tool_calls=calls), results, user("Stop.")) == [
        ("history", "user", "Q1"),
        ("history", "assistant", "a"),
        ("tool_results", "tool", "R"),
        ("question", "user", "Stop."),
    ]


def test_without_a_user_message_there_is_no_question():
    """A prompt of system and assistant texts has none."""
    assert [p for p, _, _ in parts({"role": "system", "content": "S"}, assistant("A"))] == [
        "system",
        "history",
    ]


def test_thinking_counts_only_in_the_turn_it_belongs_to():
    """Templates drop the thinking of earlier turns and keep that of a running loop."""
    thought = {"reasoning_content": "T", "reasoning": "T"}

    assert parts(
        user("Q1"), assistant("A1", **thought), user("Q2"), assistant("A2", **thought)
    ) == [
        ("history", "user", "Q1"),
        ("history", "assistant", "A1"),
        ("question", "user", "Q2"),
        ("history", "assistant", "A2"),
        ("history", "assistant", "T"),
    ]


CALLS = {
    "arguments as text": ({"tool_calls": [{"function": {"name": "a", "arguments": "{}"}}]}, "a {}"),
    "arguments as an object": ({"tool_calls": [{"function": {"name": "a", "arguments": {"b": 1}}}]}, 'a {"b":1}'),
    "no arguments": ({"tool_calls": [{"function": {"name": "a"}}]}, "a"),
    "a custom tool": ({"tool_calls": [{"custom": {"name": "a", "input": "b"}}]}, "a b"),
    "a legacy call": ({"function_call": {"name": "a", "arguments": "{}"}}, "a {}"),
}  # fmt: skip


@pytest.mark.parametrize(("fields", "text"), CALLS.values(), ids=CALLS)
def test_calls_are_history(fields, text):
    """Name and arguments of an earlier call are read by the model again."""
    assert parts(assistant(**fields)) == [("history", "assistant", text)]


def test_the_role_of_a_function_is_a_result():
    """The form before there were tools."""
    assert parts({"role": "function", "name": "a", "content": "R"}) == [
        ("tool_results", "function", "R")
    ]


MEDIA = {
    "image": {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo"}},
    "image ": {"type": "image_url", "image_url": "data:image/png;base64,iVBORw0KGgo"},
    "image  ": {
        "type": "input_image",
        "image_url": "data:image/png;base64,iVBORw0KGgo",
        "text": "iVBOR",
    },
    "audio": {"type": "input_audio", "input_audio": {"data": "UklGRiQ", "format": "wav"}},
    "audio ": {"type": "audio_url", "audio_url": {"url": "http://127.0.0.1/a.wav"}},
    "video": {"type": "video_url", "video_url": {"url": "http://127.0.0.1/a.mp4"}},
    "file": {"type": "file", "file": {"file_data": "JVBERi0xLjcK"}},
}


@pytest.mark.parametrize(("kind", "piece"), MEDIA.items())
def test_media_are_counted_apart(kind, piece):
    """Of a picture, a recording or a file only the kind is kept; its bytes are no text."""
    assert parts(user([{"type": "text", "text": "See:"}, piece])) == [
        ("question", "user", "See:"),
        ("media", "user", kind.strip()),
    ]


def test_each_text_part_is_a_part():
    """Content in pieces stays in pieces: strings, texts, refusals, a single object."""
    assert parts(
        user(["a", {"type": "text", "text": "b"}, {"type": "input_text", "text": "c"}])
    ) == [("question", "user", text) for text in "abc"]
    assert parts(assistant([{"type": "refusal", "refusal": "no"}])) == [
        ("history", "assistant", "no")
    ]
    assert parts(user({"type": "text", "text": "a"})) == [("question", "user", "a")]


@pytest.mark.parametrize("content", [None, "", [], [{"type": "text", "text": ""}], [""]])
def test_empty_content_is_no_part(content):
    """What is empty is left out and not worth a note."""
    reading = read(messages=[user(content)])

    assert reading.parts == ()
    assert reading.notes == ()


NOTES = {
    "a part of an unknown kind": ({"messages": [user([{"type": "hologram"}, {"type": "x"}])]}, "content_part_unknown: request body, hologram"),
    "an unknown role": ({"messages": [{"role": "narrator", "content": "x"}]}, "role_unknown: request body, narrator"),
    "no role": ({"messages": [{"content": "x"}]}, "role_unknown: request body"),
    "messages that are no list": ({"messages": {"role": "user"}}, "field_not_understood: request body, messages"),
    "tools that are no list": ({"tools": "all"}, "field_not_understood: request body, tools"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "note"), NOTES.values(), ids=NOTES)
def test_what_is_not_understood_is_noted(body, note):
    """Each kind of thing not understood gives one note, and the rest is read."""
    assert [str(n) for n in read(**body).notes] == [note]


def test_text_may_hold_anything():
    """Half a surrogate pair and marks of a tokenizer are text, and can be encoded."""
    body = rb'{"messages":[{"role":"user","content":"<|endoftext|> \ud83d"}]}'
    [part] = read(body).parts

    assert part.text == "<|endoftext|> \ufffd"


@pytest.mark.parametrize("depth", [10, 300, 1000])
def test_a_deeply_nested_tool(depth):
    """A schema deeper than orjson writes is counted; one that this Python cannot write is noted."""
    body = (
        b'{"tools":[{"type":"function","x":' + b'{"a":' * depth + b"1" + b"}" * (depth + 1) + b"]}"
    )
    reading = read(body)
    [part] = reading.parts

    notes = [] if part.text else ["field_not_understood: request body, a tool nested too deep"]
    assert part.name == "function"
    assert part.text or depth == 1000
    assert [str(note) for note in reading.notes] == notes


NAMES = (
    "messages", "role", "content", "tools", "function", "functions", "name", "type", "text", "tool_calls",
    "arguments", "image_url", "stream", "model", "max_tokens", "response_format", "reasoning", "function_call",
)  # fmt: skip
WORDS = ("user", "assistant", "system", "tool", "function", "text", "image_url", "")

json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=25,
)


@given(json_like)
def test_no_shape_raises(value):
    """Fields of any type anywhere are read without an exception, and no part is empty."""
    for body in (
        value,
        {"messages": value, "tools": value},
        {"messages": [value], "functions": [value]},
    ):
        reading = read(compact(body).encode())
        assert all(part.text for part in reading.parts)
