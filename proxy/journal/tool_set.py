"""The tools that a prompt offers: what each costs, and whose it is.

One rule: names and numbers, never a description. The set's name is a hash of its definitions, so the same
tools are written once, whatever the turn.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from .record import ToolEntry, ToolSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from proxy.dialects.base import PromptPart

_MCP_NAME: Final = (
    re.compile(r"mcp__(?P<server>.+?)(?:__|[./]).+"),  # Claude Code, Qwen Code, Codex
    re.compile(r"mcp_(?P<server>[^_]+)_.+"),  # Gemini CLI, Copilot, Cursor
    re.compile(r"mcp--(?P<server>.+?)--.+"),  # Roo Code
    re.compile(r".+_mcp_(?P<server>.+)"),  # LibreChat
    re.compile(r"(?!mcp_)(?P<server>[A-Za-z0-9][\w.-]*?)__[A-Za-z0-9].*"),  # Goose, Gemini CLI
)


def tool_set(tools: Sequence[PromptPart], counts: Sequence[int | None], source: str) -> ToolSet:
    """The set of these definitions, each with its tokens, in the order of the request."""
    return ToolSet(
        set_hash=_set_hash(tools),
        source=source,
        tools=[
            ToolEntry(name=tool.name, tokens=count, server=mcp_server(tool.name))
            for tool, count in zip(tools, counts, strict=True)
        ],
    )


def _set_hash(tools: Iterable[PromptPart]) -> str:
    """The same for the same definitions in any order: the order is the prefix's concern."""
    one_by_one = sorted(
        blake2b(f"{t.name}\0{t.text}".encode("utf-8", "surrogatepass")).digest() for t in tools
    )
    return blake2b(b"".join(one_by_one), digest_size=8).hexdigest()


def mcp_server(tool: str) -> str | None:
    """The MCP server that a tool's name tells of, as clients build such names; None if it does not."""
    for pattern in _MCP_NAME:
        found = pattern.fullmatch(tool)
        if found:
            return found["server"]
    return None
