"""Tools of the Responses API: of every kind, in groups, and in items of the prompt."""

from __future__ import annotations

import orjson
import pytest

from proxy.dialects.openai_responses import OpenAiResponses
from proxy.wire.head import RequestHead


def read(**body):
    """The reading of a request with this body."""
    head = RequestHead("POST", "/v1/responses", (1, 1), ())
    return OpenAiResponses().read_request(head, orjson.dumps(body))


def tools(*given):
    """(name, text) of each tool."""
    return [(p.name, p.text) for p in read(tools=list(given)).parts if p.part == "tools"]


def codes(*items, **body):
    """The codes of the notes on such a prompt."""
    return [note.code for note in read(input=list(items), **body).notes]


def test_each_kind_of_tool_has_its_name_and_its_whole_text():
    """Functions, custom ones with their grammar, chat's form, and hosted ones by their type."""
    function = {"type": "function", "name": "f", "parameters": {"type": "object"}}
    custom = {
        "type": "custom",
        "name": "c",
        "format": {"type": "grammar", "definition": "start: x"},
    }
    chat = {"type": "function", "function": {"name": "g"}}
    hosted = {"type": "web_search", "search_context_size": "low"}

    found = tools(function, custom, chat, hosted)

    assert [name for name, _ in found] == ["f", "c", "g", "web_search"]
    assert [text for _, text in found] == [
        orjson.dumps(tool).decode() for tool in (function, custom, chat, hosted)
    ]


def test_groups_are_flattened():
    """Under both names, as calls have them; the group's description is counted with its first tool."""
    inner = [{"type": "function", "name": "search"}, {"type": "custom", "name": "read"}]
    group = {"type": "namespace", "name": "mcp__docs", "description": "Search.", "tools": inner}

    [first, second] = tools(group)

    assert (first[0], second[0]) == ("mcp__docs.search", "mcp__docs.read")
    assert "Search." in first[1]
    assert '"name":"search"' in first[1]
    assert second[1] == '{"type":"custom","name":"read"}'


def test_a_group_in_a_group_is_a_tool():
    """No form of this API, and no way to make a parser go deep."""
    deep = {"name": "n", "tools": [{"name": "m", "tools": [{"name": "o"}]}]}

    assert [name for name, _ in tools(deep)] == ["n.m"]
    assert [name for name, _ in tools({"type": "set", "tools": [{"name": "x"}]})] == ["set.x"]


def test_what_hosted_tools_keep_for_the_server_is_no_text():
    """Addresses, secrets and pictures; the note names the tools whose text is not seen."""
    mcp = {
        "type": "mcp",
        "server_label": "docs",
        "authorization": "no-token",
        "headers": {"a": "b"},
    }
    image = {"type": "image_generation", "input_image_mask": {"image_url": "data:QUJD"}}

    assert tools(mcp, image) == [
        ("mcp__docs", '{"type":"mcp","server_label":"docs"}'),
        ("image_generation", '{"type":"image_generation"}'),
    ]
    assert [str(note) for note in read(tools=[mcp, image, mcp]).notes] == [
        "hosted_tools: request body, mcp__docs, image_generation"
    ]


def test_tools_that_are_searched_for_are_noted():
    """Whether they are in the prompt is for the server to say."""
    tool = {"type": "function", "name": "f", "defer_loading": True}

    assert [note.code for note in read(tools=[tool]).notes] == ["tools_deferred"]


def test_fields_of_another_shape_are_noted():
    """And passed over."""
    assert codes(tools="all") == ["field_not_understood"]
    assert [note.code for note in read(input=7).notes] == ["field_not_understood"]


@pytest.mark.parametrize("depth", [300, 1000])
def test_a_deeply_nested_tool(depth):
    """A schema deeper than orjson writes is counted; one that this Python cannot write is noted."""
    deep = b'{"tools":[{"name":"f","x":' + b'{"a":' * depth + b"1" + b"}" * (depth + 1) + b"]}"
    reading = OpenAiResponses().read_request(RequestHead("POST", "/", (1, 1), ()), deep)
    [part] = reading.parts

    assert part.text or depth == 1000
    assert [note.code for note in reading.notes] == ([] if part.text else ["field_not_understood"])


def test_tools_in_items_are_tools():
    """Where a client adds them, a search finds them, or an MCP server lists them."""
    tool = {"type": "function", "name": "f"}
    listed = {"type": "mcp_list_tools", "server_label": "docs", "tools": [{"name": "read"}]}
    items = [
        {"type": "additional_tools", "role": "developer", "tools": [tool]},
        {"type": "tool_search_output", "tools": [tool]},
        listed,
    ]

    found = read(input=items).parts

    assert [(p.part, p.name) for p in found] == [
        ("tools", "f"),
        ("tools", "f"),
        ("tools", "mcp__docs.read"),
    ]
