"""Prompts of Messages: which text is which part, in the order of the templates."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.dialects.anthropic_messages import AnthropicMessages
from proxy.wire.head import RequestHead

NOTE = "<system-reminder>Be kind.</system-reminder>"


def read(data=b"", **body):
    """The reading of a request with this body, as bytes or as fields."""
    head = RequestHead("POST", "/v1/messages", (1, 1), ())
    return AnthropicMessages().read_request(head, data or orjson.dumps(body))


def parts(*messages, **body):
    """Part, role and text of each piece of the prompt."""
    return [(p.part, p.role, p.text) for p in read(messages=messages, **body).parts]


def codes(**body):
    """Notes on a request, code and detail."""
    return [(note.code, note.detail) for note in read(**body).notes]


def user(*content):
    """A user message: a text, or blocks."""
    plain = len(content) == 1 and isinstance(content[0], str)
    return {"role": "user", "content": content[0] if plain else list(content)}


def assistant(*blocks):
    """An assistant's message."""
    return {"role": "assistant", "content": list(blocks)}


def text(value):
    """A text block."""
    return {"type": "text", "text": value, "cache_control": {"type": "ephemeral"}}


def result(content, kind="tool_result", **fields):
    """What a tool gave back."""
    return {"type": kind, "tool_use_id": "t", "content": content, **fields}


CALL = {"type": "tool_use", "id": "t", "name": "look", "input": {"b": 1, "a": [2]}}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "RXFv"}
SECRET = {"type": "redacted_thinking", "data": "RXFv"}


def test_parts_stand_as_templates_render_them():
    """Tools, system, messages, whatever the order of the JSON; messages by their number."""
    data = orjson.dumps(
        {"messages": [user("Hi")], "system": "Be kind.", "tools": [{"name": "look"}]}
    )

    assert [(p.part, p.role, p.name, p.message) for p in read(data).parts] == [
        ("tools", "tool", "look", None),
        ("system", "system", "", None),
        ("question", "user", "", 0),
    ]


TOOLS = {
    "a tool": ({"name": "a", "description": "d", "input_schema": {"b": 1, "a": 2}}, "a"),
    "a server's tool": ({"type": "web_search_20250305", "name": "web_search"}, "web_search"),
    "one without a name": ({"type": "computer_1"}, "computer_1"),
    "nothing": ({}, ""),
}


@pytest.mark.parametrize(("tool", "name"), TOOLS.values(), ids=TOOLS)
def test_tools_have_names(tool, name):
    """A tool goes by its name, else by its type; where to cache is no part of it."""
    [part] = read(tools=[tool | {"cache_control": {"type": "ephemeral"}}]).parts

    assert (part.part, part.name, part.text) == ("tools", name, orjson.dumps(tool).decode())


def test_tools_for_later_are_counted_and_noted():
    """Whether they are in the prompt, only the server knows."""
    tools = [{"name": "a", "defer_loading": True}, {"name": "b", "defer_loading": False}]

    assert codes(tools=tools) == [("tools_deferred", "1 tools")]
    assert len(read(tools=tools).parts) == 2


SYSTEMS = {
    "a text": "Be kind.",
    "blocks": [text("Be kind.")],
    "texts": ["Be kind."],
    "one block": text("Be kind."),
}


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_a_system_prompt_in_every_form(system):
    """Text, blocks, and what a lenient server takes."""
    assert parts(system=system) == [("system", "system", "Be kind.")]


def test_system_messages_stand_where_they_were_sent():
    """As messages of that role, and as blocks among others."""
    late = {"type": "mid_conv_system", "content": [text("S3")]}

    assert parts({"role": "system", "content": "S1"}, user("Q1", late), {"role": "developer", "content": "S2"}) == [
        ("system", "system", "S1"), ("question", "user", "Q1"), ("system", "system", "S3"),
        ("system", "developer", "S2"),
    ]  # fmt: skip


def test_a_conversation():
    """Earlier turns are history by role, the last user message is the question."""
    assert parts(user("Q1"), assistant(text("A1")), user(text("Q2"), text("Q3"))) == [
        ("history", "user", "Q1"),
        ("history", "assistant", "A1"),
        ("question", "user", "Q2"),
        ("question", "user", "Q3"),
    ]


