"""The set of tools: named by its definitions, counted one by one, grouped by server."""

from __future__ import annotations

import pytest

from proxy.dialects.base import PromptPart
from proxy.journal.record import ToolEntry
from proxy.journal.tool_set import mcp_server, tool_set


def tool(text, name="search"):
    """A tool's definition."""
    return PromptPart("tools", "tool", text, name)


def test_the_tool_set_has_names_and_tokens_but_no_text():
    """The file beside the segments says what each tool costs, in the order of the request."""
    found = tool_set([tool("a"), tool("b", "mcp__docs__read")], [30, 20], "by hand")
    assert found.tools == [
        ToolEntry(name="search", tokens=30),
        ToolEntry(name="mcp__docs__read", tokens=20, server="docs"),
    ]
    assert found.source == "by hand"


def set_hash(*tools):
    """The hash of a set."""
    return tool_set(tools, [1] * len(tools), "by hand").set_hash


def test_the_hash_names_the_definitions():
    """Another order is the same set; another name, text or number is another one."""
    one, two = tool("3", "one"), tool("4", "two")
    assert set_hash(one, two) == set_hash(two, one)
    assert len(set_hash(one)) == 16
    others = [
        set_hash(one),
        set_hash(two),
        set_hash(one, one),
        set_hash(tool("3", "two"), tool("4", "one")),
        set_hash(one, two),
        set_hash(tool("1", "\ud800")),  # others' names may be no valid Unicode
        set_hash(tool("1", "\ud801")),
    ]
    assert len(others) == len(set(others))


@pytest.mark.parametrize(
    ("name", "server"),
    [
        ("mcp__playwright__browser_snapshot", "playwright"),
        ("mcp__docs.search", "docs"),
        ("mcp__my_server__do__it", "my_server"),
        ("search_mcp_docs", "docs"),
        ("developer__shell", "developer"),
        ("mcp_github_create_issue", "github"),
        ("mcp--docs--search", "docs"),
        ("mcp_docs", None),
        ("mcp__docs", None),
        ("browser_snapshot", None),
        ("__init__", None),
        ("", None),
    ],
)
def test_the_mcp_server_is_read_from_the_name(name, server):
    """Clients build the name from server and tool, each in its way; most names tell nothing."""
    assert server == mcp_server(name)
