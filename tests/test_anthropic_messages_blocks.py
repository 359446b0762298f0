"""Content blocks of Messages: what of a block is text, what is media, and what is neither."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.dialects.anthropic_messages_blocks import Blocks


def read(content, role="user", part="question"):
    """Part, role and text of each piece of a content, and the notes on it, code and detail."""
    notes = []
    found = Blocks(lambda *note: notes.append(note)).parts(content, role, part)
    return [(p.part, p.role, p.text) for p in found], notes


def text(value):
    """A text block."""
    return {"type": "text", "text": value, "cache_control": {"type": "ephemeral"}}


def result(content, kind="tool_result", **fields):
    """What a tool gave back."""
    return {"type": kind, "tool_use_id": "t", "content": content, **fields}


CONTENTS = {
    "a text": ("Hi", ["Hi"]),
    "blocks": ([text("a"), text("b")], ["a", "b"]),
    "texts": (["a", "b"], ["a", "b"]),
    "one block": (text("a"), ["a"]),
    "nothing": ([], []),
    "empty texts": ([text(""), ""], []),
    "null": (None, []),
    "a number": (7, []),
}


@pytest.mark.parametrize(("content", "texts"), CONTENTS.values(), ids=CONTENTS)
def test_a_content_has_many_forms(content, texts):
    """Text, blocks, and what a lenient server takes; what is only empty is no part and no fault."""
    assert read(content) == ([("question", "user", t) for t in texts], [])


PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}

MEDIA = {
    "a picture": (PNG, "image"),
    "a picture elsewhere": ({"type": "image", "source": {"type": "url", "url": "u"}}, "image"),
    "a picture without source": ({"type": "image"}, "image"),
    "a picture in a result": (result([PNG]), "image"),
    "a document": ({"type": "document", "title": "T", "source": {"type": "base64", "data": "JVBE"}}, "document"),
    "an uploaded document": ({"type": "document", "source": {"type": "file", "file_id": "f"}}, "document"),
    "an uploaded file": ({"type": "container_upload", "file_id": "f"}, "file"),
    "a film": ({"type": "video", "source": "https://a.test"}, "video"),
}  # fmt: skip


@pytest.mark.parametrize(("block", "kind"), MEDIA.values(), ids=MEDIA)
def test_media_are_no_text(block, kind):
    """They are counted as media, wherever they stand, and their bytes are nowhere."""
    assert read([block]) == ([("media", "user", kind)], [])


def test_documents_of_text_are_text():
    """Plain text and blocks inside a document, with its title and context."""
    plain = {
        "type": "document",
        "title": "T",
        "context": "C",
        "source": {"type": "text", "data": "p"},
    }
    blocks = {"type": "document", "source": {"type": "content", "content": [text("p"), PNG]}}

    assert [found[2] for found in read([plain])[0]] == ["T", "p", "C"]
    assert read([blocks])[0] == [("question", "user", "p"), ("media", "user", "image")]


RESULTS = {
    "a text": (result("r"), ["r"]),
    "blocks": (result([text("r"), text("s")]), ["r", "s"]),
    "no content": ({"type": "tool_result", "tool_use_id": "t"}, []),
    "null": (result(None), []),
    "an empty text": (result(""), []),
    "an MCP tool's": (result([text("r")], "mcp_tool_result"), ["r"]),
    "a search result": (
        {"type": "search_result", "title": "T", "source": "S", "content": [text("r")]},
        ["T", "S", "r"],
    ),
    "an error": (result({"type": "web_search_tool_result_error", "error_code": "e"}, "web_search_tool_result"), ["e"]),
    "a program's": (
        result({"type": "bash_code_execution_result", "stdout": "o", "stderr": "", "return_code": 0, "content": []},
               "bash_code_execution_tool_result"),
        ["o"],
    ),
    "a page": (
        result({"type": "web_fetch_result", "url": "u", "content": {"type": "document", "title": "T",
                "source": {"type": "text", "media_type": "text/plain", "data": "p"}}}, "web_fetch_tool_result"),
        ["u", "T", "p"],
    ),
    "tools that were found": (
        result({"type": "tool_search_tool_search_result",
                "tool_references": [{"type": "tool_reference", "tool_name": "look"}]}, "tool_search_tool_result"),
        ["look"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("block", "texts"), RESULTS.values(), ids=RESULTS)
def test_results_of_tools(block, texts):
    """Whatever form a result has, what the model reads of it is a part of its own."""
    assert read([block]) == ([("tool_results", "user", t) for t in texts], [])


def test_found_pages_are_encrypted():
    """Title and address are text; the page itself only the vendor can read."""
    page = {"type": "web_search_result", "title": "T", "url": "u", "encrypted_content": "RXFv"}
    found, notes = read([result([page], "web_search_tool_result")], "assistant", "history")

    assert found == [("tool_results", "assistant", "T"), ("tool_results", "assistant", "u")]
    assert notes == [("content_encrypted", "web_search_result")]


CALLS = {
    "a call": ({"type": "tool_use", "id": "t", "name": "look", "input": {"b": 1, "a": [2]}}, ['look {"b":1,"a":[2]}']),
    "a server's": ({"type": "server_tool_use", "name": "search", "input": {"q": "x"}}, ['search {"q":"x"}']),
    "without input": ({"type": "mcp_tool_use", "name": "look", "input": {}}, ["look"]),
    "without anything": ({"type": "tool_use"}, []),
}  # fmt: skip


@pytest.mark.parametrize(("block", "calls"), CALLS.values(), ids=CALLS)
def test_calls_are_text(block, calls):
    """By name and arguments, whoever runs the tool."""
    assert read([block], "assistant", "history") == (
        [("history", "assistant", c) for c in calls],
        [],
    )


def test_other_blocks():
    """Thinking without its signature, a summary, and a system prompt among the blocks of a message."""
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "RXFv"}
    late = {"type": "mid_conv_system", "content": [text("S")]}

    assert read([thought, {"type": "compaction", "content": "So far."}, late], "assistant", "history")[0] == [
        ("history", "assistant", "Hm."),
        ("history", "assistant", "So far."),
        ("system", "system", "S"),
    ]  # fmt: skip


@pytest.mark.parametrize(("block", "kind"), [({"type": "hologram"}, "hologram"), ({}, ""), (7, "")])
def test_what_is_not_known_is_noted(block, kind):
    """By its type alone: text may be missing."""
    assert read([block]) == ([], [("content_part_unknown", kind)])


WRAPS = {
    "results": lambda inner: result([inner]),
    "thoughts": lambda inner: {"type": "thinking", "thinking": inner},
    "system prompts": lambda inner: {"type": "mid_conv_system", "content": [inner]},
}


@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
def test_nesting_has_an_end(wrap):
    """Blocks in blocks without end are given up, with a note; as deep as the API has them they are read."""
    block, shallow = text("x"), wrap(wrap(text("x")))
    for _ in range(400):
        block = wrap(block)

    assert read([block]) == ([], [("field_not_understood", "blocks nested too deep")])
    assert [found[2] for found in read([shallow])[0]] == ["x"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5) | st.sampled_from(["tool_use", "thinking"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "content", "text", "source", "input", "name", "data", "title", "thinking"]), inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(VALUES)
def test_nothing_raises(content):
    """Any JSON is read to some end, and no part is empty."""
    assert all(found[2] for found in read(content)[0])