def test_an_agents_loop():
    """The question stays where the user last spoke: results and reminders behind it are none."""
    assert parts(
        user("Q1"), assistant(text("A1")), user("Q2"), assistant(text("See."), CALL), user(result("r"), text(NOTE))
    ) == [
        ("history", "user", "Q1"), ("history", "assistant", "A1"), ("question", "user", "Q2"),
        ("history", "assistant", "See."), ("history", "assistant", 'look {"b":1,"a":[2]}'),
        ("tool_results", "user", "r"), ("history", "injected", NOTE),
    ]  # fmt: skip


def test_words_beside_a_result_are_a_question():
    """A user who breaks in speaks in the message that holds the result."""
    assert parts(user("Q1"), assistant(CALL), user(result("r"), text("Stop."))) == [
        ("history", "user", "Q1"),
        ("history", "assistant", 'look {"b":1,"a":[2]}'),
        ("tool_results", "user", "r"),
        ("question", "user", "Stop."),
    ]


def test_what_leads_to_a_question_belongs_to_it():
    """Messages in a row are one turn, also the client's own; a result before them is not."""
    assert parts(user(result("r")), user(NOTE), user("Context"), user("Q")) == [
        ("tool_results", "user", "r"),
        ("question", "injected", NOTE),
        ("question", "user", "Context"),
        ("question", "user", "Q"),
    ]


def test_a_request_without_words_of_the_user():
    """Then the last message of that role is the question."""
    assert parts(user(NOTE)) == [("question", "injected", NOTE)]
    assert parts(assistant(text("A"))) == [("history", "assistant", "A")]


def test_injected_text_is_told_apart_in_a_message():
    """In one text or in blocks; what the model or the system says is left whole."""
    assert parts(user(f"{NOTE}\nhi"), assistant(text(NOTE)), system=NOTE) == [
        ("system", "system", NOTE),
        ("question", "injected", f"{NOTE}\n"),
        ("question", "user", "hi"),
        ("history", "assistant", NOTE),
    ]


def test_old_thinking_is_not_rendered():
    """Only that behind the question is; what is encrypted is noted, not counted."""
    found = parts(
        user("Q1"), assistant(THOUGHT, SECRET, text("A1")), user("Q2"), assistant(THOUGHT, CALL)
    )

    assert [t for p, r, t in found if r == "assistant"] == ["A1", "Hm.", 'look {"b":1,"a":[2]}']
    assert codes(messages=[user("Q1"), assistant(SECRET), user("Q2")]) == []
    assert codes(messages=[user("Q1"), assistant(SECRET)]) == [
        ("content_encrypted", "redacted_thinking")
    ]  # fmt: skip


ODD = {
    "tools": ({"tools": {"a": 1}}, [("field_not_understood", "tools")]),
    "system": ({"system": 7}, [("field_not_understood", "system")]),
    "messages": ({"messages": "Hi"}, [("field_not_understood", "messages")]),
    "a role": ({"messages": [{"role": "narrator", "content": "x"}]}, [("role_unknown", "narrator")]),
    "nulls": ({"tools": None, "system": None, "messages": None}, []),
    "no content": ({"messages": [{"role": "user"}, {"role": "assistant", "content": None}]}, []),
    "an empty text": ({"messages": [user(text("")), user("")], "system": ""}, []),
}  # fmt: skip


@pytest.mark.parametrize(("body", "notes"), ODD.values(), ids=ODD)
def test_what_is_not_known_is_noted(body, notes):
    """A shape that nobody knows is said, and what is only empty is not."""
    assert codes(**body) == notes


@pytest.mark.parametrize("depth", [300, 1000])
def test_a_deeply_nested_tool(depth):
    """A schema deeper than orjson writes is counted; one that this Python cannot write is noted."""
    schema = b'{"a":' * depth + b"1" + b"}" * depth
    reading = read(b'{"tools":[{"name":"a","input_schema":' + schema + b"}]}")
    [part] = reading.parts

    notes = [] if part.text else ["field_not_understood: request body, a tool nested too deep"]
    assert part.text or depth == 1000
    assert [str(note) for note in reading.notes] == notes


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "role", "content", "text", "source", "input", "name", "data", "title"]), inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["messages", "system", "tools", "model"]), VALUES))
def test_nothing_raises(body):
    """Any JSON under any field is read to some end."""
    assert read(orjson.dumps(body)).generation
